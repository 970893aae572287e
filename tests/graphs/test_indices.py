"""Indexed texts of nodes, relationships and communities, and TF-IDF by its formula."""

from dataclasses import replace
from math import log, sqrt

import pytest
from builds import QUIET

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.indices.vectors import described_index
from graphrag_bench.indices.words import Tfidf

EMBEDDER = Hashing(32)
PLAIN = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"])
RICH = replace(
    PLAIN,
    relations=Texts.of(["", "near"]),
    keywords=Texts.of(["founding, harbour", "place"]),
    descriptions=Texts.of(["A keeper.", "", "A mount."]),
    facts=Texts.of(["Ada founded Norvik.", ""]),
)


def indexed(builder, **inputs) -> list[list[float]]:
    return builder(embedder=EMBEDDER, progress=QUIET, **inputs).vectors.tolist()


def vectors(*texts: str) -> list[list[float]]:
    return EMBEDDER.encode(list(texts), kind="passage").tolist()


def test_nodes_are_embedded_by_name_description_or_both():
    words = "ada: A keeper.", "norvik", "tarn: A mount."
    assert indexed(described_index, graph=RICH, named=True) == vectors(*words)
    assert indexed(described_index, graph=RICH, named=False) == vectors(
        "A keeper.", "norvik", "A mount."
    )
    assert indexed(described_index, graph=PLAIN, named=False) == vectors("ada", "norvik", "tarn")


def test_tfidf_scores_are_cosines_of_counts_times_smoothed_idf():
    """Two texts, "tarn" in both, "ada" in the first: weights 1 and 1 + ln(3/2).

    The query "ada" meets the first text at its second weight by its length.
    """
    idf = 1 + log(3 / 2)
    scores = Tfidf.of(["Ada tarn", "Tarn"]).scores("ada")
    assert scores.tolist() == pytest.approx([idf / sqrt(1 + idf**2), 0.0])
