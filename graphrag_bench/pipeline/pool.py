"""Path pooling: reorder the relationships before a step writes them into the prompt.

A step that packs relationships into the prompt allows path pooling with the key `path_pooling`:

    {op: context.relationships, share: 0.2, path_pooling: {entities: nlp}}

If `pooling=rerank`, the relationships that fit the prompt are reordered. If `pooling=reselect`, the
steps of `search` first find relationships. Their `top_k` is raised to `coarse_k` if it is lower.
Path pooling then keeps the `keep` relationships with the highest scores. Paths start at entities of
the question, which `question.entities.KIND` finds and `node.link` links to nodes. KIND is the value
of the key `entities`. Without this key, the mentions that the method found are linked. With the key
`linked`, paths start at ranked nodes. `scores` is a setting of the operator `path.pool`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.pipeline.steps import OperatorStep, Step, Steps

MODES = ("rerank", "reselect")
KEYS = frozenset({"entities", "linked", "search", "scores", "keep"})
_OWN = ("conversion", "linking")
"""Settings of `pooling` that are not settings of the operator `path.pool`."""
_LINKING = ("dictionary", "mentions", "vectors")
_COARSE_K, _DEFAULT_KEEP = 500, 200
"""Default values of `coarse_k` and `keep`."""
Item = Mapping[str, Any]


@dataclass(frozen=True)
class PooledPacker(Step):
    """Steps that reorder relationships by path pooling, and the step that packs them."""

    steps: Steps


def with_pooling(
    item: Item,
    packer: OperatorStep,
    pooling: Item,
    read: Callable[[Any, str], Steps],
    all_rows: bool,
) -> PooledPacker:
    """Return a step that applies path pooling before the step `item`, which is parsed as `packer`.

    `read` parses a list of steps, given the list and its path in the file. Raises UserError for an
    unknown mode or an unknown key of `path_pooling`. For `all_rows`, see `StepOptions`.
    """
    path, pool = packer.label.partition(" ")[0], item["path_pooling"] or {}
    for key in pool:
        if key not in KEYS:
            raise UserError(f"path_pooling has no key '{key}'. {did_you_mean(key, sorted(KEYS))}")
    if (mode := pooling.get("mode")) not in MODES:
        raise UserError(f"pooling.mode={mode!r}: expected {' or '.join(MODES)}.")
    settings = {key: value for key, value in pooling.items() if key not in _OWN}
    if pool.get("scores"):
        settings = {"scores": pool["scores"], **settings}
    steps: list[Item] = []
    if mode == "reselect":
        if settings.get("top_k") is None:
            most = None if all_rows else _DEFAULT_KEEP
            settings["top_k"] = pool.get("keep") or item.get("top_k") or most
        steps += _with_longer_lists(pool.get("search") or [], pooling.get("coarse_k") or _COARSE_K)
    elif item["op"] == "context.relationships":
        own = {key: one for key, one in item.items() if key not in ("op", "cut", "path_pooling")}
        steps.append({"op": "relationship.fitting", **own})
    if not pool.get("linked"):
        if pool.get("entities"):
            kind = pooling.get("conversion", pool["entities"])
            steps.append({"op": f"question.entities.{kind}"})
        parts = list(pooling.get("linking", _LINKING))
        steps.append({"op": "node.link", "parts": parts, "dedupe": True, "as": "entities"})
    steps.append({"op": "path.pool", **settings})
    branch = read([{"branch": {"pool": steps}, "only": ["relationships"]}], path)
    if "cut" in packer.operator.settings:
        packer = replace(packer, settings={**packer.settings, "cut": "lowest"})
    return PooledPacker(packer.label, (*branch, packer))


def _with_longer_lists(steps: Any, least: int) -> Any:
    if isinstance(steps, list):
        return [_with_longer_lists(step, least) for step in steps]
    if not isinstance(steps, dict):
        return steps
    longer = {key: _with_longer_lists(value, least) for key, value in steps.items()}
    if str(longer.get("op")).startswith("relationship.") and isinstance(longer.get("top_k"), int):
        longer["top_k"] = max(longer["top_k"], least)
    return longer
