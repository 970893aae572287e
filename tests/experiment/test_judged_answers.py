"""What a judge's replies come to: values, and what is missing when it cannot be read."""

from __future__ import annotations

import json

import pytest
from pytest import approx

from graphrag_bench.evaluation.judged import answer_relevance, context_precision, share
from graphrag_bench.experiment.judging.measures import MEASURES, Bench, Case, Judgement
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.models.llm import CallFailed, Metered
from graphrag_bench.models.scripted import Reply, Scripted

ADA = Case("q", "Who found the comet?", "Ada Marsh.", ("Ada Marsh", "A. Marsh"), ("One.", "Two."))


def judged(metric: str, *replies: Reply, case: Case = ADA) -> Judgement:
    """The judgement when the judge says these things, one after the other."""
    said = iter(replies)
    meter = Metered(Scripted(answer=lambda chat: next(said)))
    (found,) = MEASURES[metric].judge(Bench(meter, Hashing), [case])
    return found


def marked(*offered: str, agrees: bool = True) -> str:
    return json.dumps({"offered": offered, "agrees": agrees})


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (marked("Ada Marsh"), 1.0),
        (marked("Ada Marsh", "ada marsh."), 1.0),
        (marked("Bo Reed", agrees=False), 0.0),
        (marked("Ada Marsh", "Bo Reed", "Cy Hale"), 0.0),
        (marked(), 0.0),
        (marked(" "), 0.0),
    ],
)
def test_only_an_answer_that_offers_the_gold_and_nothing_else_is_right(
    reply: str, value: float
) -> None:
    assert judged("judged_correctness", reply) == Judgement(value)


def test_several_may_be_offered_where_the_gold_is_a_list() -> None:
    listed = Case("q", "Which seas?", "Both.", ("Grey Sea", "Red Sea"), listed=True)
    both = marked("Grey Sea", "Red Sea")
    assert judged("judged_correctness", both, case=listed).value == 1.0
    assert judged("judged_correctness", marked(), case=listed).value == 0.0


@pytest.mark.parametrize("metric", list(MEASURES))
def test_a_judge_that_writes_prose_twice_leaves_no_value(metric: str) -> None:
    found = judged(metric, "It is fine.", "It is fine, as I said.")
    assert (found.value, found.missing) == (None, "unreadable")


@pytest.mark.parametrize("metric", list(MEASURES))
def test_a_call_that_failed_leaves_no_value(metric: str) -> None:
    found = judged(metric, CallFailed("refused", "no"))
    assert (found.value, found.missing) == (None, "failed")


@pytest.mark.parametrize("metric", list(MEASURES))
def test_an_empty_list_is_never_a_perfect_mark(metric: str) -> None:
    empty = json.dumps(
        {"statements": [], "verdicts": [], "questions": [], "useful": [], "evasive": False}
        | {"offered": [], "agrees": True}
    )
    assert not judged(metric, empty, empty).value


def test_json_inside_a_fence_is_read_and_a_first_reply_in_prose_is_asked_again() -> None:
    right = f"```json\n{marked('Ada Marsh')}\n```"
    assert judged("judged_correctness", "Right!", right).value == 1.0


def test_faithfulness_is_the_share_of_statements_that_are_supported() -> None:
    claims = json.dumps({"statements": ["She is Ada.", "She lives.", "She flew."]})
    verdicts = [{"number": n, "supported": n < 3} for n in (3, 1, 2)]
    found = judged("faithfulness", claims, json.dumps({"verdicts": verdicts}))
    assert found.value == approx(2 / 3, abs=1e-6)


@pytest.mark.parametrize("numbers", [[1, 2], [1, 2, 2], [1, 2, 3, 4], []])
def test_verdicts_that_skip_repeat_or_invent_a_statement_are_not_read(numbers: list[int]) -> None:
    claims = json.dumps({"statements": ["One.", "Two.", "Three."]})
    verdicts = [{"number": n, "supported": True} for n in numbers]
    found = judged("faithfulness", claims, json.dumps({"verdicts": verdicts}))
    assert (found.value, found.missing) == (None, "unreadable")


def test_an_answer_that_claims_nothing_has_no_faithfulness() -> None:
    assert judged("faithfulness", '{"statements": []}').missing == "nothing"


def test_answer_relevance_is_the_mean_cosine_with_the_questions_asked_back() -> None:
    same = {"questions": [ADA.question] * 3, "evasive": False}
    assert judged("answer_relevance", json.dumps(same)).value == approx(1.0, abs=1e-5)
    assert judged("answer_relevance", json.dumps(same | {"evasive": True})).value == 0.0


def test_context_recall_is_the_share_of_gold_statements_that_are_found() -> None:
    found = [{"text": "a", "found": True}, {"text": "b", "found": False}]
    assert judged("context_recall", json.dumps({"statements": found})).value == 0.5


def test_context_precision_falls_when_the_useful_piece_is_second() -> None:
    assert judged("context_precision", '{"useful": [1]}').value == 1.0
    assert judged("context_precision", '{"useful": [2]}').value == 0.5
    assert judged("context_precision", '{"useful": []}').value == 0.0


def test_a_useful_piece_that_is_not_there_is_not_read() -> None:
    assert judged("context_precision", '{"useful": [3]}').missing == "unreadable"


def test_precision_is_the_mean_over_the_ranks_that_hold_something() -> None:
    assert context_precision([True, False, True, False]) == approx((1 + 2 / 3) / 2)
    assert context_precision([False, False]) == 0.0


def test_shares_and_likeness_refuse_to_average_nothing() -> None:
    assert share([True, False, True, True]) == 0.75
    assert answer_relevance([-0.5, 0.1], evasive=False) == 0.0
    for nothing in (lambda: share([]), lambda: context_precision([])):
        with pytest.raises(ValueError, match="no "):
            nothing()


def test_text_of_an_answer_is_never_read_as_a_template() -> None:
    asked: list[str] = []

    def judge(chat: object) -> str:
        asked.append(chat[-1].content)  # type: ignore[index]
        return marked("x", agrees=False)

    case = Case("q", "{{ golds }}?", "{% raw %}{{ 7 * 7 }}", ("{{ gold }}",))
    MEASURES["judged_correctness"].judge(Bench(Metered(Scripted(answer=judge)), Hashing), [case])
    assert "{% raw %}{{ 7 * 7 }}" in asked[0] and "- {{ gold }}" in asked[0]
