"""DRIFT by hand: folds of the primer, the queue of follow-ups, depths, answers."""

import json
from typing import Any

from graphrag_bench.algorithms.communities import Reports
from graphrag_bench.columns import Texts
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Context, Piece, Query, Question, Ranked
from methods.drift.search import (
    DriftAnswer,
    FollowUp,
    NoneOpen,
    Trail,
    answer,
    passage,
    primer,
    titles,
)

QUESTION = Question("q", "Who founded the town?")
UNREADABLE = "no JSON at all"
AGAIN = "Your last reply could not be read"


def reply_of(text: str, score: int, *follow_ups: str) -> str:
    return json.dumps({"answer": text, "score": score, "follow_ups": list(follow_ups)})


def pieces(*texts: str, kind: str = "community") -> Context:
    return Context(tuple(Piece(kind, f"p{row}", text, 1.0, 5) for row, text in enumerate(texts)))


REPORTS = pieces("Report 0.", "Report 1.", "Report 2.", "Report 3.", "Report 4.")


def primed(replies: dict[str, str], **settings: Any) -> tuple[Trail, Scripted, list[str]]:
    """Return the trail, the model, and the numbers of the reports in each call."""
    scripted = Scripted({**replies, AGAIN: UNREADABLE})
    trail, query = primer(QUESTION, REPORTS, llm=scripted, **settings)
    assert query == trail.query
    shown = [
        "".join(str(row) for row in range(5) if f"Report {row}." in chat[-1].content)
        for chat in scripted.prompts
    ]
    return trail, scripted, shown


def test_the_primer_reads_reports_in_folds_and_skips_an_unreadable_reply() -> None:
    """Two folds of five reports have floor(5 / 2) = 2 and 3. `Who?` comes once."""
    replies = {"Report 0.": reply_of("A town.", 20, "Who?", "When?"),
               "Report 2.": reply_of("A founder.", 70, "Where?", "Who?")}  # fmt: skip
    trail, llm, shown = primed(replies, folds=2)
    assert sorted(shown) == ["01", "234"]
    assert trail.follow_ups == (FollowUp("Who?", 1), FollowUp("When?", 1), FollowUp("Where?", 1))
    assert trail.findings == (DriftAnswer("A town.", 20), DriftAnswer("A founder.", 70))
    assert trail.query == Query(("Who?",))
    assert llm.meter.fallbacks == 0
    replies = {"Report 0.": UNREADABLE, "Report 2.": reply_of("A founder.", 70, "Where?")}
    trail, llm, _ = primed(replies, folds=2)
    assert [one.text for one in trail.follow_ups] == ["Where?"]
    assert llm.meter.fallbacks == 1
    trail, _, _ = primed({"Report": reply_of("", 0, "a", "b", "c")}, max_follow_ups=2)
    assert [one.text for one in trail.follow_ups] == ["a", "b"]
    assert trail.findings == ()


def test_report_titles_are_follow_ups_without_a_model() -> None:
    """Communities are ordered 2, 0, 1; community 0 has no title; 3 is above the limit of two."""
    names = Texts.of(["", "Harbour", "Town", "Mine"])
    reports = Reports(names, Texts.of([""] * 4), [0.0] * 4)  # type: ignore[arg-type]
    ranked = Ranked.of({2: 1.0, 0: 0.9, 1: 0.8, 3: 0.7})
    trail, query = titles(QUESTION, ranked, reports=reports, max_follow_ups=2)
    texts = ("Town: Who founded the town?", "Harbour: Who founded the town?")
    assert tuple(one.text for one in trail.follow_ups) == texts
    assert query == Query(texts[:1])


BEGUN = Trail((FollowUp("Who?", 1), FollowUp("When?", 1)), (DriftAnswer("A town.", 20),))


def answered(trail: Trail, reply: str, **settings: Any) -> tuple[Trail, Query, NoneOpen | None]:
    llm = Scripted({"Who founded": reply})
    return answer(QUESTION, trail, pieces("A text."), llm=llm, **settings)


def test_an_answer_is_added_to_the_trail_and_an_unreadable_reply_is_not() -> None:
    trail, query, end = answered(BEGUN, reply_of("Ada.", 90, "Where from?", "When?"))
    assert trail.findings == (DriftAnswer("A town.", 20), DriftAnswer("Ada.", 90))
    assert trail.follow_ups[2:] == (FollowUp("Where from?", 2),)
    assert (query, end) == (Query(("When?",)), None)
    assert (
        answered(BEGUN, reply_of("Ada.", 90, "Why?"), max_depth=1)[0].follow_ups == BEGUN.follow_ups
    )
    llm = Scripted({"Who founded": UNREADABLE, AGAIN: UNREADABLE})
    trail, query, _ = answer(QUESTION, BEGUN, pieces("A text."), llm=llm)
    assert trail.findings == BEGUN.findings
    assert query == Query(("When?",))
    assert llm.meter.fallbacks == 1


def test_scores_are_clipped_and_rounded_to_1_to_100() -> None:
    for score, whole in ((0, 1), (-3, 1), (55.6, 56), (900, 100), ("x", 1)):
        reply = json.dumps({"answer": "Ada.", "score": score, "follow_ups": []})
        assert answered(BEGUN, reply)[0].findings[-1] == DriftAnswer("Ada.", whole)


def test_a_passage_scores_by_its_share_of_question_words() -> None:
    """The passages have three, one and none of the four words `who founded the town`."""
    context = pieces("Ada founded the town.", "The mine.", "Salt", kind="chunk")
    trail, query, end = passage(QUESTION, BEGUN, context)
    assert [one.score for one in trail.findings[1:]] == [75, 25, 1]
    assert (query, end) == (Query(("When?",)), None)
    again, _, end = passage(QUESTION, trail, context)
    assert again.findings == trail.findings
    assert end == NoneOpen(2)
