"""DRIFT's search: a primer over reports, then a local search for each follow-up question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, Field, PositiveInt, create_model

from graphrag_bench.algorithms.communities import Reports
from graphrag_bench.contract import operator
from graphrag_bench.graphs.build_calls import failures
from graphrag_bench.llm.chat import ChatModel, reply_tokens
from graphrag_bench.llm.structured import ask, ask_each, json_format, or_fallback
from graphrag_bench.prompts import Prompt, answer_form
from graphrag_bench.text import words
from graphrag_bench.values import Community, Context, Query, Question, Ranked, unique, value
from operators.answer.map_reduce import Importance, Points


@dataclass(frozen=True)
class FollowUp:
    """A follow-up question and its depth.

    Follow-ups of the primer have depth 1. A follow-up that is found in the search for another
    follow-up is one level deeper.
    """

    text: str
    depth: int


@dataclass(frozen=True)
class DriftAnswer:
    """An intermediate answer and its score (1..100).

    `chunks` are the ids of the chunks that the answer quotes. A model's answer quotes no chunks.
    """

    text: str
    score: int
    chunks: tuple[int, ...] = ()


@value("trail")
@dataclass(frozen=True)
class Trail:
    """Distinct follow-up questions and the answers found so far, both in order.

    The first `n_searched` follow-ups have been searched for. The next one is the current follow-up.
    """

    follow_ups: tuple[FollowUp, ...]
    findings: tuple[DriftAnswer, ...] = ()
    n_searched: int = 0

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def current(self) -> FollowUp | None:
        """The current follow-up, or None if all follow-ups have been searched for."""
        return self.follow_ups[self.n_searched] if self.n_searched < len(self.follow_ups) else None

    @property
    def query(self) -> Query:
        """The current follow-up as a query; empty if all follow-ups have been searched for."""
        return Query((self.current.text,) if self.current else ())

    def searched(self, findings: Sequence[DriftAnswer], new: Sequence[str], depth: int) -> "Trail":
        """Return the trail after the current search, with the new answers and new follow-ups.

        Known follow-ups and follow-ups deeper than `depth` are not added.
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
    """End of the search: all `n_searched` follow-ups have been searched for."""

    n_searched: int


FollowUpText = Annotated[str, Field(json_schema_extra={"maxLength": 200})]


class DriftReply(BaseModel):
    """Reply of the model: an answer, its score, and follow-up questions."""

    answer: str
    score: Importance = 1
    follow_ups: list[FollowUpText] = []

    @property
    def findings(self) -> tuple[DriftAnswer, ...]:
        """The answer with its score; empty if the reply has no answer."""
        text, score = self.answer.strip(), max(self.score, 1)
        return (DriftAnswer(text, score),) if text else ()


@lru_cache(maxsize=64)
def reply_of(most: int) -> type[DriftReply]:
    """Return a reply type whose schema allows at most `most` follow-ups."""
    bounded: Any = Field(default=[], json_schema_extra={"maxItems": most})
    return create_model("Bounded", __base__=DriftReply, follow_ups=(list[FollowUpText], bounded))


def follow_ups(findings: Sequence[DriftReply], most: int) -> tuple[str, ...]:
    """Return the distinct follow-ups of the replies, at most `most` from each reply."""
    return unique(
        [text.strip() for one in findings for text in one.follow_ups[:most] if text.strip()]
    )


PARAGRAPH = answer_form("paragraph").max_tokens
FOLLOW_UP_TOKENS = 256
"""The number of tokens for the follow-ups in a reply of the primer."""
PRIMER = Prompt("methods:drift/prompts/primer.j2")


@operator("drift.primer.nlp", order="the order of the communities")
def titles(
    question: Question,
    communities: Ranked[Community],
    *,
    reports: Reports,
    max_follow_ups: PositiveInt = 5,
) -> tuple[Trail, Query]:
    """Make follow-ups "title: question" from report titles, and use the first one as the query.

    There are at most `max_follow_ups` distinct follow-ups, in the order of the communities. Reports
    without a title are skipped. If no report has a title, the question is the only follow-up. The
    trail contains no answers. DRIFT's primer asks a language model instead.
    Source: this project.
    """
    named = [reports.titles[row].strip() for row in communities.ids.tolist()]
    texts = unique([f"{title}: {question.text}" for title in named if title])[:max_follow_ups]
    trail = Trail(tuple(FollowUp(text, 1) for text in texts or (question.text,)))
    return trail, trail.query


@operator(
    "drift.primer.llm",
    calls=lambda settings: 2 * int(settings["folds"]),
    supplies={"question", "pieces", "most"},
    order="by fold, then as in the reply",
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
    """Ask the model for answers and follow-ups from reports; the first follow-up is the new query.

    The pieces of the context are divided into `folds` consecutive parts, with one call for each
    part that is not empty. The model gives one answer, its score (1..100) and up to
    `max_follow_ups` follow-ups per part. The token limit of a reply is that of a paragraph plus 256
    for the follow-ups. An unreadable reply is skipped and counts as a fallback. If all replies
    fail, the last failure is raised. If there are no follow-ups or no reports, the question is the
    only follow-up, which counts as a fallback.
    Source: Microsoft GraphRAG, DRIFT search, primer and its folds.
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
    most = (question.open_tokens or PARAGRAPH) + FOLLOW_UP_TOKENS
    most = min((reply_tokens(llm, chat, most) for chat in chats), default=most)
    results = ask_each(llm, chats, json_format(shape, "DRIFT primer"), max_tokens=most)
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
    """Add the context's new passages to the trail as answers, and go to the next follow-up.

    Passages are the chunks of the context. The score of a passage is the percentage of the
    question's distinct words that it contains, rounded, at least 1. No follow-up is added. The
    search ends after the last follow-up. DRIFT's local search asks a language model instead.
    Source: this project.
    """
    known, question_words = {one.text for one in trail.findings}, set(words(question.text))

    def share(text: str) -> float:
        return len(question_words.intersection(words(text))) / max(len(question_words), 1)

    new = [
        DriftAnswer(piece.text, max(1, round(100 * share(piece.text))), piece.chunks or ())
        for piece in context.pieces
        if piece.kind == "chunk" and piece.text not in known
    ]
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
    """Ask the model to answer the current follow-up, and go to the next follow-up.

    The model scores how well its answer serves the question (1..100). Up to `max_follow_ups` new
    follow-ups are added. They are one level deeper than the current follow-up, and follow-ups of
    the primer have depth 1. A follow-up deeper than `max_depth` is not added. The token limit of a
    reply is that of a paragraph. A missing or unreadable reply adds nothing and counts as a
    fallback. The search ends after the last follow-up.
    Source: Microsoft GraphRAG, DRIFT search, actions and their local search.
    """
    current = trail.current.text if trail.current else question.text
    values = {"question": question.text, "follow_up": current, "pieces": context.pieces}
    chat = prompt.render({**values, "most": max_follow_ups})
    shape = reply_of(max_follow_ups)
    most = reply_tokens(llm, chat, question.open_tokens or PARAGRAPH)
    finding = ask(
        llm, chat, shape, max_tokens=most, purpose="DRIFT local search", fallback=shape(answer="")
    )
    further = follow_ups([finding], max_follow_ups)
    return _next_step(trail.searched(finding.findings, further, max_depth))


def _next_step(trail: Trail) -> tuple[Trail, Query, NoneOpen | None]:
    return trail, trail.query, None if trail.current else NoneOpen(trail.n_searched)


@operator("drift.points")
def points(trail: Trail) -> Points:
    """Return all answers of the trail as points, best first, with ties in their order.

    Source: Microsoft GraphRAG, DRIFT search, reduction of all answers.
    """
    ranked = sorted(trail.findings, key=lambda one: -one.score)
    rows = [(one.text, one.score, one.chunks) for one in ranked]
    return Points(*zip(*rows, strict=True)) if rows else Points((), ())
