"""How much of a run a scoring covers: a narrower one does not replace a wider one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Metrics = Mapping[str, Any]


def is_narrower(new: Metrics, held: Metrics) -> bool:
    """Whether a scoring is of fewer questions than another, all of them among the other's.

    Fewer answered ones count too. Scorings of the two parts of a division, and of divisions that
    differ, are not narrower than each other. Both are what `metrics.json` holds; `held` may be
    empty.
    """
    return bool(held) and _covers(held, new) and not _covers(new, held)


def _covers(one: Metrics, other: Metrics) -> bool:
    """Whether the questions and answers of `other` are among those of `one`."""
    whole = one.get("split", "all") == "all" and one["limit"] is None
    same = _part(one) == _part(other)
    shorter = one["limit"] is None or (
        other["limit"] is not None and one["limit"] >= other["limit"]
    )
    return (whole or (same and shorter)) and one["answered"] >= other["answered"]


def _part(metrics: Metrics) -> tuple[object, object]:
    split = metrics.get("split", "all")
    return split, metrics.get("dev_share") if split != "all" else None
