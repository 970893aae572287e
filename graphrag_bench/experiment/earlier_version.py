"""Which version of a corpus an artifact grows from: the one that was built before, if it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from graphrag_bench.data.history import History
from graphrag_bench.offline.earlier import grown, kept_earlier
from graphrag_bench.offline.manifest import is_stored
from graphrag_bench.offline.plan import Planned

Plan = Callable[..., Sequence[Planned]]
"""The plan of a run, with identities in place of those that it has."""


def earlier_key(root: Path, corpus: str, alone: Planned, plan: Plan) -> str:
    """The key of the artifact that one, planned `alone`, grows from; "" for none.

    Where it was built before, that is what it grew from then. Else it is what the same plan makes
    of the version of the corpus before, if that is there.
    """
    if (kept := kept_earlier(root, alone)) is not None:
        return kept
    before = History(root).before(corpus)
    if before is None:
        return ""
    theirs = _of(alone, plan(corpus=before.corpus))
    made = grown(theirs, kept_earlier(root, theirs) or "")
    return made.key if is_stored(root / made.resource / made.key) else ""


def _of(alone: Planned, plan: Sequence[Planned]) -> Planned:
    """The artifact of the same kind in another plan."""
    return next(item for item in plan if item.resource == alone.resource)
