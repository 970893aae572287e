"""The runs of an unpacked bundle: scored from what it holds alone, and the tables of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphrag_bench.config.settings import EvaluationSettings
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.report.formats import rendered
from graphrag_bench.report.run_tables import shown_tables
from graphrag_bench.runs.folder import RunFolder, read_lines, write_rows
from graphrag_bench.runs.stored import StoredRun
from graphrag_bench.sweeps.baseline import stored_differences

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class BundledRun(StoredRun):
    """A run whose data set came with it.

    `kept` are the metrics of its questions, as they were packed, where the data set is not whole.
    """

    kept: Scores = field(default_factory=dict)

    def scores_by(self, asked: EvaluationSettings) -> dict[str, dict[str, float]]:
        """The metrics of each question, from its answers and gold where these are there."""
        if not self.kept:
            return super().scores_by(asked)
        return {name: dict(held) for name, held in self.kept.items()}


def bundled_run(
    folder: Path, row: Mapping[str, Any], data: Mapping[str, tuple[Dataset, bool]]
) -> BundledRun:
    """The run of a row of `bundle.json` below the folder of an unpacked bundle."""
    dataset, whole = data[row["data"]]
    kept = {} if whole else read_scores(folder / row["scores"])
    return BundledRun(RunFolder(folder / row["run"]), dataset, kept)


def write_scores(path: Path, scores: Scores) -> None:
    """Write the metrics of each question, a row for each, in their order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_rows(path, ({"question": name, "scores": dict(held)} for name, held in scores.items()))


def read_scores(path: Path) -> dict[str, dict[str, float]]:
    """What `write_scores` has written."""
    return {row["question"]: row["scores"] for row in read_lines(path)}


def tables_of(runs: Sequence[StoredRun]) -> dict[str, str]:
    """The texts of the tables of some runs by file: every column, for each data set and corpus.

    Markdown to read and CSV to compute with.
    """
    groups: dict[tuple[str, str], list[StoredRun]] = {}
    for run in runs:
        told = run.metrics
        groups.setdefault((str(told["dataset"]), str(told.get("corpus", ""))), []).append(run)
    found: dict[str, str] = {}
    for (name, corpus), group in groups.items():
        several = sum(one == name for one, _ in groups) > 1
        place = f"tables/{name}-{corpus}" if several else f"tables/{name}"
        tables = shown_tables(
            [run.metrics for run in group],
            stored_differences(group),
            columns="all",
            baseline=group[0].evaluation.baseline,
        )
        found |= {
            f"{place}.md": rendered(tables, "markdown"),
            f"{place}.csv": rendered(tables, "csv"),
        }
    return found


def as_json(held: Any) -> Any:
    """A value as it comes back from JSON."""
    return json.loads(json.dumps(held))
