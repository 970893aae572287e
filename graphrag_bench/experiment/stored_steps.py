"""Questions taken through the steps before the answer, computing only what is not kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.experiment.execute import build_resources, start_state
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.models import Models
from graphrag_bench.pipeline.kept_steps import KeptSteps, Results
from graphrag_bench.pipeline.run import Finished, run
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.progress import Progress
from graphrag_bench.values import Question, RetrievalState


@dataclass
class Retrieved:
    """Questions after their last step before the answer, in order, and what that took.

    `computed` and `taken` count the results of each step, by its label; `resources` are the
    artifacts and models of each scope.
    """

    finished: list[Finished] = field(default_factory=list)
    computed: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)
    resources: dict[str | None, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, one: Finished) -> Mapping[str, Any]:
        """The artifacts and models that a question was retrieved with."""
        scope = one.question.scope
        return self.resources[scope if scope in self.resources else None]


def identities(experiment: Experiment, models: Models) -> Mapping[str, str]:
    """What the steps' needs are, by name: keys of artifacts and identities of models."""
    keys = {item.resource: item.key for item in experiment.plan_for(models)}
    needs = experiment.method.pipeline.needs() & set(models.NAMES)
    return keys | {name: models.identity(name) for name in needs}


def retrieved(
    experiment: Experiment,
    questions: Sequence[Question],
    results: Results | None = None,
    progress: Progress | None = None,
) -> Retrieved:
    """The questions after the steps that pack their context; nothing is answered.

    Artifacts that are missing are built. Results are taken from `results` where it has
    them, and added to it; without it they are shared among these questions alone.
    """
    shown, found = progress or Progress(quiet=True), Retrieved()
    held: dict[str, Finished] = {}
    for scope, models in experiment.scoped(questions).items():
        mine = [q for q in questions if scope is None or q.scope == scope]
        resources = build_resources(experiment, models, shown, answering=False)
        kept = KeptSteps(identities(experiment, models), results)
        table: ChunkTable = resources["chunk_table"]
        with shown.task(f"{experiment.method.name}: retrieving", len(mine)) as advance:
            for one in run(
                mine,
                experiment.method.pipeline,
                Execution(resources, experiment.settings.workers, kept=kept),
                answering=False,
                start=partial(_start, experiment, table),
            ):
                held[one.question.id] = one
                advance(1)
        found.computed.update(kept.computed)
        found.taken.update(kept.taken)
        found.resources[scope] = resources
    found.finished = [held[question.id] for question in questions]
    return found


def _start(experiment: Experiment, table: ChunkTable, question: Question) -> RetrievalState:
    return start_state(experiment, question, table)
