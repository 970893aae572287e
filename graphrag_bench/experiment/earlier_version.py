"""Which version of a corpus an artifact grows from: the one that was built before, if it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from graphrag_bench.data.history import History
from graphrag_bench.offline.earlier import EARLIER, kept_earlier
from graphrag_bench.offline.manifest import is_stored
from graphrag_bench.offline.plan import Planned

Plan = Callable[..., Sequence[Planned]]
"""The plan of a run, with identities in place of those that it has."""


def earlier_key(root: Path, corpus: str, plan: Plan) -> str:
    """The key of the artifact that what the plan has of this kind grows from; "" for none.

    Where it was built before, that is what it grew from then. Else it is what the same plan makes
    of the version of the corpus before, if that is there.
    """
    alone = _growing(plan(earlier_version=""))
    if alone is None:
        return ""
    if (kept := kept_earlier(root, alone)) is not None:
        return kept
    before = History(root).before(corpus)
    if before is None:
        return ""
    theirs = _growing(plan(corpus=before.corpus, earlier_version=""))
    assert theirs is not None
    grew_from = kept_earlier(root, theirs) or ""
    made = _growing(plan(corpus=before.corpus, earlier_version=grew_from))
    assert made is not None
    return made.key if is_stored(root / made.resource / made.key) else ""


def _growing(plan: Sequence[Planned]) -> Planned | None:
    return next((item for item in plan if EARLIER in item.inputs), None)
