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


class Counting(Hashing):
    def __init__(self, dimension: int = 8) -> None:
        super().__init__(dimension)
        self.texts: list[tuple[str, str]] = []

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        self.texts += [(text, kind) for text in texts]
        return super().encode(texts, kind=kind)


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "vectors.sqlite")


def test_a_text_is_embedded_once_per_kind_and_model(store: Cache) -> None:
    counting = Counting()
    rest = CachedEmbedder(counting, store)
    rows = rest.encode(TEXTS, kind="passage")
    assert rows.dtype == np.float32
    assert np.array_equal(rows, Hashing(8).encode(TEXTS, kind="passage"))
    more = rest.encode(["a new one", *TEXTS], kind="passage")
    assert np.array_equal(more[1:], rows)
    assert [text for text, _ in counting.texts] == ["Ada", "Norvik", "the old queen", "a new one"]
    rest.encode(["Ada"], kind="question")
    assert counting.texts[-1] == ("Ada", "question")
    other = Counting(16)
    assert CachedEmbedder(other, store).encode(["Ada"], kind="passage").shape == (1, 16)
    assert len(other.texts) == 1


SENTENCES = ["Ada met Grace in Norvik.", "Nobody came.", "Ada met Grace in Norvik.", ""]


class CountingTagger(Capitals):
    def __init__(self, identity: str = "counting") -> None:
        super().__init__()
        self.identity = identity
        self.texts: list[str] = []

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        for text in texts:
            self.texts.append(text)
            yield from super().sentences([text])

    def entities(self, text: str) -> list[str]:
        self.texts.append(text)
        return super().entities(text)


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


def test_vectors_of_user_code_depend_on_the_code(store: Cache) -> None:
    CachedEmbedder(Hashing(8), store).encode(TEXTS, kind="passage")
    counting = Counting()
    assert counting.identity == Hashing(8).identity
    CachedEmbedder(counting, store).encode(TEXTS, kind="passage")
    assert len(counting.texts) == 3
