"""The local searches of a DRIFT search: one answer each, and what to ask next."""

from __future__ import annotations

from pydantic import PositiveInt

from graphrag_bench.answer_forms import answer_form
from graphrag_bench.contract import operator
from graphrag_bench.llm.chat import LLM
from graphrag_bench.llm.structured import ask
from graphrag_bench.llm.windows import reply_tokens
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Context, Query, Question
from methods.drift.replies import Found, asked_next, reply_of
from methods.drift.trail import Finding, NoneOpen, Trail
from methods.map_reduce import Points

PARAGRAPH = answer_form("paragraph").max_tokens
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
    held = {one.text for one in trail.findings}
    chunks = [piece for piece in context.pieces if piece.kind == "chunk"]
    new = [
        Finding(piece.text, _shared(question.text, piece.text), piece.chunks or ())
        for piece in chunks
        if piece.text not in held
    ]
    return _onward(trail.searched(new, (), 1))


def _shared(question: str, text: str) -> int:
    asked = set(normalise_name(question).split())
    both = asked & set(normalise_name(text).split())
    return max(1, round(100 * len(both) / max(len(asked), 1)))


@operator(
    "drift.answer.llm",
    calls=2,
    supplies={"question", "follow_up", "pieces", "most"},
)
def answer(
    question: Question,
    trail: Trail,
    context: Context,
    *,
    llm: LLM,
    prompt: Prompt = LOCAL,
    max_depth: PositiveInt = 2,
    max_follow_ups: PositiveInt = 5,
    max_tokens: PositiveInt | None = None,
) -> tuple[Trail, Query, NoneOpen | None]:
    """The trail with the model's answer to the current follow-up, and the next one as a query.

    The answer is scored 1..100 by how well it serves the question. At most `max_follow_ups` new
    follow-ups join the end of the trail, down to `max_depth`; those of the primer have depth 1. A
    reply has the tokens of a paragraph, unless `max_tokens` is set. An unreadable reply, or none,
    adds nothing and is counted as a fallback. The end when every follow-up has been searched for.
    Source: Microsoft GraphRAG's DRIFT search, released code (actions and their local search).
    """
    current = trail.current.text if trail.current else question.text
    values = {
        "question": question.text,
        "follow_up": current,
        "pieces": context.pieces,
        "most": max_follow_ups,
    }
    chat = prompt.render(values)
    found = ask(
        llm,
        chat,
        reply_of(max_follow_ups),
        max_tokens=max_tokens or reply_tokens(llm, chat, question.open_tokens or PARAGRAPH),
        purpose="DRIFT local search",
        fallback=_nothing(max_follow_ups),
    )
    next_asked = asked_next([found], max_follow_ups)
    return _onward(trail.searched(found.findings, next_asked, max_depth))


def _nothing(most: int) -> Found:
    return reply_of(most)(answer="")


def _onward(trail: Trail) -> tuple[Trail, Query, NoneOpen | None]:
    return trail, trail.query, None if trail.current else NoneOpen(trail.n_searched)


@operator("drift.points")
def points(trail: Trail) -> Points:
    """The answers of the primer and of every search, best first, ties in the order found.

    Source: Microsoft GraphRAG's DRIFT search, released code (all answers are reduced to one).
    """
    ranked = sorted(trail.findings, key=lambda one: -one.score)
    columns = zip(*((one.text, one.score, one.chunks) for one in ranked), strict=True)
    return Points(*columns) if ranked else Points((), ())
