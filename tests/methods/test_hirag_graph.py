"""HiRAG's layers by hand: which entities are summarised by which, and when layers end."""

from collections.abc import Sequence

import numpy as np
import pytest
from builds import QUIET, Lengths, described, ends, related

from graphrag_bench.algorithms.extraction import EntityRecord, TextExtraction
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.embedding.embedder import Vectors
from graphrag_bench.graphs.text_graph import text_graph
from graphrag_bench.llm.scripted import Scripted
from methods.hirag import layered_graph
from methods.hirag.layered_graph import Layers, Summarise, Summary, cluster_sparsity, grow, layered


def records() -> TextExtraction:
    """Ada is joined to Bo and Cy, Bo to Ada alone, Dee and Eli to nobody."""
    people = [EntityRecord(n, "person", f"{n} lived.") for n in ("Ada", "Bo", "Cy", "Dee", "Eli")]
    return described([*people, *(related("Ada", other, "Ada met Bo.") for other in ("Bo", "Cy"))])


def named(layers: Layers, families: Sequence[Sequence[int]], kind: str) -> list[list[Summary]]:
    return [[Summary("+".join(layers.first_names(family)), kind, "")] for family in families]


def grown(*layers: Sequence[Sequence[int]], tell: Summarise = named) -> Graph:
    """The layers of given clusters, rows of the pool of each layer; then there is no cluster."""
    clusters = iter([[np.array(rows) for rows in layer] for layer in layers])

    def no_vectors(texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 1), np.float32)

    base = text_graph(records(), keywords=False)
    return grow(base, tell, no_vectors, lambda _: next(clusters, []))


def above(graph: Graph) -> dict[str, list[str]]:
    """The names that each summary is joined to."""
    result: dict[str, list[str]] = {}
    for relation, (head, tail) in zip(graph.relations, ends(graph), strict=True):
        if relation == "summarises":
            result.setdefault(graph.names[head], []).append(graph.names[tail])
    return result


def test_a_cluster_of_two_or_more_has_an_entity_above_it() -> None:
    """Ada has two neighbours; Bo and Cy have one each, and Bo comes first; Dee is alone."""
    graph = grown([[1, 0, 2], [3], [4]])
    assert list(graph.names)[5:] == ["ada+bo+cy"]
    assert above(graph) == {"ada+bo+cy": ["bo", "ada", "cy"]}


def test_the_next_layer_has_what_was_alone_and_what_is_new() -> None:
    """The pool of layer 2 is Cy, Dee, Eli and the new one; a summary is called by its first member.

    It has two members, and Eli nobody, so that its first name, Ada, comes first.
    """
    graph = grown([[0, 1], [2], [3], [4]], [[2, 3], [0], [1]])
    assert list(graph.names)[5:] == ["ada+bo", "ada+eli"]
    assert above(graph)["ada+eli"] == ["eli", "ada+bo"]
    assert list(graph.types or ())[5:] == ["layer 1", "layer 2"]


def test_layers_end_when_two_entities_are_left() -> None:
    """After layer 1 there are two summaries, and no clusters are asked for."""
    graph = grown([[0, 1, 2], [3, 4]])
    assert graph.statistics["layers"] == 1


def test_a_summary_of_a_name_that_is_there_is_that_node() -> None:
    def same(layers: Layers, families: Sequence[Sequence[int]], kind: str) -> list[list[Summary]]:
        return [[Summary("ada", kind, "Others.")] for _ in families]

    graph = grown([[0, 1, 2], [3, 4]], tell=same)
    assert graph.n_nodes == 5
    assert above(graph) == {"ada": ["bo", "cy", "dee", "eli"]}
    assert (graph.descriptions or [""])[0] == "Ada lived."


@pytest.mark.parametrize(
    ("sizes", "n", "expected"),
    [([3, 3], 6, 0.6), ([6], 6, 0.0), ([1] * 6, 6, 1.0), ([4, 4], 6, 0.2)],
)
def test_sparsity_is_the_share_of_pairs_in_no_cluster_together(sizes, n, expected) -> None:
    """Two threes of six: 12 of 30 ordered pairs are together; two overlapping fours: 24."""
    assert cluster_sparsity(sizes, n) == pytest.approx(expected)


def test_clusters_that_are_sparse_enough_are_not_summarised(monkeypatch) -> None:
    """Three and two of five: 1 - 8 / 20 = 0.6."""
    monkeypatch.setattr(layered_graph, "MOST_SPARSE", 0.6)
    assert grown([[0, 1, 2], [3, 4]]).n_nodes == 5


def test_clusters_that_are_as_sparse_as_those_before_are_not_summarised() -> None:
    """Layer 1: 1 - 6 / 20 = 0.7; layer 2 has three entities: 1 - 2 / 6, less than 5 % below."""
    layers = [[0, 1, 2], [3], [4]], [[0, 1], [2]]
    graph = grown(*layers)
    assert (graph.statistics["layers"], graph.statistics["sparsity"]) == (1, 0.7)


def test_summaries_have_no_chunk_and_members_keep_theirs() -> None:
    graph = grown([[0, 1, 2], [3, 4]])
    assert graph.node_chunk.toarray().sum(axis=1).tolist() == [1, 1, 1, 1, 1, 0, 0]
    assert graph.relationship_chunk.toarray().sum(axis=1).tolist() == [1, 1, 0, 0, 0, 0, 0]


def built(**settings) -> Graph:
    inputs = {"text_extraction": records(), "embedder": Lengths(), "progress": QUIET}
    return layered(**inputs, **{"llm_build": None, **settings})


def test_without_a_language_model_a_summary_is_named_and_told_by_its_members() -> None:
    """One cluster of all five: sparsity 0."""
    graph = built()
    assert list(graph.names)[5:] == ["ada, bo, cy"]
    assert (graph.descriptions or [])[5] == "Ada lived. Bo lived. Cy lived. Dee lived. Eli lived."


REPLY = '{"entities": [{"name": "The Living", "type": "group", "description": "All lived."}]}'


def test_the_model_writes_the_entities_above_a_cluster() -> None:
    scripted = Scripted(answer=lambda chat: REPLY)
    graph = built(llm_build=scripted)
    assert list(graph.names)[5:] == ["the living"]
    assert (graph.types[5], graph.descriptions[5]) == ("group", "All lived.")
    assert "ada: Ada lived.\nbo: Bo lived." in scripted.prompts[0][-1].content
