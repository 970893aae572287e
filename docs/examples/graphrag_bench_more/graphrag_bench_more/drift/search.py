"""DRIFT search: answer from community reports first, then search for each follow-up question."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, Field, PositiveInt, create_model

from graphrag_bench.algorithms.communities import Reports
from graphrag_bench.arrays import unique
from graphrag_bench.contract import operator
from graphrag_bench.graphs.build_calls import failures
from graphrag_bench.llm.chat import ChatModel, reply_tokens
from graphrag_bench.llm.structured import ask, ask_each, json_format, or_fallback
from graphrag_bench.prompts import Prompt, answer_form
from graphrag_bench.text import words
from graphrag_bench.values import Community, Context, Query, Question, Ranked, value
from operators.answer.generation import Importance, Points


@dataclass(frozen=True)
class FollowUp:
    """A follow-up question and its depth. Questions from the community reports have depth 1."""

    text: str
    depth: int


@dataclass(frozen=True)
class DriftAnswer:
    """An intermediate answer, its score (1..100), and the chunks that it quotes, if any."""

    text: str
    score: int
    chunks: tuple[int, ...] = ()


@value("trail")
@dataclass(frozen=True)
class Trail:
    """The state of a DRIFT search: distinct follow-up questions and the answers found so far.

    The first `n_searched` follow-ups have been searched for. The next follow-up is the current one.
    """

    follow_ups: tuple[FollowUp, ...]
    findings: tuple[DriftAnswer, ...] = ()
    n_searched: int = 0

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def current(self) -> FollowUp | None:
        """The follow-up to search for now, or None if all follow-ups have been searched for."""
        return self.follow_ups[self.n_searched] if self.n_searched < len(self.follow_ups) else None

    @property
    def query(self) -> Query:
        """The current follow-up as a query, or an empty query after the last follow-up."""
        return Query((self.current.text,) if self.current else ())

    def searched(self, findings: Sequence[DriftAnswer], new: Sequence[str], depth: int) -> "Trail":
        """Return the state after a search. New follow-ups deeper than `depth` are left out."""
        below = 1 + (self.current.depth if self.current else 0)
        known = {one.text for one in self.follow_ups}
        added = [text for text in dict.fromkeys(new) if text not in known] if below <= depth else []
        follow_ups = (*self.follow_ups, *(FollowUp(text, below) for text in added))
        return Trail(follow_ups, (*self.findings, *findings), self.n_searched + 1)


@value("none_open")
@dataclass(frozen=True)
class NoneOpen:
    """The end of a DRIFT search, after all follow-up questions have been searched for."""

    n_searched: int


FollowUpText = Annotated[str, Field(json_schema_extra={"maxLength": 200})]


class DriftReply(BaseModel):
    """Reply of the model: an answer, its score, and follow-up questions."""

    answer: str
    score: Importance = 1
    follow_ups: list[FollowUpText] = []

    @property
    def findings(self) -> tuple[DriftAnswer, ...]:
        """The answer with its score. If the answer is empty, there are no findings."""
        text = self.answer.strip()
        return (DriftAnswer(text, max(self.score, 1)),) if text else ()


@lru_cache(maxsize=64)
def reply_of(most: int) -> type[DriftReply]:
    """Return a reply type whose JSON schema allows at most `most` follow-up questions."""
    bounded: Any = Field(default=[], json_schema_extra={"maxItems": most})
    return create_model("Bounded", __base__=DriftReply, follow_ups=(list[FollowUpText], bounded))


def follow_ups(findings: Sequence[DriftReply], most: int) -> tuple[str, ...]:
    """Return the distinct follow-up questions of the replies, at most `most` from each reply."""
    texts = (text.strip() for one in findings for text in one.follow_ups[:most])
    return unique(list(filter(None, texts)))


PARAGRAPH = answer_form("paragraph").max_tokens
FOLLOW_UP_TOKENS = 256
"""The number of tokens reserved for follow-up questions in a reply to the primer prompt."""
PRIMER = Prompt("graphrag_bench_more:drift/prompts/primer.j2")


@operator("drift.primer.nlp", order="the order of the communities")
def titles(
    question: Question,
    communities: Ranked[Community],
    *,
    reports: Reports,
    max_follow_ups: PositiveInt = 5,
) -> tuple[Trail, Query]:
    """Make follow-up questions from report titles, in the form "title: question", without a model.

    At most `max_follow_ups` distinct follow-ups are kept. The first is the query. If no report has
    a title, the question is the only follow-up. DRIFT's primer asks a language model instead.
    Source: this project.
    """
    named = map(str.strip, reports.titles.take(communities.ids))
    texts = unique([f"{title}: {question.text}" for title in named if title])[:max_follow_ups]
    trail = Trail(tuple(FollowUp(text, 1) for text in texts or (question.text,)))
    return trail, trail.query


@operator(
    "drift.primer.llm", calls=lambda settings: 2 * int(settings["folds"]),
    supplies={"question", "pieces", "most"}, order="by fold, then as in the reply",
)  # fmt: skip
def primer(
    question: Question,
    context: Context,
    *,
    llm: ChatModel,
    prompt: Prompt = PRIMER,
    folds: PositiveInt = 1,
    max_follow_ups: PositiveInt = 5,
) -> tuple[Trail, Query]:
    """Ask the language model for first answers and follow-up questions, given community reports.

    The pieces of the context, i.e. the reports, are divided into `folds` consecutive parts. There
    is one call for each part that is not empty. For each part, the model gives one answer, its
    score (1..100) and up to `max_follow_ups` follow-ups. The first follow-up is the query. The
    token limit of a reply is the paragraph limit plus 256 for the follow-ups. An unreadable reply
    is skipped and counts as a fallback. If all replies fail, the last failure is raised. If there
    are no follow-ups or no reports, the question is the only follow-up, which counts as a fallback.
    Source: Microsoft GraphRAG, DRIFT search, primer and its folds.
    """
    bounds = [fold * len(context.pieces) // folds for fold in range(folds + 1)]
    folded = [context.pieces[first:last] for first, last in pairwise(bounds) if first < last]
    values = {"question": question.text, "most": max_follow_ups}
    chats = [prompt.render({**values, "pieces": pieces}) for pieces in folded]
    most = (question.open_tokens or PARAGRAPH) + FOLLOW_UP_TOKENS
    most = min((reply_tokens(llm, chat, most) for chat in chats), default=most)
    primed = json_format(reply_of(max_follow_ups), "DRIFT primer")
    results = ask_each(llm, chats, primed, max_tokens=most)
    failed = failures(results)
    if failed and len(failed) == len(results):
        raise failed[-1]
    replies = [or_fallback(llm, one, DriftReply(answer="")) for one in results]
    texts = follow_ups(replies, max_follow_ups)
    llm.meter.fallbacks += not texts
    findings = tuple(one for reply in replies for one in reply.findings)
    trail = Trail(tuple(FollowUp(text, 1) for text in texts or (question.text,)), findings)
    return trail, trail.query


LOCAL = Prompt("graphrag_bench_more:drift/prompts/local.j2")


@operator("drift.answer.nlp")
def passage(
    question: Question, trail: Trail, context: Context
) -> tuple[Trail, Query, NoneOpen | None]:
    """Use the passages found for the current follow-up question as answers, without a model.

    New chunks in the context become answers in the trail, i.e. the state of the search. The score
    of a passage is the percentage of distinct words of the question in the passage, rounded and at
    least 1. The next follow-up is the query. The search ends after the last follow-up. DRIFT's
    local search asks a language model instead.
    Source: this project.
    """
    known, asked = {one.text for one in trail.findings}, set(words(question.text))
    new = []
    for piece in context.pieces:
        if piece.kind == "chunk" and piece.text not in known:
            share = len(asked.intersection(words(piece.text))) / max(len(asked), 1)
            new.append(DriftAnswer(piece.text, max(1, round(100 * share)), piece.chunks or ()))
    return _next_step(trail.searched(new, (), 1))


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
    """Ask the language model to answer the current follow-up question of a DRIFT search.

    The answer is added to the trail, i.e. the state of the search, and the next follow-up is the
    query. The model scores how well its answer serves the question (1..100). Up to `max_follow_ups`
    new follow-ups are added at the next depth, unless it exceeds `max_depth`. The token limit of a
    reply is the paragraph limit. A missing or unreadable reply adds nothing and counts as a
    fallback. The search ends after the last follow-up.
    Source: Microsoft GraphRAG, DRIFT search, actions and their local search.
    """
    current = trail.current.text if trail.current else question.text
    values = {"question": question.text, "follow_up": current, "pieces": context.pieces}
    chat = prompt.render({**values, "most": max_follow_ups})
    shape = reply_of(max_follow_ups)
    most, none = reply_tokens(llm, chat, question.open_tokens or PARAGRAPH), shape(answer="")
    reply = ask(llm, chat, shape, max_tokens=most, purpose="DRIFT local search", fallback=none)
    further = follow_ups([reply], max_follow_ups)
    return _next_step(trail.searched(reply.findings, further, max_depth))


def _next_step(trail: Trail) -> tuple[Trail, Query, NoneOpen | None]:
    return trail, trail.query, None if trail.current else NoneOpen(trail.n_searched)


@operator("drift.points")
def points(trail: Trail) -> Points:
    """Return all answers found by a DRIFT search as points, i.e. scored statements, best first.

    Source: Microsoft GraphRAG, DRIFT search, reduction of all answers.
    """
    ranked = sorted(trail.findings, key=lambda one: -one.score)
    rows = [(one.text, one.score, one.chunks) for one in ranked]
    return Points(*zip(*rows, strict=True)) if rows else Points((), ())
