"""Synonymy edges, by hand and against pairs in a dict."""

import numpy as np
import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.extraction import ChunkExtraction, Extraction, Triple
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.synonymy import SYNONYM, kg_synonymy
from graphrag_bench.progress import Progress

NAMES = ["tarn", "mount tarn", "norvik", "lund"]
"""Rows 0 to 3; tarn and mount tarn are 0.9 alike, mount tarn and norvik 0.8, the rest not."""


def extraction(*chunks: tuple[list[str], list[tuple[str, str, str]]]) -> Extraction:
    """One (entities, triples) for each chunk."""
    rows = [
        ChunkExtraction(tuple(entities), tuple(Triple(*triple) for triple in triples))
        for entities, triples in chunks
    ]
    return Extraction(tuple(rows), {})


def table(n_chunks: int) -> ChunkTable:
    return ChunkTable.of([(f"d{row}", "", f"text {row}") for row in range(n_chunks)])


def facts(graph: Graph) -> list[tuple[str, str, str, float]]:
    """Every row as (source, relation, target, weight)."""
    return [
        (graph.names[source], relation, graph.names[target], weight)
        for source, relation, target, weight in zip(
            graph.source, graph.relations, graph.target, graph.weight.tolist(), strict=True
        )
    ]


def chunks_of(matrix) -> list[list[int]]:
    """The chunks of every row."""
    return [matrix[row].indices.tolist() for row in range(matrix.shape[0])]


def alike() -> VectorIndex:
    """Vectors with the cosines 0.9 of rows 0 and 1, 0.8 of rows 1 and 2, row 3 by itself."""
    cosines = np.array([[1, 0.9, 0.5, 0], [0.9, 1, 0.8, 0], [0.5, 0.8, 1, 0], [0, 0, 0, 1]])
    return VectorIndex(np.linalg.cholesky(cosines).astype(np.float32))


def with_synonyms(*triples: tuple[str, str, str], **settings) -> Graph:
    return kg_synonymy(
        extraction=extraction((NAMES, list(triples))),
        chunk_table=table(1),
        name_index=alike(),
        progress=Progress(quiet=True),
        **settings,
    )


def test_names_at_or_above_the_threshold_are_joined_once():
    graph = with_synonyms()
    assert [(*row[:3], round(row[3], 6)) for row in facts(graph)] == [
        ("tarn", SYNONYM, "mount tarn", 0.9),
        ("mount tarn", SYNONYM, "norvik", 0.8),
    ]
    assert graph.synonym.tolist() == [True, True]


def test_a_higher_threshold_joins_fewer():
    assert len(facts(with_synonyms(synonymy_threshold=0.85))) == 1


def test_only_so_many_neighbours_are_compared():
    """The nearest of norvik is mount tarn, whose own nearest is tarn: one side is enough."""
    assert len(facts(with_synonyms(synonyms_per_node=1))) == 2
    assert len(facts(with_synonyms(synonyms_per_node=1, synonymy_threshold=0.5))) == 2
    assert len(facts(with_synonyms(synonyms_per_node=2, synonymy_threshold=0.5))) == 3


def test_a_synonymy_edge_is_read_from_no_chunk():
    graph = with_synonyms(("tarn", "lies in", "lund"))
    assert chunks_of(graph.relationship_chunk) == [[0], [], []]


@pytest.mark.parametrize(
    ("synonymy", "rows", "pair"),
    [("skip", 2, 2.0), ("overwrite", 3, 0.9), ("add", 3, 2.9)],
)
def test_a_pair_that_a_fact_joins_is_left_alone_overwritten_or_added_to(synonymy, rows, pair):
    fact = ("mount tarn", "is called", "tarn")
    graph = with_synonyms(fact, fact, synonymy=synonymy)
    assert graph.n_relationships == rows
    assert graph.adjacency[0, 1] == pytest.approx(pair, abs=1e-6)
    assert graph.adjacency[1, 2] == pytest.approx(0.8, abs=1e-6)


def test_a_fact_that_a_chunk_states_twice_may_count_once_for_the_chunk():
    twice = ("tarn", "is", "norvik"), ("tarn", "is", "norvik")
    (read,) = [row for row in facts(with_synonyms(*twice)) if row[1] == "is"]
    (once,) = [row for row in facts(with_synonyms(*twice, counted="chunk")) if row[1] == "is"]
    assert (read[3], once[3]) == (2.0, 1.0)


def test_overwriting_spares_the_facts_of_other_pairs():
    graph = with_synonyms(
        ("tarn", "is", "mount tarn"), ("tarn", "near", "lund"), synonymy="overwrite"
    )
    assert graph.weight[:2].tolist() == [0.0, 1.0]


# ---- many names

WORDS = 300


def made_up(n_names: int) -> VectorIndex:
    """Names of one to three of 300 words: unit vectors of 32 numbers, the words' sum and noise."""
    chance = np.random.default_rng(7)
    words = chance.standard_normal((WORDS, 32))
    chosen = chance.integers(0, WORDS, (n_names, 3))
    counted = np.arange(3) < chance.integers(1, 4, (n_names, 1))
    vectors = (words[chosen] * counted[:, :, None]).sum(axis=1)
    vectors += 0.2 * chance.standard_normal(vectors.shape)
    return VectorIndex((vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32))


def world(n_names: int) -> tuple[Extraction, VectorIndex]:
    """So many names; every tenth is joined with its nearest by a fact, in either direction."""
    index = made_up(n_names)
    np_cosine = index.vectors @ index.vectors.T - 2 * np.eye(n_names, dtype=np.float32)
    nearest = np_cosine.argmax(axis=1).tolist()
    names = [f"name {row}" for row in range(n_names)]
    triples = tuple(Triple(names[r], "is", names[nearest[r]]) for r in range(0, n_names, 10))
    return Extraction((ChunkExtraction(tuple(names), triples),), {}), index


def built(n_names: int, progress: Progress | None = None, **settings) -> Graph:
    extraction, index = world(n_names)
    return kg_synonymy(
        extraction=extraction,
        chunk_table=ChunkTable.of([("d", "", "text")]),
        name_index=index,
        progress=progress or Progress(quiet=True),
        **settings,
    )


def synonyms(graph: Graph) -> dict[tuple[int, int], float]:
    """The synonymy edges with their weights; raises where one comes twice."""
    rows = np.flatnonzero(graph.synonym)
    ends = zip(graph.source[rows].tolist(), graph.target[rows].tolist(), strict=True)
    return dict(zip(ends, graph.weight[rows].tolist(), strict=True))


def plain_pairs(vectors: np.ndarray, k: int, threshold: float) -> dict[tuple[int, int], float]:
    """Every pair in a dict, from one sort of all cosines."""
    found: dict[tuple[int, int], float] = {}
    cosines = np.round(vectors @ vectors.T, 6)
    for row, others in enumerate(cosines):
        for other in np.argsort(-others, kind="stable")[: k + 1].tolist():
            if other != row and others[other] >= threshold:
                pair = (min(row, other), max(row, other))
                found[pair] = max(found.get(pair, -1.0), float(others[other]))
    return found


@pytest.mark.parametrize("threshold", [0.7, 0.9])
def test_the_edges_are_those_of_a_plain_search_sorted_by_their_ends(threshold):
    graph = built(1500, synonymy="add", synonyms_per_node=5, synonymy_threshold=threshold)
    expected = plain_pairs(made_up(1500).vectors, 5, threshold)
    found = synonyms(graph)
    assert len(expected) > 300
    assert list(found) == sorted(expected)
    assert found == pytest.approx(expected, abs=2e-6)
    assert graph.statistics == {}


@pytest.mark.parametrize("synonymy", ["skip", "overwrite", "add"])
def test_pairs_that_facts_join_are_told_apart_as_by_sets(synonymy):
    graph, everything = built(600, synonymy=synonymy), synonyms(built(600, synonymy="add"))
    facts = ~graph.synonym
    low = np.minimum(graph.source, graph.target)[facts].tolist()
    high = np.maximum(graph.source, graph.target)[facts].tolist()
    known = set(zip(low, high, strict=True))
    both = known & set(everything)
    assert both and known - both
    left = {pair: w for pair, w in everything.items() if synonymy != "skip" or pair not in both}
    assert synonyms(graph) == left
    for pair, weight in zip(zip(low, high, strict=True), graph.weight[facts], strict=True):
        assert weight == (0.0 if synonymy == "overwrite" and pair in both else weight)
    assert (graph.weight[facts] == 0).any() == (synonymy == "overwrite")
    assert list(graph.relations)[-1] == SYNONYM
    assert graph.relationship_chunk.shape == (graph.n_relationships, 1)


def test_without_any_relationship_or_synonym_the_graph_has_none():
    graph = kg_synonymy(
        extraction=extraction((["tarn"], [])),
        chunk_table=table(1),
        name_index=VectorIndex(np.ones((1, 1), np.float32)),
        progress=Progress(quiet=True),
    )
    assert facts(graph) == []


# ---- above the border
