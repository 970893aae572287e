"""Keywords with their sentences and chunks, and the mean of the sentences, by hand."""

import numpy as np
import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.models.fit import Fit
from graphrag_bench.models.nlp import Sentence
from graphrag_bench.offline.keyword_graph import keyword_graph, keyword_index
from graphrag_bench.progress import Progress

QUIET = Progress(quiet=True)
CHUNKS = [("Tarn", "Ada climbed it. Mira climbed."), ("", "Mira climbed. She and the.")]


class Dots:
    """A sentence ends at a dot."""

    identity = "dots"

    def sentences(self, texts):
        for text in texts:
            parts = [part.strip() for part in text.split(".")]
            yield [Sentence(part, (), (), ()) for part in parts if part]

    def entities(self, text):
        return []


class Directions:
    """`Ada climbed it` lies along the first axis, every other text along the second."""

    identity = "directions"
    dimension = 2

    def fit(self, texts):
        return Fit(None, "cut", len(texts))

    def encode(self, texts, *, kind):
        assert kind == "passage"
        return np.array([[1, 0] if "Ada" in text else [0, 1] for text in texts], np.float32)


def made(chunks=CHUNKS, **settings):
    table = ChunkTable.of([(f"d{row}", *chunk) for row, chunk in enumerate(chunks)])
    return keyword_graph(chunk_table=table, nlp=Dots(), progress=QUIET, **settings)


def test_keywords_are_the_words_of_titles_and_texts_without_stop_words():
    graph = made()
    assert list(graph.keywords) == ["ada", "climbed", "mira", "tarn"]
    assert list(graph.sentences) == ["Tarn", "Ada climbed it", "Mira climbed"]
    assert graph.keyword_chunk.toarray().astype(int).tolist() == [[1, 0], [1, 1], [1, 1], [1, 0]]
    assert graph.keyword_sentence.toarray().astype(int).tolist() == [
        [0, 1, 0],
        [0, 1, 1],
        [0, 0, 1],
        [1, 0, 0],
    ]


def test_titles_and_rare_words_can_be_left_out():
    assert list(made(titles=False).keywords) == ["ada", "climbed", "mira"]
    rare = made(min_chunks=2)
    assert list(rare.keywords) == ["climbed", "mira"]
    assert list(rare.sentences) == ["Ada climbed it", "Mira climbed"]


@pytest.mark.parametrize(
    ("chunks", "settings"), [([("", "the and")], {}), (CHUNKS, {"min_chunks": 3})]
)
def test_a_graph_without_a_keyword_is_refused(chunks, settings):
    with pytest.raises(UserError, match="no keyword"):
        made(chunks, **settings)


def test_a_keyword_lies_at_the_mean_of_its_sentences():
    index = keyword_index(keyword_graph=made(), embedder=Directions(), progress=QUIET)
    assert np.asarray(index.vectors).tolist() == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]
