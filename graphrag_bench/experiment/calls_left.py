"""The calls that building a changed corpus takes, less those whose replies are stored already."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.expected import Sizes
from graphrag_bench.experiment.changed_corpus import Growth
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.models.fan_out import FanOut, Request
from graphrag_bench.models.outcomes import CallFailed, Completion
from graphrag_bench.models.replay import Replay
from graphrag_bench.models.reply_store import REUSABLE, ReplyStore, reply_key
from graphrag_bench.offline.plan import Planned
from graphrag_bench.progress import Progress

MOST_COUNTED = 20_000
"""Chunks up to which prompts are looked up one by one: 2 calls each take some 10 seconds."""
COUNTED = "counted: what the store of replies lacks"
IN_PROPORTION = "in proportion to the chunks of new and changed documents"


@dataclass(frozen=True)
class CallsLeft:
    """The calls left of those that a build without stored replies takes, and how that is known."""

    left: int
    whole: int
    basis: str


def calls_left(
    experiment: Experiment, item: Planned, growth: Growth, sizes: Sizes, share: float
) -> CallsLeft | None:
    """What building an artifact of a changed corpus takes; None where stored replies save nothing.

    Where prompts are made of the chunks alone, up to `MOST_COUNTED` of them, the builder is run
    over the stored replies, and what they lack is counted; the calls that follow on a missing reply
    are those announced for each chunk. Elsewhere, if the artifact of the version before is there,
    the expected calls are multiplied by `share`, that of new and changed documents in the chunks.
    """
    if experiment.settings.cache.mode not in ("write", "read"):
        return None
    found = None
    if _asks_of_chunks(experiment, item) and sizes.n_chunks <= MOST_COUNTED:
        found = _counted(experiment, item)
    elif _built_before(experiment, item, growth):
        expected = item.builder.expected_calls(item.settings, sizes)
        found = CallsLeft(math.ceil(expected * share), expected, IN_PROPORTION)
    return found if found and found.left < found.whole else None


def _asks_of_chunks(experiment: Experiment, item: Planned) -> bool:
    """Whether an artifact is made of chunks and replies, and the chunks of the corpus."""
    model = experiment.models.bare(_group(experiment))
    return (
        isinstance(item.builder.calls, int)
        and set(item.inputs) == {"chunk_table", "llm_build"}
        and "scratch" not in item.builder.needs
        and set(_chunking(experiment).inputs) == {"corpus"}
        and isinstance(model, FanOut)
        and not isinstance(model, Replay)
    )


def _group(experiment: Experiment) -> str:
    """The settings of the model that builds."""
    return "llm" if experiment.settings.llm_build is None else "llm_build"


def _chunking(experiment: Experiment) -> Planned:
    return next(item for item in experiment.plan if item.resource == "chunk_table")


def _counted(experiment: Experiment, item: Planned) -> CallsLeft | None:
    """The calls that the stored replies lack; None where nothing is stored."""
    path = experiment.models.replies_path
    if not path.is_file():
        return None
    chunking = _chunking(experiment)
    table: ChunkTable = chunking.builder.function(corpus=experiment.dataset, **chunking.settings)
    store = ReplyStore(path, reading=True)
    replies = _StoredReplies(
        experiment.models.bare(_group(experiment)), experiment.models.identity("llm_build"), store
    )
    ambient = {"progress": Progress(quiet=True)} if "progress" in item.builder.needs else {}
    try:
        with suppress(UserError):  # of a builder that was given no reply at all
            item.builder.function(chunk_table=table, llm_build=replies, **ambient, **item.settings)
    finally:
        store.close()
    n_first = sum(place < len(table) for place in replies.lacking)
    n_later = (_of_each_chunk(item) - 1) * n_first
    return CallsLeft(len(replies.lacking) + n_later, replies.n_asked + n_later, COUNTED)


def _of_each_chunk(item: Planned) -> int:
    """The calls that are announced for each chunk."""
    return item.builder.calls if isinstance(item.builder.calls, int) else 0


class _StoredReplies(FanOut):
    """A model that gives the replies that are stored, and notes which calls have none.

    `lacking` are the places of those, from 0 in the order in which they were asked for.
    """

    def __init__(self, model: FanOut, identity: str, store: ReplyStore) -> None:
        """The replies of a model, which is not asked."""
        self.window, self._identity, self.store = model.window, identity, store
        self.n_asked = 0
        self.lacking: list[int] = []

    @property
    def identity(self) -> str:
        """The identity of the model."""
        return self._identity

    def call(self, request: Request) -> Completion:
        """The stored reply; raises CallFailed where there is none that is used again."""
        held = self.store.get(reply_key(self._identity, request)[0])
        self.n_asked += 1
        if held is None or held.verdict not in REUSABLE:
            self.lacking.append(self.n_asked - 1)
            raise CallFailed("not_stored", "There is no stored reply.")
        return held.completion


def _built_before(experiment: Experiment, item: Planned, growth: Growth) -> bool:
    """Whether the same was built of the version before, by the same code and settings."""
    earlier, store = experiment.plan_of(growth.before.corpus), experiment.store()
    return any(one.resource == item.resource and store.holds(one) for one in earlier)
