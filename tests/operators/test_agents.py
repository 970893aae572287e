"""Think-on-Graph's agents with scripted replies, by hand."""

from dataclasses import replace

import pytest
from by_hand import falling, replying

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import ChosenRelation, Exploration, Hop
from graphrag_bench.columns import Texts
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.values import Question
from operators import agents

ADA, NORVIK, TARN, OSTRA, MIRA = range(5)
QUESTION = Question("q", "On which mountain does the town stand that Ada founded?")
GRAPH = replace(
    Graph.from_arrays(
        [ADA, NORVIK, ADA, ADA, MIRA], [NORVIK, TARN, OSTRA, MIRA, ADA], weight=[1, 1, 3, 1, 1],
        names=["ada", "norvik", "tarn", "ostra", "mira"],
    ),
    relations=Texts.of(["founded", "stands on", "founded", "taught", "named"]),
)  # fmt: skip
"""Ada founded Norvik (row 0, weight 1) and Ostra (2, weight 3) and taught Mira (3).

Norvik stands on Tarn (row 1); Mira named Ada (4).
"""


def chosen(llm, *topics, before=()) -> list[tuple]:
    reads = QUESTION, falling(*topics), Exploration((), before)
    result = agents.choose_relations(*reads, graph=GRAPH, llm=llm)
    return [(one.topic, one.relation, one.forward, round(one.score, 6)) for one in result.chosen]


def test_the_model_chooses_among_the_relations_of_a_node():
    llm = replying("{named (Score: 0.3)}\n{founded (Score: 0.7)}")
    assert chosen(llm, ADA) == [(ADA, "founded", True, 0.7), (ADA, "named", False, 0.3)]
    llm = replying("{admired (Score: 1.0)}")
    assert (chosen(llm, ADA), llm.meter.usage.calls, llm.meter.fallbacks) == ([], 1, 0)
    # Norvik was reached from Ada along `founded`, so `stands on` is the only choice
    llm, before = replying("{stands on (Score: 1)}"), ((Hop(0, True, 0.7),),)
    assert chosen(llm, NORVIK, before=before) == [(NORVIK, "stands on", True, 1.0)]


def test_relation_scores_are_parsed_in_many_formats():
    for reply in (
        "1. {Founded (Score: 0.75)}: because it tells of 2 towns.\n2. {taught (Score: 0.25)}: no.",
        "- founded: 0.75\n- taught: .25",
        "{founded (Score: 75%)}; {taught (Score: 25%)}",
        "{founded (Score: 0.75)} {admired (Score: 0.9)} {taught (Score: 0.25)} {founded (Score: 0)}"
        " I hope this helps.",
    ):
        rows = [(ADA, "founded", True, 0.75), (ADA, "taught", True, 0.25)]
        assert chosen(replying(reply), ADA) == rows, reply


def test_unreadable_replies_give_no_relation_and_failed_calls_raise():
    llm = replying(*2 * ["It is hard to say."])
    assert chosen(llm, ADA) == []
    assert (llm.meter.usage.calls, llm.meter.fallbacks) == (2, 1)
    with pytest.raises(CallFailed):
        chosen(replying(CallFailed("refused", "no")), ADA)


FOUNDED = ChosenRelation(ADA, "founded", True, 0.6)
STANDS = ChosenRelation(NORVIK, "stands on", True, 0.4)
NAMED = ChosenRelation(ADA, "named", False, 0.2)
TAUGHT = ChosenRelation(ADA, "taught", True, 0.5)


def followed(llm, *choices, among=None, **settings):
    before = Exploration(choices, ((Hop(3, True, 0.5),),))
    nodes, after = agents.choose_nodes(QUESTION, before, among, graph=GRAPH, llm=llm, **settings)
    assert (after.chosen, after.rounds[:-1]) == ((), before.rounds)
    hops = [(hop.relationship, hop.forward, round(hop.score, 6)) for hop in after.last]
    return [(row, round(score, 6)) for row, score in nodes.items()], hops


def test_the_best_hops_are_kept_and_nodes_are_not_repeated():
    for reply, choices, settings, hops, nodes in (
        ("0.3, 0.7", (FOUNDED,), {}, [(0, True, 0.7), (2, True, 0.3)],
         [(NORVIK, 0.7), (OSTRA, 0.3)]),
        ("1.2, 0.3", (FOUNDED,), {}, [(2, True, 0.8), (0, True, 0.2)],
         [(OSTRA, 0.8), (NORVIK, 0.2)]),
        ("0.0, 1.0", (NAMED, FOUNDED, STANDS), {"width": 2}, [(0, True, 1.0), (1, True, 0.4)],
         [(NORVIK, 1.0), (TARN, 0.4)]),
        # a single candidate makes no call
        (None, (STANDS, NAMED), {}, [(1, True, 0.4), (4, False, 0.2)], [(TARN, 0.4), (MIRA, 0.2)]),
        # Mira by `taught` and against `named`
        (None, (TAUGHT, NAMED), {}, [(3, True, 0.5), (4, False, 0.2)], [(MIRA, 0.5)]),
        (None, (FOUNDED, STANDS), {"among": falling(NORVIK, MIRA)}, [(0, True, 0.6)],
         [(NORVIK, 0.6)]),
    ):  # fmt: skip
        llm = replying(reply)
        assert followed(llm, *choices, **settings) == (nodes, hops)
        assert llm.meter.usage.calls == (reply is not None)


def test_only_the_heaviest_candidates_are_scored(monkeypatch):
    monkeypatch.setattr(agents, "MAX_CANDIDATES", 1)
    assert followed(replying(), FOUNDED)[1] == [(2, True, 0.6)]


def test_candidate_scores_are_parsed_in_many_formats():
    for reply in (
        "0.25, 0.75", "Scores: .25 .75", "1. 0.25\n2. 0.75", "ostra: 0.25; norvik: 0.75", "1, 3",
        "25%, 75%", "0.25, 0.75\n\nBoth of the 2 towns were founded by Ada.",
        "I scored all 2 of them.\n1, 3",
    ):  # fmt: skip
        assert followed(replying(reply), FOUNDED)[1] == [(0, True, 0.75), (2, True, 0.25)], reply
    for reply in ("0.2, 0.3, 0.5", "0.9", "None of them.", ""):
        llm = replying(reply)
        assert followed(llm, FOUNDED)[1] == [(2, True, 0.5), (0, True, 0.5)], reply
        assert (llm.meter.usage.calls, llm.meter.fallbacks) == (1, 1)
