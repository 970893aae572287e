"""Nodes linked to the names of a question, worked out by hand."""

import numpy as np
import pytest

from graphrag_bench.contract import alone
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.mentions import NameTable
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import Mentions, Node, Question, Ranked
from operators.node.linking import link

ASKED = Question("q", "Which way is it?")


class Compass:
    """Names that are directions: `north` (0, 1), `east` (1, 0), `northeast` between them."""

    identity = "compass"
    dimension = 2
    _DIRECTIONS = {
        "north": (0.0, 1.0),
        "east": (1.0, 0.0),
        "northeast": (0.6, 0.8),
        "south": (0.0, -1.0),
    }

    def encode(self, texts, *, kind):
        assert kind == "question"
        return np.array([self._DIRECTIONS[text] for text in texts], np.float32)


@pytest.fixture
def directions():
    """Node 0 lies north, node 1 east."""
    return {
        "graph": Graph.from_arrays([0], [1], names=["north", "east"]),
        "node_index": VectorIndex(np.array([[0, 1], [1, 0]], np.float32)),
        "embedder": Compass(),
    }


def test_each_name_gives_its_most_similar_node_in_the_order_of_the_names(directions):
    found = alone(link)(Mentions(("east", "north")), ASKED, **directions)
    assert found.ids.tolist() == [1, 0]
    assert found.scores.tolist() == [1.0, 1.0]


def test_the_score_is_the_cosine(directions):
    found = alone(link)(Mentions(("northeast", "south")), ASKED, **directions)
    assert found.ids.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, [0.8, 0.0], atol=1e-6)


def test_a_node_may_come_twice(directions):
    found = alone(link)(Mentions(("north", "east", "northeast")), ASKED, **directions)
    assert found.ids.tolist() == [0, 1, 0]


def test_without_duplicates_the_first_name_of_a_node_counts(directions):
    found = alone(link)(Mentions(("northeast", "east", "north")), ASKED, dedupe=True, **directions)
    assert found.ids.tolist() == [0, 1]
    np.testing.assert_allclose(found.scores, [0.8, 1.0], atol=1e-6)


def test_a_name_that_no_node_resembles_enough_is_left_out(directions):
    found = alone(link)(Mentions(("northeast", "east")), ASKED, min_score=0.9, **directions)
    assert found.ids.tolist() == [1]


def test_no_names_give_no_nodes(directions):
    assert len(alone(link)(Mentions(()), ASKED, **directions)) == 0


def test_an_empty_index_gives_no_nodes(directions):
    empty = {**directions, "node_index": VectorIndex(np.zeros((0, 2), np.float32))}
    assert len(alone(link)(Mentions(("east",)), ASKED, **empty)) == 0


def test_names_of_many_questions_find_their_way_back(directions):
    asked = [Mentions(("east", "north")), Mentions(()), Mentions(("north",))]
    found = link(asked, [ASKED] * 3, **directions)
    assert [one.ids.tolist() for one in found] == [[1, 0], [], [0]]


# ---- exact names first


@pytest.fixture
def town():
    """Nodes: 0 ada, 1 ada marsh, 2 marsh road, 3 norvik; vectors: names are alike or not at all."""
    names = ["ada", "ada marsh", "marsh road", "norvik"]
    return {
        "graph": Graph.from_arrays([0], [1], names=names),
        "node_index": VectorIndex(np.eye(4, dtype=np.float32)),
        "embedder": Directory(),
    }


class Directory:
    """`the observatory` is meant to be norvik (0.9); every other name is meant to be ada (0.5)."""

    identity = "directory"
    dimension = 4

    def encode(self, texts, *, kind):
        rows = {"the observatory": (0.0, 0.0, 0.0, 0.9)}
        return np.array([rows.get(text, (0.5, 0.0, 0.0, 0.0)) for text in texts], np.float32)


def linked(town, text: str, *names: str, **settings):
    found = alone(link)(
        Mentions(names), Question("q", text), **town, by="exact_then_vectors", **settings
    )
    return found.ids.tolist(), found.scores.round(6).tolist()


def test_the_longest_name_in_the_question_is_taken(town):
    assert linked(town, "Did Ada Marsh stay?") == ([1], [1.0])
    assert linked(town, "Did Ada stay?") == ([0], [1.0])


def test_names_in_the_question_never_overlap(town):
    assert linked(town, "Is Ada Marsh Road in Norvik?") == ([1, 3], [1.0, 1.0])


def test_part_of_a_word_is_no_name(town):
    assert linked(town, "Who saw Adam in Norvikland?") == ([], [])


def test_other_names_of_the_question_are_found_by_vectors_after_the_exact_ones(town):
    found = linked(town, "Did the Observatory know Ada Marsh?", "the observatory", "ada marsh")
    assert found == ([1, 3], [1.0, 0.9])


def test_a_name_within_an_exact_one_is_not_looked_for_again(town):
    assert linked(town, "Did Ada Marsh stay?", "marsh", "ada marsh") == ([1], [1.0])


def test_a_longer_name_than_the_exact_one_is_another_name(town):
    found = linked(town, "Where is the Norvik Museum?", "norvik museum")
    assert found == ([3, 0], [1.0, 0.5])


def test_a_name_that_is_a_node_needs_no_vector(town):
    found = linked(town, "Is Ada Marsh Road in Norvik?", "marsh road", "the observatory")
    assert found == ([1, 3, 2, 3], [1.0, 1.0, 1.0, 0.9])


def test_the_threshold_is_for_vectors_only(town):
    assert linked(town, "Norvik or Tarn?", "tarn", min_score=0.9) == ([3], [1.0])


def test_a_node_named_twice_comes_once_without_duplicates(town):
    assert linked(town, "Norvik, the Norvik?", dedupe=True) == ([3], [1.0])
    assert linked(town, "Norvik, the Norvik?") == ([3, 3], [1.0, 1.0])


def test_by_vectors_the_question_itself_is_not_read(town):
    found = alone(link)(Mentions(("the observatory",)), Question("q", "Ada Marsh?"), **town)
    assert found.ids.tolist() == [3]


# ---- names in texts


def test_names_are_compared_as_node_names_are():
    table = NameTable.of(["květa fialová", "O'Brien"])
    assert table.matches("Who met KVĚTA  FIALOVÁ and O’Brien?") == [
        ("květa fialová", 0),
        ("o brien", 1),
    ]


def test_short_names_and_function_words_are_never_found():
    table = NameTable.of(["it", "x2", "who", "the who", "not"])
    assert table.matches("Who is it, x2 or not?") == []
    assert table.matches("When did The Who play?") == [("the who", 3)]


def test_of_equal_names_the_first_row_counts():
    assert NameTable.of(["Norvik", "norvik"]).matches("norvik") == [("norvik", 0)]


def test_a_text_or_a_table_without_words_has_no_names():
    assert NameTable.of(["norvik"]).matches("?!") == []
    assert NameTable.of([]).matches("norvik") == []


def test_common_nouns_are_no_proper_names():
    table = NameTable.of(["country", "norvik", "area 51", "city of light"])
    asked = "Which country is Norvik in, area 51 or the city of Light?"
    assert table.matches(asked, proper=True) == [
        ("norvik", 1),
        ("area 51", 2),
        ("city of light", 3),
    ]
    assert ("country", 0) in table.matches(asked)


def test_in_a_question_without_capitals_every_name_may_be_proper():
    table = NameTable.of(["country", "norvik"])
    assert table.matches("Which country is norvik in?", proper=True) == [
        ("country", 0),
        ("norvik", 1),
    ]


def test_common_nouns_are_linked_when_any_name_may_be(town):
    town = {**town, "graph": Graph.from_arrays([0], [1], names=["river", "b", "c", "norvik"])}
    assert linked(town, "Which river flows to Norvik?") == ([3], [1.0])
    assert linked(town, "Which river flows to Norvik?", exact="any") == ([0, 3], [1.0, 1.0])


def test_linking_can_be_switched_off(town):
    found = alone(link)(Mentions(("norvik",)), Question("q", "Is it Norvik?"), by="none", **town)
    assert len(found) == 0


def test_names_that_are_given_are_those_of_nodes_before_they_are_like_them():
    graph = Graph.from_arrays([0, 1], [1, 2], names=["NORVIK", "Norvik", "ada marsh"])
    words = Hashing(4096)
    index = VectorIndex(words.encode(list(graph.names), kind="passage"))

    def linked(*names: str) -> Ranked[Node]:
        mentions, asked = Mentions(names), Question("q", "Is NORVIK in Norvik?")
        how = {"graph": graph, "node_index": index, "embedder": words}
        return alone(link)(mentions, asked, **how, by="names_then_vectors")

    found = linked("Norvik", "Ada  Marsh!", "marsh")
    assert found.ids.tolist() == [1, 2, 2]
    assert found.scores[:2].tolist() == [1.0, 1.0]
    assert 0 < found.scores[2] < 1
    assert linked().ids.tolist() == []
