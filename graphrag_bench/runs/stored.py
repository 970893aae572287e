"""Stored runs, found again by folder or key, with the metrics of every question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from graphrag_bench.config.settings import DatasetSettings, EvaluationSettings
from graphrag_bench.data.dataset import Dataset, Gold
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.lookup import by_beginning
from graphrag_bench.progress import Progress
from graphrag_bench.runs import damage
from graphrag_bench.runs.damage import CONFIG, METRICS, DamagedRun
from graphrag_bench.runs.folder import RunFolder
from graphrag_bench.runs.question_scores import question_scores, scored_by
from graphrag_bench.runs.record import Row


@dataclass(frozen=True)
class StoredRun:
    """A run as its folder tells it; nothing is run again.

    `given` is its data set where that is at hand already.
    """

    folder: RunFolder
    given: Dataset | None = None

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """What `metrics.json` holds."""
        return self.folder.metrics()

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The settings it was made with."""
        return damage.read_config(self.folder.path / CONFIG)

    @property
    def imported(self) -> Mapping[str, str]:
        """The file, digest and source of somebody else's results; empty for a run of ours."""
        held: Mapping[str, str] = self.config.get("imported", {})
        return held

    def require_steps(self) -> None:
        """Raise UserError for an imported run: nothing but its rankings and answers is known."""
        if self.imported:
            raise UserError(
                f"{self.folder.path} is an imported run ({self.imported['file']}): it has no "
                "steps, contexts or calls. See its questions with `graphrag-bench view "
                f"{self.folder.path.name}`."
            )

    @property
    def home(self) -> Path | None:
        """The folder that its runs/ lies in; None for a run folder that was copied elsewhere."""
        above = self.folder.path.resolve().parents  # home/runs/<dataset>/<method>/<key>
        return above[3] if len(above) > 3 and above[2].name == "runs" else None

    @cached_property
    def rows(self) -> Mapping[str, Row]:
        """The stored row of each question id; raises DamagedRun where some are gone."""
        rows = self.folder.rows()
        damage.check_rows(self.folder.path, len(rows), self.metrics)
        return rows

    @cached_property
    def scopes(self) -> Mapping[str, str | None]:
        """The scope of each question that has a row; questions of one scope share documents."""
        return {name: row.get("scope") for name, row in self.rows.items()}

    @cached_property
    def dataset(self) -> Dataset | None:
        """Its data set; None when it is no longer at hand."""
        if self.given is not None:
            return self.given
        try:
            source = DatasetSettings.model_validate(self.config["dataset"])
        except ValidationError as error:
            said = str(error.errors()[0]["msg"])
            raise DamagedRun(self.folder.path, f"{CONFIG}: dataset: {said}") from None
        try:
            above = self.folder.path.resolve().parents
            home = above[min(3, len(above) - 1)]
            return read_dataset(
                source.name,
                source.root,
                source.openie,
                source.own,
                home=home,
                questions=source.questions,
            )
        except UserError:
            return None

    @property
    def gold(self) -> Mapping[str, Gold]:
        """The gold of its data set; empty when the set is no longer at hand."""
        return self.dataset.gold if self.dataset else {}

    @property
    def evaluation(self) -> EvaluationSettings:
        """How it was scored last."""
        held = self.metrics.get("evaluation") or self.config["evaluation"]
        return EvaluationSettings.model_validate(held)

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """The metrics of each question that did not fail and whose gold is at hand."""
        return self.scores_by(self.evaluation)

    def scores_by(self, asked: EvaluationSettings) -> dict[str, dict[str, float]]:
        """`scores` under settings of scoring that need not be its own; nothing is written."""
        if self.dataset is None:
            return {}
        gold = self.dataset.gold
        scored = scored_by(self.dataset, asked, self.folder, self.rows)
        return {
            name: question_scores(row, gold[name], asked.cuts, asked.containment, scored)
            for name, row in self.rows.items()
            if name in gold and row["status"] != "failed"
        }


def stored_runs(home: str | Path) -> list[StoredRun]:
    """The runs below a home that have metrics, by data set, method and key.

    A damaged one is named on the standard error and left out.
    """
    return whole_runs(sorted(Path(home).glob(f"runs/*/*/*/{METRICS}")))


def whole_runs(paths: Sequence[Path]) -> list[StoredRun]:
    """The runs of these files of metrics; a damaged one is named and left out."""
    found = []
    for path in paths:
        try:
            damage.check_run(path.parent)
        except DamagedRun as error:
            Progress().say(f"left out: {error}")
        else:
            found.append(StoredRun(RunFolder(path.parent)))
    return found


def find_run(name: str, home: str | Path) -> StoredRun:
    """The run of a folder, or the only one whose key begins with `name`.

    Raises UserError when there is none, or more than one, with those that are near.
    """
    if (Path(name) / METRICS).exists():
        damage.check_run(Path(name))
        return StoredRun(RunFolder(Path(name)))
    held = {run.folder.path.name: run for run in stored_runs(home)}
    place = f"{home}/runs"
    return by_beginning(name, held, "run", place, lambda run: str(run.metrics.get("method")))


def numbers_of(run: StoredRun) -> dict[str, float]:
    """The settings of a run that are numbers, by path: those of its data set and models too."""
    return {
        path: float(value)
        for path, value in {**paths_of(run.config), **run.metrics["settings"]}.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def paths_of(value: Any, path: str = "") -> dict[str, Any]:
    """The values of nested mappings by path, below `path`."""
    if not isinstance(value, Mapping):
        return {path: value}
    found: dict[str, Any] = {}
    for name, inner in value.items():
        found |= paths_of(inner, f"{path}.{name}" if path else str(name))
    return found
