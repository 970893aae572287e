"""Replies read into pydantic models: one corrective retry, then a counted fallback or failure."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, CallOutcome, Chat, Completion, Schema
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.json_replies import ModelT, read_json, read_lists, schema_of, without_echoes
from graphrag_bench.progress import Advance, no_advance
from graphrag_bench.prompts import Message, Prompt

T = TypeVar("T")
R = TypeVar("R")
ItemT = TypeVar("ItemT")
_MOST_ECHOED = 2000
_CORRECTION = Prompt("graphrag_bench.llm:prompts/correction.j2")


@dataclass(frozen=True)
class ReplyFormat(Generic[T]):
    """How replies to one kind of prompt are read.

    `read(text, cut)` returns the value or raises UnreadableReply; `cut` is true for a reply that
    reached `max_tokens`. `purpose` names the kind in errors, e.g. `extract_triples`. `denies` says
    whether the value of a corrected reply denies what the unreadable one held, so that it counts
    as unreadable too.
    """

    purpose: str
    read: Callable[[str, bool], T]
    schema: Schema | None = None
    denies: Callable[[T, str], bool] = lambda *_: False


def json_reading(model: type[ModelT], purpose: str) -> ReplyFormat[ModelT]:
    """Return the reading of replies that are one JSON object of this model."""

    def read(text: str, cut: bool) -> ModelT:
        return read_json(text, model, purpose=purpose, repair=not cut)

    return ReplyFormat(purpose, read, schema_of(model))


@dataclass(frozen=True)
class ListReply(Generic[ModelT]):
    """A reply with lists; `cut` if it ended inside a list.

    `skipped` counts the items and objects that did not fit.
    """

    value: ModelT
    cut: bool = False
    skipped: int = 0


def list_reading(model: type[ModelT], field: str, purpose: str) -> ReplyFormat[ListReply[ModelT]]:
    """Return the reading of replies that are JSON objects with lists, as `read_lists` reads them.

    A reply that is a bare list has that of `field`.
    """

    def read(text: str, cut: bool) -> ListReply[ModelT]:
        return ListReply(*read_lists(text, model, field, cut=cut, purpose=purpose))

    return ReplyFormat(purpose, read, schema_of(model))


def ask(
    llm: ChatModel,
    chat: Chat,
    model: type[ModelT],
    *,
    max_tokens: int,
    purpose: str,
    fallback: ModelT | None = None,
    retry: bool = True,
) -> ModelT:
    """Return the reply to one prompt as an instance of `model`.

    Without a `fallback` it raises UnreadableReply when both replies could not be read, and
    CallFailed when there was none. RunStopped goes through in any case.
    """
    (one,) = ask_each(llm, [chat], json_reading(model, purpose), max_tokens=max_tokens, retry=retry)
    return settled(llm, one, fallback)


def settled(llm: ChatModel, result: T | UnreadableReply | CallFailed, fallback: T | None) -> T:
    """Return the value, or the fallback (counted on the meter), or raise the failure."""
    if not isinstance(result, UnreadableReply | CallFailed):
        return result
    if fallback is None:
        raise result
    llm.meter.fallbacks += 1
    return fallback


def ask_about(
    llm: ChatModel,
    items: Sequence[ItemT],
    chat: Callable[[ItemT], Chat],
    reading: ReplyFormat[T],
    fit: Callable[[T, ItemT], R],
    *,
    fallback: Callable[[ItemT], R],
    max_tokens: int,
    retry: bool = True,
) -> list[R]:
    """Ask a model about each item and return one result per item, in their order.

    `chat` writes the prompt about an item, and `reading` reads the reply. `fit` makes the item's
    result of what was read, or raises UnreadableReply where the two do not fit. The `fallback` of
    the item replaces an unreadable or unfitting reply and is counted on the meter.
    Raises CallFailed when the model gives no reply about an item.
    """
    chats = [chat(item) for item in items]
    results = []
    replies = ask_each(llm, chats, reading, max_tokens=max_tokens, retry=retry)
    for reply, item in zip(replies, items, strict=True):
        if isinstance(reply, CallFailed):
            raise reply
        try:
            if isinstance(reply, UnreadableReply):
                raise reply
            results.append(fit(reply, item))
        except UnreadableReply:
            llm.meter.fallbacks += 1
            results.append(fallback(item))
    return results


def ask_each(
    llm: ChatModel,
    chats: Sequence[Chat],
    reading: ReplyFormat[T],
    *,
    max_tokens: int,
    items: Sequence[str] = (),
    retry: bool = True,
    advance: Advance = no_advance,
) -> list[T | UnreadableReply | CallFailed]:
    """Return what `reading` makes of the reply to every prompt, or the failure in its place.

    Replies are read as they arrive; those that cannot be read are asked for once more, together,
    with what was wrong. Every verdict is reported to the cache, every final one to the gate.
    `items` names what each prompt is about (chunk ids), for the ledger; `advance` is called at
    every first reply. `settled` turns one result into its value, a fallback, or an error.
    """
    results: dict[int, T | UnreadableReply | CallFailed] = {}
    corrections: dict[int, tuple[Completion, Chat]] = {}
    schema = reading.schema
    arrivals = partial(llm.arrivals, max_tokens=max_tokens, schema=schema)
    with closing(arrivals(chats, items=items)) as arriving:
        for at, outcome in arriving:
            results[at] = result = _read(outcome, reading, chats[at])
            advance(1)
            if retry and isinstance(result, UnreadableReply) and isinstance(outcome, Completion):
                correction = _correction(chats[at], outcome, result.problem, schema)
                corrections[at] = outcome, correction
            else:
                _note(llm, outcome, result)
    again = sorted(corrections)
    prompts = [corrections[at][1] for at in again]
    names = [items[at] for at in again] if items else ()
    with closing(arrivals(prompts, items=names)) as arriving:
        for number, outcome in arriving:
            at = again[number]
            result = _read(outcome, reading, chats[at])
            first = corrections[at][0].text
            if not isinstance(result, UnreadableReply | CallFailed) and reading.denies(
                result, first
            ):
                result = UnreadableReply(reading.purpose, first, "the corrected one denies it")
            if not isinstance(result, CallFailed):
                results[at] = result
            corrected = not isinstance(result, UnreadableReply | CallFailed)
            llm.set_verdict(corrections[at][0], "corrected" if corrected else "unreadable")
            llm.meter.corrected += corrected
            _note(llm, outcome, results[at])
    return [results[at] for at in range(len(chats))]


def _read(
    outcome: CallOutcome, reading: ReplyFormat[T], chat: Chat
) -> T | UnreadableReply | CallFailed:
    if isinstance(outcome, CallFailed):
        return outcome
    text, cut = outcome.text, outcome.finish == "length"
    if reading.schema is not None:
        shown = "\n".join(one.content for one in chat if one.role != "assistant")
        own = without_echoes(text, shown)
        if own != text:
            with suppress(UnreadableReply):
                return reading.read(own, cut)
    try:
        return reading.read(text, cut)
    except UnreadableReply as error:
        return error


def _note(llm: ChatModel, outcome: CallOutcome, result: object) -> None:
    readable = not isinstance(result, UnreadableReply | CallFailed)
    if isinstance(outcome, Completion):
        llm.set_verdict(outcome, "valid" if readable else "unreadable")
    llm.meter.unreadable += isinstance(result, UnreadableReply)
    llm.note(readable, outcome)


def _correction(chat: Chat, reply: Completion, problem: str, schema: Schema | None) -> Chat:
    correction = _CORRECTION.render(
        {
            "cut": reply.finish == "length",
            "problem": problem,
            "schema": json.dumps(schema, ensure_ascii=False) if schema else "",
        }
    )
    return (*chat, Message("assistant", reply.text[:_MOST_ECHOED]), *correction)
