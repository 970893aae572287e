"""PropRAG's hypergraph, beam search and walks by hand, on small graphs."""

from dataclasses import replace

import networkx
import numpy as np
import pytest
from builds import QUIET, chunks_of, facts, texts
from by_hand import Planted, alone, angle, check, ranked

from graphrag_bench.algorithms.extraction import (
    ChunkFacts,
    EntityRecord,
    FactExtraction,
    FactRecord,
)
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.pagerank import walk_of_nodes, walk_with_chunks
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import ChunkScores, Path, Question
from graphrag_bench_more.proprag.beam import beam, of_paths
from graphrag_bench_more.proprag.hypergraph import hypergraph_synonymy
from graphrag_bench_more.proprag.walks import clique_ppr, focused_ppr, walk_among, with_cliques

ADA, BO, CY, MET, LED, SANG = range(6)
TEXTS = ["ada", "bo", "cy", "met", "led", "sang"]
FACTS = ("hyperedge",)
ANGLES = {
    "?": 0, "ada": 90, "bo": 90, "cy": 90, "met": 30, "led": 60, "sang": 80,
    "met led": 10, "met led sang": 40, "met sang": 20, "led met": 50, "led sang": 70,
    "met sang led": 35, "sang led": 85,
}  # fmt: skip
"""The angle of each text in degrees; the question is at 0."""


def at(degrees: float) -> float:
    return float(np.cos(np.deg2rad(degrees)))


def typed(base: Graph) -> Graph:
    types = ["entity"] * 3 + ["hyperedge"] * 3
    return replace(base, types=Texts.of(types), descriptions=Texts.of(TEXTS))


@pytest.fixture
def graph() -> Graph:
    """Ada and Bo met (chunk 0), Bo led Cy (chunk 1), Cy sang (chunk 2). Row 0: met - Ada."""
    chunks = [[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    ends = [MET, MET, LED, LED, SANG], [ADA, BO, BO, CY, CY]
    return typed(Graph.from_arrays(*ends, node_chunk=chunks, names=TEXTS))


def planted() -> Planted:
    return Planted(lambda text: angle(ANGLES[text]))


def searched(graph: Graph, *chunks: int, embedder=None, **settings) -> RankedPaths:
    index = VectorIndex(planted().encode(TEXTS, kind="passage"))
    settings = {"width": 1, "n_parallel": 0, "embedder": embedder or planted(), **settings}
    among = ranked(*(chunks or (0, 1, 2)))
    return alone(beam)(
        Question("q", "?"), among, graph=graph, types=FACTS, node_index=index, **settings
    )


def scored(paths: RankedPaths) -> list[tuple[tuple[int, ...], float]]:
    return [(path.nodes, pytest.approx(path.score, abs=1e-6)) for path in paths.paths]


def test_paths_are_extended_by_linked_synonymous_or_similar_facts(graph):
    """`met` is at 30 degrees, with `led` at 10; with `sang`, which shares Cy with `led`, at 40."""
    paths = searched(graph)
    assert scored(paths) == [
        ((MET, BO, LED), at(10)),
        ((MET,), at(30)),
        ((MET, BO, LED, CY, SANG), at(40)),
    ]
    assert [path.relationships for path in paths.paths] == [(1, 2), (), (1, 2, 3, 4)]
    # without a shared entity, `sang` follows `met` only as one of the facts most similar to it
    chunks = graph.node_chunk.toarray()
    apart = typed(Graph.from_arrays([MET, SANG], [ADA, CY], node_chunk=chunks))
    assert scored(searched(apart, 0, 2)) == [((MET,), at(30))]
    paths = searched(apart, 0, 2, n_parallel=2)
    assert scored(paths) == [((MET, SANG), at(20)), ((MET,), at(30))]
    assert [path.relationships for path in paths.paths] == [(), ()]
    # From `met` at 30: the mean with `led` is at 45, with `sang` at 55; `led` alone is read.
    shared = typed(Graph.from_arrays([MET, LED, SANG], [BO] * 3, node_chunk=chunks, names=TEXTS))
    embedder = planted()
    paths = searched(shared, max_facts=2, n_rescored=1, embedder=embedder)
    assert embedder.batches == [["?"], ["met led"]]
    assert scored(paths) == [((MET, BO, LED), at(10)), ((MET,), at(30))]


def test_seed_entities_rank_by_sums_and_score_by_the_best_path(graph):
    """Both paths: Bo 2 * 0.8, Cy 0.8 + 0.4, Ada 0.8, each at best 0.8. `sang` alone: Cy."""
    paths = RankedPaths((Path((MET, BO, LED), (1, 2), 0.8), Path((SANG,), (), 0.4)))
    for top_k, expected in ((1, [BO, CY]), (2, [BO, CY]), (3, [ADA, BO, CY])):
        result = of_paths(paths, graph=graph, types=("entity",), top_k=top_k)
        check(result, expected, [1.0] * len(expected))


def test_the_focused_walk_stays_among_the_given_chunks():
    """Damping 1/2: c0 = a/4, c1 = a/4 + b/2, b = c1/4, so that c1 = 2a/7 and c0 : c1 = 7 : 8."""
    # Ada in chunks 0, 1 and 2, Bo in chunk 1, and no edge between nodes.
    shared = Graph.from_arrays([], [], node_chunk=[[1, 1, 1], [0, 1, 0]], n_nodes=2)
    nothing = ChunkScores(np.zeros(3))
    result = focused_ppr(ranked(ADA), ranked(0, 1), nothing, graph=shared, damping=0.5)
    check(result, [1, 0], [1.0, 7 / 8])


def test_both_walks_equal_the_released_code_over_cliques():
    """Ada, Bo and Cy met; Ada and Bo led (chunk 0); Cy sang (chunk 1); Ada and Cy are synonyms.

    In the released code's graph, facts are cliques of weight 2, and synonymy edges are doubled.
    """
    named = [[1, 0], [1, 0], [1, 1], [1, 0], [1, 0], [0, 1]]
    ends = [MET, MET, MET, LED, LED, SANG, ADA], [ADA, BO, CY, ADA, BO, CY, CY]
    base = Graph.from_arrays(*ends, node_chunk=named, weight=[0.3] * 6 + [0.9])
    graph = typed(replace(base, synonym=np.array([False] * 6 + [True])))
    dense = ChunkScores(np.array([0.2, 1.0]))
    plain = networkx.MultiGraph()
    cliques = [(ADA, BO), (ADA, CY), (BO, CY), (ADA, BO)]
    plain.add_weighted_edges_from([*((*pair, 2) for pair in cliques), (ADA, CY, 2 * 0.9)])
    plain.add_edges_from([(ADA, "0"), (BO, "0"), (CY, "0"), (CY, "1")], weight=1)
    reset = {BO: 1, "0": 0.05 * 0.2, "1": 0.05 * 1.0}
    released = {"graph": graph, "cliques": FACTS, "contains_weight": 0.5}
    for damping, result in (
        (0.75, alone(clique_ppr)(ranked(BO), dense, damping=0.75, top_k=2, **released)),
        (0.45, focused_ppr(ranked(BO), ranked(0, 1), dense, damping=0.45, **released)),
    ):
        mass = networkx.pagerank(plain, damping, reset, tol=1e-12, max_iter=500)
        most = max(mass["0"], mass["1"])
        wanted = {row: mass[str(row)] / most for row in (0, 1)}
        assert dict(result.items()) == pytest.approx(wanted, abs=1e-6)
    ours = focused_ppr(ranked(BO), ranked(0, 1), dense, graph=graph)
    assert ours.scores[1] != pytest.approx(result.scores[1], abs=1e-2)


def test_a_walk_among_some_nodes_keeps_the_edges_between_them():
    """0 -1- 1 -3- 2 -2- 3: without 3, node 2 has only its edge of weight 3."""
    path = Graph.from_arrays([0, 1, 2], [1, 2, 3], weight=[1, 3, 2])
    for rows, strength, transition in (
        ([0, 1, 2], [1, 4, 3], [[0, 1 / 4, 0], [1, 0, 1], [0, 3 / 4, 0]]),
        ([3, 0, 1], [0, 1, 1], [[0, 0, 0], [0, 0, 1], [0, 1, 0]]),  # 3 is joined to neither
    ):
        walk = walk_among(walk_of_nodes(path), np.array(rows))
        assert walk.strength.tolist() == pytest.approx(strength)
        assert walk.transition.toarray() == pytest.approx(np.array(transition))


def test_nodes_of_a_clique_type_are_replaced_by_edges_between_neighbours():
    """Facts 3 and 4 join 0 and 1, and 4 joins 2 as well; 0 and 2 are synonyms, 0.5."""
    base = Graph.from_arrays(
        [3, 3, 4, 4, 4, 0], [0, 1, 0, 1, 2, 2], weight=[9, 9, 9, 9, 9, 0.5],
        node_chunk=[[1], [0], [0], [1], [1]],
    )  # fmt: skip
    graph = replace(base, types=Texts.of(["entity"] * 3 + ["fact"] * 2))
    joined = with_cliques(graph, ("fact",))
    walk = walk_with_chunks(joined, relationships=True, contains="one", contains_weight=0.5)
    assert walk.strength.tolist() == [4.0, 3.0, 2.5, 0.0, 0.0, 0.5]
    weights = walk.transition.toarray() * walk.strength
    assert weights[0].tolist() == pytest.approx([0, 2, 1.5, 0, 0, 0.5])
    assert weights[1].tolist() == pytest.approx([2, 0, 1, 0, 0, 0])


def by_initial(text: str) -> np.ndarray:
    """Names of the same initial have cosine 0.9, others 0."""
    vector = np.zeros(6)
    vector[["aby".index(text[0]), 3 + len(text) % 3]] = 0.9**0.5, 0.1**0.5
    return vector


def test_entities_of_similar_names_are_joined_by_their_cosine():
    named = tuple(EntityRecord(name) for name in ("Ada", "Bo", "Adah"))
    extraction = FactExtraction.of([ChunkFacts((FactRecord("They met.", named),))], {})
    graph = hypergraph_synonymy(
        fact_extraction=extraction, chunk_table=texts(1), embedder=Planted(by_initial),
        progress=QUIET,
    )  # fmt: skip
    assert graph.synonym.tolist() == [False] * 3 + [True]
    (*_, (head, _, tail, cosine)) = facts(graph)
    assert (head, tail, cosine) == ("ada", "adah", pytest.approx(0.9))
    assert chunks_of(graph.relationship_chunk)[3] == []
    assert graph.statistics["synonyms"] == 1
    assert graph.descriptions.take(range(3)) == ["ada", "bo", "adah"]
