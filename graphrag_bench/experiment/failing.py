"""Questions that failed: what the operators' own code says, in the terminal and the run folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.progress import Progress
from graphrag_bench.runs.folder import RunFolder, write_whole

FILE = "failures"
Failed = tuple[str, Failure]
"""A question's id, and the failure in place of its answer."""
_MOST_SAID = 3
_MOST_IDS = 5


def tell(folder: RunFolder, label: str, failed: Sequence[Failed], progress: Progress) -> None:
    """Write `failures.txt` of a run, or remove it when no question failed, and say its beginning.

    It holds each kind of failure once, with the lines of the traceback in the operator's code. It
    is for people: paths and code lines depend on the machine, records do not.
    """
    path = folder.file(FILE, "txt")
    if not failed:
        path.unlink(missing_ok=True)
        return
    kinds = list(_kinds(failed))
    write_whole(path, "\n\n".join(kinds) + "\n")
    progress.say(f"{label}: {len(failed)} questions failed; {path} says where")
    for kind in kinds[:_MOST_SAID]:
        progress.say(kind)


def too_many(metrics: Mapping[str, Any], limit: float) -> bool:
    """Whether all questions of a run failed, or a larger share than `failures.limit`."""
    failed, n = int(metrics["failed"]), int(metrics["n"])
    return failed > 0 and (failed >= n or failed > limit * n)


def _kinds(failed: Sequence[Failed]) -> Iterator[str]:
    held: dict[tuple[str, str, tuple[str, ...]], list[Failed]] = {}
    for name, failure in failed:
        held.setdefault((failure.step, failure.kind, failure.where), []).append((name, failure))
    for (step, kind, where), rows in held.items():
        ids = ", ".join(name for name, _ in rows[:_MOST_IDS])
        more = f" and {len(rows) - _MOST_IDS} more" if len(rows) > _MOST_IDS else ""
        first = _printable(rows[0][1].message)
        head = f"{step}: {kind}: {first}\n  questions: {_printable(ids)}{more}"
        yield "\n".join([head, *map(_printable, where)])


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)
