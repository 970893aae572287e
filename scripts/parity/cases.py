"""The cases of parity: an engine and its mode, our method, and the lists that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_REASONS = Path(__file__).with_name("reasons.yaml")


@dataclass(frozen=True)
class Case:
    """One method beside one mode of an engine.

    `distribution` is what pip installs, `settings` are those of our method that its
    `profile=upstream` does not say, `stages` the lists compared, in the order in which they are
    found, each with the longest prefix compared (None: all of it).
    """

    name: str
    method: str
    engine: str
    distribution: str
    mode: str
    stages: Mapping[str, int | None]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


_LIGHTRAG: Mapping[str, int | None] = {"nodes": None, "relationships": None, "chunks": None}
_NO_BUDGETS = "token budgets are lifted on both sides: the tokenizers differ"
_VECTORS = "each row has our vector, whatever text the engine would embed for it"

CASES = (
    *(
        Case(
            f"lightrag-{mode}", method, "lightrag", "lightrag-hku", mode, _LIGHTRAG,
            notes=(_NO_BUDGETS, _VECTORS),
        )
        for mode, method in (
            ("local", "llightrag"), ("global", "glightrag"), ("hybrid", "hlightrag"),
            ("mix", "lightrag_mix"),
        )
    ),
    Case(
        "nano-local", "lgraphrag", "nano", "nano-graphrag", "local",
        {"nodes": None, "communities": 20, "relationships": None, "chunks": 10},
        {"top_k": 20, "min_score": 0.2, "order": "degree", "per_node": None},
        (_NO_BUDGETS, _VECTORS,
         "profile=upstream is Microsoft's code; nano-graphrag has 20 nodes, and all their "
         "relationships by degree"),
    ),
    Case(
        "nano-global", "ggraphrag", "nano", "nano-graphrag", "global", {"communities": None},
        {"levels": "down_to", "order": "given"},
        (
            _NO_BUDGETS,
            "profile=upstream is Microsoft's code, which shuffles the communities of one level; "
            "nano-graphrag takes those down to a level, of most chunks first",
        ),
    ),
    Case(
        "fast-graphrag", "fastgraphrag", "fastgraphrag", "fast-graphrag", "query",
        {"nodes": None, "relationships": None, "chunks": None},
        notes=(
            _NO_BUDGETS,
            _VECTORS,
            "the recorded reply names entities and no generic ones; the engine writes them in "
            "capitals",
        ),
    ),
    Case(
        "fast-graphrag-exact", "fastgraphrag", "fastgraphrag", "fast-graphrag", "exact",
        {"nodes": None, "relationships": None, "chunks": None},
        notes=("as above, and the engine's approximate search looks at every node",),
    ),
    Case(
        "hipporag2", "hipporag2", "hipporag", "hipporag", "retrieve", {"chunks": 10},
        notes=(
            _VECTORS,
            "the recorded reply of the fact filter keeps every fact",
            "the frozen extraction has the ends of its facts as entities, in a-z and 0-9",
        ),
    ),
)  # fmt: skip


def chosen(names: str) -> list[Case]:
    """The cases of that name, comma-separated; all for an empty text. Raises KeyError."""
    by_name = {case.name: case for case in CASES}
    return [by_name[name] for name in names.split(",")] if names else list(CASES)


def reasons() -> dict[str, dict[str, str]]:
    """Why the first difference of a case's list is there, found by looking at its values."""
    held: dict[str, dict[str, str]] = yaml.safe_load(_REASONS.read_text(encoding="utf-8")) or {}
    return held
