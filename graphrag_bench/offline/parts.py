"""The parts of an artifact that a language model reads: what came back, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from graphrag_bench.errors import UnreadableReply, UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.llm.calls import CallFailed, Chat, RunStopped, ServerFailed
from graphrag_bench.llm.chat import LLM
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.structured import Reading, ask_each
from graphrag_bench.llm.windows import reply_tokens
from graphrag_bench.offline.plan import Planned
from graphrag_bench.progress import Advance

MOST_TOKENS = 4096
"""Tokens of a reply with records where no setting ends it: as in the code of Zhou et al. 2025
(LLMConfig, 4e87938); PathRAG, PathCoRAG, HiRAG and PankRAG end none."""
REPLIES, CUT = "replies", "truncated_replies"
"""What the statistics of an extraction call its replies that were read, and those that were cut."""
ALLOWED_CUT = 0.02
"""The share of the replies of an extraction that may be cut."""
T = TypeVar("T")


@dataclass
class Extractor:
    """A model that reads records out of texts, and how many of its replies ended at their limit.

    A reply has `max_tokens`, or, where that is None, 4,096 or what the model's window leaves.
    """

    llm: LLM
    max_tokens: int | None
    n_replies: int = 0
    n_cut: int = 0

    def limit(self, chat: Chat) -> int:
        """The most tokens of the reply to a prompt."""
        return self.max_tokens or reply_tokens(self.llm, chat, MOST_TOKENS)

    def ask(
        self,
        chats: Sequence[Chat],
        reading: Reading[T],
        *,
        items: Sequence[str],
        retry: bool = True,
        advance: Advance,
    ) -> list[T | UnreadableReply | CallFailed]:
        """What `ask_each` returns, asked with the limit of each prompt; every reply is counted."""

        def read(text: str, cut: bool) -> T:
            self.n_replies += 1
            self.n_cut += cut
            return reading.read(text, cut)

        limits = [self.limit(chat) for chat in chats]
        found: dict[int, T | UnreadableReply | CallFailed] = {}
        for limit in sorted(set(limits), reverse=True):
            rows = [row for row, own in enumerate(limits) if own == limit]
            results = ask_each(
                self.llm, [chats[row] for row in rows], replace(reading, read=read),
                max_tokens=limit, items=[items[row] for row in rows], retry=retry, advance=advance,
            )  # fmt: skip
            found.update(zip(rows, results, strict=True))
        return [found[row] for row in range(len(chats))]

    @property
    def statistics(self) -> dict[str, float]:
        """How many replies were read, and how many of them were cut."""
        return {REPLIES: self.n_replies, CUT: self.n_cut}


def reply_limits(settings: Mapping[str, object]) -> list[str]:
    """Return the settings of a builder that end the replies of its model."""
    return [name for name in settings if name.startswith("max_") and name.endswith("tokens")]


def share_cut(statistics: Mapping[str, float]) -> float:
    """The share of the replies of an extraction that were cut; 0 for what has no replies."""
    return statistics.get(CUT, 0) / max(statistics.get(REPLIES, 0), 1)


def refuse_cut(planned: Planned, statistics: Mapping[str, float], allowed: float) -> None:
    """Raise UserError when more than that share of the replies of an extraction was cut."""
    if (share := share_cut(statistics)) <= allowed:
        return
    limits = reply_limits(planned.settings)
    named = " or ".join(f"build.{planned.resource}.{name}" for name in limits)
    held = ", ".join(f"{planned.settings[name] or MOST_TOKENS:,}" for name in limits)
    raise UserError(
        f"{planned.resource} ({planned.builder.name}): {statistics[CUT]:.0f} of "
        f"{statistics[REPLIES]:.0f} replies ({share:.1%}) ended at their limit ({held} tokens, or "
        f"what the model's window leaves), and the graph would lack what they did not say. Raise "
        f"{named}, take a model with a larger window, or smaller chunks; "
        f"failures.allow_cut={share + 0.005:.2f} goes on with them, from the stored replies."
    )


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
