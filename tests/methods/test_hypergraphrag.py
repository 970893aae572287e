"""HyperGraphRAG's two searches by hand, on three entities and two hyperedges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_worlds import dataset

from graphrag_bench.columns import Texts
from graphrag_bench.context_budget import UNBOUNDED
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.tokenizer import BytePairs
from graphrag_bench.offline.chunking import token
from graphrag_bench.values import Ranked
from methods.context import nodes_context
from methods.fitting import chunks_fitting, nodes_fitting
from operators.chunk import leaves, occurrence
from operators.node.adjacent import expand, onehop
from operators.relationship.ranking import onehop as relationships_of

ADA, BO, YS, MET, MOVED = range(5)
TYPES = ["entity", "entity", "entity", "hyperedge", "hyperedge"]


@pytest.fixture
def graph() -> Graph:
    """Ada and Bo met (chunk 0); Ada, Bo and Ys moved (chunk 1). Chunk 2 names Ada in no fact."""
    base = Graph.from_arrays(
        [MET, MET, MOVED, MOVED, MOVED],
        [ADA, BO, ADA, BO, YS],
        node_chunk=[[1, 1, 1], [1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]],
        relationship_chunk=[[1, 0, 0]] * 2 + [[0, 1, 0]] * 3,
        names=["ada", "bo", "ys", "hyperedge: 0", "hyperedge: 1"],
    )
    texts = ["ada", "bo", "ys", "Ada met Bo.", "Ada and Bo moved to Ys."]
    return replace(base, types=Texts.of(TYPES), descriptions=Texts.of(texts))


def ranked(*nodes: int, scores=()) -> Ranked:
    return Ranked(np.array(nodes, np.int64), np.array(scores or [1.0] * len(nodes)))


def test_hyperedges_bring_the_entities_that_they_join_in_their_order(graph):
    found = onehop(ranked(MOVED, MET), graph=graph, types=("entity",), include_seeds=True)
    assert found.ids.tolist() == [MOVED, MET, ADA, BO, YS]
    assert leaves(ranked(MOVED, MET), graph=graph).ids.tolist() == [1, 0]


def test_entities_bring_their_hyperedges_those_of_many_entities_first(graph):
    """Degrees: Ys 1 + moved 3 = 4; Ada 2 + met 2 = 4, Ada 2 + moved 3 = 5."""
    bring = {"graph": graph, "types": ("hyperedge",), "score": "degree"}
    assert expand(ranked(ADA), **bring).items() == [(MOVED, 5.0), (MET, 4.0)]
    assert expand(ranked(YS), **bring).items() == [(MOVED, 4.0)]


def test_chunks_of_an_entity_come_by_how_many_of_its_facts_they_tell(graph):
    """Chunk 2 tells no fact of Ada; 0 and 1 tell one each, ties by lower id."""
    rows = relationships_of(ranked(ADA), graph=graph)
    found = occurrence(rows, ranked(ADA), graph=graph, scoring="entity_order")
    assert found.items() == [(0, 1.0), (1, 1.0), (2, 0.0)]


def test_a_prompt_tells_entities_and_hyperedges_in_blocks_of_their_own(graph):
    given = {
        "graph": graph,
        "tokenizer": BytePairs("cl100k"),
        "context_budget": UNBOUNDED,
        "form": "text",
    }
    nodes = ranked(MET, BO, MOVED, ADA)
    entities = nodes_context(nodes, types=("entity",), **given)
    both = nodes_context(nodes, entities, types=("hyperedge",), **given)
    assert [piece.text for piece in both.pieces] == [
        "bo", "ada", "Ada met Bo.", "Ada and Bo moved to Ys.",
    ]  # fmt: skip


class Words:
    """A tokenizer of words."""

    identity = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def test_each_search_is_cut_where_its_hyperedges_no_longer_fit(graph):
    """Three words and six: eight hold the first alone; entities are neither counted nor cut."""
    nodes, given = ranked(MET, BO, MOVED, ADA), {"graph": graph, "tokenizer": Words()}
    kept = nodes_fitting(nodes, types=("hyperedge",), tokens=8, **given)
    assert kept.ids.tolist() == [MET, BO, ADA]
    assert nodes_fitting(nodes, types=("hyperedge",), tokens=9, **given).ids.tolist() == [
        *nodes.ids
    ]
    assert nodes_fitting(nodes, tokens=4, **given).ids.tolist() == [MET, BO]
    assert nodes_fitting(nodes, **given).ids.tolist() == [*nodes.ids]


def test_chunks_of_a_search_are_cut_alike_and_no_tokens_hold_none():
    table = token(corpus=dataset(("a", "", "one two"), ("b", "", "three")), size=9, overlap=0)
    given = {"chunk_table": table, "tokenizer": Words()}
    assert chunks_fitting(ranked(0, 1), tokens=2, **given).ids.tolist() == [0]
    assert not len(chunks_fitting(ranked(0, 1), tokens=0, **given))
    assert chunks_fitting(ranked(0, 1), **given).ids.tolist() == [0, 1]
