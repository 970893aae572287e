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


def test_nodes_are_embedded_by_name_description_or_both():
    plain = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"])
    rich = replace(plain, descriptions=Texts.of(["A keeper.", "", "A mount."]))
    for graph, named, texts in (
        (rich, True, ["ada: A keeper.", "norvik", "tarn: A mount."]),
        (rich, False, ["A keeper.", "norvik", "A mount."]),
        (plain, False, ["ada", "norvik", "tarn"]),
    ):
        index = described_index(graph=graph, named=named, embedder=Hashing(32), progress=QUIET)
        assert index.vectors.tolist() == Hashing(32).encode(texts, kind="passage").tolist()


def test_tfidf_scores_are_cosines_of_counts_times_smoothed_idf():
    """Two texts, "tarn" in both, "ada" in the first: weights 1 and 1 + ln(3/2).

    The query "ada" meets the first text at its second weight by its length.
    """
    idf = 1 + log(3 / 2)
    scores = Tfidf.of(["Ada tarn", "Tarn"]).scores("ada")
    assert scores.tolist() == pytest.approx([idf / sqrt(1 + idf**2), 0.0])
