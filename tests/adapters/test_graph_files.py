"""Graphs in the CSV files of GFM-RAG 2 and of Neo4j's import, read back with pandas."""

import ast
import json
from functools import partial

import pandas as pd
from toy_runs import TOY, command, run_folder

from graphrag_bench.adapters.graph_tables import export_gfm, export_neo4j
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable

NASTY = ['a "b", c', "a\r\nb\rc\nd", "=1+1", "\\", " x ", "NA", "007", "é\x00\u2028", "'"]
TABLE = ChunkTable.of(
    [("ada", "Ada\nMarsh", NASTY[1]), *((f"d{row}", "", one) for row, one in enumerate(NASTY)),
     ("long", "", "first"), ("long", "", "second")]
)  # fmt: skip


MENTIONS = [[row == 0 or (row, chunk) == (1, 2) for chunk in range(len(TABLE))]
            for row in range(len(NASTY) + 1)]  # fmt: skip
GRAPH = Graph.from_arrays([0, 1, 2], [1, 2, 0], MENTIONS, weight=[1, 0.5, 2],
    names=["ada", *NASTY], relations=["founded", "synonym of", ""])  # fmt: skip
read = partial(pd.read_csv, keep_default_na=False, dtype=None)


def test_gfm_rag_reads_its_three_files(tmp_path):
    export_gfm(GRAPH, TABLE, tmp_path)
    stage = tmp_path / "processed" / "stage1"
    nodes, relations, edges = (read(stage / f"{n}.csv") for n in ("nodes", "relations", "edges"))
    assert [*nodes.columns] == ["name", "type", "attributes"]
    assert [*relations.columns] == ["name", "attributes"]
    assert [*edges.columns] == ["source", "relation", "target", "attributes"]
    documents = nodes[nodes.type == "document"]
    names = documents.name.tolist()
    assert nodes.name.is_unique and nodes.name.tolist() == ["ada", *NASTY, *names]
    assert (names[0], *names[-2:]) == ("ada (document)", "long#1", "long#2")
    contents = [ast.literal_eval(one)["content"] for one in documents.attributes]
    assert contents == TABLE.passages
    stored = json.loads((tmp_path / "raw" / "documents.json").read_text("utf-8"))
    assert stored == dict(zip(names, contents, strict=True))
    assert relations.name.tolist() == ["founded", "equivalent", "related to", "is_mentioned_in"]
    assert edges[:3].values.tolist() == [
        ["ada", "founded", NASTY[0], "{'weight': 1.0}"],
        [NASTY[0], "equivalent", NASTY[1], "{'weight': 0.5}"],
        [NASTY[1], "related to", "ada", "{'weight': 2.0}"],
    ]
    assert edges[3:][["source", "target"]].values.tolist() == [
        *(["ada", name] for name in names), [NASTY[0], names[2]],
    ]  # fmt: skip


def test_neo4j_has_ids_labels_and_types(tmp_path):
    export_neo4j(GRAPH, TABLE, tmp_path)
    nodes, links = read(tmp_path / "nodes.csv"), read(tmp_path / "relationships.csv")
    assert nodes[":ID"].is_unique
    assert nodes[":LABEL"].tolist() == ["Entity"] * 10 + ["Chunk"] * len(TABLE)
    chunks = nodes[10:]
    assert (chunks.title.tolist(), chunks.text.tolist()) == ([*TABLE.titles], [*TABLE.texts])
    assert {*links[":START_ID"], *links[":END_ID"]} <= {*nodes[":ID"]}
    assert links[":TYPE"].tolist()[:4] == ["RELATED_TO", "SYNONYM_OF", "RELATED_TO", "MENTIONED_IN"]
    assert links["weight:double"].tolist() == [1, 0.5, 2] + [1] * (len(TABLE) + 1)


def test_export_writes_a_graph_in_both_forms_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_folder("method=hipporag", *TOY, "limit=1", "answer=off")
    keys = {path.parent.name: path.name for path in tmp_path.glob("artifacts/toy/*/*")}
    for form in ("gfmrag", "neo4j"):
        ended = command("artifacts", "export", keys["graph"], form, "--form", form)
        assert ended.code == 0, ended.err
        (nodes,) = (tmp_path / form).rglob("nodes.csv")
        assert len(read(nodes)) == int(ended.out.split()[0]) + 8
        assert command("artifacts", "export", keys["chunk_table"], form, "--form", form).code == 2
