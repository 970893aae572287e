"""A corpus as it grows: its first documents, and questions that all its sizes can be asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, command, metrics, ran, refused

import graphrag_bench as gb
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.file_evidence import with_parts
from graphrag_bench.data.readers import first_parts
from graphrag_bench.errors import UserError


def ids(data: Dataset) -> list[str]:
    return [row.id for row in data.documents]


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
    gold = {name: with_parts(held, ()) for name, held in whole.gold.items()}
    gold["q2"] = with_parts(
        replace(whole.gold["q2"], evidence=("town.md",)), [("town.md", ("tarn", "velia"))]
    )
    gold["q3"] = with_parts(
        replace(whole.gold["q3"], evidence=("end.md",)), [("end.md", ("velia",))]
    )
    part = first_parts(replace(whole, gold=gold), 1, 3)
    assert [row.id for row in part.questions] == ["q1", "q2"]


def test_a_part_that_there_is_not_is_refused() -> None:
    with pytest.raises(UserError, match="no part 3 of 2"):
        gb.dataset("toy", part=3, parts=2)
    with pytest.raises(UserError, match=r"first 1 of 135 documents hold .* a smaller number"):
        gb.dataset("sample", part=1, parts=135)
    with pytest.raises(UserError, match=r"dataset\.parts=two: a number from 1 on"):
        gb.dataset("toy", parts="two")
    assert "dataset.part" in refused("dataset=toy", "method=vanilla", "dataset.part=0")


def test_the_runs_of_a_growing_corpus_are_named_by_their_part(tmp_path: Path) -> None:
    home = f"paths.home={tmp_path}"
    words = ["-m", "experiment=growing", "dataset=toy", "method=vanilla", *WEIGHTLESS, home]
    done = ran(*words, "dataset.parts=2", "dataset.part=1,2")
    assert "VanillaRAG dataset.part=1" in done.out
    assert [metrics(folder)["dataset.part"] for folder in done.folders] == [1, 2]
    curve = command("curve", "x=dataset.part", "--home", str(tmp_path), "--metrics",
                    "evidence_recall@5")  # fmt: skip
    assert curve.code == 0
    assert "corpus=" not in curve.out
    assert "one value" not in curve.out
