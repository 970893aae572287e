"""`graphrag-bench run`: one run, or a sweep with -m, and one table at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.cli.overrides import composed, help_text, prepared
from graphrag_bench.cli.sweep import Cell, cell_of, cells, launch
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.execute import RunResult, execute, framed
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.matching import fits, matched
from graphrag_bench.report.tables import cost_table, markdown, run_table, show
from graphrag_bench.runs.folder import write_whole


def main(arguments: Sequence[str]) -> int:
    """Run, print `run: <folder>` for each run and the table; 0 when every run was finished."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(help_text("run"))
        return 0
    multirun = bool({"-m", "--multirun"} & set(arguments))
    rest = [word for word in arguments if word not in ("-m", "--multirun")]
    flags = [word for word in rest if word.startswith("-")]
    if flags:
        raise UserError(f"There is no option '{flags[0]}'; there are -m and --help.")
    results: dict[Cell, RunResult] = {}
    if multirun:
        overrides = prepared(rest)
        checked = _checked(cells(overrides))
        sweeps = checked[0].home.resolve() / "runs" / ".sweeps"
        launch(overrides, sweeps, lambda values: run_one(values, results, swept=True))
        _gather(checked, results)
    else:
        run_one(composed(prepared(rest)), results)
    metrics = [result.metrics for result in results.values()]
    show(run_table(metrics, seconds=True))
    costs = cost_table(metrics)
    if costs.rows:
        show(costs)
    text = markdown(run_table(metrics))
    for folder in dict.fromkeys(result.folder.path for result in results.values()):
        write_whole(folder / "table.md", text)
        print(f"run: {folder.resolve()}")  # noqa: T201 - read by scripts
    return 0


def run_one(
    values: Mapping[str, Any], results: dict[Cell, RunResult], *, swept: bool = False
) -> None:
    """Run one experiment and what frames it, each once."""
    experiment = Experiment.prepare(matched(values, swept=swept), swept=swept)
    for one in _with_frames(experiment):
        if cell_of(one) not in results:
            results[cell_of(one)] = execute(one)


def _checked(found: Sequence[Mapping[str, Any]]) -> list[Experiment]:
    """The experiment of every cell; all are checked before any budget is measured for one."""
    plain = [Experiment.prepare({**cell, "match_tokens": None}, swept=True) for cell in found]
    wanting = [cell for cell in found if cell.get("match_tokens") is not None]
    if wanting and not any(map(fits, wanting)):
        matched(wanting[0])
    return [
        Experiment.prepare(matched(cell, swept=True), swept=True) if cell in wanting else one
        for cell, one in zip(found, plain, strict=True)
    ]


def _with_frames(experiment: Experiment) -> list[Experiment]:
    frames = [Experiment.prepare(frame, experiment.dataset) for frame in framed(experiment)]
    return [experiment, *frames]


def _gather(checked: Sequence[Experiment], results: dict[Cell, RunResult]) -> None:
    """Add what a launcher has run in other processes."""
    for experiment in checked:
        for one in _with_frames(experiment):
            if cell_of(one) not in results and (metrics := one.folder.metrics()):
                results[cell_of(one)] = RunResult(one.folder, metrics)
