"""Which version of a corpus an artifact grows from: the one that was built before, if it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from graphrag_bench.data.history import History
from graphrag_bench.offline.earlier import Earlier, grown_from, kept_earlier
from graphrag_bench.offline.manifest import is_stored
from graphrag_bench.offline.plan import Planned

Plan = Callable[..., Sequence[Planned]]
"""The plan of a run, with identities in place of those that it has."""


def earlier_key(root: Path, corpus: str, alone: Planned, plan: Plan) -> str:
    """The key of the artifact that one, planned `alone`, grows from; "" for none.

    Where it was built before, that is what it grew from then, unless neither it nor what it grew
    from is stored any more. Else it is what the same plan makes of the version of the corpus
    before, if that is there.
    """
    if (kept := kept_earlier(root, alone)) is not None and (
        _is_stored(root, grown_from(alone, kept)) or Earlier(root, kept).is_there
    ):
        return kept
    before = History(root).before(corpus)
    if before is None:
        return ""
    theirs = _of(alone, plan(corpus=before.corpus))
    made = grown_from(theirs, kept_earlier(root, theirs) or "")
    return made.key if Earlier(root, made.key).is_there else ""


def _is_stored(root: Path, planned: Planned) -> bool:
    return is_stored(root / planned.resource / planned.key)


def _of(alone: Planned, plan: Sequence[Planned]) -> Planned:
    """The artifact of the same kind in another plan."""
    return next(item for item in plan if item.resource == alone.resource)
