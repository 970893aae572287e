"""Prepare, check and run the experiments of one command. A cell is a run of a sweep."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from graphrag_bench.arrays import unique
from graphrag_bench.config import sources
from graphrag_bench.config.compose import PRIMARY, compose_settings, method_values
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError, did_you_mean, unknown
from graphrag_bench.evaluation.metrics import UNDIRECTED, metric_names
from graphrag_bench.progress import Progress
from graphrag_bench.report.rows import group_by
from graphrag_bench.run.estimates import stand_in
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import RunLocked
from graphrag_bench.run.models import ProcessCache, key_of, process_cache
from graphrag_bench.run.stored import EXTENT
from graphrag_bench.text import counted

NONE = "none"
"""The value `evaluation.baseline=none`, which turns off the comparison with a baseline."""
_MODELS = ("llm", "llm_build", "embedder", "nlp", "cross_encoder")
_READ_AS = {
    "graph.import_from": "import_from",
    "graph.checkpoint": "checkpoint",
    "graph.checkpoint_revision": "checkpoint",
    "dataset.openie": "openie",
}
"""Settings that affect only one resource, with the name of this resource."""


def cell_identity(experiment: Experiment) -> str:
    """Return a text that identifies a run. Cells with the same text are run only once."""
    return f"{experiment.folder.path} {experiment.settings.model_dump_json(include=EXTENT)}"


Outcome = tuple[Sequence[str], Experiment | UserError]
"""The overrides of a cell with its experiment or its error. A single run has no overrides."""
Outcomes = Sequence[Outcome]


def methods_of(outcomes: Outcomes) -> dict[str, list[str]]:
    """Return the distinct methods of the valid cells, by data set."""
    valid = [one for _, one in outcomes if isinstance(one, Experiment)]
    of_sets = group_by(valid, lambda one: one.dataset.name)
    return {name: list(unique([one.method.name for one in of])) for name, of in of_sets.items()}


@dataclass
class Command:
    """The experiments of one command. If `sized`, stand-ins replace missing data sets of papers."""

    shared: ProcessCache = field(default_factory=process_cache)
    sized: bool = False
    _prepared: dict[str, Experiment] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type["Command"], tuple[()]]:
        return Command, ()  # each worker of a launcher prepares its own experiments

    def experiment(
        self, values: Mapping[str, Any], dataset: Dataset | None = None, *, swept: bool
    ) -> Experiment:
        """Check composed settings and return their experiment."""
        if (name := key_of([values, swept])) not in self._prepared:
            if dataset is None and self.sized and values.get("row"):
                dataset = stand_in(values)
            experiment = Experiment.prepare(values, dataset, swept=swept, shared=self.shared)
            check_names(experiment.settings)
            self._prepared[name] = experiment
        return self._prepared[name]

    def cells(self, cells: Sequence[Sequence[str]], name: str = PRIMARY) -> Iterator[Outcome]:
        """Yield the overrides of each cell with its experiment, or with its error."""
        settings, wrong = list[Mapping[str, Any]](), list[str]()
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
        """Return the experiments of the reference methods. `asked` maps data sets to methods."""
        methods = asked.get(experiment.dataset.name, [experiment.method.name])
        settings = (one.model_dump() for one in reference_settings(experiment, methods))
        return [self.experiment(one, experiment.dataset, swept=True) for one in settings]

    def run(self, experiment: Experiment, progress: Progress | None = None) -> None:
        """Run an experiment at most once in this process. Wait while another process runs it."""
        waiting = False
        while cell_identity(experiment) not in self.shared.finished:
            try:
                execute(experiment, progress)
                self.shared.finished.add(cell_identity(experiment))
            except RunLocked as occupied:
                if not waiting:
                    Progress().say(f"waiting for another process: {occupied}")
                waiting = True
                time.sleep(0.5)


def reference_settings(experiment: Experiment, asked: Sequence[str]) -> list[RunSettings]:
    """Return the settings of the reference methods, which are the built-in methods with a `role`.

    The list is empty if the methods of the command (`asked`) include the baseline.
    """
    settings = experiment.settings
    if settings.reference_rows == "off" or settings.evaluation.baseline in asked:
        return []
    has_gold = any(gold.evidence for gold in experiment.dataset.gold.values())
    wanted = {"floor": settings.answering, "baseline": bool(experiment.dataset.documents),
              "ceiling": settings.answering and has_gold}  # fmt: skip
    rows = []
    for role, name in _reference_methods():
        if wanted[role] and name not in asked:
            file = sources.method_file(name)
            method = sources.with_profile(file, settings.profile, settings.fidelity)
            own: dict[str, Any] = {"build": {}, "pooling": None, "given": []}
            rows.append(settings.model_copy(update=own | {"method": method_values(method)}))
    return rows


@cache
def _reference_methods() -> list[tuple[str, str]]:
    files = {name: sources.file_of("method", name) for name in sources.built_in_names("method")}
    roles = {name: sources.read_mapping(file).get("role") for name, file in files.items() if file}
    order = ("floor", "baseline", "ceiling")
    return [(role, name) for role in order for name in roles if roles[name] == role]


def check_names(settings: RunSettings) -> None:
    """Raise UserError for an unknown baseline, an unknown metric or an unusable objective."""
    scoring, goal = settings.evaluation, settings.objective
    methods = {*sources.names("method"), str(settings.method.get("name")), NONE}
    if scoring.baseline not in methods:
        raise UserError(f"evaluation.baseline: {unknown('method', scoring.baseline, methods)}")
    evidence = metric_names(("retrieved", "context"), scoring.cuts, scoring.evidence_tokens)
    answers = metric_names(("answer", "judge"), scoring.cuts, scoring.evidence_tokens)
    for name in filter(None, (*scoring.compared, goal)):
        if name not in (*evidence, *answers):
            setting = "evaluation.compared" if name in scoring.compared else f"objective={goal}"
            raise UserError(f"{setting}: {unknown('metric', name, evidence + answers)}")
    if goal in UNDIRECTED:
        raise UserError(f"objective={goal}: this metric has no best value. Choose another metric.")
    if goal in answers and not settings.answering:
        raise UserError(f"objective={goal} needs answers. Set answer=on.")
    if goal and settings.split == "test":
        hint = "Select them on split=dev, and report split=test without objective=."
        raise UserError(f"objective= cannot select settings on split=test. {hint}")


def refuse_unused(overrides: Sequence[str], experiments: Sequence[Experiment]) -> None:
    """Raise a UserError that lists every override that has no effect on any of the experiments."""
    given = [text.lstrip("+") for text in overrides if not text.startswith("~")]
    names = [text.partition("=")[0].removeprefix("llm@") for text in given]
    reasons = {name: [_unused(one, name) for one in experiments] for name in names}
    lines = [f"  {name}: {every[0]}" for name, every in reasons.items() if every and all(every)]
    if lines:
        head = f"{counted(len(lines), 'setting')} would have no effect:"
        raise UserError("\n".join([head, *lines]))


def _unused(experiment: Experiment, name: str) -> str:
    first, *rest = name.replace("method.build.", "build.", 1).split(".")
    settings, used = experiment.settings, experiment.used_resources
    planned = sorted(item.resource for item in experiment.plan)
    method = f"method '{experiment.method.name}'"
    if first == "build" and rest and rest[0] not in planned:
        return f"{method} does not build '{rest[0]}'. {did_you_mean(rest[0], planned)}"
    if first in _MODELS and rest != ["_target_"] and (rest or first == "llm_build"):
        reads = {first, "llm_build"} if first == "llm" and settings.llm_build is None else {first}
        reads |= {"tokenizer"} if rest == ["tokenizer"] else set()
        there = [model for model in _MODELS if model in used]
        return "" if reads & used else f"{method} uses no {first}. It uses: {', '.join(there)}."
    if first == "pooling" and rest and settings.pooling is None:
        return "pooling is off. Set pooling=rerank or pooling=reselect."
    if name == "dev_share" and settings.split == "all":
        return "dev_share needs split=dev or split=test."
    unread = name in _READ_AS and _READ_AS[name] not in used
    if unread and (name != "dataset.openie" or "extraction" in planned):
        return f"no artifact of {method} reads this setting. It builds: {', '.join(planned)}."
    return ""


def run_problem(metrics: Mapping[str, Any], experiment: Experiment) -> str:
    """Return a message if too many questions of a run failed or are missing, else ""."""
    title, limit = metrics["title"], experiment.settings.failures.limit
    n, n_failed, n_selected = (int(metrics[name]) for name in ("n", "failed", "selected"))
    if n_failed and (n_failed == n or n_failed > limit * n):
        why = "all of them" if n_failed == n else f"more than failures.limit={limit:.0%}"
        file = experiment.folder.file("failures", "txt")
        failed = f"{n_failed} of {counted(n, 'question')} failed, {why} (see {file})"
        return f"{title}: {failed}. Repeat the command to retry them."
    if n < n_selected and experiment.settings.part == (1, 1):
        return f"{title}: {n_selected - n} of {counted(n_selected, 'question')} not run."
    return ""
