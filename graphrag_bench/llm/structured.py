"""Ask a language model, parse the replies into pydantic models, and retry unreadable ones."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, CallOutcome, Chat, Completion, Request, Schema
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.json_replies import ListReply as ListReply
from graphrag_bench.llm.json_replies import ModelT, read_json, read_lists, schema_of, without_echoes
from graphrag_bench.progress import Advance, no_advance
from graphrag_bench.prompts import Message, Prompt

T = TypeVar("T")
R = TypeVar("R")
ItemT = TypeVar("ItemT")
Failure = UnreadableReply | CallFailed
_MAX_ECHOED = 2000
_CORRECTION = Prompt("graphrag_bench.llm:prompts/correction.j2")


@dataclass(frozen=True)
class ReplyFormat(Generic[T]):
    """Parser of the replies to one kind of prompt. In error messages, `purpose` names the kind.

    `read(text, cut)` returns the parsed value or raises UnreadableReply. `cut` is true if the reply
    reached `max_tokens`. `denies(value, text)` returns whether the value from a corrective retry
    lacks the content of the first reply `text`. If so, the retry counts as unreadable.
    """

    purpose: str
    read: Callable[[str, bool], T]
    schema: Schema | None = None
    denies: Callable[[T, str], bool] = lambda *_: False


def json_format(model: type[ModelT], purpose: str) -> ReplyFormat[ModelT]:
    """Return the format of replies that are a single JSON object of the pydantic class `model`."""

    def read(text: str, cut: bool) -> ModelT:
        return read_json(text, model, purpose=purpose, repair=not cut)

    return ReplyFormat(purpose, read, schema_of(model))


def list_format(model: type[ModelT], field: str, purpose: str) -> ReplyFormat[ListReply[ModelT]]:
    """Return the format of replies that are JSON objects with lists. `read_lists` parses them."""

    def read(text: str, cut: bool) -> ListReply[ModelT]:
        return read_lists(text, model, field, cut=cut, purpose=purpose)

    return ReplyFormat(purpose, read, schema_of(model))


def ask(
    llm: ChatModel, chat: Chat, model: type[ModelT], *,
    max_tokens: int, purpose: str, fallback: ModelT | None = None,
) -> ModelT:  # fmt: skip
    """Send one prompt to a model, and return the reply parsed as an instance of `model`.

    If no reply is readable, even after a corrective retry, `fallback` is returned. Without a
    fallback, UnreadableReply or CallFailed is raised. RunStopped is raised despite a fallback.
    """
    (one,) = ask_each(llm, [chat], json_format(model, purpose), max_tokens=max_tokens)
    return or_fallback(llm, one, fallback)


def or_fallback(llm: ChatModel, result: T | Failure, fallback: T | None) -> T:
    """Return a parsed reply. Replace a failure by `fallback`, or raise it if `fallback` is None."""
    if not isinstance(result, Failure):
        return result
    if fallback is None:
        raise result
    llm.meter.fallbacks += 1
    return fallback


def ask_about(
    llm: ChatModel, items: Sequence[ItemT], chat: Callable[[ItemT], Chat],
    reply_format: ReplyFormat[T], fit: Callable[[T, ItemT], R], *,
    fallback: Callable[[ItemT], R], max_tokens: int, retry: bool = True,
) -> list[R]:  # fmt: skip
    """Ask a model about each item of a list, and return one result per item.

    `chat` returns the prompt for an item, and `fit` converts the parsed reply and the item to a
    result. If the reply is unreadable or `fit` raises UnreadableReply, `fallback` returns the
    result instead. Raises CallFailed if there is no reply about an item.
    """
    chats = [chat(item) for item in items]
    results = []
    replies = ask_each(llm, chats, reply_format, max_tokens=max_tokens, retry=retry)
    for reply, item in zip(replies, items, strict=True):
        try:
            if isinstance(reply, Failure):
                raise reply
            results.append(fit(reply, item))
        except UnreadableReply:
            llm.meter.fallbacks += 1
            results.append(fallback(item))
    return results


def ask_each(
    llm: ChatModel, chats: Sequence[Chat], reply_format: ReplyFormat[T], *,
    max_tokens: int, items: Sequence[str] = (), retry: bool = True, advance: Advance = no_advance,
) -> list[T | Failure]:  # fmt: skip
    """Send prompts to a model, and return the parsed reply or the failure for each prompt.

    At the end, unreadable replies are requested once more. `items` names the subject of each prompt
    in the ledger. `advance` is called when the first reply to a prompt arrives.
    """
    results: dict[int, T | Failure] = {}
    corrections: dict[int, tuple[Completion, Chat]] = {}
    schema = reply_format.schema
    requests = [Request(chat, max_tokens, schema=schema) for chat in chats]
    with closing(llm.as_completed(requests, items)) as completed:
        for at, outcome in completed:
            results[at] = result = _read(outcome, reply_format, chats[at])
            advance(1)
            if retry and isinstance(result, UnreadableReply) and isinstance(outcome, Completion):
                shown = json.dumps(schema, ensure_ascii=False) if schema else ""
                cut = outcome.finish == "length"
                values = {"cut": cut, "problem": result.problem, "schema": shown}
                own = Message("assistant", outcome.text[:_MAX_ECHOED])
                corrections[at] = outcome, (*chats[at], own, *_CORRECTION.render(values))
            else:
                _report(llm, outcome, result)
    again = sorted(corrections)
    requests = [Request(corrections[at][1], max_tokens, schema=schema) for at in again]
    names = [items[at] for at in again] if items else ()
    with closing(llm.as_completed(requests, names)) as completed:
        for number, outcome in completed:
            at = again[number]
            first = corrections[at][0]
            result = _read(outcome, reply_format, chats[at])
            if not isinstance(result, Failure) and reply_format.denies(result, first.text):
                problem = "denied by the correction"
                result = UnreadableReply(reply_format.purpose, first.text, problem)
            if not isinstance(result, CallFailed):
                results[at] = result
            corrected = not isinstance(result, Failure)
            llm.set_verdict(first, "corrected" if corrected else "unreadable")
            llm.meter.corrected += corrected
            _report(llm, outcome, results[at])
    return [results[at] for at in range(len(chats))]


def _read(outcome: CallOutcome, reply_format: ReplyFormat[T], chat: Chat) -> T | Failure:
    if isinstance(outcome, CallFailed):
        return outcome
    text, cut = outcome.text, outcome.finish == "length"
    if reply_format.schema is not None:
        shown = "\n".join(one.content for one in chat if one.role != "assistant")
        if (own := without_echoes(text, shown)) != text:
            with suppress(UnreadableReply):
                return reply_format.read(own, cut)
    try:
        return reply_format.read(text, cut)
    except UnreadableReply as error:
        return error


def _report(llm: ChatModel, outcome: CallOutcome, result: object) -> None:
    readable = not isinstance(result, Failure)
    if isinstance(outcome, Completion):
        llm.set_verdict(outcome, "valid" if readable else "unreadable")
    llm.meter.unreadable += isinstance(result, UnreadableReply)
    llm.report(readable, outcome)
