"""The notes of a table about the released engines among its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_OF_MODE = {
    "equal": "our chunks, models, context budget and reader prompt",
    "as_released": "our models; its own chunks, prompts, context and answer",
}
_ALWAYS = "temperature and seed are those of our model"


def engine_notes(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """For each row of an engine: its mode, what could not be made equal, what is not ours."""
    for run in runs:
        held = run.get("engine")
        if not held:
            continue
        yield f"{run['title']}: the released engine, with {_OF_MODE[held['mode']]}"
        unequal = "; ".join((_ALWAYS, *held.get("not_equal", ())))
        yield f"{run['title']}: not equal: {unequal}"
        if held.get("foreign"):
            yield (
                f"! {run['title']}: {held['foreign']} of {held['passages']} passages hold no "
                "passage of ours: evidence scores do not see them"
            )
        if held.get("n_nodes") == 0:
            yield f"! {run['title']}: its graph is empty; the build model wrote nothing it can read"
        if held.get("n_lost"):
            yield (
                f"! {run['title']}: {held['n_lost']} of {held['n_chunks']} chunks are not in its "
                "graph: it could not read what the build model wrote"
            )
