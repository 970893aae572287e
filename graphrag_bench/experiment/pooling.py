"""Path pooling added to a method: `pooling=rerank` and `pooling=reselect` leave its file alone.

The step `path.pool` goes before the first step that packs relationships into the prompt, after all
that write them, and what else it needs is done aside, so that the rest of the method does
not see it: a trial of what the prompt has room for (rerank), a longer list of the method's own
search (reselect), and the question's entities, unless the method's nodes are those.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.config.compose import method_of
from graphrag_bench.config.sources import names
from graphrag_bench.contract import Operator, operators
from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.edit import Item, inner_lists, operator_steps, stages

MODES = ("rerank", "reselect")
TRIALS = {"context.relationships": "relationship.fitting"}
"""What finds the relationships that a packer would keep, by the packer."""
COSINES = frozenset({"relationship.vdb"})
"""Operators whose scores are cosines, of which path pooling makes scores from 0 to 1."""
LINKING = ("dictionary", "mentions", "vectors")
OWN = ("mode", "conversion", "linking")
"""The settings of `pooling` that are not those of `path.pool`."""


def pooled(method: Mapping[str, Any], pooling: Mapping[str, Any]) -> dict[str, Any]:
    """The method with path pooling among its steps, and "+ pooling" in its title.

    Raises UserError for a mode that is none, and for a method whose prompt holds no ranked
    relationships. Operators must be registered.
    """
    if pooling.get("mode") not in MODES:
        raise UserError(
            f"pooling.mode={pooling.get('mode')!r}: choose pooling={' or pooling='.join(MODES)}."
        )
    if reason := why_not(method):
        able = [
            name for name in names("method") if not why_not(method_of(name, "default", "default"))
        ]
        raise UserError(f"pooling={pooling['mode']}: {reason} Methods that can: {', '.join(able)}.")
    made = copy.deepcopy(dict(method))
    place = _place(made)
    assert place is not None
    packer = place.items[place.row]
    steps = [*_candidates(place, pooling), *_linking(made, place, pooling)]
    steps.append(_pool(place, pooling))
    if "cut" in operators.get(str(packer["op"])).settings:
        place.items[place.row] = {**packer, "cut": "lowest"}
    place.items.insert(place.row, _aside(steps))
    if any(op.get("op") == "node.link" for op in steps):
        made["build"] = {"node_index": "name", **(made.get("build") or {})}
    return {**made, "title": f"{made.get('title', made.get('name'))} + pooling"}


def why_not(method: Mapping[str, Any]) -> str:
    """Why the relationships of a method's prompt cannot be pooled; "" when they can."""
    packers = [
        op
        for op, _ in operator_steps([item for items in stages(method) for item in items])
        if "context" in op.returns
    ]
    said = ", ".join(dict.fromkeys(op.name for op in packers))
    name = method.get("name")
    if any(_reads(op, {}, "paths") for op in packers):
        return f"the prompt of '{name}' is made of paths ({said}), which are ranked already."
    if _place(method) is None:
        made = f"made by {said}" if said else "not made of ranked rows"
        return f"the prompt of '{name}' holds no ranked relationships: its context is {made}."
    return ""


@dataclass(frozen=True)
class _Place:
    """The list that holds the first packer of relationships, its row, and the items before it.

    `nested` says that the list is not a stage of the method, but is inside a combinator.
    """

    items: list[Item]
    row: int
    before: list[Item]
    nested: bool

    @property
    def writers(self) -> list[Item]:
        return [item for item in self.before if _written([item]) & {"relationships"}]


def _place(method: Mapping[str, Any]) -> _Place | None:
    before: list[Item] = []
    for items in stages(method):
        found = _place_in(items, before, nested=False)
        if found is not None:
            return found if found.writers else None
        before += items
    return None


def _place_in(items: list[Item], before: Sequence[Item], *, nested: bool) -> _Place | None:
    for row, item in enumerate(items):
        held = [*before, *items[:row]]
        if any(_packs(op, step) for op, step in operator_steps([item]) if step is item):
            return _Place(items, row, held, nested)
        for inner in inner_lists(item):
            found = _place_in(inner, held, nested=True)
            if found is not None:
                return found
    return None


def _packs(operator: Operator, step: Mapping[str, Any]) -> bool:
    return "context" in operator.returns and _reads(operator, step, "relationships")


def _reads(operator: Operator, step: Mapping[str, Any], slot: str) -> bool:
    used = step.get("use", ())
    return any(r.slot == slot and (not r.optional or slot in used) for r in operator.reads)


def _written(items: Sequence[Item]) -> set[str]:
    return {slot for operator, _ in operator_steps(items) for slot in operator.returns}


def _candidates(place: _Place, pooling: Mapping[str, Any]) -> list[Item]:
    """The steps that give the relationships to pool.

    For `rerank` the trial of the packer: those that its prompt would hold. For `reselect` the
    method's own search, as long as `coarse_k`.
    """
    packer = place.items[place.row]
    if pooling["mode"] == "rerank":
        trial = TRIALS.get(str(packer["op"]))
        kept = {key: value for key, value in packer.items() if key not in ("op", "cut")}
        return [{"op": trial, **kept}] if trial else []
    coarse_k = pooling.get("coarse_k") or _default("coarse_k")
    longer, lengthened = _lengthened(place.writers, coarse_k)
    return [_aside(longer)] if lengthened and _repeatable(place) else []


def _aside(steps: list[Item]) -> Item:
    return {"aside": ["relationships"], "steps": steps}


def _default(name: str) -> Any:
    return operators.get("path.pool").settings[name].default


def _lengthened(items: Sequence[Item], k: int) -> tuple[list[Item], bool]:
    made = copy.deepcopy(list(items))
    changed = False
    for operator, step in operator_steps(made):
        held = _length(operator, step)
        if held is not None and held < k:
            step["top_k"] = k
            changed = True
    return made, changed


def _length(operator: Operator, step: Mapping[str, Any]) -> int | None:
    setting = operator.settings.get("top_k")
    if setting is None or "relationships" not in operator.returns:
        return None
    held = step.get("top_k", setting.default)
    return held if isinstance(held, int) else None


def _repeatable(place: _Place) -> bool:
    """Whether the writers of relationships would find what they found, and ask no model.

    They must not read what they or later steps overwrite, other than the relationships.
    """
    for position, item in enumerate(place.before):
        for operator, step in operator_steps([item] if item in place.writers else []):
            later = _written(place.before[position:]) if "op" in item else set()
            read = {r.slot for r in operator.reads if _reads(operator, step, r.slot)}
            if operator.calls or (read & later) - {"relationships"}:
                return False
    return True


def _linking(method: Item, place: _Place, pooling: Mapping[str, Any]) -> list[Item]:
    """The steps that link the question's entities; none where the method's nodes are those.

    Names that the method has not found are found in `convert`, or next to the packer where that
    is inside a combinator, as the question may be another one there.
    """
    writers = [item for item in place.before if _written([item]) & {"nodes"}]
    if writers and writers[-1].get("op") == "node.link":
        return []
    steps: list[Item] = []
    if "mentions" not in _written([item for item in place.before if "op" in item]):
        conversion = pooling.get("conversion", method.get("conversion", "nlp"))
        named = {"op": f"question.entities.{conversion}"}
        if place.nested:
            steps.append(named)
        else:
            method["convert"] = [*(method.get("convert") or ()), named]
    parts = pooling.get("linking", LINKING)
    return [*steps, {"op": "node.link", "parts": list(parts), "dedupe": True}]


def _pool(place: _Place, pooling: Mapping[str, Any]) -> Item:
    given = {key: value for key, value in pooling.items() if key not in OWN}
    step = {"op": "path.pool", "mode": pooling["mode"], **given}
    last = [operator.name for operator, _ in operator_steps(place.writers[-1:])
            if "relationships" in operator.returns]  # fmt: skip
    if "scores" not in given and COSINES.issuperset(last):
        step["scores"] = "cosine"
    if pooling["mode"] == "reselect" and given.get("top_k") is None:
        step["top_k"] = _own_length(place)
    return step


def _own_length(place: _Place) -> int | None:
    for items in (place.writers[::-1], [place.items[place.row]]):
        for item in items:
            if "op" in item:
                operator = operators.get(str(item["op"]))
                setting = operator.settings.get("top_k")
                held = item.get("top_k", setting.default if setting else None)
                if isinstance(held, int):
                    return held
    return None
