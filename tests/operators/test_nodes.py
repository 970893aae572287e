"""Nodes by vectors, TF-IDF, keywords and names, and nodes beside other nodes, by hand."""

import numpy as np
import pytest
from by_hand import Planted, angle, check, ranked

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import ReasoningSteps
from graphrag_bench.contract import alone, operators
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.indices.tfidf import Tfidf
from graphrag_bench.values import Keywords, Mentions, Question
from methods.pathcorag.steps import by_step
from methods.pathrag.paths import by_keyword
from operators.node.link import link, match
from operators.node.onehop import expand, onehop
from operators.node.relnode import relnode
from operators.node.tfidf import tfidf
from operators.node.vdb import vdb

A, B, C, D = range(4)
NO_TYPES = Graph.from_arrays([], [], n_nodes=4)


def test_the_most_similar_nodes_come_first_by_cosine_or_share():
    # Nodes at 0, 60 and 90 degrees.
    angles = np.deg2rad([0, 60, 90])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    circle = {"node_index": VectorIndex(vectors), "embedder": Planted(angle), "graph": NO_TYPES}
    result = alone(vdb)(Question("q", "0"), top_k=2, **circle)
    check(result, [0, 1], [1.0, 0.5])
    # Cosines 1 and 0.5 become 1 and 0.75, of 1.75 together.
    result = alone(vdb)(Question("q", "0"), top_k=2, score="share", **circle)
    np.testing.assert_allclose(result.scores, [1 / 1.75, 0.75 / 1.75], atol=1e-6)


def test_nodes_that_share_the_rarest_words_come_first_among_candidates():
    """Of four texts dog and blue are in two, red and cat in one."""
    passages = Tfidf.of(["red dog", "blue dog", "blue cat sleeps", "green frog"])
    result = tfidf(Question("q", "a red dog"), tfidf=passages)
    assert result.ids.tolist() == [0, 1]
    assert result.scores[0] == pytest.approx(1.0)
    result = tfidf(Question("q", "blue dog"), nodes=ranked(2, 0), tfidf=passages)
    assert result.ids.tolist() == [0, 2]


@pytest.fixture
def star():
    """A joined to B (1), C (3) and D (1); C to D (2)."""
    return Graph.from_arrays([A, A, D, C], [B, C, A, D], weight=[1, 3, 1, 2])


def test_neighbours_come_by_weight_and_ends_in_order_without_the_given_nodes_or_behind_them(star):
    result = onehop(ranked(A), graph=star)
    assert result.items() == [(C, 3.0), (B, 1.0), (D, 1.0)]
    assert onehop(ranked(A, C), graph=star).ids.tolist() == [B, D]
    result = onehop(ranked(C, B, scores=(0.9, 0.8)), graph=star, include_seeds=True)
    assert result.items() == [(C, 0.9), (B, 0.8), (A, 3.0), (D, 2.0)]
    graph = Graph.from_arrays([A, A, C, C], [B, C, A, C], weight=[4, 2, 3, 9])
    result = onehop(ranked(A), graph=graph)
    assert result.items() == [(C, 5.0), (B, 4.0)]
    # Rows 3 and 1: C - D, then A - C, of which C is there already.
    result = relnode(ranked(3, 1, scores=(0.9, 0.4)), graph=star)
    assert result.items() == [(C, 0.9), (D, 0.9), (A, 0.4)]


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("sum", [(A, 0.9 + 0.5), (D, 0.9)]),
        ("best", [(A, 0.9), (D, 0.9)]),
        ("degree", [(A, 2.0 + 3.0), (D, 2.0 + 2.0)]),
    ],
)
def test_neighbours_are_scored_by_the_nodes_that_bring_them_or_alike(star, score, expected):
    """C (0.9) brings A and D, B (0.5) brings A. Degrees: A 3, B 1, C 2, D 2."""
    result = expand(ranked(B, C, scores=(0.5, 0.9)), graph=star, score=score)
    check(result, [node for node, _ in expected], [value for _, value in expected])
    alike = expand(ranked(B, C, scores=(0.5, 0.9)), graph=star, score=score, alike=True)
    assert alike.items() == [(A, 1.0), (D, 1.0)]


QUESTION = Question("q", "0 0 1")


def vector_in(text: str) -> list[float]:
    """The numbers at the end of a text."""
    return [float(part) for part in text.replace(",", " ").split()[-3:]]


def world(*vectors: tuple[float, float, float]) -> dict[str, object]:
    index = VectorIndex(np.array(vectors, np.float32))
    return {"node_index": index, "embedder": Planted(vector_in)}


THREE = ((1, 0, 0), (0.8, 0.6, 0), (0, 1, 0), (0, 0, 1))
X, Y = "1 0 0", "0.6 0.8 0"


def test_keywords_take_turns_and_take_the_next_node_that_is_left():
    """X likes 0, 1, then 2; Y likes 1 (.96), 2 (.8), 0 (.6): X takes 0, Y 1, X 2, Y 3."""
    result = alone(by_keyword)(QUESTION, Keywords((X, Y), ()), top_k=4, **world(*THREE))
    check(result, [0, 1, 2, 3], [1.0, 0.96, 0.0, 0.0])
    turned = alone(by_keyword)(QUESTION, Keywords((Y, X), ()), top_k=3, **world(*THREE))
    assert turned.ids.tolist() == [1, 0, 2]


NODES = ((1, 0, 0), (0.8, 0.6, 0), (0, 1, 0), (0, 0.6, 0.8), (0, 0, 1), (0.6, 0, 0.8))
STEPS = ReasoningSteps(
    ("one", "two", "three"),
    (("1 0 0", "0.8 0.6 0"), ("0 1 0", "0 0.8 0.6"), ("0 0 1", "0.6 0 0.8")),
)


def test_a_node_belongs_to_the_step_whose_query_it_is_most_like_or_that_ranks_it_best():
    assigned = by_step(STEPS, **world(*NODES))
    steps = dict(zip(assigned.ids.tolist(), assigned.steps.tolist(), strict=True))
    assert steps == {0: 1, 1: 1, 2: 2, 3: 2, 4: 3, 5: 3}
    assert assigned.scores.tolist() == pytest.approx([1, 1, 1, 1, 1, 0.96], abs=1e-6)
    assert assigned.ids.tolist() == [0, 1, 2, 4, 5, 3]
    assert assigned.n_steps == 3
    assert assigned.of(2)[0].tolist() == [2, 3]
    # Step 1 finds node 0 alone; node 1 is found by step 2 but is more like step 1's query.
    near = ((1, 0, 0), (0.8, 0.6, 0), (0, 0, 1))
    steps = ReasoningSteps(("one", "two"), (("1 0 0",), ("0.28 0.96 0",)))
    assigned = by_step(steps, per_query=1, **world(*near))
    assert (assigned.ids.tolist(), assigned.steps.tolist()) == ([0, 1], [1, 1])
    # Node 0 has .8, the best, in step 1, and .96 in step 2, where node 1 has 1; node 1 has .6.
    near = ((0.8, 0.6, 0), (0.6, 0.8, 0))
    steps = ReasoningSteps(("one", "two"), (("1 0 0",), ("0.6 0.8 0",)))
    by_likeness = by_step(steps, **world(*near))
    assert by_likeness.steps.tolist() == [2, 2]
    ranked = by_step(steps, assign="rank", **world(*near))
    assert (ranked.ids.tolist(), ranked.steps.tolist()) == ([1, 0], [2, 1])
    assert ranked.scores.tolist() == pytest.approx([1, 0.8])
    near_enough = by_step(steps, assign="rank", min_score=0.9, **world(*near))
    assert (near_enough.ids.tolist(), near_enough.steps.tolist()) == ([1, 0], [2, 2])


WAY = Question("q", "Which way is it?")
TITLED = ChunkTable.of([("a", "Ada (person)", "x"), ("b", "Norvik", "y")])


DIRECTIONS = {"north": (0, 1), "east": (1, 0), "northeast": (0.6, 0.8), "south": (0, -1)}


def test_each_name_gives_its_most_similar_node_with_its_cosine_or_a_share():
    # Node 0 lies north, node 1 east.
    directions = {
        "graph": Graph.from_arrays([0], [1], names=["north", "east"]),
        "chunk_table": TITLED,
        "parts": ("vectors",),
        "node_index": VectorIndex(np.array([[0, 1], [1, 0]], np.float32)),
        "embedder": Planted(DIRECTIONS),
    }
    result = alone(link)(Mentions(("east", "north")), WAY, **directions)
    assert result.items() == [(1, 1.0), (0, 1.0)]
    result = alone(link)(Mentions(("northeast", "south")), WAY, **directions)
    check(result, [0, 1], [0.8, 0.0])
    result = alone(link)(Mentions(("northeast",)), WAY, score="share", **directions)
    assert result.items() == [(0, 1.0)]
    result = alone(link)(Mentions(("northeast", "east", "north")), WAY, dedupe=True, **directions)
    check(result, [0, 1], [0.8, 1.0])


@pytest.fixture
def town():
    """Nodes: 0 ada, 1 ada marsh, 2 marsh road, 3 norvik; vectors: names are alike or not at all."""
    names = ["ada", "ada marsh", "marsh road", "norvik"]
    return {
        "graph": Graph.from_arrays([0], [1], names=names),
        "chunk_table": TITLED,
        "node_index": VectorIndex(np.eye(4, dtype=np.float32)),
        "embedder": Planted(meant),
    }


def meant(name: str) -> tuple[float, ...]:
    """`the observatory` is meant to be norvik (0.9); every other name is meant to be ada (0.5)."""
    return (0, 0, 0, 0.9) if name == "the observatory" else (0.5, 0, 0, 0)


def linked(town, text: str, *names: str, **settings):
    result = alone(link)(Mentions(names), Question("q", text), **town, **settings)
    return result.ids.tolist(), result.scores.round(6).tolist()


def test_names_that_are_no_nodes_are_found_by_vectors_after_the_longest_exact_ones(town):
    assert linked(town, "Did Ada Marsh stay?") == ([1], [1.0])
    assert linked(town, "Did Ada stay?") == ([0], [1.0])
    assert linked(town, "Is Ada Marsh Road in Norvik?") == ([1, 3], [1.0, 1.0])
    result = linked(town, "Did the Observatory know Ada Marsh?", "the observatory", "ada marsh")
    assert result == ([1, 3], [1.0, 0.9])
    result = linked(town, "Where is the Norvik Museum?", "norvik museum")
    assert result == ([3, 0], [1.0, 0.5])
    result = linked(town, "Is Ada Marsh Road in Norvik?", "marsh road", "the observatory")
    assert result == ([1, 3, 2, 3], [1.0, 1.0, 1.0, 0.9])
    assert linked(town, "Norvik, the Norvik?") == ([3], [1.0])
    assert linked(town, "Norvik?", "the observatory") == ([3, 3], [1.0, 0.9])
    assert linked(town, "Norvik?", "the observatory", dedupe=True) == ([3], [1.0])
    result = linked(town, "Norvik?", "the observatory", parts=("dictionary", "mentions"))
    assert result == ([3], [1.0])


def test_vectors_leave_no_name_for_a_part_behind_them():
    setting = operators.get("node.link").settings["parts"]
    with pytest.raises(UserError, match="'vectors' comes last"):
        setting.check(["vectors", "mentions"])
    assert setting.check(["mentions", "vectors"]) == ("mentions", "vectors")


def test_a_given_name_is_that_of_a_node_in_its_own_spelling_first():
    graph = Graph.from_arrays([0, 1], [1, 2], names=["NORVIK", "Norvik", "ada marsh"])
    words = Hashing(4096)
    town = {
        "graph": graph,
        "chunk_table": TITLED,
        "node_index": VectorIndex(words.encode(list(graph.names), kind="passage")),
        "embedder": words,
    }
    how = {"parts": ("mentions", "vectors"), "single_words": "any"}
    ids, scores = linked(town, "Is NORVIK in Norvik?", "Norvik", "Ada  Marsh!", "marsh", **how)
    assert ids == [1, 2, 2]
    assert scores[:2] == [1.0, 1.0]
    assert 0 < scores[2] < 1
    assert linked(town, "Is NORVIK in Norvik?", **how) == ([], [])


NAMES = ["hank snow", "hello love", "love", "nashville", "state"]
GRAPH = Graph.from_arrays([], [], names=NAMES)
TABLE = ChunkTable.of([("a", "Hello Love (song)", "x"), ("b", "Love", "y")])


def matched(text: str, *mentions: str, **settings) -> list[str]:
    result = match(
        Mentions(mentions), Question("q", text), graph=GRAPH, chunk_table=TABLE, **settings
    )
    assert result.scores.tolist() == [1.0] * len(result)
    return [NAMES[row] for row in result.ids]


def test_matched_names_come_before_mentions_outside_of_them_part_by_part() -> None:
    requests = "Was Nashville home to the performer of Hello Love?"
    assert matched(requests, "nashville") == ["hello love", "nashville"]
    assert matched("Who sang Hello Love?", "Love") == ["hello love"]
    requests, names = "Was Nashville home to Hank Snow?", ("nashville", "hank snow")
    both = ("mentions", "dictionary")
    assert matched(requests, *names, parts=both) == ["nashville", "hank snow"]
    assert matched(requests, *names, parts=("dictionary",)) == ["hank snow"]
    assert matched(requests, *names, parts=("mentions",)) == ["nashville", "hank snow"]


def test_names_of_one_word_count_where_they_are_titles_or_written_as_names() -> None:
    assert matched("what is love in nashville") == ["love"]
    assert matched("what is love in nashville", single_words="any") == ["love", "nashville"]
    assert matched("what is love in nashville", single_words="none") == []
    assert matched("Which state is it?", "state") == []
    assert matched("Which State is it?", "state") == ["state"]
