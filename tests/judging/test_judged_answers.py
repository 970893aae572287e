"""What a judge's replies come to: values, and what is missing when it cannot be read."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from pytest import approx

from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.evaluation.metrics import metric_names
from graphrag_bench.judging.answers import MEASURES, chosen
from graphrag_bench.judging.measures import AnswerToJudge, Judgement, JudgeModels, judge
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.scripted import Reply, Scripted
from graphrag_bench.values import FloatArray

WHO, NAMES = "Who found the comet?", ("Ada Marsh", "A. Marsh")
ADA = AnswerToJudge("q", WHO, "It was Ada Marsh who did.", NAMES, ("One.", "Two."))


def judged(
    metric: str, *replies: Reply, case: AnswerToJudge = ADA, embedder: Callable[[], Any] = Hashing
) -> Judgement:
    """The judgement when the judge says these things, one after the other."""
    message = iter(replies)
    meter = Scripted(answer=lambda chat: next(message))
    (result,) = judge(MEASURES[metric].metric, JudgeModels(meter, embedder), [case])
    return result


def prompts(case: AnswerToJudge, verdict: bool) -> list[str]:
    """The prompts of a judge of correctness who says that one thing is offered, and this of it."""
    chats: list[str] = []

    def model(chat: Chat) -> str:
        chats.append("".join(message.content for message in chat))
        return offers("Miss Marsh") if len(chats) == 1 else agrees(verdict)

    judge(
        MEASURES["judged_correctness"].metric, JudgeModels(Scripted(answer=model), Hashing), [case]
    )
    return chats


def offers(*offered: str) -> str:
    return json.dumps({"offered": offered})


def claimed(*statements: str) -> str:
    return json.dumps({"statements": statements})


def agrees(verdict: bool) -> str:
    return json.dumps({"agrees": verdict})


def verdicts(*numbers: int) -> str:
    """Those on statements of these numbers: the first two are supported."""
    return json.dumps({"verdicts": [{"number": n, "supported": n < 3} for n in numbers]})


@pytest.mark.parametrize(
    ("offered", "value"),
    [
        (["Ada Marsh"], 1.0),
        (["ada  marsh.", "Ada Marsh"], 1.0),
        (["Ada Marsh", "A. Marsh"], 1.0),
        (["Ada Marsh", "Bo Reed", "Cy Hale"], 0.0),
        (["Bo Reed", "Cy Hale"], 0.0),
        ([], 0.0),
        ([" ", "."], 0.0),
    ],
)
def test_the_gold_is_right_nothing_and_several_are_wrong_without_a_second_call(
    offered: list[str], value: float
) -> None:
    assert judged("judged_correctness", offers(*offered)) == Judgement(value)


@pytest.mark.parametrize(
    ("answer", "golds", "replies", "value"),
    [
        ("It was Ada Marsh who did.", ("Ada Marsh",), (offers("Miss Marsh"), agrees(True)), 1.0),
        ("It was Ada Marsh who did.", ("Ada Marsh",), (offers("Miss Marsh"), agrees(False)), 0.0),
        ("ada marsh.", ("Ada Marsh", "A. Marsh"), (), 1.0),  # word for word: no call
        ("Marsh", ("Ada Marsh",), (agrees(True),), 1.0),  # a short name offers itself
    ],
)
def test_other_words_are_held_against_the_gold_and_the_same_need_no_call(
    answer: str, golds: tuple[str, ...], replies: tuple[str, ...], value: float
) -> None:
    case = AnswerToJudge("q", WHO, answer, golds)
    assert judged("judged_correctness", *replies, case=case) == Judgement(value)


@pytest.mark.parametrize(("answer", "other"), [("-5", "5"), ("5", "-5"), ("C#", "C")])
def test_signs_that_carry_meaning_are_part_of_the_words(answer: str, other: str) -> None:
    case = AnswerToJudge("q", "How cold was it?", answer, (other,))
    assert judged("judged_correctness", agrees(False), case=case).value == 0.0


def test_the_judge_sees_no_gold_before_it_has_said_what_is_offered_and_no_text_is_a_template() -> (
    None
):
    case = AnswerToJudge("q", WHO, "It was Miss Marsh who did.", ("Ada M.",))
    first, second = prompts(case, True)
    assert "Ada M." not in first and "- Ada M.\n" in second and "- Miss Marsh" in second
    case = AnswerToJudge(
        "q", "{{ golds }}?", "It is, as they say, {% raw %}{{ 7 * 7 }}", ("{{ gold }}",)
    )
    first, second = prompts(case, False)
    assert "{% raw %}{{ 7 * 7 }}" in first and "- {{ gold }}" in second


def test_a_list_is_right_when_it_is_the_whole_gold_list_and_wrong_by_count_else() -> None:
    listed = AnswerToJudge(
        "q", "Which seas?", "Both of them, as it is told.", ("Grey Sea", "Red Sea"), listed=True
    )

    def value(*replies: str) -> float | None:
        return judged("judged_correctness", *replies, case=listed).value

    assert value(offers("Red Sea", "grey sea")) == 1.0
    assert value(offers("Red Sea", "the grey one"), agrees(True)) == 1.0
    assert value(offers("Red Sea", "Arn"), agrees(False)) == 0.0
    assert value(offers("Red Sea")) == value(offers("Red Sea", "Grey Sea", "Arn")) == 0.0
    assert value(offers()) == 0.0
    bare = replace(listed, answer="Red Sea")
    assert judged("judged_correctness", case=bare) == Judgement(0.0)


EMPTY = {"statements": [], "verdicts": [], "questions": [], "useful": [], "offered": []}


@pytest.mark.parametrize("metric", list(MEASURES))
def test_failed_calls_and_prose_leave_no_value_and_an_empty_list_is_never_a_perfect_mark(
    metric: str,
) -> None:
    failed, prose = judged(metric, CallFailed("refused", "no")), judged(metric, "Fine.", "Fine!")
    assert (failed.value, failed.missing) == (None, "failed")
    assert (prose.value, prose.missing) == (None, "unreadable")
    empty = json.dumps(EMPTY | {"evasive": False})
    assert not judged(metric, empty, empty).value


@pytest.mark.parametrize(
    ("metric", "replies", "missing"),
    [
        ("judged_correctness", (offers("Miss Marsh"), "Well.", "Well, well."), "unreadable"),
        ("context_precision", ('{"useful": [3]}',), "unreadable"),
        ("faithfulness", ('{"statements": []}',), "nothing"),
        *(("faithfulness", (claimed("One.", "Two.", "Three."), verdicts(*numbers)), "unreadable")
          for numbers in ([1, 2], [1, 2, 2], [1, 2, 3, 4], [])),
    ],
)  # fmt: skip
def test_what_cannot_be_read_or_claims_nothing_has_no_value(
    metric: str, replies: tuple[str, ...], missing: str
) -> None:
    result = judged(metric, *replies)
    assert (result.value, result.missing) == (None, missing)


def asked_back(**fields: object) -> str:
    return json.dumps({"questions": [ADA.question] * 3, "evasive": False, **fields})


@pytest.mark.parametrize(
    ("metric", "replies", "value"),
    [
        ("context_precision", ['{"useful": [2]}'], 0.5),
        ("context_precision", ['{"useful": []}'], 0.0),
        ("context_precision", ['{"useful": [3, 1, 3]}'], (1 + 2 / 3) / 2),
        ("context_recall",
         ['{"statements": [{"text": "a", "found": true}, {"text": "b", "found": false}]}'], 0.5),
        ("context_relevance", ['{"score": 0}'], 0.0),
        ("context_relevance", ['{"score": 1}'], 0.5),
        ("context_relevance", ['{"score": 2}'], 1.0),
        ("faithfulness", [claimed("Ada.", "She lives.", "She flew."), verdicts(3, 1, 2)], 2 / 3),
        ("answer_relevance", [asked_back()], 1.0),
        ("answer_relevance", [asked_back(evasive=True)], 0.0),
        ("coverage", [claimed("a", "b", "c", "d"), '{"held": [1, 3, 3]}'], 0.5),
        ("evidence_statements", ['{"held": [2]}'], 0.5),
    ],
)  # fmt: skip
def test_a_metric_is_the_share_or_rank_that_its_replies_say(
    metric: str, replies: list[str], value: float
) -> None:
    """Recall is a share of the gold's statements, precision a mean over useful ranks."""
    case = replace(ADA, passages=("One.", "Two.", "Three."), statements=("Ada saw it.", "Bright."))
    assert judged(metric, *replies, case=case).value == approx(value, abs=1e-5)


@dataclass(frozen=True)
class Pair:
    """An embedder of two texts, of which the second has this vector and the first another."""

    second: Sequence[float]

    def encode(self, texts: Sequence[str], kind: str) -> FloatArray:
        return np.array([[1.0, 0.0], self.second])


def test_a_likeness_below_zero_counts_as_zero() -> None:
    reply = '{"questions": ["Who?"], "evasive": false}'
    result = judged("answer_relevance", reply, embedder=lambda: Pair([-1.0, 0.0]))
    assert result == Judgement(0.0)


@pytest.mark.parametrize(
    "answer",
    [
        "Tarn, Ada Marsh, Orm, Bo Reed, the Arn",
        "1. Tarn\n2. Ada Marsh\n3. Orm\n4. Bo Reed\n5. Ada Marsh of Tarn",
    ],
)
def test_a_list_of_five_names_is_wrong_whatever_any_judge_would_say(answer: str) -> None:
    case = AnswerToJudge("q", WHO, answer, ("Ada Marsh",))
    assert judged("judged_correctness", case=case) == Judgement(0.0)


def test_a_gold_answer_that_names_several_things_is_not_wrong_by_count() -> None:
    gold = "red, green, blue, white and grey"
    case = AnswerToJudge(
        "q", "Of which colours is the flag?", "Grey, white, blue, green and red", (gold,)
    )
    assert judged("judged_correctness", agrees(True), case=case).value == 1.0
    pair = AnswerToJudge("q", "Who found it?", "It was Ada and Bo who did.", ("Bo and Ada",))
    assert judged("judged_correctness", offers("Ada", "Bo"), agrees(True), case=pair).value == 1.0
    assert judged("judged_correctness", offers("Ada", "Bo", "Cy"), case=pair).value == 0.0


@pytest.mark.parametrize("answer", ["Ada Marsh, of Tarn", "Ada Marsh or Bo Reed"])
def test_a_text_whose_form_does_not_tell_is_read_by_the_judge(answer: str) -> None:
    case = AnswerToJudge("q", WHO, answer, ("Ada Marsh",))
    assert judged("judged_correctness", offers("Ada Marsh"), case=case).value == 1.0
    assert judged("judged_correctness", offers(), case=case).value == 0.0


def turned() -> Pair:
    """Two texts at a right angle: their likeness is 0.5."""
    return Pair([0.0, 1.0])


def test_correctness_is_f1_of_statements_and_a_quarter_likeness() -> None:
    message = [claimed("a", "b", "c"), claimed("a", "x"), '{"supported": [1], "missing": [2, 3]}']
    result = judged("answer_correctness", *message, embedder=turned)
    f1 = 2 * 1 / (2 * 1 + 1 + 2)  # one supported, one not, two missing
    assert result.value == approx(0.75 * f1 + 0.25 * 0.5)


def test_an_answer_that_claims_nothing_has_no_facts_and_a_wrong_number_no_value() -> None:
    result = judged("answer_correctness", claimed("a"), claimed(), embedder=turned)
    assert result.value == 0.25 * 0.5
    wrong = '{"supported": [2], "missing": []}'
    assert judged("answer_correctness", claimed("a"), claimed("a"), wrong).missing == "unreadable"


@pytest.mark.parametrize(
    "metric", ["context_precision", "context_recall", "context_relevance", "evidence_statements"]
)
def test_an_empty_context_is_worth_nothing_and_asks_nothing(metric: str) -> None:
    assert judged(metric, case=replace(ADA, passages=())) == Judgement(0.0)
    repeated = replace(ADA, passages=("comet",))  # a part of the question
    assert metric != "context_relevance" or judged(metric, case=repeated) == Judgement(0.0)


def test_the_metrics_of_graphrag_bench_are_judged_only_by_name() -> None:
    assert not {"answer_correctness", "coverage"} & set(chosen())
    assert list(chosen(("coverage",))) == ["coverage"]
    assert list(MEASURES) == metric_names(["judge"])
    assert not MEASURES["evidence_statements"].fits(ADA)


REFUSALS = ["", " \n", "unanswerable", "Unknown.", "I do not know.", "N/A",
            "I'm sorry, but I cannot answer that.",
            "Unfortunately, the context does not mention it. I cannot determine it."]  # fmt: skip


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_has_nothing_without_a_call(answer: str) -> None:
    case = replace(ADA, answer=answer)
    named = ("judged_correctness", "answer_relevance", "answer_correctness", "coverage")
    assert [judged(name, case=case).value for name in named] == [0.0] * 4
    assert judged("faithfulness", case=case).missing == "nothing"


def test_a_refusal_is_right_where_the_gold_answer_is_one() -> None:
    case = replace(ADA, answer="I cannot answer this.", golds=("Insufficient information.",))
    assert judged("judged_correctness", case=case).value == 1.0


@pytest.mark.parametrize(
    "answer",
    ["The context does not mention it directly, but it was Miss Marsh.",
     "I do not know for sure. Miss Marsh, I think.", "I cannot say: perhaps Ada Marsh"],
)  # fmt: skip
def test_an_answer_after_a_doubt_is_judged(answer: str) -> None:
    case = replace(ADA, answer=answer)
    assert judged("judged_correctness", offers("Ada Marsh"), case=case).value == 1.0
