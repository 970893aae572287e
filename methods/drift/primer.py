"""How a DRIFT search begins: a text to find reports by, and questions that those reports raise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.answer_forms import answer_form
from graphrag_bench.contract import operator
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.graph.communities import Reports
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.chat import LLM
from graphrag_bench.llm.structured import ask_all, settled
from graphrag_bench.llm.windows import reply_tokens
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Community, Context, Query, Question, Ranked, unique
from methods.drift.replies import Found, asked_next, reply_of
from methods.drift.trail import FollowUp, Trail
from methods.hyde.hypothesis import hypothetical

PARAGRAPH = answer_form("paragraph").max_tokens
QUESTIONS = 256
"""Tokens of the follow-ups in a reply of the primer, beside its answer."""
HYPOTHESIS = Prompt("methods:drift/prompts/hypothesis.j2")
PRIMER = Prompt("methods:drift/prompts/primer.j2")


@operator("drift.query", calls=1, supplies={"question"})
def hypothesis(
    question: Question, *, llm: LLM, prompt: Prompt = HYPOTHESIS, max_tokens: PositiveInt = 256
) -> Query:
    """A report that the model writes as an answer to the question, true or not.

    An empty reply is replaced by the question and counted as a fallback. Raises CallFailed when the
    model gives no reply.
    Source: Microsoft GraphRAG's DRIFT search, released code (query expansion of the primer).
    """
    return hypothetical(question, llm=llm, prompt=prompt, max_tokens=max_tokens)


@operator("drift.primer.nlp", unordered="the order of the communities")
def titles(
    question: Question,
    communities: Ranked[Community],
    *,
    reports: Reports,
    max_follow_ups: PositiveInt = 5,
) -> tuple[Trail, Query]:
    """The follow-ups "title: question" of the first communities' reports, and the first as a query.

    At most `max_follow_ups` different ones, in the order of the communities; reports without a
    title are passed over. Without any title the question itself is the follow-up. No answer.
    Source: ours, the form of DRIFT's primer that needs no language model.
    """
    named = [reports.titles[row].strip() for row in communities.ids.tolist()]
    texts = unique([f"{title}: {question.text}" for title in named if title])[:max_follow_ups]
    trail = Trail(tuple(FollowUp(text, 1) for text in texts or (question.text,)))
    return trail, trail.query


@operator(
    "drift.primer.llm",
    calls=lambda settings: 2 * int(settings["folds"]),
    supplies={"question", "pieces", "most"},
    unordered="the order of the folds and of their replies",
)
def primer(
    question: Question,
    context: Context,
    *,
    llm: LLM,
    prompt: Prompt = PRIMER,
    folds: PositiveInt = 1,
    max_follow_ups: PositiveInt = 5,
    max_tokens: PositiveInt | None = None,
) -> tuple[Trail, Query]:
    """What the model answers from the reports and asks next, and the first follow-up as a query.

    The pieces of the context are divided into `folds` parts of consecutive pieces, fold i from
    floor(i n / folds) on, and each that is not empty is one call. Its answer is scored 1..100; at
    most `max_follow_ups` follow-ups of each count, each once. A reply has the tokens of a paragraph
    and 256 for the follow-ups, unless `max_tokens` is set. An unreadable reply is passed over
    and counted as a fallback; raises the last failure when that happens to every fold. Where no
    fold has a follow-up, the question itself is one, counted as a fallback; so it is, without a
    call, where there is no report.
    Source: Microsoft GraphRAG's DRIFT search, released code (primer and its folds).
    """
    parts = _divided(context, folds)
    chats = [
        prompt.render({"question": question.text, "pieces": part, "most": max_follow_ups})
        for part in parts
    ]
    shape = reply_of(max_follow_ups)
    most = (question.open_tokens or PARAGRAPH) + QUESTIONS
    most = max_tokens or min((reply_tokens(llm, chat, most) for chat in chats), default=most)
    results = ask_all(llm, chats, shape, max_tokens=most, purpose="DRIFT primer")
    failures = [one for one in results if isinstance(one, UnreadableReply | CallFailed)]
    if failures and len(failures) == len(results):
        raise failures[-1]
    found = [settled(llm, one, Found(answer="")) for one in results]
    texts = asked_next(found, max_follow_ups)
    if not texts:
        none = UnreadableReply("follow-up questions", "none in any reply")
        texts = settled(llm, none, (question.text,))
    findings = tuple(one for reply in found for one in reply.findings)
    trail = Trail(tuple(FollowUp(text, 1) for text in texts), findings)
    return trail, trail.query


def _divided(context: Context, folds: int) -> list[Sequence[Any]]:
    n = len(context.pieces)
    bounds = [fold * n // folds for fold in range(folds + 1)]
    parts = [context.pieces[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]
    return [part for part in parts if part]
