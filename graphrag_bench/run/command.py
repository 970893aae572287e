"""The cells of one command, their reference rows, and the checks before the first run."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from graphrag_bench.config.compose import PRIMARY, compose_settings, method_values
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.config.sources import (
    built_in_names,
    file_of,
    method_file,
    names,
    read_mapping,
    with_profile,
)
from graphrag_bench.errors import UserError, did_you_mean, unknown
from graphrag_bench.evaluation.metrics import UNDIRECTED, metric_names
from graphrag_bench.progress import Progress
from graphrag_bench.run.estimates import stand_in
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import RunLocked
from graphrag_bench.run.models import ProcessCache, key_of, process_cache
from graphrag_bench.run.stored import EXTENT

NONE = "none"
"""`evaluation.baseline=none`: no comparison with a baseline."""
_MODELS = ("llm", "llm_build", "embedder", "nlp", "cross_encoder")
_READ_AS = {
    "graph.import_from": "import_from",
    "graph.checkpoint": "checkpoint",
    "graph.checkpoint_revision": "checkpoint",
    "dataset.openie": "openie",
}
"""The only resource that reads each of these settings."""
_PAUSE = 0.5
"""Seconds between two attempts to lock a run."""


def cell_identity(experiment: Experiment) -> str:
    """Return the identity of a sweep's cell; cells with the same identity run once."""
    return f"{experiment.folder.path} {experiment.settings.model_dump_json(include=EXTENT)}"


Outcomes = Sequence[tuple[Sequence[str], Experiment | UserError]]
"""The overrides of each cell, () for a single run, with its experiment or its error."""


def methods_of(outcomes: Outcomes) -> dict[str, list[str]]:
    """Return the methods of the valid cells, grouped by data set."""
    methods: dict[str, list[str]] = {}
    for _, one in outcomes:
        if isinstance(one, Experiment):
            methods.setdefault(one.dataset.name, []).append(one.method.name)
    return {name: list(dict.fromkeys(each)) for name, each in methods.items()}


@dataclass
class Command:
    """The experiments of one command, each prepared once.

    With `sized`, a paper's row whose data set is not on disk is prepared with its printed sizes. A
    pickled command is empty, because each worker of a launcher prepares its own cells.
    """

    shared: ProcessCache = field(default_factory=process_cache)
    sized: bool = False
    _prepared: dict[str, Experiment] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type["Command"], tuple[()]]:
        return Command, ()

    def experiment(self, values: Mapping[str, Any], *, swept: bool) -> Experiment:
        """Return the checked experiment of composed settings."""
        name = key_of([values, swept])
        if name not in self._prepared:
            data = stand_in(values) if self.sized and values.get("row") else None
            experiment = Experiment.prepare(values, data, swept=swept, shared=self.shared)
            check_names(experiment.settings)
            self._prepared[name] = experiment
        return self._prepared[name]

    def cells(
        self, cells: Sequence[Sequence[str]], name: str = PRIMARY
    ) -> Iterator[tuple[Sequence[str], Experiment | UserError]]:
        """Yield the overrides of each cell with its checked experiment, or with its error.

        Raises UserError if Hydra cannot compose some cells; the message names the first three.
        """
        settings: list[Mapping[str, Any]] = []
        wrong: list[str] = []
        for number, overrides in enumerate(cells, 1):
            try:
                settings.append(compose_settings(overrides, name=name))
            except UserError as error:
                wrong.append(f"cell {number} ({' '.join(overrides)}): {error}")
        if wrong:
            more = [f"{len(wrong)} of {len(cells)} cells are invalid."] * (len(wrong) > 3)
            raise UserError("\n".join([*wrong[:3], *more]))
        for overrides, values in zip(cells, settings, strict=True):
            try:
                yield overrides, self.experiment(values, swept=True)
            except UserError as error:
                yield overrides, error

    def reference_experiments(
        self, experiment: Experiment, asked: Mapping[str, Sequence[str]]
    ) -> list[Experiment]:
        """Return the experiments of a cell's reference rows.

        `asked` has the methods of the command by data set; they get no reference row.
        """
        rows, data = [], experiment.dataset
        for settings in reference_settings(
            experiment, asked.get(data.name, [experiment.method.name])
        ):
            name = key_of(settings.model_dump())
            if name not in self._prepared:
                own = Experiment.prepare(settings, data, swept=True, shared=self.shared)
                self._prepared[name] = own
            rows.append(self._prepared[name])
        return rows

    def run(self, experiment: Experiment, progress: Progress | None = None) -> None:
        """Run an experiment once in this process; wait while another process runs it."""
        waiting = False
        while cell_identity(experiment) not in self.shared.finished:
            try:
                execute(experiment, progress)
                self.shared.finished.add(cell_identity(experiment))
            except RunLocked as occupied:
                if not waiting:
                    Progress().say(f"waiting for another process: {occupied}")
                waiting = True
                time.sleep(_PAUSE)


def reference_settings(experiment: Experiment, asked: Sequence[str]) -> list[RunSettings]:
    """Return the settings of an experiment's reference rows: the methods that have a `role`.

    They have their own parameters, and the models, questions and context budget of the experiment.
    A method in `asked` (the methods of the command) gets no row. There are no rows if the baseline
    is in `asked` or with `reference_rows=off`; without answers only baselines, without gold
    evidence no ceiling, without documents no baseline.
    """
    settings = experiment.settings
    if settings.reference_rows == "off" or settings.evaluation.baseline in asked:
        return []
    has_gold = any(gold.evidence for gold in experiment.dataset.gold.values())
    wanted = {"floor": settings.answering, "baseline": bool(experiment.dataset.documents),
              "ceiling": settings.answering and has_gold}  # fmt: skip
    own: dict[str, object] = {"build": {}, "pooling": None, "given": []}
    sources = settings.profile, settings.fidelity
    methods = {
        name: method_values(with_profile(method_file(name), *sources))
        for role, names_in_role in _in_role().items()
        for name in names_in_role
        if wanted[role] and name not in asked
    }
    return [settings.model_copy(update={**own, "method": one}) for one in methods.values()]


@cache
def _in_role() -> dict[str, list[str]]:
    """Return the built-in methods of each role, in the order of the table."""
    roles: dict[str, list[str]] = {"floor": [], "baseline": [], "ceiling": []}
    for name in built_in_names("method"):
        if (file := file_of("method", name)) and (role := read_mapping(file).get("role")):
            roles[role].append(name)
    return roles


def check_names(settings: RunSettings) -> None:
    """Raise UserError for an unknown baseline or metric, or an objective that no run can have.

    Scoring decides whether the data set has the gold that a metric needs.
    """
    scoring, goal = settings.evaluation, settings.objective
    methods = {*names("method"), str(settings.method.get("name")), NONE}
    if scoring.baseline not in methods:
        raise UserError(f"evaluation.baseline: {unknown('method', scoring.baseline, methods)}")
    evidence = metric_names(("retrieved", "context"), scoring.cuts, scoring.evidence_tokens)
    answers = metric_names(("answer", "judge"), scoring.cuts, scoring.evidence_tokens)
    for name in filter(None, (*scoring.compared, goal)):
        if name not in (*evidence, *answers):
            setting = "evaluation.compared" if name in scoring.compared else f"objective={goal}"
            raise UserError(f"{setting}: {unknown('metric', name, evidence + answers)}")
    if goal in UNDIRECTED:
        raise UserError(
            f"objective={goal} is descriptive, so no value is best. Choose another metric."
        )
    if goal in answers and not settings.answering:
        raise UserError(f"objective={goal} needs answers. Set answer=on.")
    if goal and settings.split == "test":
        raise UserError(
            "`objective` cannot be used with split=test. Select settings on split=dev, then report "
            "the result on split=test without an objective."
        )


def refuse_unused(overrides: Sequence[str], experiments: Sequence[Experiment]) -> None:
    """Raise one UserError that lists every override that no experiment reads.

    A setting that some cells of a sweep read is accepted.
    """
    given = [text.lstrip("+") for text in overrides if not text.startswith("~")]
    names = [text.partition("=")[0].removeprefix("llm@") for text in given]
    reasons = {name: [_unused(one, name) for one in experiments] for name in names}
    lines = [f"  {name}: {every[0]}" for name, every in reasons.items() if every and all(every)]
    if lines:
        raise UserError("\n".join([f"{len(lines)} setting(s) would have no effect:", *lines]))


def _unused(experiment: Experiment, name: str) -> str:
    """Return why an experiment does not read a setting; "" if it does."""
    first, *rest = name.replace("method.build.", "build.", 1).split(".")
    settings, used = experiment.settings, experiment.used_resources
    planned = {item.resource for item in experiment.plan}
    method = f"method '{experiment.method.name}'"
    if first == "build" and rest and rest[0] not in planned:
        return f"{method} builds no '{rest[0]}'. {did_you_mean(rest[0], sorted(planned))}"
    if first in _MODELS and rest != ["_target_"] and (rest or first == "llm_build"):
        reads = {first, "llm_build"} if first == "llm" and settings.llm_build is None else {first}
        reads |= {"tokenizer"} if rest == ["tokenizer"] else set()
        there = [model for model in _MODELS if model in used]
        return "" if reads & used else f"{method} uses no {first}; it uses {', '.join(there)}."
    if first == "pooling" and rest and settings.pooling is None:
        return "pooling is off. Set pooling=rerank or pooling=reselect."
    if name == "dev_share" and settings.split == "all":
        return "dev_share needs split=dev or split=test."
    if name == "dataset.openie" and "extraction" not in planned:
        return ""
    if name in _READ_AS and _READ_AS[name] not in used:
        return f"{method} builds nothing from this setting; it builds {', '.join(sorted(planned))}."
    return ""


def run_problem(metrics: Mapping[str, Any], experiment: Experiment) -> str:
    """Return why a run is incomplete: failed or missing questions; "" if it is complete."""
    settings = experiment.settings
    n, n_failed, n_selected = (int(metrics[name]) for name in ("n", "failed", "selected"))
    title, limit = metrics["title"], settings.failures.limit
    if n_failed and (n_failed >= n or n_failed > limit * n):
        allowed = "all of them" if n_failed == n else f"more than failures.limit={limit:.0%}"
        file = experiment.folder.file("failures", "txt")
        failed = f"{n_failed} of {n} questions failed, {allowed}"
        return f"{title}: {failed} (see {file}). Repeat the command to retry them."
    if n < n_selected and settings.part == (1, 1):
        return f"{title}: {n_selected - n} of {n_selected} questions have no row"
    return ""
