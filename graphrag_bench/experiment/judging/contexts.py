"""The texts of the contexts of a stored run, which its rows name by id.

Retrieval is done again from the artifacts, with the replies that were paid for at the time and
no others, and what it comes to is compared with the row: a context that is no longer the same is
left out, never judged in the place of the one that the answer was made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.experiment.execute import build_resources, start_state
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.models import Models
from graphrag_bench.experiment.stored import StoredRun
from graphrag_bench.models.fan_out import FanOut, Request
from graphrag_bench.models.llm import CallFailed, Completion
from graphrag_bench.models.replay import Replay
from graphrag_bench.models.reply_store import ReplyStore, reply_key
from graphrag_bench.pipeline.run import run
from graphrag_bench.pipeline.steps import World
from graphrag_bench.progress import Progress
from graphrag_bench.runs.record import summary
from graphrag_bench.values import Context, Question, RetrievalState

Texts = dict[str, tuple[str, ...]]


class _Paid(FanOut):
    """A model that says again what the cache holds, unreadable replies and failures too."""

    def __init__(self, identity: str, window: int | None, store: ReplyStore) -> None:
        self._identity, self._window, self._store = identity, window, store

    @property
    def identity(self) -> str:
        """The identity of the model whose replies are wanted."""
        return self._identity

    @property
    def window(self) -> int | None:
        """The window of that model."""
        return self._window

    def call(self, request: Request) -> Completion:
        """The stored reply; raises the stored failure, or CallFailed: nothing is asked anew."""
        key, _ = reply_key(self._identity, request)
        if (row := self._store.get(key)) is None:
            raise CallFailed("refused", "this reply is not in the cache")
        return row.completion


def context_texts(
    stored: StoredRun, home: Path, ids: Sequence[str], progress: Progress | None = None
) -> Texts:
    """The texts of each question's context in ranked order, where it is still the stored one.

    A method without a context gives none. Raises UserError when the run's settings are no longer
    valid or its artifacts cannot be had.
    """
    rows = stored.rows
    wanted = [name for name in ids if rows[name].get("context")]
    if not wanted:
        return {}
    experiment = Experiment.prepare({**stored.config, "paths": {"home": str(home)}})
    questions = {q.id: q for q in experiment.dataset.questions}
    found: Texts = {}
    for answering in (False, True):
        missing = [questions[name] for name in wanted if name not in found and name in questions]
        if missing:
            found |= _retrieved(experiment, missing, rows, answering, progress or Progress())
    return found


def _retrieved(
    experiment: Experiment, questions: Sequence[Question], rows: Any, answering: bool,
    progress: Progress,
) -> Texts:  # fmt: skip
    groups: dict[str | None, list[Question]] = {}
    per_scope = experiment.settings.graph.scope != "all"
    for question in questions:
        groups.setdefault(question.scope if per_scope else None, []).append(question)
    found: Texts = {}
    models = _unpaid(experiment.models)
    for scope, part in groups.items():
        over = models.over(experiment.dataset.within(scope)) if per_scope else models
        resources = build_resources(experiment, over, progress, answering)
        table = resources["chunk_table"]
        finished = run(
            part, experiment.method.pipeline, World(resources, experiment.settings.workers),
            answering=answering, start=partial(start_state, experiment, table=table),
        )  # fmt: skip
        for one in finished:
            state = one.outcome
            context = state.get("context") if isinstance(state, RetrievalState) else None
            stored = rows[one.question.id]["context"]
            if isinstance(context, Context) and summary(context) == stored:
                found[one.question.id] = tuple(piece.text for piece in context.pieces)
    return found


def _unpaid(models: Models) -> Models:
    """The models of the run with language models that only repeat what the cache holds.

    A replay is such a model already.
    """
    for role in ("llm", "llm_build"):
        bare = models.bare(role if getattr(models.settings, role) else "llm")
        if not isinstance(bare, FanOut):
            raise UserError(f"The replies of {models.identity(role)} are in no cache.")
        if not isinstance(bare, Replay):
            setattr(models, role, _Paid(bare.identity, bare.window, models.replies))
    return models
