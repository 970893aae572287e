"""A set's chunks, its dev and test part, and its corpus as it grows."""

from dataclasses import replace
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, command, metrics, ran

import graphrag_bench as gb
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset, is_dev, within_split
from graphrag_bench.data.readers import first_parts
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question

QUESTIONS = [Question(f"question {number}", "Who?") for number in range(2000)]


def ids(data: Dataset) -> list[str]:
    return [row.id for row in data.documents]


def test_equal_contents_are_one_chunk_and_a_document_has_its_chunks_in_table_order() -> None:
    rows = [("a", "one"), ("a", "two"), ("b", "three"), ("c", "one"), ("b", "two")]
    table = ChunkTable.of([(document, "", text) for document, text in rows])
    assert [table.chunks_of(name) for name in "abcd"] == [[0, 1], [1, 2], [0], []]
    assert table.documents_of(0) == ["a", "c"]


def test_a_question_is_of_dev_when_the_first_bytes_of_its_hash_lie_below_the_share() -> None:
    # sha256("q1") begins with c75de8c1b7c3ae52, which is 0.7788 of all that 8 bytes can hold
    assert not is_dev("q1", 0.778)
    assert is_dev("q1", 0.779)


def test_dev_and_test_are_all_questions_and_a_larger_dev_part_holds_a_smaller_one() -> None:
    dev, test = (within_split(QUESTIONS, part) for part in ("dev", "test"))
    assert sorted(one.id for one in dev + test) == sorted(one.id for one in QUESTIONS)
    assert within_split(QUESTIONS, "all") == QUESTIONS
    assert set(within_split(QUESTIONS, "dev", 0.2)) < set(within_split(QUESTIONS, "dev", 0.6))
    assert within_split(QUESTIONS[::7], "dev") == [one for one in QUESTIONS[::7] if one in dev]
    for share in (0.1, 0.5, 0.9):
        assert len(within_split(QUESTIONS, "dev", share)) / 2000 == pytest.approx(share, abs=0.03)


def test_each_part_has_the_documents_before_it_and_the_questions_of_the_first() -> None:
    """Of toy's eight documents three are a part of three: q1 alone has its evidence there, and of
    two parts, four documents each, q1 and q4."""
    whole = gb.dataset("toy")
    parts = [first_parts(whole, part, 3) for part in (1, 2, 3)]
    assert [len(ids(part)) for part in parts] == [3, 6, 8]
    assert all(ids(whole)[: len(ids(part))] == ids(part) for part in parts)
    assert [[row.id for row in part.questions] for part in parts] == [["q1"]] * 3
    half = gb.dataset("toy", part=1, parts=2)
    assert ids(half) == ["ada", "norvik", "tarn", "velia"]
    assert ([row.id for row in half.questions], sorted(half.gold)) == (["q1", "q4"], ["q1", "q4"])
    assert first_parts(whole, 1, 1) is whole


def test_evidence_that_names_a_file_needs_one_of_its_documents() -> None:
    whole = gb.dataset("toy")
    town = replace(whole.gold["q2"], evidence=("town.md",), parts=(("town.md", ("tarn", "velia")),))
    end = replace(whole.gold["q3"], evidence=("end.md",), parts=(("end.md", ("velia",)),))
    part = first_parts(replace(whole, gold={**whole.gold, "q2": town, "q3": end}), 1, 3)
    assert [row.id for row in part.questions] == ["q1", "q2"]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("toy", {"part": 3, "parts": 2}, "no part 3 of 2"),
        ("sample", {"part": 1, "parts": 135}, "first 1 of 135 documents hold"),
        ("toy", {"parts": "two"}, "dataset.parts=two"),
        ("toy", {"part": 0}, "dataset.part=0"),
    ],
)
def test_a_part_that_there_is_not_is_refused(
    name: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError) as error:
        gb.dataset(name, **settings)
    assert message in str(error.value)


def test_the_runs_of_a_growing_corpus_are_named_by_their_part(tmp_path: Path) -> None:
    home = f"paths.home={tmp_path}"
    words = ["-m", "experiment=growing", "dataset=toy", "method=vanilla", *WEIGHTLESS, home]
    done = ran(*words, "dataset.parts=2", "dataset.part=1,2")
    assert "VanillaRAG dataset.part=1" in done.out
    assert [metrics(folder)["dataset.part"] for folder in done.folders] == [1, 2]
    curve = command("curve", "x=dataset.part", "--home", str(tmp_path), "--metrics",
                    "evidence_recall@5")  # fmt: skip
    assert curve.code == 0
    assert "one value" not in curve.out
