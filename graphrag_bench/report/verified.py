"""The mark of a method that was not wholly checked against its paper or its released code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

DOUBT = "(?)"
Run = Mapping[str, Any]


def doubt(run: Run) -> str:
    """`(?)` for a run of a method that is verified in part or not at all, or ""."""
    return "" if run.get("verified", "true") == "true" else DOUBT


def verified_notes(runs: Sequence[Run]) -> Iterator[str]:
    """What the mark means, with the methods that have it; nothing where none has."""
    marked = sorted({(str(run["method"]), str(run["verified"])) for run in runs if doubt(run)})
    if marked:
        said = ", ".join(f"{name} (verified: {how})" for name, how in marked)
        yield f"{DOUBT}: not all of it was checked against its paper; its page says what: {said}"
