"""`graphrag-bench run`: one run, or a sweep with -m, and one table at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphrag_bench.cli.cells import Preparing, checked_alone
from graphrag_bench.cli.launching import Grid, Results, run_one
from graphrag_bench.cli.overrides import help_text, prepared
from graphrag_bench.cli.tuning import Tuning, is_tuning, require_plugins, selected
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.comparing import differences
from graphrag_bench.experiment.execute import RunResult
from graphrag_bench.experiment.failing import too_many
from graphrag_bench.report.paying import paying_table
from graphrag_bench.report.tables import cost_table, markdown, run_table, show
from graphrag_bench.runs.folder import write_whole

FAILED = 1
"""The exit code where cells of a sweep failed, or too many questions of a run; a second call runs
those again."""


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
    if multirun:
        return _swept(prepared(rest))
    results: Results = {}
    preparing = Preparing()
    values = checked_alone(prepared(rest), preparing)
    run_one(values, results, preparing)
    _show(results)
    return FAILED if _say_failing(results) else 0


def _swept(overrides: list[str]) -> int:
    """Run a sweep: its table, its best cell where it looks for one, and the cells that failed."""
    require_plugins(overrides)
    sweep = Tuning.of(overrides) if is_tuning(overrides) else Grid.of(overrides)
    results: Results = {}
    errors = sweep.run(results)
    lines = selected(sweep, results)
    if results:
        _show(results)
    print("\n".join([*lines, f"sweep: {sweep.manifest.folder.resolve()}"]))  # noqa: T201
    for cell, error in errors.items():
        sys.stderr.write(f"cell {cell} failed: {error}\n")
    if errors:
        sys.stderr.write(f"{len(errors)} failed; the same command runs those again\n")
    failing = _say_failing(results)
    return FAILED if errors or failing else 0


def _say_failing(results: Results) -> bool:
    """Whether too many questions of a run failed; says which run, and where it says why."""
    failing = False
    for result in results.values():
        limit = result.experiment.settings.failures.limit
        if too_many(result.metrics, limit):
            failed, n = result.metrics["failed"], result.metrics["n"]
            name = result.experiment.method.name
            file = result.folder.file("failures", "txt")
            sys.stderr.write(
                f"{name}: {failed} of {n} questions failed (failures.limit={limit}): {file}\n"
            )
            failing = True
    return failing


def _show(results: Results) -> None:
    """Print the tables and what they cost, and write them beside every run."""
    text = _report(list(results.values()))
    for folder in dict.fromkeys(result.folder.path for result in results.values()):
        write_whole(folder / "table.md", text)
        print(f"run: {folder.resolve()}")  # noqa: T201 - read by scripts


def _report(results: Sequence[RunResult]) -> str:
    """Print the tables; the text of those that only the configuration determines, as markdown."""
    metrics = [result.metrics for result in results]
    show(run_table(metrics, seconds=True))
    compared = differences(results)
    costs = cost_table(metrics)
    baseline = results[0].experiment.settings.evaluation.baseline
    for table in (compared, costs if costs.rows else None, paying_table(metrics, baseline)):
        if table is not None:
            show(table)
    return "\n".join(markdown(table) for table in (run_table(metrics), compared) if table)
