"""Path pooling in a method's steps: `path_pooling` at the packer of what a run may pool.

    {op: context.relationships, share: 0.2, path_pooling: {entities: nlp}}

Without `pooling` it is the packer alone. Otherwise the relationships are pooled first: by `rerank`
those that the packer's prompt has room for, by `reselect` those that `search` finds when its lists
are as long as `coarse_k`, of which `keep` stay. The entities of the question that paths begin at
are found by `question.entities.KIND`, or are the method's mentions, and linked, unless the
method's nodes are `linked` ones. `scores` are those of the search.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.combinator import Nested
from graphrag_bench.pipeline.steps import Execution, OperatorStep, Outcome, Steps, run_steps
from graphrag_bench.values import RetrievalState

MODES = ("rerank", "reselect")
KEYS = frozenset({"entities", "linked", "search", "scores", "keep"})
_OWN = ("conversion", "linking")
"""The settings of `pooling` that are not those of `path.pool`."""
_TRIALS = {"context.relationships": "relationship.fitting"}
"""What finds the relationships that a packer would keep, by the packer."""
_LINKING = ("dictionary", "mentions", "vectors")
_COARSE_K, _MOST = 500, 200
"""Relationships that `reselect` pools, and that it keeps where the method has no number."""
Item = Mapping[str, Any]


@dataclass(frozen=True)
class Pooled(Nested):
    """The relationships in the order of their pooled scores, then the packer."""

    steps: Steps

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Return the states after the packer."""
        return run_steps(self.steps, states, execution)

    def check(self, checker: Checker) -> None:
        """Every step in order."""
        for step in self.steps:
            step.check(checker)


def pooled(
    item: Item,
    packer: OperatorStep,
    pooling: Item,
    read: Callable[[Any, str], Steps],
    all_rows: bool = False,
) -> Pooled:
    """Return the packer of an item after the steps that pool its relationships.

    `read` turns a list and its path into steps; with `all_rows` a method that has no number of
    relationships keeps all. Raises UserError for a mode that is none, and for a key that
    `path_pooling` does not have.
    """
    path, pool = packer.label.partition(" ")[0], item["path_pooling"] or {}
    for key in pool:
        if key not in KEYS:
            raise UserError(f"path_pooling has no key '{key}'. {did_you_mean(key, sorted(KEYS))}")
    if (mode := pooling.get("mode")) not in MODES:
        raise UserError(f"pooling.mode={mode!r}: choose pooling={' or pooling='.join(MODES)}.")
    settings = {key: value for key, value in pooling.items() if key not in _OWN}
    if pool.get("scores"):
        settings = {"scores": pool["scores"], **settings}
    if mode == "reselect" and settings.get("top_k") is None:
        most = None if all_rows else _MOST
        settings["top_k"] = pool.get("keep") or item.get("top_k") or most
    steps = [*_candidates(item, pool, pooling), *_linking(pool, pooling)]
    steps.append({"op": "path.pool", **settings})
    apart = read([{"branch": {"pool": steps}, "only": ["relationships"]}], path)
    if "cut" in packer.operator.settings:
        packer = replace(packer, settings={**packer.settings, "cut": "lowest"})
    return Pooled(packer.label, (*apart, packer))


def _candidates(item: Item, pool: Item, pooling: Item) -> list[Item]:
    if pooling["mode"] == "rerank":
        trial = _TRIALS.get(str(item["op"]))
        settings = {
            key: value for key, value in item.items() if key not in ("op", "cut", "path_pooling")
        }
        return [{"op": trial, **settings}] if trial else []
    if not pool.get("search"):
        return []
    longer: list[Item] = _longer(pool["search"], pooling.get("coarse_k") or _COARSE_K)
    return longer


def _longer(steps: Any, least: int) -> Any:
    if isinstance(steps, list):
        return [_longer(step, least) for step in steps]
    if not isinstance(steps, dict):
        return steps
    longer = {key: _longer(value, least) for key, value in steps.items()}
    if str(longer.get("op")).startswith("relationship.") and isinstance(longer.get("top_k"), int):
        longer["top_k"] = max(longer["top_k"], least)
    return longer


def _linking(pool: Item, pooling: Item) -> list[Item]:
    if pool.get("linked"):
        return []
    kind = pooling.get("conversion", pool.get("entities"))
    naming = [{"op": f"question.entities.{kind}"}] if pool.get("entities") else []
    parts = list(pooling.get("linking", _LINKING))
    return [*naming, {"op": "node.link", "parts": parts, "dedupe": True, "as": "entities"}]
