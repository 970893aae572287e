"""RoG's files become questions with subgraphs."""

import json
from pathlib import Path

import pytest
from published_sets import EMPTY, RIVER, ROWS, TEAM, rog_folder

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.data.subgraphs import NO_TRIPLES
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question


@pytest.fixture
def cwq(tmp_path: Path) -> Dataset:
    return read_dataset("cwq", rog_folder(tmp_path))


def test_a_row_is_a_question_and_a_document_with_the_id_as_scope(cwq):
    name, mascot = "WebQTest-1", ("Rolf the Ram",)
    assert cwq.questions[0] == Question(name, str(TEAM["question"]), name, mascot)
    assert [(row.id, row.scope) for row in cwq.documents] == [(row["id"],) * 2 for row in ROWS]
    gold = [cwq.gold[question.id] for question in cwq.questions]
    assert gold[0].answers == gold[0].answer_entities == ("2012 Tarn Cup", "2014 Tarn Cup")
    assert [one.in_graph for one in gold] == [True, False, False]


def test_triples_are_columns_with_distinct_names(cwq):
    stored = cwq.subgraphs
    assert stored is not None and len(stored) == 8
    assert stored.names[:3] == ("Rolf the Ram", "Norvik F.C.", "m.011zsc4_")
    assert {"NORVIK", "Norvik"} <= {*stored.names}
    assert stored.starts.tolist() == [0, 6, 8, 8]
    assert stored.triples("WebQTest-2") == [tuple(triple) for triple in RIVER["graph"]]
    team, _, empty = cwq.documents
    first, *others = team.text.splitlines()
    assert first == "(Rolf the Ram, sports.mascot.team, Norvik F.C.)"
    assert (len(others), empty.text, team.passage) == (4, NO_TRIPLES, team.text)


def test_parquet_shards_equal_json_lines(tmp_path, cwq):
    pyarrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    (tmp_path / "other" / "data").mkdir(parents=True)
    for at, rows in enumerate((ROWS[:1], ROWS[1:])):
        shard = tmp_path / "other" / "data" / f"test-{at:05}-of-00002-abc.parquet"
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), shard)
    read = read_dataset("webqsp", tmp_path / "other")
    assert (read.questions, read.gold) == (cwq.questions, cwq.gold)
    turned = {**RIVER, "graph": [triple[::-1] for triple in RIVER["graph"]]}
    other = read_dataset("cwq", rog_folder(tmp_path / "b", (TEAM, turned, EMPTY)))
    assert read.corpus_digest == cwq.corpus_digest != other.corpus_digest
    assert other.questions_digest == cwq.questions_digest


def test_an_error_names_the_line(tmp_path):
    with pytest.raises(UserError, match=r"test\*\.parquet"):
        read_dataset("cwq", tmp_path)
    for text, message in (
        (json.dumps({**TEAM, "graph": [["a", "b"]]}), r"line 1.*'graph.0.2'"),
        (json.dumps({**TEAM, "question": " "}), "no text"),
        (json.dumps(TEAM) + "\n{", "line 2.*JSON"),
    ):
        (tmp_path / "test.jsonl").write_text(text)
        with pytest.raises(UserError, match=message):
            read_dataset("cwq", tmp_path)
