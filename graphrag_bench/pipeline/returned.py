"""What an operator returned, checked against its signature at its own step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

import numpy as np

from graphrag_bench.contract import Operator
from graphrag_bench.pipeline.failure import WrongReturn
from graphrag_bench.values import FloatArray, Ranked, RowScores, Subgraph

_ROWS = {
    "nodes": ("graph", "n_nodes"),
    "relationships": ("graph", "n_relationships"),
    "chunks": ("chunk_table", "__len__"),
}
"""The resource that says how many rows a slot's ids may name, and its attribute."""
_SCORES = {
    "node_scores": "nodes",
    "relationship_scores": "relationships",
    "chunk_scores": "chunks",
}


def by_slot(operator: Operator, result: Any, resources: Mapping[str, Any]) -> dict[str, Any]:
    """What an operator returned, by slot.

    Raises WrongReturn for too many or too few values, for None where a value is promised, for a
    value of another type than the signature has, for ids that no row of the operator's own graph or
    of the chunk table has, for scores that are not one for each row, and for scores of rows or
    paths that are NaN or infinite. Scores that are computed when they are read are not read here.
    """
    values = result if isinstance(result, tuple) else (result,)
    if len(values) != len(operator.returns):
        raise _wrong(operator, f"gave {len(values)} values for {_list(operator.returns)}")
    found = {slot: v for slot, v in zip(operator.returns, values, strict=True) if v is not None}
    missing = set(operator.writes) - set(found)
    if missing:
        raise _wrong(operator, f"gave None for {_list(missing)}")
    for slot, value in found.items():
        kind = operator.returns[slot]
        if not isinstance(value, get_origin(kind) or kind):
            raise _wrong(
                operator,
                f"gave {_named(type(value))} for '{slot}', where its signature says {_named(kind)}",
            )
        if said := _out_of_range(slot, value, _n_rows(operator, slot, resources)):
            raise _wrong(operator, said)
        scores = _scores(value)
        if n_wrong := len(scores) - int(np.count_nonzero(np.isfinite(scores))):
            raise _wrong(
                operator,
                f"gave {n_wrong} of {len(scores)} scores for '{slot}' that are no numbers (NaN or "
                "infinite); a ranking needs finite scores, so leave such rows out",
            )
    return found


def _scores(value: Any) -> FloatArray:
    if isinstance(value, Ranked):
        return value.scores
    if isinstance(value, RowScores):
        some = value.some_rows
        return some[1] if some else np.empty(0) if value.lazy else value.values
    paths = value.paths if isinstance(value, Subgraph) else ()
    return np.fromiter((path.score for path in paths), np.float64, len(paths))


def _out_of_range(slot: str, value: Any, n_rows: int | None) -> str:
    if isinstance(value, Ranked) and len(value):
        low, high = int(value.ids.min()), int(value.ids.max())
        if low < 0 or (n_rows is not None and high >= n_rows):
            rows = "" if n_rows is None else f"; there are the rows 0 to {n_rows - 1}"
            return f"gave the id {low if low < 0 else high} for '{slot}'{rows}"
    if isinstance(value, RowScores):
        n_scores = len(value)
        if n_rows is not None and n_scores != n_rows:
            return f"gave {n_scores} scores for '{slot}'; there are {n_rows} rows"
    return ""


def _n_rows(operator: Operator, slot: str, resources: Mapping[str, Any]) -> int | None:
    place = _ROWS.get(_SCORES.get(slot, slot))
    if place is None or place[0] not in operator.needs:
        return None
    held = getattr(resources[place[0]], place[1], None)
    return int(held() if callable(held) else held) if held is not None else None


def _wrong(operator: Operator, message: str) -> WrongReturn:
    code = getattr(operator.batch or operator.function, "__code__", None)
    at = f'  File "{code.co_filename}", line {code.co_firstlineno}' if code else ""
    where = (f"{at}, in {operator.function.__name__}",) if at else ()
    return WrongReturn(message, where)


def _named(kind: Any) -> str:
    name = getattr(kind, "__name__", None) or str(kind)
    inner = [getattr(one, "__name__", str(one)) for one in get_args(kind)]
    return f"{name}[{', '.join(inner)}]" if inner else str(name)


def _list(names: Any) -> str:
    return ", ".join(sorted(names)) or "none"
