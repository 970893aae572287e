"""What a pipeline finds: evidence and tokens over questions, without a call to a model.

Pipelines that begin alike share what their steps found: every result is kept by content, in memory
and in HOME/cache/steps.sqlite.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Any

from graphrag_bench.analysis.replaying.replay import failures, scores_of
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.execute import build_resources, start_state
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.stored_steps import Retrieved, opened_store, retrieved
from graphrag_bench.pipeline.run import run
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.progress import Progress
from graphrag_bench.values import Context, Question, RetrievalState

_TIMED = 10
"""Questions that a pipeline is timed on, one after the other."""


@dataclass(frozen=True)
class Found:
    """The metric and the context tokens of each question; `failed` names what went wrong."""

    values: Mapping[str, float]
    tokens: Mapping[str, int]
    failed: tuple[str, ...] = ()


@dataclass
class Scorer:
    """Takes pipelines through questions; all share one data set, its models and kept steps.

    `computed` and `taken` count the results of steps that were computed, and kept from before.
    """

    values: Mapping[str, Any]
    metric: str
    first: Experiment = field(init=False)
    computed: int = 0
    taken: int = 0

    def __post_init__(self) -> None:
        """Read the data set, and open the store of steps."""
        self.first = Experiment.prepare({**self.values, "budget": _NO_CALLS}, swept=True)
        self.store = opened_store(self.first)

    def close(self) -> None:
        """Let go of the store of steps."""
        self.store.close()

    def experiment(self, method: Mapping[str, Any]) -> Experiment:
        """The checked experiment of a method; raises UserError where its steps do not fit."""
        values = {**self.values, "method": dict(method), "budget": _NO_CALLS}
        made = Experiment.prepare(values, self.first.dataset, swept=True)
        return replace(made, models=self.first.models) if _alike(made, self.first) else made

    def found(self, experiment: Experiment, questions: Sequence[Question]) -> Found:
        """What a pipeline finds for these questions; raises UserError where nothing can be built.

        A pipeline that fails at a question has failed: its values are those of the others.
        """
        made = retrieved(experiment, questions, self.store, Progress(quiet=True))
        self.computed += sum(made.computed.values())
        self.taken += sum(made.taken.values())
        scores = scores_of(experiment, made)
        return Found(
            {name: held[self.metric] for name, held in scores.items() if self.metric in held},
            _tokens(made),
            tuple(failures(made)),
        )

    def size(self, experiment: Experiment) -> int:
        """The bytes of the artifacts that a pipeline reads, directly or to build them."""
        store = experiment.store()
        folders = [store.folder(item) for item in experiment.plan]
        return sum(
            path.stat().st_size
            for folder in dict.fromkeys(folders)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix not in (".json", ".jsonl", ".lock")
        )

    def milliseconds(self, experiment: Experiment, questions: Sequence[Question]) -> float:
        """The median of the first questions' times before the answer, each alone, nothing kept."""
        resources = build_resources(experiment, experiment.models, Progress(quiet=True), False)
        table: ChunkTable = resources["chunk_table"]
        taken = []
        for question in questions[:_TIMED]:
            began = time.perf_counter()
            list(
                run(
                    [question],
                    experiment.method.pipeline,
                    Execution(resources, 1),
                    answering=False,
                    start=partial(_start, experiment, table),
                )
            )
            taken.append(time.perf_counter() - began)
        return 1000 * median(taken)


_NO_CALLS: Mapping[str, Any] = {"tokens": 1, "usd": None}


def _start(experiment: Experiment, table: ChunkTable, question: Question) -> RetrievalState:
    return start_state(experiment, question, table)


def _alike(made: Experiment, first: Experiment) -> bool:
    """Whether two experiments may share their models: they have no scopes of their own."""
    return made.settings.graph.per == first.settings.graph.per == "all"


def _tokens(made: Retrieved) -> dict[str, int]:
    found = {}
    for one in made.finished:
        if isinstance(one.outcome, RetrievalState):
            context = one.outcome.get("context")
            found[one.question.id] = context.n_tokens if isinstance(context, Context) else 0
    return found


def asked(experiment: Experiment, questions: Sequence[Question]) -> list[Question]:
    """The questions whose evidence is known; raises UserError where there is none."""
    gold = experiment.dataset.gold
    found = [one for one in questions if gold[one.id].evidence]
    if not found:
        raise UserError(
            f"{experiment.dataset.name} has no question with evidence, which a search is scored by."
        )
    return found
