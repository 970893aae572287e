"""Subgraph operators, worked out by hand; the model's replies are planned."""

import numpy as np
import pytest

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Path, Question, Ranked, Subgraph
from operators.subgraph.agent_path import agent_path
from operators.subgraph.khop_path import khop_path
from operators.subgraph.steiner import steiner

A, B, C, D, E = range(5)
ASKED = Question("q", "Who taught whom?")


def ranked(*ids: int, scores: tuple[float, ...] = ()) -> Ranked:
    return Ranked(np.array(ids, np.int64), np.array(scores or np.linspace(1.0, 0.5, len(ids))))


@pytest.fixture
def line():
    """A - B - C - D, and E apart; the row of B and C is stored from C to B."""
    names = ["ada", "bruno", "carla", "dina", "egon"]
    return Graph.from_arrays([A, C, C], [B, B, D], names=names)


# ---- subgraph.khop_path


def test_a_path_holds_its_hops_and_the_subgraph_all_that_lies_on_paths(line):
    found = khop_path(ranked(A, C, D), graph=line)
    assert found.paths == (Path((A, B, C, D), (0, 1, 2)),)
    assert found.nodes == (A, B, C, D)
    assert found.relationships == (0, 1, 2)


# ---- subgraph.steiner


def test_the_prized_nodes_are_joined_and_ranked_by_prize(line):
    """D has the prize 2, A 1; B and C only connect them, at 3 times 0.5."""
    subgraph, nodes, rows = steiner(ranked(D, A), ranked(), graph=line)
    assert nodes.ids.tolist() == [D, A, B, C]
    assert nodes.scores.tolist() == [2.0, 1.0, 0.0, 0.0]
    assert rows.ids.tolist() == [0, 1, 2]
    assert subgraph == Subgraph((D, A, B, C), (0, 1, 2))


# ---- subgraph.agent_path


def chosen(line, reply, **given):
    llm = Metered(Scripted([("", reply)]))
    given = given or {"relationships": ranked(0, 1, 2)}
    return agent_path(ASKED, graph=line, llm=llm, **given), llm


def test_the_triples_of_the_reply_become_their_rows_in_its_order(line):
    first = "Reranked Triple 1: carla -> related to -> dina"
    found, _ = chosen(line, f"{first}\nReranked Triple2: ada——>related to——>bruno")
    assert found == Subgraph((C, D, A, B), (2, 0))


def test_a_triple_counts_whichever_way_round_and_without_its_relation(line):
    found, _ = chosen(line, "1. Bruno → related to → Carla\n2) dina --> carla")
    assert found.relationships == (1, 2)


def test_a_triple_that_no_row_says_is_kept_as_text(line):
    found, _ = chosen(line, "ada -> taught -> bruno\nada -> related to -> bruno")
    assert found.relationships == (0,)
    assert found.texts == ("ada -> taught -> bruno",)


def test_the_model_is_shown_paths_whole_and_triples_as_they_are_stored(line):
    walk = Subgraph((A, B, C), (0, 1), (Path((A, B, C), (0, 1)),))
    _, llm = chosen(line, "ada -> bruno", subgraph=walk, relationships=ranked(2, 0))
    shown = llm.llm.asked[0][-1].content
    assert "ada -> related to -> bruno; carla -> related to -> bruno\n" in shown
    assert shown.count("ada -> related to -> bruno") == 1
    assert "\ncarla -> related to -> dina\n" in shown
    assert "Choose at most 5." in shown


def test_a_reply_without_a_triple_is_asked_for_again_and_then_the_first_ones_stand_in(line):
    found, llm = chosen(line, "I do not know.")
    assert found.relationships == (0, 1, 2)
    assert (llm.usage.calls, llm.fallbacks) == (2, 1)


def test_the_last_line_of_a_reply_that_was_cut_is_not_read(line):
    cut = Completion("carla -> related to -> dina\nada -> related to -> bru", 9, 9, finish="length")
    found, _ = chosen(line, cut)
    assert (found.relationships, found.texts) == ((2,), ())
