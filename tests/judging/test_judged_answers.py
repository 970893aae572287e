"""Judged metrics from scripted replies: values, and kinds of missing values."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.fingerprint import ReachedCode
from graphrag_bench.judging.answers import MEASURES, select_measures
from graphrag_bench.judging.measures import AnswerToJudge, Judgement, judge
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.scripted import Scripted

WHO, NAMES = "Who found the comet?", ("Ada Marsh", "A. Marsh")
ADA = AnswerToJudge("q", WHO, "It was Ada Marsh who did.", NAMES, ("One.", "Two."))


def judged(metric, *replies, case=ADA, embedder=Hashing):
    """The judgement after exactly these replies of the judge."""
    message = iter(replies)
    llm = Scripted(answer=lambda chat: next(message))
    (result,) = judge(MEASURES[metric].metric, llm, embedder, [case])
    return result


def reply(**fields):
    return json.dumps(fields)


def offers(*offered):
    return reply(offered=offered)


def claimed(*statements):
    return reply(statements=statements)


def verdicts(*numbers):
    """Verdicts on statements of these numbers; 1 and 2 are supported."""
    return reply(verdicts=[{"number": n, "supported": n < 3} for n in numbers])


YES, NO = reply(agrees=True), reply(agrees=False)
SEAS = ("Grey Sea", "Red Sea")
SENTENCE, BOTH = "It was Ada Marsh who did.", "Both of them, as it is told."


@pytest.mark.parametrize(
    ("answer", "golds", "replies", "value"),
    [
        # offers equal to the gold, or too many: no second call
        *((SENTENCE, NAMES, [offers(*offered)], value) for offered, value in (
            (["Ada Marsh"], 1), (["ada  marsh.", "Ada Marsh"], 1), (["Ada Marsh", "A. Marsh"], 1),
            (["Ada Marsh", "Bo Reed", "Cy Hale"], 0), ([], 0), ([" ", "."], 0))),
        # the judge compares other words with the gold
        (SENTENCE, NAMES[:1], [offers("Miss Marsh"), YES], 1),
        (SENTENCE, NAMES[:1], [offers("Miss Marsh"), NO], 0),
        ("-5", ("5",), [NO], 0),
        ("C#", ("C",), [NO], 0),
        # offers by form: the gold, a short name, a long list
        ("ada marsh.", NAMES, [], 1),
        ("Marsh", NAMES[:1], [YES], 1),
        ("1. Tarn\n2. Ada Marsh\n3. Orm\n4. Bo Reed\n5. Ada Marsh of Tarn", NAMES[:1], [], 0),
        ("Ada Marsh, of Tarn", NAMES[:1], [offers("Ada Marsh")], 1),
        ("Ada Marsh or Bo Reed", NAMES[:1], [offers()], 0),
        # a gold answer that lists several things
        ("Grey, white, blue, green and red", ("red, green, blue, white and grey",), [YES], 1),
        ("It was Ada and Bo who did.", ("Bo and Ada",), [offers("Ada", "Bo", "Cy")], 0),
        # a list must equal the gold list
        (BOTH, SEAS, [offers("Red Sea", "the grey one"), YES], 1),
        (BOTH, SEAS, [offers("Red Sea", "Arn"), NO], 0),
        *((BOTH, SEAS, [offers(*offered)], value) for offered, value in (
            (["Red Sea", "grey sea"], 1), (["Red Sea"], 0), (["Red Sea", "Grey Sea", "Arn"], 0))),
        ("Red Sea", SEAS, [], 0),
        # hedged answers are no refusals
        ("The context does not mention it directly, but it was Miss Marsh.", NAMES,
         [offers("Ada Marsh")], 1),
        ("I cannot say: perhaps Ada Marsh", NAMES, [offers("Ada Marsh")], 1),
        ("I cannot answer this.", ("Insufficient information.",), [], 1),
    ],
)  # fmt: skip
def test_judged_correctness(answer, golds, replies, value):
    case = AnswerToJudge("q", WHO, answer, golds, listed=golds == SEAS)
    assert judged("judged_correctness", *replies, case=case) == Judgement(value)


def test_the_judge_reads_the_offers_without_the_gold():
    chats = []

    def model(chat):
        chats.append("".join(message.content for message in chat))
        return YES if len(chats) == 2 else offers("Miss Marsh")

    answer = "It is, as they say, {% raw %}{{ 7 * 7 }}"
    case = AnswerToJudge("q", "{{ golds }}?", answer, ("{{ gold }}",))
    judge(MEASURES["judged_correctness"].metric, Scripted(answer=model), Hashing, [case])
    assert answer in chats[0] and "{{ gold }}" not in chats[0]
    assert "- {{ gold }}\n" in chats[1] and "- Miss Marsh" in chats[1]


@pytest.mark.parametrize("metric", list(MEASURES))
def test_failed_calls_and_prose_give_no_value(metric):
    failed, prose = judged(metric, CallFailed("refused", "no")), judged(metric, "Fine.", "Fine!")
    assert (failed.value, failed.missing) == (None, "failed")
    assert (prose.value, prose.missing) == (None, "unreadable")
    names = ("statements", "verdicts", "questions", "useful", "offered")
    empty = reply(**dict.fromkeys(names, []), evasive=False)
    assert not judged(metric, empty, empty).value


def test_unreadable_replies_give_no_value():
    texts = claimed("One.", "Two.", "Three.")
    wrong = ([1, 2], [1, 2, 2], [1, 2, 3, 4], [])
    for metric, *replies in (
        ("judged_correctness", offers("Miss Marsh"), "Well.", "Well, well."),
        ("context_precision", reply(useful=[3])),
        ("answer_correctness", claimed("a"), claimed("a"), reply(supported=[2], missing=[])),
        *(("faithfulness", texts, verdicts(*numbers)) for numbers in wrong),
    ):
        result = judged(metric, *replies)
        assert (result.value, result.missing) == (None, "unreadable"), metric
    assert judged("faithfulness", claimed()).missing == "nothing"
    assert "[3] outside 1..2" in judged("context_precision", reply(useful=[3])).reason


def test_a_change_in_the_code_of_reports_does_not_repeat_judgements():
    reached = (name for one in MEASURES.values() for name in ReachedCode(one.metric).modules)
    assert not {name for name in reached if name.startswith("graphrag_bench.report")}


REFUSALS = ["", " \n", "Unknown.", "I'm sorry, but I cannot answer that.",
            "Unfortunately, the context does not mention it. I cannot determine it."]  # fmt: skip


def test_refusals_and_empty_contexts_need_no_call():
    of_answers = ("judged_correctness", "answer_relevance", "answer_correctness", "coverage")
    of_contexts = ("context_precision", "context_recall", "context_relevance",
                   "evidence_statements")  # fmt: skip
    for case in (replace(ADA, answer=answer) for answer in REFUSALS):
        assert [judged(name, case=case).value for name in of_answers] == [0.0] * 4
        assert judged("faithfulness", case=case).missing == "nothing"
    cases = [(name, ()) for name in of_contexts]
    for name, passages in (*cases, ("context_relevance", ("comet",))):  # a part of the question
        assert judged(name, case=replace(ADA, passages=passages)) == Judgement(0.0)


def test_judged_metrics_by_hand():
    """Recall is a share of gold statements, precision a mean over the ranks of useful passages."""
    found = [{"text": "a", "found": True}, {"text": "b", "found": False}]
    case = replace(ADA, passages=("One.", "Two.", "Three."), statements=("Ada saw it.", "Bright."))
    for metric, value, *replies in (
        ("context_precision", 0.5, reply(useful=[2])),
        ("context_precision", 0.0, reply(useful=[])),
        ("context_precision", (1 + 2 / 3) / 2, reply(useful=[3, 1, 3])),
        ("context_recall", 0.5, reply(statements=found)),
        *(("context_relevance", score / 2, reply(score=score)) for score in (0, 1, 2)),
        ("faithfulness", 2 / 3, claimed("Ada.", "She lives.", "She flew."), verdicts(3, 1, 2)),
        ("answer_relevance", 1.0, reply(questions=[WHO] * 3, evasive=False)),
        ("answer_relevance", 0.0, reply(questions=[WHO] * 3, evasive=True)),
        ("coverage", 0.5, claimed("a", "b", "c", "d"), reply(held=[1, 3, 3])),
        ("evidence_statements", 0.5, reply(held=[2])),
    ):
        assert judged(metric, *replies, case=case).value == approx(value, abs=1e-5), metric


def test_similarity_below_zero_counts_as_zero():
    """One statement is supported, one not, two are missing; the two vectors are orthogonal."""

    def embedder(*second):
        vectors = np.array([[1.0, 0.0], second])
        return lambda: SimpleNamespace(encode=lambda texts, kind: vectors)

    asked = reply(questions=["Who?"], evasive=False)
    opposite = judged("answer_relevance", asked, embedder=embedder(-1.0, 0.0))
    assert opposite == Judgement(0.0)
    turned, classed = embedder(0.0, 1.0), reply(supported=[1], missing=[2, 3])
    replies = claimed("a", "b", "c"), claimed("a", "x"), classed
    result = judged("answer_correctness", *replies, embedder=turned)
    assert result.value == approx(0.75 * 2 * 1 / (2 * 1 + 1 + 2) + 0.25 * 0.5)
    nothing = judged("answer_correctness", claimed("a"), claimed(), embedder=turned)
    assert nothing.value == 0.25 * 0.5


def test_metrics_of_graphrag_bench_need_their_name():
    assert not {"answer_correctness", "coverage"} & set(select_measures())
    assert list(select_measures(("coverage",))) == ["coverage"]
