"""The cases of parity: an engine and its mode, our method, and the lists that are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Case:
    """One method beside one mode of an engine, as `cases.yaml` has it.

    `distribution` is what pip installs; `reasons` say why the first difference of a list is there.
    """

    name: str
    method: str
    engine: str
    distribution: str
    mode: str
    stages: Mapping[str, int | None]
    notes: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)


def cases() -> dict[str, Case]:
    """Return the cases by name."""
    text = Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8")
    return {name: Case(name, **fields) for name, fields in yaml.safe_load(text).items()}
