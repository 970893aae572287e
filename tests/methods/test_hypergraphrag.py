"""HyperGraphRAG's two searches by hand, on three entities and two hyperedges."""

from dataclasses import replace

import pytest
from by_hand import ranked
from small_worlds import dataset

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.graphs.chunking import token
from graphrag_bench.prompts import UNBOUNDED
from operators.context.fitting import chunks_fitting, nodes_fitting
from operators.context.rows import nodes_context

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
