"""Values of a state as bytes: by their contents alone, the same bytes for the same value.

Numbers, texts, arrays, tuples, score vectors, and the frozen dataclasses that are value
types or part of one.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, get_args, get_type_hints

import numpy as np

from graphrag_bench.values import RowScores, value_types

_LENGTH = struct.Struct("<I")


class Unpackable(Exception):
    """A value holds something that these bytes have no form for."""


def packed(value: Any) -> bytes:
    """The bytes of a value; raises Unpackable."""
    arrays: list[Any] = []
    told = _told(value, arrays)
    heads = [(array.dtype.str, array.shape) for array in arrays]
    head = json.dumps([told, heads], ensure_ascii=True, separators=(",", ":")).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *(array.tobytes() for array in arrays)])


def _told(value: Any, arrays: list[Any]) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise Unpackable("an array of objects")
        arrays.append(np.ascontiguousarray(value))
        return {"array": len(arrays) - 1}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        if type(value) not in (tuple, list):
            raise Unpackable(type(value).__name__)
        return {kind: [_told(one, arrays) for one in value]}
    if isinstance(value, frozenset):
        return {"set": sorted((_told(one, arrays) for one in value), key=json.dumps)}
    if isinstance(value, Mapping):
        rows = [[_told(name, arrays), _told(one, arrays)] for name, one in value.items()]
        return {"mapping": rows}
    if isinstance(value, RowScores):
        return {"scores": [_name(type(value)), *_row_scores(value, arrays)]}
    if _name(type(value)) in _kinds():
        rows = [[one.name, _told(getattr(value, one.name), arrays)] for one in fields(value)]
        return {"value": [_name(type(value)), rows]}
    raise Unpackable(type(value).__name__)


def _row_scores(value: RowScores, arrays: list[Any]) -> list[Any]:
    rows = value.some_rows
    if rows is None:
        return [len(value), None, _told(value.values, arrays)]
    return [len(value), _told(rows[0], arrays), _told(rows[1], arrays)]


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _kinds() -> Mapping[str, Any]:
    return _within(tuple(value_types()))


@lru_cache(maxsize=8)
def _within(kinds: tuple[type, ...]) -> dict[str, type]:
    found: dict[str, type] = {}
    left: list[Any] = list(kinds)
    while left:
        kind = left.pop()
        left += get_args(kind)
        if not isinstance(kind, type) or not is_dataclass(kind) or _name(kind) in found:
            continue
        found[_name(kind)] = kind
        hints = get_type_hints(kind)
        left += [hints[one.name] for one in fields(kind)]
    return found
