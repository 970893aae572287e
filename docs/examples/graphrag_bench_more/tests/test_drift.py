"""DRIFT by hand: folds of the primer, the queue of follow-ups, depths, answers."""

import json
import re
from typing import Any

from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Context, Piece, Query, Question
from graphrag_bench_more.drift.search import (
    DriftAnswer,
    FollowUp,
    NoneOpen,
    Trail,
    answer,
    passage,
    primer,
)
from graphrag_bench_more.drift.world_reader import DriftWorldReader

QUESTION = Question("q", "Who founded the town?")
UNREADABLE = "no JSON at all"
AGAIN = "Your last reply could not be read"


def reply_of(text: str, score: object, *follow_ups: str) -> str:
    return json.dumps({"answer": text, "score": score, "follow_ups": list(follow_ups)})


def pieces(*texts: str, kind: str = "community") -> Context:
    return Context(tuple(Piece(kind, f"p{row}", text, 1.0, 5) for row, text in enumerate(texts)))


def primed(*replies: str, **settings: Any) -> tuple[Trail, Scripted]:
    """Return the trail after replies to prompts with the reports 0 and 2, and the model."""
    named = {f"Report {2 * at}.": reply for at, reply in enumerate(replies)}
    model = Scripted({**named, AGAIN: UNREADABLE})
    reports = pieces(*(f"Report {row}." for row in range(5)))
    trail, query = primer(QUESTION, reports, llm=model, **settings)
    assert query == trail.query
    return trail, model


def test_the_primer_reads_reports_in_folds_and_skips_an_unreadable_reply() -> None:
    """Two folds of five reports have floor(5 / 2) = 2 and 3. `Who?` comes once."""
    town, founder = DriftAnswer("A town.", 20), DriftAnswer("A founder.", 70)
    first, second = reply_of("A town.", 20, "Who?", "When?"), reply_of("A founder.", 70, "Who?")
    trail, llm = primed(first, second, folds=2)
    shown = [re.findall(r"Report (\d)", chat[-1].content) for chat in llm.prompts]
    assert sorted(shown) == [["0", "1"], ["2", "3", "4"]]
    assert trail == Trail((FollowUp("Who?", 1), FollowUp("When?", 1)), (town, founder))
    assert llm.meter.fallbacks == 0
    trail, llm = primed(UNREADABLE, second, folds=2)
    assert (trail, llm.meter.fallbacks) == (Trail((FollowUp("Who?", 1),), (founder,)), 1)
    trail, _ = primed(reply_of("", 0, "a", "b", "c"), max_follow_ups=2)
    assert trail == Trail((FollowUp("a", 1), FollowUp("b", 1)))


BEGUN = Trail((FollowUp("Who?", 1), FollowUp("When?", 1)), (DriftAnswer("A town.", 20),))


def test_an_answer_is_added_to_the_trail_and_an_unreadable_reply_is_not() -> None:
    for reply, settings, findings, follow_ups in (
        (reply_of("Ada.", 90, "Where?", "When?"), {}, [DriftAnswer("Ada.", 90)], ["Where?"]),
        (reply_of("Ada.", 90, "Why?"), {"max_depth": 1}, [DriftAnswer("Ada.", 90)], []),
        (UNREADABLE, {}, [], []),
        *((reply_of("Ada.", score), {}, [DriftAnswer("Ada.", whole)], [])
          for score, whole in ((0, 1), (-3, 1), (55.6, 56), (900, 100), ("x", 1))),
    ):  # fmt: skip
        llm = Scripted({"Who founded": reply, AGAIN: UNREADABLE})
        trail, query, end = answer(QUESTION, BEGUN, pieces("A text."), llm=llm, **settings)
        assert trail.findings == (*BEGUN.findings, *findings)
        added = [FollowUp(text, 2) for text in follow_ups]
        assert trail.follow_ups == (*BEGUN.follow_ups, *added)
        assert (query, end) == (Query(("When?",)), None)
        assert llm.meter.fallbacks == (reply == UNREADABLE)


def test_a_passage_scores_by_its_share_of_question_words() -> None:
    """The passages have three, one and none of the four words `who founded the town`."""
    context = pieces("Ada founded the town.", "The mine.", "Salt", kind="chunk")
    trail, query, end = passage(QUESTION, BEGUN, context)
    assert [one.score for one in trail.findings[1:]] == [75, 25, 1]
    assert (query, end) == (Query(("When?",)), None)
    again, _, end = passage(QUESTION, trail, context)
    assert again.findings == trail.findings
    assert end == NoneOpen(2)


ASKED = "Who is the founder of the employer of Ada Marsh?"
WORKED, FOUNDED = "Ada Marsh worked for Norvik Guild.", "Norvik Guild was founded by Otto Brandt."


def replied(prompt: str, *stated: str) -> str:
    values = {"question": ASKED, "follow_up": ASKED, "most": 3, "pieces": pieces(*stated).pieces}
    chat = Prompt(f"graphrag_bench_more:drift/prompts/{prompt}.j2").render(values)
    return DriftWorldReader().respond(chat)


def test_the_reader_of_worlds_asks_for_the_next_missing_fact() -> None:
    assert replied("hypothesis") == "Ada Marsh worked for"
    follow_up = "Norvik Guild was founded by"
    for prompt in ("primer", "local"):
        assert replied(prompt, WORKED) == reply_of(WORKED, 100, follow_up)
        assert replied(prompt, WORKED, FOUNDED) == reply_of(f"{WORKED} {FOUNDED}", 100)
