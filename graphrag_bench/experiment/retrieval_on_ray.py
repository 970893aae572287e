"""Questions retrieved by the workers of Ray; what they embed or read is stored by this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment, steps_of
from graphrag_bench.experiment.models import Models
from graphrag_bench.fingerprint import digest
from graphrag_bench.models.kept_sentences import ReadingStore, StoredReading
from graphrag_bench.models.openai_embedder import OpenAIEmbedder
from graphrag_bench.models.reply_store import ReplyStore, StoredVector
from graphrag_bench.offline.plan import Planned
from graphrag_bench.offline.store import Store
from graphrag_bench.pipeline.run import BLOCK, Elsewhere, attempt
from graphrag_bench.pipeline.steps import Execution, Outcome, Step, StepTrace, run_steps
from graphrag_bench.values import RetrievalState

_LANGUAGE_MODELS = frozenset({"llm", "llm_build", "llm_judge"})


def retrieval_on_ray(experiment: Experiment, models: Models, n_questions: int) -> Elsewhere | None:
    """What takes blocks of questions through the steps before generation, on Ray.

    None where they are taken through them here: with executor=local, for a single block, and where
    a step asks a language model or a paid embedder, whose budget, limits and ledger are of this
    process. The artifacts must be there.
    """
    pipeline = experiment.method.pipeline
    early = (*pipeline.convert, *pipeline.retrieve)
    needs = _needs(early)
    served = "embedder" in needs and isinstance(models.bare("embedder"), OpenAIEmbedder)
    if models.ray is None or n_questions <= BLOCK or served or needs & _LANGUAGE_MODELS:
        return None
    work = Retrieval(
        _here(experiment.settings),
        models.corpus,
        experiment.store(),
        experiment.plan_for(models),
        digest([step.describe() for step in early]),
    )
    ray = models.ray

    def elsewhere(
        blocks: Iterable[list[RetrievalState]], execution: Execution
    ) -> Iterator[list[Outcome]]:
        for found in ray.map(work, blocks):
            replace = experiment.settings.cache.mode == "refresh"
            if found.vectors:
                experiment.models.vectors.put_vectors(found.vectors, replace=replace)
            if found.readings:
                experiment.models.readings.put(found.readings, replace=replace)
            execution.traces.update(found.traces)
            execution.fallbacks.update(found.fallbacks)
            yield found.outcomes

    return elsewhere


@dataclass(frozen=True)
class Retrieved:
    """The outcomes of a block with traces and fallbacks by question, and what is to be stored."""

    outcomes: list[Outcome]
    traces: Mapping[str, list[StepTrace]]
    fallbacks: Mapping[str, dict[str, None]]
    vectors: Sequence[StoredVector]
    readings: Sequence[StoredReading]


@dataclass
class Retrieval:
    """In a worker: first states to retrieved ones. Artifacts are opened once, by their keys."""

    settings: RunSettings
    corpus: Dataset
    store: Store
    plan: list[Planned]
    code: str

    def __call__(self, states: list[RetrievalState]) -> Retrieved:
        """The block after the steps before generation."""
        execution = Execution(self._resources, attempt=attempt)
        outcomes = run_steps(self._steps, states, execution)
        return Retrieved(
            outcomes,
            execution.traces,
            execution.fallbacks,
            self._models.new_vectors(),
            self._models.new_readings(),
        )

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        """The steps before generation; raises UserError where their code is another here."""
        load_plugins(self.settings.plugins)
        pipeline = steps_of(self.settings).pipeline
        early = (*pipeline.convert, *pipeline.retrieve)
        if digest([step.describe() for step in early]) != self.code:
            raise UserError(
                "A worker of Ray has other code for the steps of this method: install the same "
                "version, and the same plug-ins, on every machine."
            )
        return early

    @cached_property
    def _models(self) -> _WorkerModels:
        return _WorkerModels(self.settings, self.corpus)

    @cached_property
    def _resources(self) -> dict[str, Any]:
        needs = _needs(self._steps) | {"chunk_table"}
        wanted = needs - set(Models.NAMES)
        for item in self.plan:
            if item.resource in wanted and not self.store.holds(item):
                raise UserError(
                    f"A worker of Ray does not see the artifact {self.store.folder(item)}: "
                    "executor=ray needs paths.home in a folder that all machines share."
                )
        found = self.store.resources(self.plan, wanted, self._models)
        return found | {name: self._models[name] for name in Models.NAMES if name in needs}


class _WorkerModels(Models):
    @cached_property
    def vectors(self) -> _NewVectors:
        cache = self.settings.cache
        return _NewVectors(self._vectors_path, cache.journal, reading=cache.mode == "read")

    @cached_property
    def readings(self) -> _NewReadings:
        cache = self.settings.cache
        return _NewReadings(self._readings_path, cache.journal, reading=cache.mode == "read")

    def new_vectors(self) -> list[StoredVector]:
        """What was embedded since the last call."""
        return self.vectors.taken() if "vectors" in vars(self) else []

    def new_readings(self) -> list[StoredReading]:
        """What was read since the last call."""
        return self.readings.taken() if "readings" in vars(self) else []


class _NewVectors(ReplyStore):
    _new: tuple[StoredVector, ...] = ()

    def put_vectors(
        self, vectors: Iterable[StoredVector], *, replace: bool = False
    ) -> list[StoredVector]:
        """Hold them; they are returned as they are."""
        rows = list(vectors)
        self._new += tuple(rows)
        return rows

    def taken(self) -> list[StoredVector]:
        """What was held, which is let go of."""
        rows, self._new = list(self._new), ()
        return rows


class _NewReadings(ReadingStore):
    _new: tuple[StoredReading, ...] = ()

    def put(self, rows: Sequence[StoredReading], *, replace: bool = False) -> None:
        """Hold them."""
        self._new += tuple(rows)

    def taken(self) -> list[StoredReading]:
        """What was held, which is let go of."""
        rows, self._new = list(self._new), ()
        return rows


def _needs(steps: Sequence[Step]) -> set[str]:
    return {need for step in steps for op in step.operators() for need in op.operator.needs}


def _here(settings: RunSettings) -> RunSettings:
    """The settings of a worker, which gives nothing to other workers."""
    return settings.model_copy(update={"executor": "local", "nlp_workers": 1})
