"""One answer to judge and its result: the judge is asked, and its reply becomes a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.json_replies import ModelT
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.structured import ask_all
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.values import DECIMALS

ReplyT = TypeVar("ReplyT")
MAX_TOKENS = 1024
PROMPTS = "graphrag_bench.analysis.judging:prompts"


class NothingToJudge(Exception):
    """The answer has nothing that the metric is about, as one that claims nothing."""


@dataclass(frozen=True)
class Case:
    """One answer to judge; `context` is a fingerprint of what the run recorded of its context.

    That is "" where it had none. `passages` are the texts of the context in ranked order, None
    where they are not at hand. `listed` says that the gold answers are one list rather than names
    of one thing. `statements` are those of the evidence, where the data set words them.
    """

    id: str
    question: str
    answer: str
    golds: tuple[str, ...] = ()
    passages: tuple[str, ...] | None = None
    listed: bool = False
    context: str = ""
    statements: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A value in 0..1, or None with what went wrong: `failed`, `unreadable` or `nothing`."""

    value: float | None
    missing: Literal["", "failed", "unreadable", "nothing"] = ""
    reason: str = ""


@dataclass(frozen=True)
class Bench:
    """What judges: a metered model, and the embedder of answer relevance."""

    meter: Metered
    embedder: Callable[[], Embedder]


def ask_judge(
    bench: Bench, cases: Sequence[Case], chats: Sequence[Chat], model: type[ModelT], purpose: str
) -> list[ModelT | UnreadableReply | CallFailed]:
    """What the judge replied to the chat of each case, or the failure in its place."""
    ids = [case.id for case in cases]
    return ask_all(bench.meter, chats, model, max_tokens=MAX_TOKENS, purpose=purpose, items=ids)


def judgement_of(
    reply: ReplyT | UnreadableReply | CallFailed, value: Callable[[ReplyT], float]
) -> Judgement:
    """The value of a reply, rounded to 6 decimals, or what is missing."""
    if isinstance(reply, CallFailed):
        return Judgement(None, "failed", str(reply))
    try:
        if isinstance(reply, UnreadableReply):
            raise reply
        return Judgement(round(value(reply), DECIMALS))
    except UnreadableReply as error:
        return Judgement(None, "unreadable", str(error))
    except NothingToJudge as error:
        return Judgement(None, "nothing", str(error))
