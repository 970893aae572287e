"""The runs of one process: what they share, what came out, and how it compares with a baseline."""

import json
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from graphrag_bench.config.compose import PRIMARY, composed, method_values
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.config.sources import applied, built_in, file_of, method_file, names
from graphrag_bench.errors import UserError, did_you_mean, unknown
from graphrag_bench.evaluation.metrics import UNDIRECTED, metric_names
from graphrag_bench.progress import Progress
from graphrag_bench.report.comparisons import Compared, Comparison, comparisons
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.rows import best_of, mark
from graphrag_bench.report.tables import shown_tables
from graphrag_bench.run.execute import RunResult, execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import Occupied
from graphrag_bench.run.models import Shared
from graphrag_bench.run.results import scores_over_repeats
from graphrag_bench.run.stored import StoredRun, scores_of

NONE = "none"
"""The baseline of a run that is compared with none."""
_MODELS = ("llm", "llm_build", "embedder", "nlp", "cross_encoder")
_READ_AS = {
    "graph.import_from": "import_from",
    "graph.checkpoint": "checkpoint",
    "graph.checkpoint_revision": "checkpoint",
    "dataset.openie": "openie",
}
"""Settings that one resource alone reads."""
Identity = tuple[Path, str]
"""A run folder, and how much of the run is wanted and how it is scored."""
_EXTENT = {"limit", "answer", "evaluation", "repeats", "split", "dev_share"}
_PAUSE = 0.5
"""Seconds between two looks at a run that another process is at work on."""


def identity(experiment: Experiment) -> Identity:
    """Return what tells a cell of a sweep from others; equal cells run once."""
    return experiment.folder.path, experiment.settings.model_dump_json(include=_EXTENT)


Outcomes = Sequence[tuple[Sequence[str], Experiment | UserError]]
"""The overrides of each cell of a sweep, () of another run, with its experiment or its error."""


@dataclass(frozen=True)
class Cell:
    """A job of Hydra's: what it was given, and its result or the error that ended it."""

    number: int
    overrides: Sequence[str]
    result: RunResult | None
    error: str


@dataclass
class Session:
    """Experiments and results of one process, each made once.

    `cells` are those of the command that has ended, `failure` is the last error of a job, `planned`
    takes what would be run.
    """

    shared: Shared = field(default_factory=Shared)
    experiments: dict[str, Experiment] = field(default_factory=dict)
    rows: dict[Identity, list[Experiment]] = field(default_factory=dict)
    results: dict[Identity, RunResult] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    failure: Exception | None = None
    planned: Callable[[Outcomes], None] | None = None

    def experiment(self, values: Mapping[str, Any], *, swept: bool) -> Experiment:
        """Return the checked experiment of composed settings; raises UserError.

        Experiments share data sets, models and artifacts.
        """
        name = json.dumps([values, swept], sort_keys=True, default=str)
        if name not in self.experiments:
            experiment = Experiment.prepare(values, swept=swept, shared=self.shared)
            check_names(experiment.settings)
            self.experiments[name] = experiment
        return self.experiments[name]

    def prepared(
        self, cells: Sequence[Sequence[str]], name: str = PRIMARY
    ) -> Iterator[tuple[Sequence[str], Experiment | UserError]]:
        """Yield the overrides of each cell with its checked experiment, or what is wrong.

        Raises UserError, which names the first of them, for cells that cannot be composed.
        """
        settings: list[Mapping[str, Any]] = []
        wrong: list[str] = []
        for number, overrides in enumerate(cells, 1):
            try:
                settings.append(composed(overrides, name=name))
            except UserError as error:
                wrong.append(f"cell {number} ({' '.join(overrides)}): {error}")
        if wrong:
            more = [f"{len(wrong)} of {len(cells)} cells are wrong."] if wrong[3:] else []
            raise UserError("\n".join([*wrong[:3], *more]))
        for overrides, values in zip(cells, settings, strict=True):
            try:
                yield overrides, self.experiment(values, swept=True)
            except UserError as error:
                yield overrides, error

    def with_references(self, experiment: Experiment) -> list[Experiment]:
        """Return the experiment, then its reference rows."""
        name = identity(experiment)
        if name not in self.rows:
            self.rows[name] = [
                Experiment.prepare(values, experiment.dataset, swept=True, shared=self.shared)
                for values in references(experiment)
            ]
        return [experiment, *self.rows[name]]

    def run(self, experiment: Experiment, *, label: str = "") -> RunResult:
        """Run an experiment and its reference rows, each once, and return its result.

        What another process runs is waited for. `label` precedes its progress.
        """
        every = self.with_references(experiment)
        for row, one in enumerate(every):
            if identity(one) not in self.results:
                progress = None if row else Progress(part=label)
                self.results[identity(one)] = _waited(one, progress)
        self.rows.setdefault(identity(experiment), every[1:])
        return self.results[identity(experiment)]

    def of(self, result: RunResult) -> list[RunResult]:
        """Return a result and those of its reference rows."""
        return [self.results[identity(one)] for one in self.with_references(result.experiment)]

    def end(self, jobs: Iterable[Mapping[str, Any]]) -> None:
        """Take the cells that jobs have left, here or in other processes, in their order."""
        for job in sorted(jobs, key=lambda job: int(job["number"])):
            result = None
            if "error" not in job:
                result = self.run(self.experiment(job["settings"], swept=job["swept"]))
            cell = Cell(int(job["number"]), job["overrides"], result, job.get("error", ""))
            self.cells.append(cell)

    def shown(self) -> list[RunResult]:
        """Return the results that a table shows: those of the cells, each before its references."""
        done = [cell.result for cell in self.cells if cell.result]
        every = {identity(one.experiment): one for result in done for one in self.of(result)}
        return list(every.values())

    def lacking(self) -> list[str]:
        """Return what runs lack, a line each: rows, or more answers than may fail."""
        return list(dict.fromkeys(line for one in self.shown() if (line := _lacking(one))))

    def best(self) -> list[str]:
        """Return lines that name the best cell by `objective`; its result gets the mark.

        None without an objective. Raises UserError for a metric that the runs do not have.
        """
        first: dict[Identity, tuple[Sequence[str], RunResult]] = {}
        for cell in self.cells:
            if cell.result:
                first.setdefault(identity(cell.result.experiment), (cell.overrides, cell.result))
        ends = list(first.values())
        objective = ends[0][1].experiment.settings.objective if ends else None
        if objective is None:
            return []
        row, chosen = best_of([result.metrics for _, result in ends], objective)
        overrides, best = ends[row]
        if chosen["n_configurations"] > 1:
            best.folder.add_selection(chosen)
        metrics = best.folder.completed(best.metrics)
        self.results[identity(best.experiment)] = replace(best, metrics=metrics)
        value, split = metrics["metrics"][objective], chosen["split"]
        lines = [
            f"best of {chosen['n_configurations']} configurations by {objective} on "
            f"split={split}: {value['mean']:.3f} [{value['low']:.2f}, {value['high']:.2f}], "
            f"n={value['n']} {mark(metrics)}".rstrip(),
            f"  {best.folder.path}",
        ]
        if chosen["n_equal"]:
            lines.append(f"  {chosen['n_equal']} other(s) are as high; the first is taken")
        if split == "all":
            return [*lines, "  chosen on all questions, none is left to report it on: split=dev"]
        words = [word for word in overrides if not word.startswith(("split=", "objective="))]
        if any(word.startswith("experiment=") for word in words):
            words += ["hydra.mode=RUN", "objective=null"]  # its file may hold the sweep
        command = shlex.join(["graphrag-bench", "run", *words, "split=test"])
        return [*lines, f"on questions that it was not chosen on:\n  {command}"]


def references(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the settings of the reference runs of an experiment: the methods with a `role`.

    Each has the settings of its file and the models, questions and context budget of this run.
    None with `reference_rows=off`; the baselines alone when nothing is answered. No ceiling for a
    data set without evidence, no baseline for one without texts.
    """
    settings = experiment.settings
    if settings.reference_rows == "off":
        return []
    has_gold = any(gold.evidence for gold in experiment.dataset.gold.values())
    wanted = {"floor": settings.answering, "baseline": bool(experiment.dataset.documents),
              "ceiling": settings.answering and has_gold}  # fmt: skip
    values = {**settings.model_dump(), "build": {}, "pooling": None}
    sources = settings.profile, settings.fidelity
    files = {name: file_of("method", name) for name in built_in("method")}
    texts = {name: file.read_text("utf-8") for name, file in files.items() if file}
    return [
        {**values, "method": method_values(applied(method_file(name), *sources))}
        for role, is_wanted in wanted.items()
        for name, text in texts.items()
        if is_wanted and f"\nrole: {role}" in text
    ]


def check_names(settings: RunSettings) -> None:
    """Raise UserError for a baseline, a compared metric or an objective that no run can have.

    A misspelt name thus costs nothing. Whether the data set has what a metric needs is seen when a
    run has been scored.
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
        raise UserError(f"objective={goal}: a descriptive metric, neither direction is better.")
    if goal in answers and not settings.answering:
        raise UserError(f"objective={goal}: metrics of answers need answer=on.")
    if goal and settings.split == "test":
        raise UserError("objective chooses settings: split=dev; report it on split=test.")


def refuse_unused(overrides: Sequence[str], experiments: Sequence[Experiment]) -> None:
    """Raise one UserError that names every override that no run of a command reads.

    A setting that only some runs of a sweep read is fine.
    """
    names = [text.lstrip("+~").partition("=")[0].removeprefix("llm@") for text in overrides]
    reasons = {name: [_unused(one, name) for one in experiments] for name in names}
    lines = [f"  {name}: {every[0]}" for name, every in reasons.items() if every and all(every)]
    if lines:
        raise UserError("\n".join([f"{len(lines)} setting(s) would change nothing:", *lines]))


def _unused(experiment: Experiment, name: str) -> str:
    """Return why a run reads no such setting; "" where it does, or where it says how a run goes."""
    first, *rest = name.replace("method.build.", "build.", 1).split(".")
    settings, used = experiment.settings, experiment.used
    planned = {item.resource for item in experiment.plan}
    method = f"method '{experiment.method.name}'"
    if first == "build" and rest and rest[0] not in planned:
        return f"{method} builds no '{rest[0]}'. {did_you_mean(rest[0], sorted(planned))}"
    if first in _MODELS and rest != ["_target_"] and (rest or first == "llm_build"):
        reads = {first, "llm_build"} if first == "llm" and settings.llm_build is None else {first}
        reads |= {"tokenizer"} if rest == ["tokenizer"] else set()
        there = [model for model in _MODELS if model in used]
        return "" if reads & used else f"{method} uses no {first} here; it uses {', '.join(there)}."
    if first == "pooling" and rest and settings.pooling is None:
        return "pooling is off here; choose pooling=rerank or pooling=reselect."
    if name == "dev_share" and settings.split == "all":
        return "it needs split=dev or split=test."
    if name == "dataset.openie" and "extraction" not in planned:
        return ""
    if name in _READ_AS and _READ_AS[name] not in used:
        return f"{method} builds nothing from it here; it builds {', '.join(sorted(planned))}."
    return ""


def _waited(experiment: Experiment, progress: Progress | None) -> RunResult:
    waiting = False
    while True:
        try:
            return execute(experiment, progress)
        except Occupied as occupied:
            if not waiting:
                Progress().say(f"waiting for another process: {occupied}")
            waiting = True
            time.sleep(_PAUSE)


def _lacking(result: RunResult) -> str:
    metrics, settings = result.metrics, result.experiment.settings
    n, n_failed, n_selected = (int(metrics[name]) for name in ("n", "failed", "selected"))
    title, limit = metrics["title"], settings.failures.limit
    if n_failed and (n_failed >= n or n_failed > limit * n):
        allowed = "all of them" if n_failed == n else f"more than failures.limit={limit:.0%}"
        return (
            f"{title}: {n_failed} of {n} questions failed, {allowed}; the same command tries "
            f"them again: {result.folder.file('failures', 'txt')}"
        )
    if n < n_selected and settings.part == (1, 1):
        return f"{title}: {n_selected - n} of {n_selected} questions have no row"
    return ""


def differences(results: Sequence[RunResult]) -> list[Comparison]:
    """Return the differences from the baseline that the first run names; [] without another."""
    if len(results) < 2:
        return []
    compared = []
    for result in results:
        experiment, scores = result.experiment, scores_over_repeats(result.experiment)
        mine = {one.id: scores[one.id] for one in experiment.selection()[0] if one.id in scores}
        scopes = {question.id: question.scope for question in experiment.dataset.questions}
        compared.append(Compared(result.metrics, mine, scopes))
    evaluation = results[0].experiment.settings.evaluation
    return comparisons(compared, evaluation.baseline, evaluation.compared)


def result_tables(
    results: Sequence[RunResult], compared: Sequence[Comparison], columns: str
) -> list[Table]:
    """Return the tables of finished runs; `compared` are their differences from the baseline.

    The main metric is the first of `evaluation.compared`, else the objective, of the first run.
    """
    settings = results[0].experiment.settings
    scoring = settings.evaluation
    metric = next(iter(scoring.compared), settings.objective)
    metrics = [result.metrics for result in results]
    return shown_tables(metrics, compared, columns=columns, metric=metric)


def stored_differences(runs: Sequence[StoredRun]) -> list[Comparison]:
    """Return the differences of runs, scored as the first one is, from the baseline it names.

    [] when no run is of that method.
    """
    evaluation = runs[0].evaluation
    compared = [Compared(run.metrics, scores_of(run, evaluation), run.scopes) for run in runs]
    return comparisons(compared, evaluation.baseline, evaluation.compared)


@cache
def session() -> Session:
    """Return the session of this process."""
    return Session()
