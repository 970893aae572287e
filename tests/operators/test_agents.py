"""Think-on-Graph's agents with scripted replies, by hand."""

from dataclasses import replace

import pytest
from by_hand import check, falling, replying

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import ChosenRelation, Exploration, Hop
from graphrag_bench.columns import Texts
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.values import Question
from operators import agents
from operators.agents import choose_nodes, choose_relations

ADA, NORVIK, TARN, OSTRA, MIRA = range(5)
QUESTION = Question("q", "On which mountain does the town stand that Ada founded?")


@pytest.fixture
def graph():
    """Ada founded Norvik (row 0, weight 1) and Ostra (2, weight 3) and taught Mira (3).

    Norvik stands on Tarn (row 1); Mira named Ada (4).
    """
    base = Graph.from_arrays(
        [ADA, NORVIK, ADA, ADA, MIRA], [NORVIK, TARN, OSTRA, MIRA, ADA], weight=[1, 1, 3, 1, 1],
        names=["ada", "norvik", "tarn", "ostra", "mira"],
    )  # fmt: skip
    return replace(base, relations=Texts.of(["founded", "stands on", "founded", "taught", "named"]))


def chosen(graph, llm, *topics, exploration=None, **settings) -> list[tuple]:
    result = choose_relations(
        QUESTION, falling(*topics), exploration or Exploration(), graph=graph, llm=llm, **settings
    )
    return [(one.topic, one.relation, one.forward, round(one.score, 6)) for one in result.chosen]


def test_the_model_chooses_among_the_relations_of_a_node(graph):
    llm = replying("{named (Score: 0.3)}\n{founded (Score: 0.7)}")
    assert chosen(graph, llm, ADA) == [(ADA, "founded", True, 0.7), (ADA, "named", False, 0.3)]
    llm = replying("{admired (Score: 1.0)}")
    assert chosen(graph, llm, ADA) == []
    assert (llm.meter.usage.calls, llm.meter.fallbacks) == (1, 0)


def test_relation_scores_are_parsed_in_many_formats(graph):
    for reply in (
        "1. {Founded (Score: 0.75)}: because it tells of 2 towns.\n2. {taught (Score: 0.25)}: no.",
        "- founded: 0.75\n- taught: .25",
        "{founded (Score: 75%)}; {taught (Score: 25%)}",
        "{founded (Score: 0.75)} {admired (Score: 0.9)} {taught (Score: 0.25)} {founded (Score: 0)}"
        " I hope this helps.",
    ):
        assert chosen(graph, replying(reply), ADA) == [
            (ADA, "founded", True, 0.75),
            (ADA, "taught", True, 0.25),
        ]


def test_the_relation_of_the_last_hop_is_not_followed_back(graph):
    """Norvik was reached from Ada along `founded`, so `stands on` is the only choice."""
    before = Exploration((), ((Hop(0, True, 0.7),),))
    llm = replying("{stands on (Score: 1)}")
    assert chosen(graph, llm, NORVIK, exploration=before) == [(NORVIK, "stands on", True, 1.0)]


FOUNDED = ChosenRelation(ADA, "founded", True, 0.6)
STANDS = ChosenRelation(NORVIK, "stands on", True, 0.4)
NAMED = ChosenRelation(ADA, "named", False, 0.2)


def followed(graph, llm, *choices, **settings):
    before = Exploration(choices, ((Hop(3, True, 0.5),),))
    nodes, after = choose_nodes(QUESTION, before, graph=graph, llm=llm, **settings)
    assert after.chosen == ()
    assert after.rounds[:-1] == before.rounds
    hops = [(hop.relationship, hop.forward, round(hop.score, 6)) for hop in after.last]
    return nodes, hops


def test_the_model_scores_the_candidates(graph):
    llm = replying("0.3, 0.7")
    nodes, hops = followed(graph, llm, FOUNDED)
    assert hops == [(0, True, 0.7), (2, True, 0.3)]
    check(nodes, [NORVIK, OSTRA], [0.7, 0.3])
    assert followed(graph, replying("1.2, 0.3"), FOUNDED)[1] == [(2, True, 0.8), (0, True, 0.2)]


def test_a_single_candidate_makes_no_call_and_only_the_heaviest_are_scored(graph, monkeypatch):
    llm = replying()
    nodes, hops = followed(graph, llm, STANDS, NAMED)
    assert hops == [(1, True, 0.4), (4, False, 0.2)]
    assert nodes.ids.tolist() == [TARN, MIRA]
    assert llm.meter.usage.calls == 0
    monkeypatch.setattr(agents, "MAX_CANDIDATES", 1)
    assert followed(graph, llm, FOUNDED)[1] == [(2, True, 0.6)]
    monkeypatch.undo()
    before = Exploration((FOUNDED, STANDS))
    nodes, after = choose_nodes(QUESTION, before, falling(NORVIK, MIRA), graph=graph, llm=llm)
    assert nodes.ids.tolist() == [NORVIK]
    assert [hop.score for hop in after.last] == [0.6]


def test_the_best_hops_are_kept_and_nodes_are_not_repeated(graph):
    llm = replying("0.0, 1.0")
    nodes, hops = followed(graph, llm, NAMED, FOUNDED, STANDS, width=2)
    assert hops == [(0, True, 1.0), (1, True, 0.4)]
    _, hops = followed(graph, replying("0, 1"), NAMED, FOUNDED, width=4)
    assert hops == [(0, True, 1.0), (4, False, 0.2)]
    # Mira by `taught` and against `named`.
    nodes, hops = followed(graph, replying(), ChosenRelation(ADA, "taught", True, 0.5), NAMED)
    assert len(hops) == 2
    assert nodes.items() == [(MIRA, 0.5)]


def test_candidate_scores_are_parsed_in_many_formats(graph):
    for reply in (
        "0.25, 0.75", "Scores: .25 .75", "1. 0.25\n2. 0.75", "ostra: 0.25; norvik: 0.75", "1, 3",
     "25%, 75%", "0.25, 0.75\n\nBoth of the 2 towns were founded by Ada.",
     "I scored all 2 of them.\n1, 3",
    ):  # fmt: skip
        _, hops = followed(graph, replying(reply), FOUNDED)
        assert hops == [(0, True, 0.75), (2, True, 0.25)]


def test_candidates_score_the_same_without_one_number_each(graph):
    for reply in ("0.2, 0.3, 0.5", "0.9", "None of them.", ""):
        llm = replying(reply)
        _, hops = followed(graph, llm, FOUNDED)
        assert hops == [(2, True, 0.5), (0, True, 0.5)]
        assert (llm.meter.usage.calls, llm.meter.fallbacks) == (1, 1)


def test_unreadable_replies_give_no_relation_and_failed_calls_raise(graph):
    llm = replying(*2 * ["It is hard to say."])
    assert chosen(graph, llm, ADA) == []
    assert (llm.meter.usage.calls, llm.meter.fallbacks) == (2, 1)
    with pytest.raises(CallFailed):
        chosen(graph, replying(CallFailed("refused", "no")), ADA)
