"""Vectors and taggings are cached by content: a text is embedded and tagged once."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from toy_runs import Capitals

from graphrag_bench.embedding.cached_models import CachedEmbedder, CachedTagger
from graphrag_bench.embedding.embedder import Hashing, TextKind, Vectors
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.llm.cache import Cache

TEXTS = ["Ada", "Norvik", "the old queen", "Ada"]
SENTENCES = ["Ada met Grace in Norvik.", "Nobody came.", "Ada met Grace in Norvik.", ""]


class Counting(Hashing):
    def __init__(self, dimension: int = 8) -> None:
        super().__init__(dimension)
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        self.texts += texts
        return super().encode(texts, kind=kind)


class CountingTagger(Capitals):
    def __init__(self, identity: str = "counting") -> None:
        self.identity, self.texts = identity, list[str]()

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        self.texts += texts
        return super().sentences(texts)

    def entities(self, text: str) -> list[str]:
        self.texts.append(text)
        return super().entities(text)


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "vectors.sqlite")


def test_a_text_is_embedded_once_per_kind_and_model_and_its_code(store: Cache) -> None:
    rows = CachedEmbedder(Hashing(8), store).encode(TEXTS, kind="passage")
    assert rows.dtype == np.float32
    assert np.array_equal(rows, Hashing(8).encode(TEXTS, kind="passage"))
    counting = Counting()  # a class with the same identity
    assert counting.identity == Hashing(8).identity
    for texts in (TEXTS, ["a new one", *TEXTS]):
        more = CachedEmbedder(counting, store).encode(texts, kind="passage")
        assert np.array_equal(more[-4:], rows)
    assert counting.texts == ["Ada", "Norvik", "the old queen", "a new one"]
    CachedEmbedder(counting, store).encode(["Ada"], kind="question")
    assert counting.texts[4:] == ["Ada"]
    assert CachedEmbedder(Counting(16), store).encode(["Ada"], kind="passage").shape == (1, 16)


def test_a_text_is_tagged_once_per_tagger(store: Cache) -> None:
    counting = CountingTagger()
    rows = CachedTagger(counting, store)
    expected = list(Capitals().sentences(SENTENCES))
    assert list(rows.sentences(SENTENCES)) == expected
    assert list(rows.sentences(["Max came.", *SENTENCES]))[1:] == expected
    assert counting.texts == [*SENTENCES[:2], "", "Max came."]
    for _ in range(2):
        assert rows.entities(SENTENCES[0]) == Capitals().entities(SENTENCES[0])
    assert counting.texts[4:] == [SENTENCES[0]]
    other = CountingTagger("other")
    list(CachedTagger(other, store).sentences(SENTENCES))
    assert len(other.texts) == 3
