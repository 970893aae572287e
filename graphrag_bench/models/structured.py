"""Replies read into pydantic models: one corrective retry, then a counted fallback or failure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.models.json_replies import (
    ModelT,
    Unfit,
    read_cut_list,
    read_json,
    schema_of,
)
from graphrag_bench.models.llm import LLM, Arrivals, Chat, Judged, Metered, Schema, arrivals
from graphrag_bench.models.outcomes import CallFailed, Completion, Outcome, is_of_server, seen
from graphrag_bench.progress import Advance, no_advance
from graphrag_bench.prompts import Message, Prompt

T = TypeVar("T")
_MOST_ECHOED = 2000
_CORRECTION = Prompt("graphrag_bench.models:prompts/correction.j2")


@dataclass(frozen=True)
class Reading(Generic[T]):
    """How replies to one kind of prompt are read.

    `read(text, cut)` returns the value or raises UnreadableReply; `cut` is true for a reply that
    reached `max_tokens`. `purpose` names the kind in errors, e.g. `extract_triples`.
    """

    purpose: str
    read: Callable[[str, bool], T]
    schema: Schema | None = None


def json_reading(model: type[ModelT], purpose: str) -> Reading[ModelT]:
    """The reading of replies that are one JSON object of this model."""

    def read(text: str, cut: bool) -> ModelT:
        return read_json(text, model, purpose=purpose, repair=not cut)

    return Reading(purpose, read, schema_of(model))


@dataclass(frozen=True)
class Listed(Generic[ModelT]):
    """A reply whose object holds a list; `cut` says that the reply ended before the list did."""

    value: ModelT
    cut: bool = False


def list_reading(model: type[ModelT], field: str, purpose: str) -> Reading[Listed[ModelT]]:
    """The reading of replies that are one JSON object with nothing but a list, `field`, in it.

    A reply that was cut gives the items that are complete and fit the model; it cannot be
    read when there is none.
    """

    def read(text: str, cut: bool) -> Listed[ModelT]:
        try:
            return Listed(read_json(text, model, purpose=purpose, repair=not cut))
        except UnreadableReply:
            whole = [one for one in read_cut_list(text, field) if _fits(model, {field: [one]})]
            if not cut or not whole:
                raise
            return Listed(model.model_validate({field: whole}), cut=True)

    return Reading(purpose, read, schema_of(model))


def _fits(model: type[BaseModel], values: Mapping[str, object]) -> bool:
    try:
        model.model_validate(values)
    except ValidationError:
        return False
    return True


def ask(
    llm: LLM,
    chat: Chat,
    model: type[ModelT],
    *,
    max_tokens: int,
    purpose: str,
    fallback: ModelT | None = None,
    retry: bool = True,
) -> ModelT:
    """The reply to one prompt as an instance of `model`.

    Without a `fallback` it raises UnreadableReply when both replies could not be read, and
    CallFailed when there was none. RunStopped goes through in any case.
    """
    (one,) = ask_each(llm, [chat], json_reading(model, purpose), max_tokens=max_tokens, retry=retry)
    return settled(llm, one, fallback)


def ask_all(
    llm: LLM,
    chats: Sequence[Chat],
    model: type[ModelT],
    *,
    max_tokens: int,
    purpose: str,
    items: Sequence[str] = (),
    retry: bool = True,
    advance: Advance = no_advance,
) -> list[ModelT | UnreadableReply | CallFailed]:
    """For every prompt an instance of `model`, or the failure that took its place.

    `items` names what each prompt is about (chunk ids), for the ledger; `advance` is told of every
    first reply. `settled` turns one result into its value, the method's fallback, or an error.
    """
    reading = json_reading(model, purpose)
    return ask_each(
        llm, chats, reading, max_tokens=max_tokens, items=items, retry=retry, advance=advance
    )


def settled(llm: LLM, result: T | UnreadableReply | CallFailed, fallback: T | None) -> T:
    """The value, or the fallback (counted on the meter), or the failure raised."""
    if not isinstance(result, UnreadableReply | CallFailed):
        return result
    if fallback is None:
        raise result
    if isinstance(llm, Metered):
        llm.fallbacks += 1
    return fallback


def ask_each(
    llm: LLM,
    chats: Sequence[Chat],
    reading: Reading[T],
    *,
    max_tokens: int,
    items: Sequence[str] = (),
    retry: bool = True,
    advance: Advance = no_advance,
) -> list[T | UnreadableReply | CallFailed]:
    """What `reading` makes of the reply to every prompt, or the failure that took its place.

    Replies are read as they arrive; those that cannot be read are asked for once more, together,
    with what was wrong. A cache is told of every verdict, a gate of every final one.
    """
    found: dict[int, T | UnreadableReply | CallFailed] = {}
    first: dict[int, Completion] = {}
    with closing(_arriving(llm, chats, reading, max_tokens, items)) as arriving:
        for position, outcome in arriving:
            value = _read(outcome, reading)
            found[position] = value
            advance(1)
            if retry and isinstance(value, UnreadableReply) and isinstance(outcome, Completion):
                first[position] = outcome
            else:
                _note(llm, outcome, value)
    _ask_again(llm, chats, reading, max_tokens=max_tokens, items=items, first=first, found=found)
    return [found[position] for position in range(len(chats))]


def _ask_again(
    llm: LLM,
    chats: Sequence[Chat],
    reading: Reading[T],
    *,
    max_tokens: int,
    items: Sequence[str],
    first: Mapping[int, Completion],
    found: dict[int, T | UnreadableReply | CallFailed],
) -> None:
    again = sorted(first)
    corrections = [_correction(chats[at], first[at], found[at], reading) for at in again]
    names = [items[at] for at in again] if items else ()
    with closing(_arriving(llm, corrections, reading, max_tokens, names)) as arriving:
        for number, outcome in arriving:
            at = again[number]
            value = _read(outcome, reading)
            if not isinstance(value, CallFailed):
                found[at] = value
            corrected = not isinstance(value, UnreadableReply | CallFailed)
            _judge(llm, first[at], "corrected" if corrected else "unreadable")
            if corrected and isinstance(llm, Metered):
                llm.corrected += 1
            _note(llm, outcome, found[at])


def _arriving(
    llm: LLM, chats: Sequence[Chat], reading: Reading[T], max_tokens: int, items: Sequence[str]
) -> Arrivals:
    if isinstance(llm, Metered):
        return llm.arrivals(
            chats, max_tokens=max_tokens, schema=reading.schema, items=items, read_later=True
        )
    return arrivals(llm, chats, max_tokens=max_tokens, schema=reading.schema)


def _read(outcome: Outcome, reading: Reading[T]) -> T | UnreadableReply | CallFailed:
    if isinstance(outcome, CallFailed):
        return outcome
    try:
        return reading.read(outcome.text, outcome.finish == "length")
    except UnreadableReply as error:
        return error


def _note(llm: LLM, outcome: Outcome, value: object) -> None:
    readable = not isinstance(value, UnreadableReply | CallFailed)
    if isinstance(outcome, Completion):
        _judge(llm, outcome, "valid" if readable else "unreadable")
    if isinstance(llm, Metered):
        llm.unreadable += isinstance(value, UnreadableReply)
        if llm.gate is not None:
            llm.gate.note(readable, seen(outcome)[1], of_server=is_of_server(outcome))


def _judge(llm: LLM, reply: Completion, verdict: str) -> None:
    if isinstance(llm, Judged):
        llm.judge(reply, verdict)


def _correction(chat: Chat, reply: Completion, error: object, reading: Reading[T]) -> Chat:
    problem = error.problem if isinstance(error, Unfit) else "it has not the form asked for"
    asked = _CORRECTION.render(
        {
            "cut": reply.finish == "length",
            "problem": problem,
            "schema": json.dumps(reading.schema, ensure_ascii=False) if reading.schema else "",
        }
    )
    return (*chat, Message("assistant", reply.text[:_MOST_ECHOED]), *asked)
