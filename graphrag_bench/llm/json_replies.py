"""JSON objects read from replies with other text around or inside them."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from graphrag_bench.errors import UnreadableReply

ModelT = TypeVar("ModelT", bound=BaseModel)
_FENCE = re.compile(r"```[a-zA-Z0-9]*\s*\n?(.*?)```", re.DOTALL)
_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*"')
"""A quote that is not escaped: after an odd number of them a text ends inside a string."""
_ITEM = re.compile(r"[\s,]*(?=[^\s,\]])")
"""What precedes the next item of a list; nothing matches at the end of the list."""
_MOST_CANDIDATES = 20


def read_json(text: str, model: type[ModelT], *, purpose: str = "", repair: bool = True) -> ModelT:
    """Return the reply as an instance of `model`; raises UnreadableReply.

    Tried in order: the whole text; the inside of the first code fence; every balanced object from
    the front, found by a scan that knows strings; and, when `repair` is set, json-repair. The
    first that parses and passes pydantic's validation wins. A reply cut at `max_tokens` should
    not be repaired, and one that ends inside a string never is: the last name in it may be half
    a name.
    """
    problem = "it holds no JSON object"
    kind = dict if schema_of(model).get("type") == "object" else list
    for candidate in _candidates(text, "{" if kind is dict else "[", repair):
        if not isinstance(candidate, kind):
            continue
        try:
            return model.model_validate(candidate)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            problem = f"field '{where}': {first['msg']}"
        except RecursionError:
            problem = "it is nested too deeply"
    raise UnreadableReply(purpose or model.__name__, text, problem)


def read_cut_list(text: str, field: str) -> list[Any]:
    """Return the complete items of a list in a reply that was cut inside it; none without any.

    The list is the first value of `field`. An item is whole when what closes it was written: half
    a name is not an item, and a number at the very end may be half a number.
    """
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
    """Return the JSON schema that servers hold replies to: all fields asked for, no others."""
    schema: Mapping[str, Any] = _closed(model.model_json_schema())
    return schema


def _closed(part: Any) -> Any:
    if isinstance(part, list):
        return [_closed(item) for item in part]
    if not isinstance(part, Mapping):
        return part
    is_class = isinstance(part.get("properties"), Mapping) and part.get("type") == "object"
    closed = {
        name: {key: _closed(value) for key, value in inner.items()}
        if name in ("properties", "$defs") and isinstance(inner, Mapping)
        else _closed(inner)
        for name, inner in part.items()
        if name not in ("title", "default") and not (name == "description" and is_class)
    }
    if is_class:
        closed["required"] = list(part["properties"])
        closed["additionalProperties"] = False
    return closed


def _candidates(text: str, opening: str, repair: bool) -> Iterator[Any]:
    yield _parsed(text)
    if fenced := _FENCE.search(text):
        yield _parsed(fenced[1])
    for start, end in _balanced(text, opening)[:_MOST_CANDIDATES]:
        yield _parsed(text[start:end])
    _, _, opened = text.partition(opening)
    if repair and opened and len(_QUOTE.findall(opened)) % 2 == 0:
        import json_repair

        rest = fenced[1] if fenced and opening in fenced[1] else text
        try:
            if repaired := json_repair.loads(rest[rest.index(opening) :]):
                yield _encodable(repaired)
        except (ValueError, RecursionError):
            return


def _parsed(text: str) -> Any:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _encodable(parsed) if "\\u" in text else parsed


def _encodable(parsed: Any) -> Any:
    try:
        written = json.dumps(parsed, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return json.loads(written.encode("utf-8", "replace"))


def _balanced(text: str, opening: str) -> list[tuple[int, int]]:
    """Start and end of the outermost balanced objects, front first; inner ones of open objects too.

    Quotes count only inside an object, and a bracket inside a string does not count at all.
    """
    quote = r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)'
    brackets = {"{": r"[{}]", "[": r"[\[\]]"}[opening]
    outside, inside = (re.compile(form, re.DOTALL) for form in (brackets, f"{brackets}|{quote}"))
    starts: list[int] = []
    spans: list[tuple[int, int]] = []
    place = 0
    while sign := (inside if starts else outside).search(text, place):
        place = sign.end()
        if sign[0] == opening:
            starts.append(sign.start())
        elif sign[0][0] != '"' and starts:
            start = starts.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, place))
    return sorted(spans)
