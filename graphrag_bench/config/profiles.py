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

SELECTORS = ("profile", "fidelity")
"""The run settings that choose a source."""
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


def changes(
    method: Mapping[str, Any], profile: str, fidelity: str, *, pooling: object = None
) -> dict[str, Any]:
    """What a profile and a fidelity change in a method's file, by path; empty for the defaults.

    With path pooling (`pooling` is the group's choice or its settings) what that changes comes too.
    Raises UserError when the file does not hold such mappings.
    """
    profiles = method.get("profiles") or {}
    chosen = [profiles.get(profile)] if isinstance(profiles, Mapping) else [profiles]
    if fidelity == PAPER:
        chosen.append(method.get("fidelity"))
    if pools(pooling):
        chosen.append(method.get(POOLED))
    found: dict[str, Any] = {}
    for values in chosen:
        if values is not None and not isinstance(values, Mapping):
            name = method.get("name")
            raise UserError(f"method '{name}': {values!r} is not a mapping of settings.")
        found |= values or {}
    return {path: value for path, value in found.items() if value != UNSTATED}


def pools(pooling: object) -> bool:
    """Whether a choice of the group `pooling`, or its settings, turns path pooling on."""
    mode = pooling.get("mode") if isinstance(pooling, Mapping) else pooling
    return mode not in (None, False, "off", "null")


def applied(
    method: Mapping[str, Any], profile: str, fidelity: str, *, pooling: object = None
) -> dict[str, Any]:
    """A copy of a method's file with what sources and path pooling change, without the lists."""
    made = copy.deepcopy({key: value for key, value in method.items() if key not in KEYS})
    found = changes(method, profile, fidelity, pooling=pooling)
    for path, value in sorted(found.items(), key=lambda change: change[0].count(".")):
        held = made  # a variant before its settings: it would take their place
        *folders, last = path.split(".")
        for folder in folders:
            inner = held.get(folder)
            held[folder] = inner if isinstance(inner, dict) else {"variant": inner}
            held = held[folder]
        if last not in held and folders[:1] != ["build"]:
            hint = did_you_mean(last, sorted(held))
            raise UserError(f"method '{method.get('name')}' has no '{path}' to change. {hint}")
        held[last] = value
    if profile != DEFAULT:
        _lay_under(made)
    return made


def _lay_under(held: object) -> None:
    inner: Sequence[object] = held if isinstance(held, list) else ()
    if isinstance(held, dict):
        for name, value in STEPS.get(str(held.get("op")), {}).items():
            held.setdefault(name, value)
        inner = list(held.values())
    for one in inner:
        _lay_under(one)
