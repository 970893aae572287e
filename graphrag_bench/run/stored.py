"""Stored runs, which are found by folder, key or method; their scores and settings."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from pydantic import ValidationError

from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import DatasetSettings, EvaluationSettings, check_evaluation
from graphrag_bench.config.sources import FILE
from graphrag_bench.data.dataset import DEV_SHARE, Dataset, Gold, within_split
from graphrag_bench.errors import UserError, by_prefix
from graphrag_bench.evaluation.metrics import ANSWER_METRICS, check_metrics
from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.llm.ledger import lines_by, read_ledger, sums
from graphrag_bench.progress import Progress
from graphrag_bench.report.comparisons import Comparison, ScoredRun, Scores, comparisons
from graphrag_bench.report.rendering import Table
from graphrag_bench.report.rows import RULE, group_by, rule_of
from graphrag_bench.report.tables import select_tables
from graphrag_bench.run import scoring
from graphrag_bench.run.folder import CONFIG, METRICS, DamagedRun, Row, RunFolder, paths_of
from graphrag_bench.run.scoring import Datasets

EXTENT = {"limit", "answer", "evaluation", "repeats", "split", "dev_share"}
"""Settings that select questions and scoring. They are not part of a run's key."""
_MODELS = ("llm", "llm_build", "embedder")
_STEP = re.compile(r"method\.(convert|retrieve|generate)\..*")
_ASIDE = re.compile(
    r"(cache|workers|nlp_workers|parallel|budget|failures|trace|reference_rows|plugins"
    r"|objective|experiment|imported|given)(\..*)?"
    rf"|dataset\.(name|root)|method\.(name|title|page|role|verified|{FILE}|convert|retrieve|generate)"
    r"|(llm\w*|embedder|nlp|cross_encoder)"
    r"\.(_target_|base_url|api_key_env|limits|timeout|retries|parallel|threads|n_gpu_layers)(\..*)?"
    r"|(?!method\.(convert|retrieve|generate)\.).*\.\d+(\..*)?"
)
"""Settings that are not compared: settings without effect on results, settings that every table
shows, and items of lists (except steps)."""


@dataclass(frozen=True)
class StoredRun:
    """A stored run, read from its folder.

    `loaded` is the run's data set if it is in memory. `read` caches the data sets of several runs.
    Cells of a sweep that differ only in the settings in `EXTENT` share a folder: `extent` has the
    values of one cell, and `varied` lists the overrides of this cell (None for a single run).
    `scored_as` lists the stored settings of scoring that are replaced.
    """

    folder: RunFolder
    loaded: Dataset | None = None
    extent: Mapping[str, Any] | None = None
    varied: str | None = None
    scored_as: str = ""
    read: Datasets = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """The content of `metrics.json`, scored again after a change of the gold or of `extent`."""
        stored = self.folder.metrics()
        if not stored:
            return stored
        extent, own = self.extent or _extent(stored), _extent(stored)
        regraded = self.dataset is not None and stored.get("gold") != self.dataset.gold_digest
        if regraded or {**own, "repeats": 1} != {**extent, "repeats": 1}:
            stored = {**_within(self, stored, extent), "regraded": regraded}
        stored |= {"scored_as": self.scored_as} if self.scored_as else {}
        return stored if self.varied is None else {**stored, "varied": self.varied}

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The settings of the run, from `config.yaml`."""
        return self.folder.config()

    @property
    def imported(self) -> Mapping[str, str]:
        """The file, digest and reference of imported results, or {} for a run of this program."""
        return {**self.config.get("imported", {})}

    def require_steps(self) -> None:
        """Raise UserError if the run was imported, because an imported run has no steps."""
        if self.imported:
            raise UserError(
                f"{self.folder.path} was imported from {self.imported['file']}, so it has no steps,"
                f" contexts or calls. Show it: `graphrag-bench view {self.folder.path}`."
            )

    @property
    def home(self) -> Path | None:
        """The home folder, which contains runs/, or None if the run was moved elsewhere."""
        above = self.folder.path.resolve().parents  # home/runs/<dataset>/<method>/<key>
        return above[3] if len(above) > 3 and above[2].name == "runs" else None

    @cached_property
    def rows(self) -> Mapping[str, Row]:
        """The stored result of each question, by id."""
        return self.folder.rows()

    @cached_property
    def scopes(self) -> Mapping[str, str | None]:
        """The scope of each question, by id. Questions of a scope share documents."""
        return {name: row.get("scope") for name, row in self.rows.items()}

    @cached_property
    def _source(self) -> Dataset | UserError:
        if self.loaded is not None:
            return self.loaded
        try:
            source = DatasetSettings.model_validate(self.config["dataset"])
        except ValidationError as error:
            fault = str(error.errors()[0]["msg"])
            raise DamagedRun(self.folder.path / CONFIG, f"dataset: {fault}") from None
        home = self.home or Path()
        if (name := scoring.dataset_key(source, home)) not in self.read:
            try:
                self.read[name] = scoring.dataset_of(source, home)
            except UserError as error:
                self.read[name] = error
        return self.read[name]

    @property
    def dataset(self) -> Dataset | None:
        """The data set of the run, or None if it cannot be read."""
        return self._source if isinstance(self._source, Dataset) else None

    def require_dataset(self) -> Dataset:
        """Return the data set of the run. Raises UserError if it cannot be read."""
        if isinstance(self._source, UserError):
            name = self.config["dataset"].get("name")
            raise UserError(
                f"The data set '{name}' of {self.folder.path} cannot be read: {self._source} Set "
                f"its folder: graphrag-bench runs score {self.folder.path} dataset.root=FOLDER"
            )
        return self._source

    @property
    def gold(self) -> Mapping[str, Gold]:
        """The gold of each question, by id, or {} if the data set cannot be read."""
        return self.dataset.gold if self.dataset else {}

    @property
    def evaluation(self) -> EvaluationSettings:
        """The settings of the last scoring, without settings that no longer exist."""
        return self._evaluation_in(self.metrics)

    def _evaluation_in(
        self, metrics: Mapping[str, Any], changes: Mapping[str, Any] | None = None
    ) -> EvaluationSettings:
        stored = metrics.get("evaluation") or self.config["evaluation"]
        names = EvaluationSettings.model_fields.keys() & stored.keys()
        own = {name: stored[name] for name in names} | dict(changes or {})
        if not ANSWER_METRICS.keys() >= set(wanted := own.get("metrics") or ()):
            try:
                load_plugins(self.config.get("plugins") or ())  # which define the other metrics
                check_metrics(wanted, "evaluation.metrics", installed=False)
            except UserError as error:
                raise UserError(f"{self.folder.path}: {error}") from None
        return check_evaluation(own)

    @cached_property
    def scores(self) -> Scores:
        """The metrics of each question that did not fail and has gold, by id."""
        return self.scores_by(self.evaluation)

    def scores_by(self, settings: EvaluationSettings) -> Scores:
        """Return the metrics of each question under other settings of scoring."""
        if self.dataset is None:
            return {}
        how = scoring.scoring_of(self.dataset, settings, self.folder, self.rows)
        return {
            name: scoring.question_scores(row, self.gold[name], how)
            for name, row in self.rows.items()
            if name in self.gold and row["status"] != "failed"
        }


def stored_runs(home: str | Path) -> list[StoredRun]:
    """Return the scored runs in HOME/runs, sorted by data set, method and key."""
    return readable_runs(sorted(Path(home).glob(f"runs/*/*/*/{METRICS}")))


def readable_runs(paths: Sequence[Path]) -> list[StoredRun]:
    """Return the runs of these `metrics.json` files. Unreadable files are reported and skipped."""
    runs: list[StoredRun] = []
    read: Datasets = {}
    for path in paths:
        run = StoredRun(RunFolder(path.parent), read=read)
        try:
            run.folder.metrics()
        except DamagedRun as error:
            Progress().say(f"skipped: {error}")
        else:
            runs.append(run)
    return runs


def find_run(name: str, home: str | Path) -> StoredRun:
    """Return a run. `name` is its folder, its method or the beginning of its key."""
    if (Path(name) / METRICS).exists():
        return StoredRun(RunFolder(Path(name)))
    runs = {run.folder.path.name: run for run in stored_runs(home)}
    known = {key: run.folder.metrics() for key, run in runs.items()}
    names = {key: [str(of.get(n)) for n in ("method", "dataset")] for key, of in known.items()}
    return runs[key_of_run(name, names, home)]


def key_of_run(name: str, runs: Mapping[str, Sequence[str]], home: str | Path) -> str:
    """Return the key of a run by its method or key. `runs` has method and data set of each key."""
    keys = [key for key in runs if runs[key][0] == name]
    if len(keys) > 1:
        several = ", ".join(f"{key} ({runs[key][1]})" for key in keys)
        raise UserError(f"'{name}' has several runs: {several}. Choose a run by its key.")
    itself, place = {key: key for key in runs}, f"{home}/runs"
    return by_prefix([*keys, name][0], itself, "run", place, lambda key: " on ".join(runs[key]))


def _extent(metrics: Mapping[str, Any]) -> dict[str, Any]:
    n = (metrics.get("repeats") or {}).get("n", 1)
    return {name: metrics.get(name) for name in EXTENT} | {"repeats": n}


def _within(run: StoredRun, stored: Mapping[str, Any], extent: Mapping[str, Any]) -> dict[str, Any]:
    """Score only the questions of an extent, without writing anything."""
    names = _questions(run.require_dataset(), extent)
    n_answers = int({"on": len(names), "off": 0}.get(str(extent["answer"]), extent["answer"]))
    selected = []
    for position, name in enumerate(names):
        if row := run.rows.get(name):
            retrieved = position >= n_answers and row["status"] == "answered"
            selected.append(row | {"status": "retrieved", "answer": None} if retrieved else row)
    values = {**stored, **extent, "repeats": {}, "selected": len(names)}
    values["cost"] = _cost(run, stored["cost"], {*names})
    return values | _scored(run, selected, run._evaluation_in(values))


def _cost(run: StoredRun, stored: Row, ids: Collection[str]) -> Row:
    """Return the stored cost of builds and the cost of these questions, without the total."""
    every, others = list(read_ledger(*run.folder.files("ledger"))), run.rows.keys() - {*ids}
    own = [line for line in every if line.item not in others]
    cost: dict[str, Any] = {name: stored[name] for name in ("models", "mixed") if name in stored}
    for kind, by in (("stages", "stage"), ("steps", "step"), ("questions", "item")):
        online = lines_by(every, by)
        parts = lines_by([line for line in own if by != "item" or line.item in ids], by)
        cost[kind] = {name: of for name, of in stored[kind].items() if name not in online}
        cost[kind] |= {name: sums(part) for name, part in parts.items()}
    return cost


def _scored(run: StoredRun, rows: Sequence[Row], settings: EvaluationSettings) -> Row:
    dataset = run.require_dataset()
    answered = [row["question"] for row in rows if row["status"] == "answered"]
    how = scoring.scoring_of(dataset, settings, run.folder, run.rows)
    scores = scoring.score(rows, dataset.gold, run.folder.timing(), how)
    scores |= {"evaluation": settings.model_dump(), "gold": dataset.gold_digest}
    repeats = repeats_of(run, answered, settings)
    return scores | ({"repeats": repeats} if repeats else {})


def _trials(run: StoredRun) -> list[StoredRun]:
    folders = run.folder.path.glob("trial-*")
    paths = sorted(folders, key=lambda path: int(path.name.removeprefix("trial-")))
    trial = replace(run, loaded=run.dataset, extent=None)
    return [run, *(replace(trial, folder=RunFolder(path)) for path in paths)]


def repeats_of(run: StoredRun, answered: Sequence[str], settings: EvaluationSettings) -> Row:
    """Return the scores of a run's repeats for `metrics.json`, or {} without repeats.

    The scores cover the questions in `answered` without a failed repeat. `changed` counts questions
    with different answers. A metric of evidence is omitted if all repeats have the same values.
    `cost` does not include the first repeat.
    """
    if len(runs := _trials(run)) == 1:
        return {}
    every = [one.scores_by(settings) for one in runs]
    shared = [q for q in answered if all(q in scores for scores in every)]
    metrics = {}
    for name in dict.fromkeys(name for q in shared for name in every[0][q]):
        scored = [q for q in shared if name in every[0][q]]
        values = [[scores[q][name] for scores in every] for q in scored]
        differs = any(len(set(of_one)) > 1 for of_one in values)
        if differs or not name.startswith(("evidence", "all_evidence")):
            of_repeats = [round(fmean(of), 6) for of in zip(*values, strict=True)]
            scopes = [run.scopes[q] for q in scored]
            mean = mean_with_interval([fmean(of) for of in values], scopes=scopes).stored()
            metrics[name] = {**mean, "spread": round(stdev(of_repeats), 6), "values": of_repeats}
    total = sums([line for one in runs[1:] for line in read_ledger(*one.folder.files("ledger"))])
    return {
        "n": len(runs),
        "questions": len(shared),
        "changed": sum(len({one.rows[q].get("answer") for one in runs}) > 1 for q in shared),
        "metrics": metrics,
        "cost": {name: total[name] for name in ("paid", "cached")},
    }


def rescore(run: StoredRun, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Score a stored run again with changed settings of scoring, and write `metrics.json`."""
    settings = run._evaluation_in(run.metrics, changes)
    run = StoredRun(run.folder, run.require_dataset())
    scoring.check_scoring(run.require_dataset(), settings)
    rows = [run.rows[name] for name in scored_questions(run) if name in run.rows]
    return run.folder.write_metrics(run.folder.metrics() | _scored(run, rows, settings))


def relocate(run: StoredRun, changes: Mapping[str, Any]) -> StoredRun:
    """Change the stored location of a run's data set. Raises UserError if the corpus differs."""
    source = DatasetSettings.model_validate({**run.config["dataset"], **changes}).absolute
    dataset = scoring.dataset_of(source, run.home or Path())
    if dataset.corpus_digest != run.folder.metrics().get("corpus"):
        raise UserError(
            f"The corpus in '{source.root}' differs from the corpus of {run.folder.path}."
        )
    run.folder.write_config({**run.config, "dataset": source.model_dump()})
    return StoredRun(run.folder, dataset)


def scored_questions(run: StoredRun) -> list[str]:
    """Return the question ids of a run, interleaved by type, or [] if its data set is missing."""
    return _questions(run.dataset, run.metrics) if run.dataset else []


def _questions(dataset: Dataset, extent: Mapping[str, Any]) -> list[str]:
    share = extent.get("dev_share", DEV_SHARE)
    part = within_split(dataset.interleaved(), extent.get("split", "all"), share)
    return [question.id for question in part[: extent["limit"]]]


def scores_of(run: StoredRun, settings: EvaluationSettings | None = None) -> Scores:
    """Return the metrics of each selected question that did not fail, by id.

    `settings` are the settings of scoring, by default the settings of the run. If every answer was
    repeated, a value is the mean over the repeats in which the question did not fail.
    """
    repeats = run.metrics.get("repeats") or {}
    whole = repeats.get("questions") == run.metrics["answered"]
    each = [one.scores_by(settings or run.evaluation) for one in (_trials(run) if whole else [run])]
    scores: Scores = {}
    for question in scored_questions(run):
        if own := [of_run[question] for of_run in each if question in of_run]:
            names = dict.fromkeys(chain.from_iterable(own))
            values = {name: [one[name] for one in own if name in one] for name in names}
            scores[question] = {name: fmean(values[name]) for name in names}
    return scores


def stored_differences(runs: Sequence[StoredRun]) -> list[Comparison]:
    """Compare runs with a baseline. The settings of the first run select baseline and metrics."""
    first, scored = runs[0].evaluation, []
    for run in runs:
        how = first.model_copy(update=run.evaluation.model_dump(include=set(RULE)))
        scored.append(ScoredRun(run.metrics, scores_of(run, how), run.scopes))
    return comparisons(scored, first.baseline, first.compared)


def with_one_rule(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Return the runs, scored with the settings `RULE` of the first run.

    Cells of a sweep and runs whose data set cannot be read keep their own settings. Raises
    UserError if runs of one data set were scored with different gold and cannot be scored again.
    """
    for dataset, group in group_by(runs, lambda run: str(run.metrics["dataset"])).items():
        by_gold = group_by(group, lambda run: str(run.metrics.get("gold")))
        if len(by_gold) > 1:
            for run in group:
                run.require_dataset()
            keys = ", ".join(of[0].folder.path.name for of in by_gold.values())
            raise UserError(
                f"{dataset}: the runs were scored with different gold ({keys}). Score them again: "
                "graphrag-bench runs score RUN ..."
            )
    same: list[StoredRun] = []
    for run in runs:
        wanted, own = rule_of(runs[0].metrics), rule_of(run.metrics)
        if run.varied is None and run.dataset is not None and own != wanted:
            rule = runs[0].evaluation.model_dump(include=set(RULE))
            words = " ".join(f"{name}={own[name]}" for name in own if own[name] != wanted[name])
            extent = _extent(run.metrics) | {"evaluation": run.evaluation.model_dump() | rule}
            run = replace(run, extent=extent, scored_as=words)
        same.append(run)
    return same


def tables_of(
    runs: Sequence[StoredRun], compared: Sequence[Comparison], columns: str, main: str | None = None
) -> list[Table]:
    """Return the tables of runs. `main` is the main metric if `evaluation.compared` is empty."""
    main = next(iter(runs[0].evaluation.compared), main)
    return select_tables([run.metrics for run in runs], compared, columns=columns, metric=main)


def settings_of(run: StoredRun) -> dict[str, Any]:
    """Return the settings and model names that can change a run's results, by path."""
    scoring = paths_of(run.metrics.get("evaluation") or {}, "evaluation")
    models = {name: run.metrics.get(name) or None for name in _MODELS}
    values = {**paths_of(run.config), **run.metrics["settings"], **scoring, **models}
    return {
        path: f"[{','.join(map(str, value))}]" if isinstance(value, list) else value
        for path, value in values.items()
        if value is not None and not _ASIDE.fullmatch(path)
    }


def differing_settings(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """Return the settings that differ between runs, with the value in each run (None if unset).

    A step's setting is included if it differs between runs of one method, and if no parameter or
    other setting outside of the steps has the same values.
    """
    every = list(map(settings_of, runs))

    def differs(path: str) -> bool:
        # a missing value counts only if the run has the group (an imported run has few groups)
        group = path.partition(".")[0]
        own = group == "method" or path in _MODELS
        pairs = zip(every, (run.config for run in runs), strict=True)
        return len({s.get(path) for s, c in pairs if path in s or (group in c and not own)}) > 1

    paths = dict.fromkeys(chain.from_iterable(every))
    others = [path for path in paths if not _STEP.fullmatch(path)]
    shown = dict.fromkeys(filter(differs, others))
    names = [(run.metrics["dataset"], run.metrics["method"]) for run in runs]
    for rows in group_by(range(len(runs)), names.__getitem__).values():
        values = {path: tuple(every[row].get(path) for row in rows) for path in paths}
        explained = {values[path] for path in others}
        for path in filter(_STEP.fullmatch, paths):
            if len(set(values[path])) > 1 and values[path] not in explained:
                shown[path] = None
    return [{path: settings.get(path) for path in shown} for settings in every]
