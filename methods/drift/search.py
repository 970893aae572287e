"""DRIFT: what was asked and answered so far, the primer, and the local searches after it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, Field, PositiveInt, create_model

from graphrag_bench.algorithms.communities import Reports
from graphrag_bench.contract import operator
from graphrag_bench.graphs.asking import failures
from graphrag_bench.llm.chat import ChatModel, reply_tokens
from graphrag_bench.llm.structured import ask, ask_each, json_reading, or_fallback
from graphrag_bench.prompts import Prompt, answer_form
from graphrag_bench.text import words
from graphrag_bench.values import Community, Context, Query, Question, Ranked, unique, value
from operators.answer.map_reduce import Importance, Points


@dataclass(frozen=True)
class FollowUp:
    """A follow-up question and its depth: 1 of the primer, one more than that of its search."""

    text: str
    depth: int


@dataclass(frozen=True)
class DriftAnswer:
    """An intermediate answer and how well it serves the question, 1..100.

    `chunks` are those that it quotes, none where a model wrote it.
    """

    text: str
    score: int
    chunks: tuple[int, ...] = ()


@value("trail")
@dataclass(frozen=True)
class Trail:
    """Follow-up questions in order of appearance, each once, and the answers found, in order.

    The first `n_searched` follow-ups were searched for; the next one is being searched for.
    """

    follow_ups: tuple[FollowUp, ...]
    findings: tuple[DriftAnswer, ...] = ()
    n_searched: int = 0

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def current(self) -> FollowUp | None:
        """The follow-up that is searched for, or None when all have been."""
        return self.follow_ups[self.n_searched] if self.n_searched < len(self.follow_ups) else None

    @property
    def query(self) -> Query:
        """The text of the current follow-up; no text when all have been searched for."""
        return Query((self.current.text,) if self.current else ())

    def searched(self, findings: Sequence[DriftAnswer], new: Sequence[str], depth: int) -> "Trail":
        """The trail after the current search: its answers and, down to `depth`, new follow-ups.

        A follow-up that was asked for before is passed over.
        """
        below = 1 + (self.current.depth if self.current else 0)
        known = {one.text for one in self.follow_ups}
        added = [text for text in dict.fromkeys(new) if text not in known] if below <= depth else []
        return replace(
            self,
            follow_ups=(*self.follow_ups, *(FollowUp(text, below) for text in added)),
            findings=(*self.findings, *findings),
            n_searched=self.n_searched + 1,
        )


@value("none_open")
@dataclass(frozen=True)
class NoneOpen:
    """That every follow-up question has been searched for, and how many there were."""

    n_searched: int


FollowUpText = Annotated[str, Field(json_schema_extra={"maxLength": 200})]


class DriftReply(BaseModel):
    """An answer, how well it serves the question, and what to ask next.

    A server that enforces a schema ends a follow-up question at 200 characters.
    """

    answer: str
    score: Importance = 1
    follow_ups: list[FollowUpText] = []

    @property
    def findings(self) -> tuple[DriftAnswer, ...]:
        """The answer with its score; nothing when the answer has no text."""
        text, score = self.answer.strip(), max(self.score, 1)
        return (DriftAnswer(text, score),) if text else ()


@lru_cache(maxsize=64)
def reply_of(most: int) -> type[DriftReply]:
    """The reply type whose schema limits the number of follow-ups; a longer list is cut later."""
    bounded: Any = Field(default=[], json_schema_extra={"maxItems": most})
    return create_model("Bounded", __base__=DriftReply, follow_ups=(list[FollowUpText], bounded))


def follow_ups(findings: Sequence[DriftReply], most: int) -> tuple[str, ...]:
    """The follow-ups of some replies, at most `most` of each, in order and each once."""
    return unique(
        [text.strip() for one in findings for text in one.follow_ups[:most] if text.strip()]
    )


PARAGRAPH = answer_form("paragraph").max_tokens
QUESTIONS = 256
"""Tokens of the follow-ups in a reply of the primer, beside its answer."""
PRIMER = Prompt("methods:drift/prompts/primer.j2")


@operator("drift.primer.nlp", order="the order of the communities")
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
    order="the order of the folds and of their replies",
)
def primer(
    question: Question,
    context: Context,
    *,
    llm: ChatModel,
    prompt: Prompt = PRIMER,
    folds: PositiveInt = 1,
    max_follow_ups: PositiveInt = 5,
) -> tuple[Trail, Query]:
    """What the model answers from the reports and asks next, and the first follow-up as a query.

    The pieces of the context are divided into `folds` parts of consecutive pieces, fold i from
    floor(i n / folds) on, and each that is not empty is one call. Its answer is scored 1..100; at
    most `max_follow_ups` follow-ups of each count, each once. A reply has the tokens of a paragraph
    and 256 for the follow-ups. An unreadable reply is passed over
    and counted as a fallback; raises the last failure when that happens to every fold. Where no
    fold has a follow-up, the question itself is one, counted as a fallback; so it is, without a
    call, where there is no report.
    Source: Microsoft GraphRAG's DRIFT search, released code (primer and its folds).
    """
    bounds = [fold * len(context.pieces) // folds for fold in range(folds + 1)]
    chats = [
        prompt.render(
            {"question": question.text, "pieces": context.pieces[a:b], "most": max_follow_ups}
        )
        for a, b in pairwise(bounds)
        if a < b
    ]
    shape = reply_of(max_follow_ups)
    most = (question.open_tokens or PARAGRAPH) + QUESTIONS
    most = min((reply_tokens(llm, chat, most) for chat in chats), default=most)
    results = ask_each(llm, chats, json_reading(shape, "DRIFT primer"), max_tokens=most)
    failed = failures(results)
    if failed and len(failed) == len(results):
        raise failed[-1]
    replies = [or_fallback(llm, one, DriftReply(answer="")) for one in results]
    texts = follow_ups(replies, max_follow_ups)
    if not texts:
        llm.meter.fallbacks += 1
        texts = (question.text,)
    findings = tuple(one for reply in replies for one in reply.findings)
    trail = Trail(tuple(FollowUp(text, 1) for text in texts), findings)
    return trail, trail.query


LOCAL = Prompt("methods:drift/prompts/local.j2")


@operator("drift.answer.nlp")
def passage(
    question: Question, trail: Trail, context: Context
) -> tuple[Trail, Query, NoneOpen | None]:
    """The trail with the passages that are not in it yet, and the next follow-up as a query.

    Only chunks of the context count as passages. The score of one is the share of the question's
    different words that it has, times 100, rounded, and at least 1. No follow-up is added. The end
    when every follow-up has been searched for.
    Source: ours, the form of DRIFT's local search that needs no language model.
    """
    known, asked = {one.text for one in trail.findings}, set(words(question.text))

    def share(text: str) -> float:
        return len(asked.intersection(words(text))) / max(len(asked), 1)

    new = [
        DriftAnswer(piece.text, max(1, round(100 * share(piece.text))), piece.chunks or ())
        for piece in context.pieces
        if piece.kind == "chunk" and piece.text not in known
    ]
    return _onward(trail.searched(new, (), 1))


@operator("drift.answer.llm", calls=2, supplies={"question", "follow_up", "pieces", "most"})
def answer(
    question: Question,
    trail: Trail,
    context: Context,
    *,
    llm: ChatModel,
    prompt: Prompt = LOCAL,
    max_depth: PositiveInt = 2,
    max_follow_ups: PositiveInt = 5,
) -> tuple[Trail, Query, NoneOpen | None]:
    """The trail with the model's answer to the current follow-up, and the next one as a query.

    The answer is scored 1..100 by how well it serves the question. At most `max_follow_ups` new
    follow-ups join the end of the trail, down to `max_depth`; those of the primer have depth 1. A
    reply has the tokens of a paragraph. An unreadable reply, or none,
    adds nothing and is counted as a fallback. The end when every follow-up has been searched for.
    Source: Microsoft GraphRAG's DRIFT search, released code (actions and their local search).
    """
    current = trail.current.text if trail.current else question.text
    shown = {"question": question.text, "follow_up": current, "pieces": context.pieces}
    chat = prompt.render({**shown, "most": max_follow_ups})
    shape = reply_of(max_follow_ups)
    most = reply_tokens(llm, chat, question.open_tokens or PARAGRAPH)
    finding = ask(
        llm, chat, shape, max_tokens=most, purpose="DRIFT local search", fallback=shape(answer="")
    )
    further = follow_ups([finding], max_follow_ups)
    return _onward(trail.searched(finding.findings, further, max_depth))


def _onward(trail: Trail) -> tuple[Trail, Query, NoneOpen | None]:
    return trail, trail.query, None if trail.current else NoneOpen(trail.n_searched)


@operator("drift.points")
def points(trail: Trail) -> Points:
    """The answers of the primer and of every search, best first, ties in the order found.

    Source: Microsoft GraphRAG's DRIFT search, released code (all answers are reduced to one).
    """
    ranked = sorted(trail.findings, key=lambda one: -one.score)
    rows = [(one.text, one.score, one.chunks) for one in ranked]
    return Points(*zip(*rows, strict=True)) if rows else Points((), ())
