"""Node and relationship operators, and random walks, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from by_hand import Planted, alone, check, falling, ranked
from small_worlds import WORLDS

from graphrag_bench.algorithms.graph import Graph, nodes_of_types
from graphrag_bench.columns import Texts
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import Operator, by_slot, operators
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.steps import Checker, OperatorStep
from graphrag_bench.values import ChunkScores, Mentions, Question
from operators.node.link import link, match
from operators.node.onehop import onehop
from operators.pagerank import chunk_ppr, node_ppr
from operators.relationship import of_graph as relationships

load_plugins()
A, B, C, D = range(4)


@pytest.fixture
def star():
    """A - B (weight 1), A - C (3), A - D (1), C - D (2)."""
    return Graph.from_arrays([A, A, D, C], [B, C, A, D], weight=[1, 3, 1, 2])


def test_onehop_ranks_neighbours_by_weight_per_node(star):
    assert onehop(ranked(A), graph=star).items() == [(C, 3.0), (B, 1.0), (D, 1.0)]
    assert onehop(ranked(A, C), graph=star).ids.tolist() == [B, D]
    result = onehop(ranked(C, B, scores=(0.9, 0.8)), graph=star, include_seeds=True)
    assert result.items() == [(C, 0.9), (B, 0.8), (A, 3.0), (D, 2.0)]
    both_ways = Graph.from_arrays([A, A, C, C], [B, C, A, C], weight=[4, 2, 3, 9])
    assert onehop(ranked(A), graph=both_ways).items() == [(C, 5.0), (B, 4.0)]


TITLED = ChunkTable.of([("a", "Ada (person)", "x"), ("b", "Norvik", "y")])


def meant(name: str) -> tuple[float, ...]:
    """The vector of `the observatory` is norvik's (0.9), that of other names ada's (0.5)."""
    return (0, 0, 0, 0.9) if name == "the observatory" else (0.5, 0, 0, 0)


MEANT = Planted(meant)


def linked(names, vectors, text: str, *mentions: str, embedder=MEANT, **settings):
    result = alone(link)(
        Mentions(mentions), Question("q", text),
        graph=Graph.from_arrays([0], [1], names=names), chunk_table=TITLED,
        node_index=VectorIndex(np.array(vectors, np.float32)), embedder=embedder, **settings,
    )  # fmt: skip
    return result.ids.tolist(), result.scores.round(6).tolist()


BY_NAME = {"parts": ("dictionary", "mentions")}


def test_link_matches_longest_names_first_then_vectors():
    for text, mentions, settings, expected in (
        ("Did Ada Marsh stay?", (), {}, ([1], [1.0])),
        ("Is Ada Marsh Road in Norvik?", (), {}, ([1, 3], [1.0, 1.0])),
        ("Did the Observatory know Ada Marsh?", ("the observatory", "ada marsh"), {},
         ([1, 3], [1.0, 0.9])),
        ("Where is the Norvik Museum?", ("norvik museum",), {}, ([3, 0], [1.0, 0.5])),
        ("Is Ada Marsh Road in Norvik?", ("marsh road", "the observatory"), {},
         ([1, 3, 2, 3], [1.0, 1.0, 1.0, 0.9])),
        ("Norvik, the Norvik?", (), {}, ([3], [1.0])),
        ("Norvik?", ("the observatory",), {}, ([3, 3], [1.0, 0.9])),
        ("Norvik?", ("the observatory",), BY_NAME, ([3], [1.0])),
    ):  # fmt: skip
        names = ["ada", "ada marsh", "marsh road", "norvik"]
        assert linked(names, np.eye(4), text, *mentions, **settings) == expected


def test_link_prefers_the_exact_spelling():
    names, words = ["NORVIK", "Norvik", "ada marsh"], Hashing(4096)
    how = {"parts": ("mentions", "vectors"), "single_words": "any", "embedder": words}
    town = names, words.encode(names, kind="passage"), "Is NORVIK in Norvik?"
    ids, scores = linked(*town, "Norvik", "Ada  Marsh!", "marsh", **how)
    assert ids == [1, 2, 2] and scores[:2] == [1.0, 1.0] and 0 < scores[2] < 1
    assert linked(*town, **how) == ([], [])


NAMES = ["hank snow", "hello love", "love", "nashville", "state"]
TABLE = ChunkTable.of([("a", "Hello Love (song)", "x"), ("b", "Love", "y")])
HOME = ("Was Nashville home to Hank Snow?", ("nashville", "hank snow"))


def test_match_applies_its_parts_in_order():
    for text, mentions, settings, found in (
        ("Was Nashville home to the performer of Hello Love?", ("nashville",), {},
         ["hello love", "nashville"]),
        ("Who sang Hello Love?", ("Love",), {}, ["hello love"]),
        (*HOME, {"parts": ("mentions", "dictionary")}, ["nashville", "hank snow"]),
        (*HOME, {"parts": ("dictionary",)}, ["hank snow"]),
        (*HOME, {"parts": ("mentions",)}, ["nashville", "hank snow"]),
        # names of one word match if they are titles or capitalised
        ("what is love in nashville", (), {}, ["love"]),
        ("what is love in nashville", (), {"single_words": "any"}, ["love", "nashville"]),
        ("Which state is it?", ("state",), {}, []),
        ("Which State is it?", ("state",), {}, ["state"]),
    ):  # fmt: skip
        graph = Graph.from_arrays([], [], names=NAMES)
        result = match(Mentions(mentions), Question("q", text), graph=graph, chunk_table=TABLE,
                       **settings)  # fmt: skip
        assert [NAMES[row] for row in result.ids] == found
        assert result.scores.tolist() == [1.0] * len(found)


TYPED = [
    op for op in operators.all()
    if op.origin.startswith(("operators.node.", "operators.search:")) and "types" in op.settings
]  # fmt: skip
PEOPLE = replace(
    Graph.from_arrays([A, B], [B, C], node_chunk=np.eye(3), names=["ada", "bo", "cy"]),
    types=Texts.of(["Person", "person", "place"]),
)


@pytest.mark.parametrize("op", TYPED, ids=lambda op: op.name)
def test_operators_return_only_nodes_of_the_given_types(op: Operator) -> None:
    """Every second node is a place."""
    resources, values = WORLDS[0].resources, WORLDS[0].values("several")
    base = resources["graph"]
    kinds = [("person", "place")[row % 2] for row in range(base.n_nodes)]
    resources = {**resources, "graph": replace(base, types=Texts.of(kinds))}
    state = [None if read.optional else values[read.slot] for read in op.reads]
    needs = {name: resources[name] for name in op.needs}
    slots = by_slot(op, op([state], **needs, types=("place",))[0], resources)
    assert nodes_of_types(resources["graph"], ("place",))[slots["nodes"].ids].all()


def test_unknown_types_are_refused() -> None:
    with pytest.raises(UserError, match="place"):
        nodes_of_types(PEOPLE, ("plase",))
    with pytest.raises(UserError, match=r"build\.graph"):
        nodes_of_types(replace(PEOPLE, types=None), ("place",))
    for types, n_problems in (((), 0), (("place",), 1)):
        step = OperatorStep("step 1", operators.get("node.onehop"), {"types": types})
        checker = Checker(attributes=frozenset({"node.name"}), written={"question", "nodes"})
        step.check(checker)
        assert len(checker.problems) == n_problems
        assert all("node.type" in problem for problem in checker.problems)


def test_the_links_to_other_nodes_are_limited_per_given_node():
    """Row 3 is between nodes 0 and 1; rows 1 and 2 lead to node 2, which has two links."""
    graph = Graph.from_arrays([0, 0, 2, 0, 1, 3], [3, 2, 1, 1, 4, 4])
    result = relationships.onehop(falling(0, 1), graph=graph, order="links", per_node=1)
    assert result.ids.tolist() == [3, 1, 2]


PATH = Graph.from_arrays([A, B], [B, C], n_nodes=4)
"""A - B - C, and D by itself; weights 1."""


def masses(graph, *seeds, **settings):
    return alone(node_ppr)(ranked(*seeds), graph=graph, **settings)[1].values.round(6).tolist()


def test_isolated_nodes_parallel_relationships_and_min_mass():
    assert masses(PATH, A, D) == [0.388889, 0.222222, 0.055556, 0.333333]
    assert masses(PATH, A, min_mass=0.1, keep_scores="best") == [0.583333, 0.333333, 0, 0]
    best, scores = alone(node_ppr)(ranked(A), graph=PATH, min_mass=0.1)
    assert best.ids.tolist() == [A, B] and scores.values[C] > 0.08
    heavy = Graph.from_arrays([A, B], [B, C], weight=[1, 3])
    parallel = Graph.from_arrays([A, B, C, B], [B, C, B, C])
    assert masses(heavy, A) == masses(parallel, A) == [0.541667, 0.333333, 0.125]
    assert masses(heavy, A, weighted=False) == [0.583333, 0.333333, 0.083333]


CHAIN = Graph.from_arrays(
    [A], [B], weight=[2], n_nodes=3,
    node_chunk=[[1, 0, 0], [1, 1, 0], [0, 0, 1]], relationship_chunk=[[1, 0, 0]],
)  # fmt: skip
"""A - B with weight 2; A in chunk 0, B in the chunks 0 and 1, C in chunk 2 alone."""


def walked(nodes, *scores, graph=CHAIN, **settings):
    return alone(chunk_ppr)(nodes, ChunkScores(np.array(scores)), graph=graph, **settings)


def test_chunk_ppr_restarts_at_nodes_and_chunks():
    assert walked(ranked(), 0.5, 1.0, 0.0, damping=0.0).items() == [(1, 1.0), (0, 0.5), (2, 0.0)]
    # Restart: C 1, chunk 1 at 0.05 * 1. Chunk 2 gets 1/3 of C's walk, chunk 1 less than 0.05.
    assert walked(ranked(C), 0, 1.0, 0, top_k=1).ids.tolist() == [2]
    assert walked(ranked(C), 0, 1.0, 0, passage_weight=5.0, top_k=1).ids.tolist() == [1]
    # C and its chunk: c = 0.5 * p + 0.5, p = 0.5 * c, so c = 2/3 and p = 1/3.
    two = Graph.from_arrays([], [], node_chunk=[[1, 0], [0, 1]], n_nodes=2)
    check(walked(ranked(A, B, scores=(3.0, 1.0)), 0, 0, graph=two), [0, 1], [1.0, 1 / 3])
    once = walked(ranked(A), 0, 0, -1.0, top_k=3)
    twice = walked(ranked(A, A, C, scores=(0.2, 1.0, -1.0)), 0, 0, 0, top_k=3)
    assert twice.items() == once.items()
