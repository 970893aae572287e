"""A tagger and an embedder in processes: what they say is what they say in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dying_models import MARK, PARENT, DyingTagger
from toy_runs import Capitals

from graphrag_bench.errors import UserError
from graphrag_bench.executors.processes import Processes
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.models.in_workers import EmbedderInWorkers, NlpInWorkers, Recipe
from graphrag_bench.models.kept_sentences import KeptSentences, ReadingStore
from graphrag_bench.models.nlp import Nlp, Spacy

TEXTS = [f"Ada met Grace in Town{number}. Nobody came." for number in range(300)]


@pytest.fixture(scope="module")
def two() -> Iterator[Processes]:
    made = Processes(2)
    yield made
    made.close()


def tagger(inner: Nlp, target: str, two: Processes, least: int = 2) -> NlpInWorkers:
    return NlpInWorkers(inner, two, Recipe.of("nlp", {"_target_": target}, inner), least)


def test_processes_read_what_one_process_reads_and_it_is_stored(
    two: Processes, tmp_path: Path
) -> None:
    inner = Capitals()
    store = ReadingStore(tmp_path / "sentences.sqlite")
    kept = KeptSentences(tagger(inner, "toy_runs.Capitals", two), store)
    texts = [*TEXTS[:200], *TEXTS]
    assert list(kept.sentences(texts)) == list(inner.sentences(texts))
    alone = ReadingStore(tmp_path / "alone.sqlite")
    list(KeptSentences(inner, alone).sentences(texts))
    assert rows(store) == rows(alone)
    assert len(rows(store)) == 300


def rows(store: ReadingStore) -> list[object]:
    """The rows of a store, in the order of their keys."""
    return sorted(store._read("SELECT * FROM readings WHERE 1 OR ? = ''", [""]))


def test_what_was_read_before_a_stop_is_stored(two: Processes, tmp_path: Path) -> None:
    store = ReadingStore(tmp_path / "sentences.sqlite")
    reading = KeptSentences(tagger(Capitals(), "toy_runs.Capitals", two), store).sentences(TEXTS)
    for _ in range(200):
        next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert len(rows(store)) == 128


def test_few_texts_start_no_process() -> None:
    class Never(Processes):
        def map(self, work: object, blocks: object) -> Iterator[object]:  # type: ignore[override]
            raise AssertionError("a process for few texts")

    inner = Capitals()
    few = tagger(inner, "toy_runs.Capitals", Never(2), least=300)
    assert list(few.sentences(TEXTS[:299])) == list(inner.sentences(TEXTS[:299]))
    with pytest.raises(AssertionError):
        list(few.sentences(TEXTS))


def test_a_killed_worker_loses_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PARENT, str(os.getpid()))
    monkeypatch.setenv(MARK, str(tmp_path))
    two, inner = Processes(2), DyingTagger()
    try:
        found = list(tagger(inner, "dying_models.DyingTagger", two).sentences(TEXTS))
    finally:
        two.close()
    assert found == list(Capitals().sentences(TEXTS))
    assert (tmp_path / "sentences").exists()


def test_a_worker_with_another_model_refuses(two: Processes) -> None:
    inner = Capitals()
    other = tagger(inner, "toy_runs.Capitals", two)
    other._recipe = replace(other._recipe, identity="capitals of another version")
    with pytest.raises(UserError, match="A worker has another nlp"):
        list(other.sentences(TEXTS))


def test_processes_embed_to_the_bytes_of_one_process(two: Processes) -> None:
    inner = Hashing()
    settings = {"_target_": "graphrag_bench.models.embedder.Hashing"}
    spread = EmbedderInWorkers(inner, two, Recipe.of("embedder", settings, inner))
    many = [f"{text} {'and so on ' * 20}" for text in TEXTS]
    assert sum(map(len, many)) > 50_000
    assert np.array_equal(spread.encode(many, kind="passage"), inner.encode(many, kind="passage"))
    assert np.array_equal(spread.encode(many, kind="question"), inner.encode(many, kind="question"))


@pytest.mark.real
def test_spacy_in_processes_reads_what_it_reads_here() -> None:
    inner, two = Spacy(), Processes(2)
    texts = [f"Marie Curie, born in Warsaw, led Institute {number}." for number in range(70)]
    spread = tagger(inner, "graphrag_bench.models.nlp.Spacy", two)
    try:
        assert list(spread.sentences(texts)) == list(inner.sentences(texts))
    finally:
        two.close()
