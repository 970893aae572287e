"""Runs share vectors: a document is embedded once, whatever else is in its set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, WEIGHTLESS, ran, write_set

from graphrag_bench.models.embedder import Hashing

pytestmark = pytest.mark.slow

DOCUMENTS = [
    {"id": str(number), "title": f"Town {number}", "text": f"Town {number} has {number} bridges."}
    for number in range(6)
]
QUESTIONS = [{"id": "q1", "text": "How many bridges has Town 3?", "answers": ["3"]}]
OFF = ["answer=off", "reference_rows=off"]


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """How often each text was embedded, by text and kind."""
    counted: Counter[tuple[str, str]] = Counter()
    encode = Hashing.encode

    def counting(self: Hashing, texts: Sequence[str], *, kind: Any) -> Any:
        counted.update((text, kind) for text in texts)
        return encode(self, texts, kind=kind)

    monkeypatch.setattr(Hashing, "encode", counting)
    monkeypatch.chdir(tmp_path)
    return counted


def asked_of(folder: Path, n_documents: int, *more: str) -> bytes:
    """The rows of a run over the first documents, in a data set of its own."""
    root = write_set(folder, DOCUMENTS[:n_documents], QUESTIONS)
    settings = ["dataset=jsonl", f"dataset.root={root}", *WEIGHTLESS, "method=vanilla", *OFF]
    return (ran(*settings, *more).folder / "records.jsonl").read_bytes()


def test_one_more_document_embeds_one_document(
    embedded: Counter[tuple[str, str]], tmp_path: Path
) -> None:
    asked_of(tmp_path / "five", 5)
    assert len(embedded) == 6 and set(embedded.values()) == {1}
    before = set(embedded)
    rows = asked_of(tmp_path / "six", 6)
    assert set(embedded) - before == {("Town 5\nTown 5 has 5 bridges.", "passage")}
    assert set(embedded.values()) == {1}
    apart = asked_of(tmp_path / "six", 6, "cache.mode=off", "paths.home=other")
    assert apart == rows
    assert sorted(embedded.values()) == 7 * [2]
    assert not (tmp_path / "other" / "cache" / "vectors.sqlite").exists()


def test_two_methods_that_name_the_same_nodes_embed_them_once(
    embedded: Counter[tuple[str, str]],
) -> None:
    ran(*TOY, "method=hipporag", *OFF)
    n_texts = len(embedded)
    ran(*TOY, "method=hipporag2", *OFF)
    assert n_texts < len(embedded)
    assert {n for (_, kind), n in embedded.items() if kind == "passage"} == {1}
