"""Profiles: the values of a method's settings that differ from source to source.

A method's file may say

    profiles:
      zhou2025: {damping: 0.1, build.graph.synonymy: add}
      upstream: {damping: 0.1, top_k: 5, khop: unstated}
    fidelity: {conversion: llm, build.extraction: llm}

`profile=zhou2025` lays the first mapping over the file, `fidelity=paper` the last; what the user
sets wins over both. `unstated` marks what a source leaves open: the file's own value stays.
`pooled: {form: paths}` says in the same way what path pooling (pooling=rerank, reselect) changes.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean

POOLED = "pooled"
KEYS = ("profiles", "fidelity", POOLED)
"""The keys of a method's file that define them and path pooling."""
DEFAULT, PAPER, UNSTATED = "default", "paper", "unstated"
BUDGETS = {"zhou2025": 7500}
"""Tokens of context of every method under a profile whose paper gives all one window, where a
method's file has no number for it: what answer and instructions leave of 8,096 (section 7.1)."""

ANSWER_TOKENS = {"zhou2025": 4096, "paper": 2048, "upstream": 2048}
"""Tokens of a list, a paragraph or a summary under a source's profile: Zhou et al. 2025 end replies
at 4,096 (LLMConfig of their code, 4e87938); no other source ends an answer."""

STEPS: Mapping[str, Mapping[str, Any]] = {
    "points.map": {"max_characters": None, "max_tokens": 2048},
}
"""What the steps of a method are under any profile but the default, where its file leaves it open:
no source ends a point of a map step."""


def applied(
    method: Mapping[str, Any], profile: str, fidelity: str, *, pooling: object = None
) -> dict[str, Any]:
    """Return a copy of a method's file with what sources and path pooling change, without `KEYS`.

    `pooling` is the choice of the group or its settings. Raises UserError for a change of what the
    method does not have, with the nearest name, and for changes that are no mapping.
    """
    mode = pooling.get("mode") if isinstance(pooling, Mapping) else pooling
    profiles = method.get("profiles") or {}
    sources = [profiles.get(profile) if isinstance(profiles, Mapping) else profiles]
    sources += [method.get("fidelity")] if fidelity == PAPER else []
    sources += [method.get(POOLED)] if mode not in (None, False, "off", "null") else []
    changes: dict[str, Any] = {}
    for values in sources:
        if not isinstance(values, Mapping | None):
            name = method.get("name")
            raise UserError(f"method '{name}': {values!r} is not a mapping of settings.")
        changes |= values or {}
    config = copy.deepcopy({key: value for key, value in method.items() if key not in KEYS})
    for path in sorted(changes, key=lambda path: path.count(".")):
        if changes[path] != UNSTATED:  # a variant before its settings: it would take their place
            _change(config, path, changes[path])
    if profile != DEFAULT:
        _lay_under(config)
    return config


def _change(config: dict[str, Any], path: str, value: object) -> None:
    *above, last = path.split(".")
    node = config
    for name in above:
        inner = node.get(name)
        node[name] = inner if isinstance(inner, dict) else {"variant": inner}
        node = node[name]
    if last not in node and above[:1] != ["build"]:
        hint = did_you_mean(last, sorted(node))
        raise UserError(f"method '{config.get('name')}' has no '{path}' to change. {hint}")
    node[last] = value


def _lay_under(node: object) -> None:
    inner: Sequence[object] = node if isinstance(node, list) else ()
    if isinstance(node, dict):
        for name, value in STEPS.get(str(node.get("op")), {}).items():
            node.setdefault(name, value)
        inner = list(node.values())
    for one in inner:
        _lay_under(one)
