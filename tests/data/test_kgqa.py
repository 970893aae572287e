"""RoG's files become questions with subgraphs."""

import json
from pathlib import Path

import pytest
from rog_sets import EMPTY, RIVER, ROWS, TEAM, rog_folder

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.data.subgraphs import NO_TRIPLES
from graphrag_bench.errors import UserError


@pytest.fixture
def cwq(tmp_path: Path) -> Dataset:
    return read_dataset("cwq", rog_folder(tmp_path))


def test_a_row_is_a_question_and_a_document_with_the_id_as_scope(cwq: Dataset) -> None:
    team = cwq.questions[0]
    assert (team.id, team.scope, team.text) == ("WebQTest-1", "WebQTest-1", TEAM["question"])
    assert team.entities == ("Rolf the Ram",)
    assert [(row.id, row.scope) for row in cwq.documents] == [(row["id"],) * 2 for row in ROWS]
    gold = [cwq.gold[question.id] for question in cwq.questions]
    assert gold[0].answers == gold[0].answer_entities == ("2012 Tarn Cup", "2014 Tarn Cup")
    assert [one.in_graph for one in gold] == [True, False, False]
    assert gold[2].answers == ("A chemist",)


def test_triples_are_columns_with_distinct_names(cwq: Dataset) -> None:
    stored = cwq.subgraphs
    assert stored is not None and len(stored) == 8
    assert stored.names[:4] == ("Rolf the Ram", "Norvik F.C.", "m.011zsc4_", "2012 Tarn Cup")
    assert {"NORVIK", "Norvik"} <= set(stored.names)
    assert stored.starts.tolist() == [0, 6, 8, 8]
    assert stored.triples("WebQTest-2") == [tuple(triple) for triple in RIVER["graph"]]
    assert stored.triples("nobody") == []
    team, _, empty = cwq.documents
    lines = team.text.splitlines()
    assert lines[0] == "(Rolf the Ram, sports.mascot.team, Norvik F.C.)"
    assert (len(lines), empty.text, team.passage) == (5, NO_TRIPLES, team.text)


def test_parquet_shards_equal_json_lines(tmp_path: Path, cwq: Dataset) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
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


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{**TEAM, "graph": [["a", "b"]]}], r"line 1.*'graph.0.2'"),
        ([{**TEAM, "question": " "}], "no text"),
        ([TEAM, "{"], "line 2.*JSON"),
        ([], r"test\*\.parquet"),
    ],
)
def test_an_error_names_the_line(tmp_path: Path, lines: list, message: str) -> None:
    if lines:
        text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
        (tmp_path / "test.jsonl").write_text(text)
    with pytest.raises(UserError, match=message):
        read_dataset("cwq", tmp_path)
