"""Tests of HiRAG's layers and bridge, with results computed by hand."""

from collections.abc import Sequence

import numpy as np
from builds import described, ends, related
from by_hand import ranked

from graphrag_bench.algorithms.extraction import EntityRecord, TextExtraction
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.embedding.embedder import Vectors
from graphrag_bench.graphs.text_graph import text_graph
from graphrag_bench_more.hirag.layered_graph import Layers, Summarise, bridge, grow

A, B, C, D, E, ALONE = range(6)


def test_the_bridge_connects_key_nodes_and_ranks_relationships_by_degree_and_weight() -> None:
    """The path leads from A to D through E, then to B through C, which has a lower id than E."""
    # A - B - C - D, a second path from A to D through E, and a heavier edge between B and E.
    graph = Graph.from_arrays(
        [A, B, C, A, E, B], [B, C, D, E, D, E], weight=[1, 1, 1, 1, 1, 5], n_nodes=6
    )
    _, way = bridge(ranked(A, D, B), graph=graph)
    assert [path.nodes for path in way.paths] == [(A, E, D, C, B)]
    assert way.paths[0].relationships == (3, 4, 2, 1)
    # Degrees: A 2, B 3, C 2, D 2, E 3. B-E has 6; A-B, B-C, A-E, E-D have 5; C-D has 4.
    result, _ = bridge(ranked(A, D, B), graph=graph)
    assert result.items() == [(5, 6.0), (0, 5.0), (1, 5.0), (3, 5.0), (4, 5.0), (2, 4.0)]
    _, way = bridge(ranked(A, ALONE, B), graph=graph)
    assert [path.nodes for path in way.paths] == [(A,), (ALONE,), (B,)]


def records() -> TextExtraction:
    """Return an extraction in which Ada is related to Bo and Cy, and Dee and Eli to nobody."""
    people = [EntityRecord(n, "person", f"{n} lived.") for n in ("Ada", "Bo", "Cy", "Dee", "Eli")]
    return described([*people, *(related("Ada", other, "Ada met Bo.") for other in ("Bo", "Cy"))])


def named(layers: Layers, families: Sequence[Sequence[int]], kind: str) -> list[list[EntityRecord]]:
    return [[EntityRecord("+".join(layers.first_names(family)), kind, "")] for family in families]


def grown(*layers: Sequence[Sequence[int]], tell: Summarise = named) -> Graph:
    """Return the graph for the given clusters of each layer. A further layer has no clusters."""
    clusters = iter([[np.array(rows) for rows in layer] for layer in layers])

    def no_vectors(texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 1), np.float32)

    base = text_graph(records(), keywords=False)
    return grow(base, tell, no_vectors, lambda _: next(clusters, []))


def above(graph: Graph) -> dict[str, list[str]]:
    """Return the members of each summary by name."""
    result: dict[str, list[str]] = {}
    for relation, (head, tail) in zip(graph.relations, ends(graph), strict=True):
        if relation == "summarises":
            result.setdefault(graph.names[head], []).append(graph.names[tail])
    return result


def test_a_cluster_of_two_or_more_gets_a_summary_entity() -> None:
    """Ada has two neighbours, Bo and Cy have one each, Dee is single."""
    graph = grown([[1, 0, 2], [3], [4]])
    assert list(graph.names)[5:] == ["ada+bo+cy"]
    assert above(graph) == {"ada+bo+cy": ["bo", "ada", "cy"]}


def test_the_next_layer_has_single_entities_and_new_summaries() -> None:
    """The pool of layer 2 is Cy, Dee, Eli and the summary, whose head is Ada.

    The summary has two members and Eli no neighbour, so Ada is named first.
    """
    graph = grown([[0, 1], [2], [3], [4]], [[2, 3], [0], [1]])
    assert list(graph.names)[5:] == ["ada+bo", "ada+eli"]
    assert above(graph)["ada+eli"] == ["eli", "ada+bo"]
    assert list(graph.types or ())[5:] == ["layer 1", "layer 2"]


def test_a_summary_with_an_existing_name_is_that_node() -> None:
    def same(
        layers: Layers, families: Sequence[Sequence[int]], kind: str
    ) -> list[list[EntityRecord]]:
        return [[EntityRecord("ada", kind, "Others.")] for _ in families]

    graph = grown([[0, 1, 2], [3, 4]], tell=same)
    assert graph.n_nodes == 5
    assert above(graph) == {"ada": ["bo", "cy", "dee", "eli"]}
    assert (graph.descriptions or [""])[0] == "Ada lived."


def test_layers_end_when_sparsity_converges() -> None:
    """Layer 1 has 1 - 6 / 20 = 0.7; layer 2 has 1 - 2 / 6, which differs by less than 5 %."""
    layers = [[0, 1, 2], [3], [4]], [[0, 1], [2]]
    graph = grown(*layers)
    assert (graph.statistics["layers"], graph.statistics["sparsity"]) == (1, 0.7)
