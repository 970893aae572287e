"""Nodes linked to the names of a question, worked out by hand."""

import numpy as np
import pytest
from by_hand import Planted

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import alone, operators
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.errors import UserError
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import Mentions, Question
from operators.node.link import link, match

# ---- Nodes linked to the names of a question, worked out by hand

ASKED = Question("q", "Which way is it?")
TITLED = ChunkTable.of([("a", "Ada (person)", "x"), ("b", "Norvik", "y")])


DIRECTIONS = {"north": (0, 1), "east": (1, 0), "northeast": (0.6, 0.8), "south": (0, -1)}


@pytest.fixture
def directions():
    """Node 0 lies north, node 1 east."""
    return {
        "graph": Graph.from_arrays([0], [1], names=["north", "east"]),
        "chunk_table": TITLED,
        "parts": ("vectors",),
        "node_index": VectorIndex(np.array([[0, 1], [1, 0]], np.float32)),
        "embedder": Planted(DIRECTIONS),
    }


def test_each_name_gives_its_most_similar_node_in_the_order_of_the_names(directions):
    found = alone(link)(Mentions(("east", "north")), ASKED, **directions)
    assert found.ids.tolist() == [1, 0]
    assert found.scores.tolist() == [1.0, 1.0]


def test_the_score_is_the_cosine(directions):
    found = alone(link)(Mentions(("northeast", "south")), ASKED, **directions)
    assert found.ids.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, [0.8, 0.0], atol=1e-6)


def test_as_a_share_the_only_node_that_a_name_finds_has_all_of_it(directions):
    found = alone(link)(Mentions(("northeast",)), ASKED, score="share", **directions)
    assert found.items() == [(0, 1.0)]


def test_without_duplicates_the_first_name_of_a_node_counts(directions):
    found = alone(link)(Mentions(("northeast", "east", "north")), ASKED, dedupe=True, **directions)
    assert found.ids.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, [0.8, 1.0], atol=1e-6)


# ---- exact names first


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
    found = alone(link)(Mentions(names), Question("q", text), **town, **settings)
    return found.ids.tolist(), found.scores.round(6).tolist()


def test_the_longest_name_in_the_question_is_taken(town):
    assert linked(town, "Did Ada Marsh stay?") == ([1], [1.0])
    assert linked(town, "Did Ada stay?") == ([0], [1.0])


def test_names_in_the_question_never_overlap(town):
    assert linked(town, "Is Ada Marsh Road in Norvik?") == ([1, 3], [1.0, 1.0])


def test_other_names_of_the_question_are_found_by_vectors_after_the_exact_ones(town):
    found = linked(town, "Did the Observatory know Ada Marsh?", "the observatory", "ada marsh")
    assert found == ([1, 3], [1.0, 0.9])


def test_a_longer_name_than_the_exact_one_is_another_name(town):
    found = linked(town, "Where is the Norvik Museum?", "norvik museum")
    assert found == ([3, 0], [1.0, 0.5])


def test_a_name_that_is_a_node_needs_no_vector(town):
    found = linked(town, "Is Ada Marsh Road in Norvik?", "marsh road", "the observatory")
    assert found == ([1, 3, 2, 3], [1.0, 1.0, 1.0, 0.9])


def test_a_node_named_twice_comes_once_without_duplicates(town):
    assert linked(town, "Norvik, the Norvik?") == ([3], [1.0])
    assert linked(town, "Norvik?", "the observatory") == ([3, 3], [1.0, 0.9])
    assert linked(town, "Norvik?", "the observatory", dedupe=True) == ([3], [1.0])


def test_without_vectors_a_name_of_no_node_gives_none(town):
    found = linked(town, "Norvik?", "the observatory", parts=("dictionary", "mentions"))
    assert found == ([3], [1.0])


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


# ---- Nodes matched to the names of a question without a vector, worked out by hand

NAMES = ["hank snow", "hello love", "love", "nashville", "state"]
GRAPH = Graph.from_arrays([], [], names=NAMES)
TABLE = ChunkTable.of([("a", "Hello Love (song)", "x"), ("b", "Love", "y")])


def matched(text: str, *mentions: str, **settings) -> list[str]:
    found = match(
        Mentions(mentions), Question("q", text), graph=GRAPH, chunk_table=TABLE, **settings
    )
    assert found.scores.tolist() == [1.0] * len(found)
    return [NAMES[row] for row in found.ids]


def test_names_in_the_question_come_first_and_then_the_mentions() -> None:
    asked = "Was Nashville home to the performer of Hello Love?"
    assert matched(asked, "nashville") == ["hello love", "nashville"]


def test_a_mention_inside_a_name_that_was_found_is_passed_over() -> None:
    assert matched("Who sang Hello Love?", "Love") == ["hello love"]


def test_names_of_one_word_count_where_they_are_titles() -> None:
    assert matched("what is love in nashville") == ["love"]
    assert matched("what is love in nashville", single_words="any") == ["love", "nashville"]
    assert matched("what is love in nashville", single_words="none") == []


def test_a_common_noun_among_the_mentions_gives_no_node_and_a_capitalised_one_does() -> None:
    assert matched("Which state is it?", "state") == []
    assert matched("Which State is it?", "state") == ["state"]


def test_the_order_of_the_parts_is_the_order_of_the_nodes_and_a_part_can_be_left_out() -> None:
    asked, names = "Was Nashville home to Hank Snow?", ("nashville", "hank snow")
    both = ("mentions", "dictionary")
    assert matched(asked, *names, parts=both) == ["nashville", "hank snow"]
    assert matched(asked, *names, parts=("dictionary",)) == ["hank snow"]
    assert matched(asked, *names, parts=("mentions",)) == ["nashville", "hank snow"]
