"""The parts of an artifact that a language model reads: what came back, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.models.llm import LLM, Metered
from graphrag_bench.models.outcomes import CallFailed, RunStopped, ServerFailed
from graphrag_bench.offline.plan import Planned


def window_of(llm: LLM) -> int | None:
    """The context window of a model in tokens, prompt and reply together; None if not known."""
    return window if isinstance(window := getattr(llm, "window", None), int) else None


def refuse_all_failed(
    step: str,
    failures: Sequence[object],
    n_replies: int,
    advice: str,
    *,
    was: str = "could be read",
) -> None:
    """Raise UserError when all the replies of a step failed, with the last one and what to do."""
    if n_replies and len(failures) == n_replies:
        raise UserError(
            f"{step}: none of {n_replies} replies (0%) {was}. The last one: "
            f"{str(failures[-1])[:300]}. {advice}"
        )


class Incomplete(Exception):
    """An artifact was built without some of its parts; `whole` is the key of the whole one."""

    def __init__(self, whole: str, missing: str) -> None:
        """Keep what is missing, in words."""
        super().__init__(f"{whole} is incomplete: {missing}")
        self.whole = whole
        self.missing = missing


def missing(meters: Sequence[Metered]) -> str:
    """The parts without a reply because the server failed, as "25 parts (digest)"; "" for none."""
    lost = sorted({prompt for meter in meters for prompt in meter.lost})
    return f"{len(lost)} part{'s' * (len(lost) > 1)} ({digest(lost)})" if lost else ""


def counts(meters: Sequence[Metered]) -> dict[str, int]:
    """The calls of a build and how they went, as records have them for the steps of a question."""
    return {
        "calls": sum(len(meter.replies) for meter in meters),
        "failed": sum(meter.failed for meter in meters),
        "truncated": sum(meter.truncated for meter in meters),
        "unreadable": sum(meter.unreadable for meter in meters),
        "corrected": sum(meter.corrected for meter in meters),
        "fallbacks": sum(meter.fallbacks for meter in meters),
    }


def stopped(
    planned: Planned, error: RunStopped | CallFailed, meters: Sequence[Metered]
) -> UserError:
    """The error of a build that a model ended before all parts were read."""
    n_asked = sum(meter.n_asked for meter in meters)
    n_missing = sum(meter.n_missing for meter in meters)
    reason = str(error).rstrip(".")
    parts = f" {n_missing} of the {n_asked} parts of its step are missing." if n_missing else ""
    said = (
        f"{planned.resource} ({planned.builder.name}) is not built: {reason}.{parts} Nothing was "
        "stored in its place. Replies that came are kept in the cache, and the same command asks "
        "for what is missing alone"
    )
    if isinstance(error, ServerFailed) and n_missing:
        said += "; failures.allow_incomplete=true goes on without it, under a key of its own"
    if isinstance(error, RunStopped):
        return type(error)(f"{said}.")
    return ServerFailed(f"{said}.") if error.of_server else RunStopped(f"{said}.")
