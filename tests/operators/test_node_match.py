"""Nodes matched to the names of a question without a vector, worked out by hand."""

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import Mentions, Question
from operators.node.linking import match

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


def test_a_lower_case_question_without_a_mention_has_its_names_found() -> None:
    assert matched("who wrote hello love") == ["hello love"]


def test_a_mention_inside_a_name_that_was_found_is_passed_over() -> None:
    assert matched("Who sang Hello Love?", "Love") == ["hello love"]


def test_a_mention_of_no_node_gives_none() -> None:
    assert matched("Did Otto meet Hank Snow?", "otto", "hank snow") == ["hank snow"]


def test_a_mention_with_a_possessive_s_is_found() -> None:
    assert matched("What is Nashville's river?", "nashville s") == ["nashville"]


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


def test_only_words_with_a_capital_count_where_single_words_are_to_be_proper() -> None:
    assert matched("what is love in Nashville", single_words="proper") == ["nashville"]
