"""Parse JSON objects in replies of language models, which may also contain other text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, reduce
from operator import getitem
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from graphrag_bench.errors import UnreadableReply

ModelT = TypeVar("ModelT", bound=BaseModel)
_FENCE = re.compile(r"```[a-zA-Z0-9]*\s*\n?(.*?)```", re.DOTALL)
_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*"')
"""A quote that is not escaped. If a text has an odd number of quotes, it ends inside a string."""
_ITEM = re.compile(r"[\s,]*(?=[^\s,\]])")
"""Text before the next item of a list. There is no match at the end of the list."""
_BRACE = re.compile(r"[{}]")
_INSIDE = re.compile(r'[{}]|"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
_MAX_CANDIDATES = 100
_FORM = re.compile(
    r"<.*>|\W*|(entity|name|string|str|text|head|tail|subject|predicate|object|relation(ship)?|type"
    r"|source|target|question|description|example)s?[ _]?\w?",
    re.IGNORECASE,
)
"""Placeholders in a reply that repeats the format of the prompt, e.g. [head, relation, tail]."""
_MIN_ECHO = 30
"""Minimum length of an echo in characters. Shorter objects may be in the prompt by chance."""


class ListReply(NamedTuple, Generic[ModelT]):
    """Parsed lists. `cut` is true if a list is incomplete. `skipped` counts invalid items."""

    value: ModelT
    cut: bool = False
    skipped: int = 0


def read_json(text: str, model: type[ModelT], *, purpose: str = "", repair: bool = True) -> ModelT:
    """Parse a reply of a language model, and return the first JSON object that fits `model`.

    Numbers become text if `model` requires text, and invalid items in lists of texts are dropped.
    If `repair` is true, malformed JSON is repaired as a last attempt. This should not be done for
    truncated replies. Raises UnreadableReply if no object fits.
    """
    problem = "it holds no JSON object"
    for candidate in _candidates(text, repair):
        if isinstance(candidate, dict):
            fitting = _fitting(candidate, model, True)
            if not isinstance(fitting, str):
                return fitting[0]
            problem = fitting
    raise UnreadableReply(purpose or model.__name__, text, problem)


def read_lists(
    text: str, model: type[ModelT], field: str, *, cut: bool, purpose: str
) -> ListReply[ModelT]:
    """Parse a reply that consists of JSON objects with lists, and merge these objects.

    Invalid items, objects without valid items, and objects that only repeat placeholders from the
    prompt are dropped. A list outside of any object is read as the value of `field`. If the reply
    is truncated (`cut`), only complete items are kept. Raises UnreadableReply if no item is valid.
    """
    properties = schema_of(model)["properties"]
    fields = [name for name, part in properties.items() if part.get("type") == "array"]
    found, n_skipped, end, problem = list[ModelT](), 0, 0, "it holds no JSON object"
    for candidate, stop in _objects(text, field, repair=not cut):
        fitting = _fitting(_named(candidate, fields), model, False)
        if isinstance(fitting, str):
            n_skipped += not cut and bool(candidate)
            problem = fitting
        elif _is_form([getattr(fitting[0], name) for name in fields]):
            problem = "it repeats the form"
        else:
            found.append(fitting[0])
            n_skipped += fitting[1]
            end = stop
    rest = text[end:]
    unread = any(re.search(rf'"{re.escape(name)}"\s*:', rest) for name in fields)
    if cut and (unread or not found):
        blank = {name: list[Any]() for name in fields}
        items = [{**blank, name: [item]} for name in fields for item in read_cut_list(rest, name)]
        for fitting in (_fitting(item, model, False) for item in items):
            n_skipped += 1 if isinstance(fitting, str) else fitting[1]
            found += [] if isinstance(fitting, str) else [fitting[0]]
    elif found and unread:
        n_skipped += 1
    if not found:
        raise UnreadableReply(purpose, text, problem)
    return ListReply(reduce(_merged, found), cut and (unread or not end), n_skipped)


def without_echoes(text: str, prompt: str) -> str:
    """Remove from a reply the JSON objects that also occur in the prompt."""
    shown = "".join(prompt.split())
    for start, end in reversed(_balanced(text)):
        if end - start >= _MIN_ECHO and "".join(text[start:end].split()) in shown:
            text = text[:start] + text[end:]
    return text


def _objects(text: str, field: str, repair: bool) -> Iterator[tuple[Any, int]]:
    fenced = _FENCE.search(text)
    bare = (fenced[1] if fenced else text).strip()
    if bare.startswith("[") and bare.endswith("]"):
        yield {field: _parsed(bare, repair)}, len(text)
        return
    spans = _balanced(text)[:_MAX_CANDIDATES]
    for start, end in spans:
        if isinstance(value := _parsed(text[start:end], repair), dict):
            yield value, end
    if repair and not spans and isinstance(value := _repaired(text[text.find("{") :]), dict):
        yield value, len(text)


def _named(candidate: Any, fields: Sequence[str]) -> Any:
    if not isinstance(candidate, dict) or set(fields) & set(candidate):
        return candidate
    named = {"_".join(str(name).casefold().split()): value for name, value in candidate.items()}
    inner = [value for value in named.values() if isinstance(value, dict)]
    return named if set(fields) & set(named) or len(inner) != 1 else _named(inner[0], fields)


def _is_form(value: object) -> bool:
    """Return whether all texts in a value are placeholders, and there is at least one text."""
    todo, texts = [value], list[str]()
    for part in todo:  # grows
        texts += [part] if isinstance(part, str) else []
        todo += vars(part).values() if isinstance(part, BaseModel) else ()
        todo += part if isinstance(part, list) else ()
    return bool(texts) and all(_FORM.fullmatch(text.strip()) for text in texts)


def _merged(first: ModelT, other: ModelT) -> ModelT:
    more: dict[str, Any] = {}
    for name, value in first:
        new = getattr(other, name)
        if isinstance(value, list):
            more[name] = [*value, *(item for item in new if item not in value)]
        elif isinstance(value, BaseModel):
            more[name] = _merged(value, new)
    return first.model_copy(update=more)


def _fitting(candidate: Any, model: type[ModelT], texts_only: bool) -> tuple[ModelT, int] | str:
    """Return (candidate as a `model`, number of dropped items), or the problem as a text."""
    n_dropped = 0
    for _ in range(3):  # the first pass converts numbers, the second drops rows
        try:
            return model.model_validate(candidate), n_dropped
        except ValidationError as error:
            first = error.errors()[0]
            problem = f"field '{'.'.join(map(str, first['loc']))}': {first['msg']}"
            n = _repair(candidate, error, texts_only)
        except RecursionError:
            return "it is nested too deeply"
        if n is None:
            break
        n_dropped += n
    return problem


def _repair(candidate: Any, error: ValidationError, texts_only: bool) -> int | None:
    """Convert numbers, drop invalid items, and return how many were dropped (None: failure)."""
    at_fault: dict[tuple[int | str, ...], None] = {}
    for one in error.errors(include_url=False):
        place, wrong = one["loc"], one["input"]
        try:
            holder = reduce(getitem, place[:-1], candidate)
            found = holder if one["type"] == "missing" else holder[place[-1]]
        except (LookupError, TypeError):
            return None
        if found != wrong:
            return None  # a validator has changed the value
        if one["type"] == "string_type" and type(wrong) in (int, float):
            holder[place[-1]] = str(wrong)
            continue
        # the path up to the innermost item of a named list
        in_list = [False, *(isinstance(part, int) for part in place)]
        ends = (at for at in range(len(place), 0, -1) if in_list[at] and not in_list[at - 1])
        item = place[: next(ends, 0)]
        of_texts = one["type"] in ("string_type", "list_type") and all(in_list[len(item) + 1 :])
        if not item or (texts_only and not of_texts):  # the order of texts is unimportant
            return None
        at_fault[item] = None
    for place in sorted(at_fault, key=lambda parts: parts[-1], reverse=True):
        holder = reduce(getitem, place[:-1], candidate)
        del holder[place[-1]]
        if not holder and len(place) <= 2:
            return None
    return len(at_fault)


def read_cut_list(text: str, field: str) -> list[Any]:
    """Return the complete items of the first list named `field` in a truncated reply."""
    opened = re.search(rf'"{re.escape(field)}"\s*:\s*\[', text)
    decoder, items = json.JSONDecoder(), list[Any]()
    place = opened.end() if opened else len(text)
    while begins := _ITEM.match(text, place):
        try:
            item, place = decoder.raw_decode(text, begins.end())
        except (ValueError, RecursionError):
            break
        if place == len(text) and text[-1] not in '"]}':
            break
        items.append(_encodable(item))
    return items


@lru_cache(maxsize=256)
def schema_of(model: type[BaseModel]) -> Mapping[str, Any]:
    """Return the JSON schema of `model`, which requires all fields and forbids further fields."""
    schema: Mapping[str, Any] = _closed(model.model_json_schema())
    return schema


def _closed(part: Any, is_named: bool = False) -> Any:
    if isinstance(part, list):
        return [_closed(item) for item in part]
    if not isinstance(part, Mapping):
        return part
    if is_named:  # by the author of the model, so that no key is a keyword of the schema
        return {name: _closed(inner) for name, inner in part.items()}
    is_class = isinstance(part.get("properties"), Mapping) and part.get("type") == "object"
    dropped = ("title", "default", "description") if is_class else ("title", "default")
    closed = {
        name: _closed(inner, name in ("properties", "$defs"))
        for name, inner in part.items()
        if name not in dropped
    }
    strict = {"required": list(part.get("properties", ())), "additionalProperties": False}
    return closed | strict if is_class else closed


def _candidates(text: str, repair: bool) -> Iterator[Any]:
    yield _parsed(text)
    if fenced := _FENCE.search(text):
        yield _parsed(fenced[1])
    for start, end in _balanced(text)[:_MAX_CANDIDATES]:
        yield _parsed(text[start:end])
    rest = fenced[1] if fenced and "{" in fenced[1] else text
    if repair and "{" in rest and (value := _repaired(rest[rest.index("{") :])):
        yield value


def _repaired(text: str) -> Any:
    import json_repair

    if len(_QUOTE.findall(text)) % 2 == 0:
        with suppress(ValueError, RecursionError):
            return _encodable(json_repair.loads(text))
    return None


def _parsed(text: str, repair: bool = False) -> Any:
    parsed = None
    with suppress(ValueError, RecursionError):
        parsed = json.loads(text, parse_constant=lambda _: None)
    if "\\u" in text:
        parsed = _encodable(parsed)
    return _repaired(text) if parsed is None and repair else parsed


def _encodable(parsed: Any) -> Any:
    try:
        written = json.dumps(parsed, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    encoded = written.encode("utf-8", "replace")
    return json.loads(encoded, parse_constant=lambda _: None)


def _balanced(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each outermost balanced object. Braces in strings are ignored."""
    starts: list[int] = []
    spans: list[tuple[int, int]] = []
    place = 0
    while sign := (_INSIDE if starts else _BRACE).search(text, place):
        place = sign.end()
        if sign[0] == "{":
            starts.append(sign.start())
        elif sign[0][0] != '"' and starts:
            start = starts.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, place))
    return sorted(spans)
