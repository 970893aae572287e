"""Hypothetical passages and the search by their mean vector, worked out by hand."""

from collections.abc import Sequence

import numpy as np

from graphrag_bench.embedding.embedder import Kind, Vectors
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Query, Question
from methods.hyde.hypothesis import hypothetical
from operators.chunk.search import vdb_mean

ASKED = Question("q", "east")
PLACES = {"east": [1.0, 0.0], "north": [0.0, 1.0], "west": [-1.0, 0.0]}
INDEX = VectorIndex(np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32))


class Compass:
    """Vectors of the plane by name; it keeps what was embedded as what."""

    identity, dimension = "compass", 2

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        self.asked += [(text, kind) for text in texts]
        return np.array([PLACES[text] for text in texts], np.float32)


def found(*texts: str, with_question: bool = True, top_k: int = 3) -> list[tuple[int, float]]:
    ranked = vdb_mean(
        ASKED, Query(texts), chunk_index=INDEX, embedder=Compass(),
        with_question=with_question, top_k=top_k,
    )  # fmt: skip
    return list(zip(ranked.ids.tolist(), ranked.scores.round(4).tolist(), strict=True))


def test_the_search_is_by_the_mean_of_passage_and_question():
    """The mean of east and north is (1, 1) / sqrt 2: 1.4 / 1.4142 for chunk 2, 0.7071 else."""
    assert found("north") == [(2, 0.9899), (0, 0.7071), (1, 0.7071)]


def test_the_passage_alone_counts_when_so_set():
    assert found("north", with_question=False) == [(1, 1.0), (2, 0.8), (0, 0.0)]


def test_passages_and_question_are_embedded_as_what_they_are():
    embedder = Compass()
    vdb_mean(ASKED, Query(("north",)), chunk_index=INDEX, embedder=embedder)
    assert embedder.asked == [("north", "passage"), ("east", "question")]


def test_the_passage_is_what_the_model_writes():
    llm = Metered(Scripted(answer=lambda chat: " East of the sun. \n"))
    assert hypothetical(ASKED, llm=llm) == Query(("East of the sun.",))
    assert llm.fallbacks == 0


def test_a_reply_without_a_word_is_replaced_by_the_question_and_counted():
    llm = Metered(Scripted(answer=lambda chat: " ... "))
    assert hypothetical(ASKED, llm=llm) == Query(("east",))
    assert llm.fallbacks == 1
