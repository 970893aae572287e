"""`graphrag-bench run`: one run, or a sweep with -m, and one table at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphrag_bench.cli.settings_words import settings_parser
from graphrag_bench.cli.table_words import take_columns
from graphrag_bench.config.words import Word
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.experiment.execute import RunResult
from graphrag_bench.experiment.failing import too_many
from graphrag_bench.report.comparisons import comparison_table
from graphrag_bench.report.rendering import markdown, show
from graphrag_bench.report.tables import run_table
from graphrag_bench.runs.folder import RunFolder
from graphrag_bench.sweeps.baseline import differences, result_tables
from graphrag_bench.sweeps.cells import Preparing, checked_alone
from graphrag_bench.sweeps.launching import Grid, Results, run_one
from graphrag_bench.sweeps.tuning import Tuning, is_tuning, require_plugins, selected

FAILED = 1
"""The exit code of a sweep of which some cells failed, and of a run that lacks answers."""

_ABOUT = """
Answers the questions of a data set by a method, scores the answers and the evidence, and prints one
table. Results are stored below HOME/runs: run the same command again to resume.

examples
  graphrag-bench run dataset=sample method=hipporag limit=5
  graphrag-bench run -m dataset=sample method=bm25,vanilla,hipporag answer=off
  graphrag-bench run dataset=jsonl dataset.root=FOLDER method=raptor llm=openai_compatible \\
    llm.model=NAME llm.base_url=ADDRESS

sweeps (-m): cells share what is the same; a failed one is listed, and the same command retries it
  graphrag-bench run -m method=hipporag method.damping=0.1,0.5 answer=off \\
    split=dev objective=evidence_recall@5     names the best cell, and the command to report it by
  graphrag-bench run -m hydra/sweeper=optuna hydra.sweeper.n_trials=30 method=hipporag \\
    'method.damping=interval(0.1,0.9)'        Optuna chooses the cells, on split=dev alone
  one cell at a time, for job arrays: graphrag-bench sweep --help

exit code: 0 when every question has a row; 1 when more questions failed than failures.limit allows,
or all of them, or a cell of a sweep; 2 for input that is wrong
"""


def main(arguments: Sequence[str]) -> int:
    """Run, print `run: <folder>` for each run and the table; 0 when every question has a row.

    1 when more questions of a method failed than `failures.limit` allows, or all of them.
    """
    usage = "[-m] [GROUP=NAME ...] [SETTING=VALUE ...]"
    parser = settings_parser("run", _ABOUT, usage)
    parser.add_argument("words", nargs="*", metavar="WORD", help="a group or a setting: see below")
    parser.flag(
        "--multirun",
        "sweep over every group and setting with several values: a,b, glob(a*), range(1,4)",
        "-m",
    )
    take_columns(parser)
    given = parser.read(arguments, alone=True)
    if given.multirun:
        return _swept(checked_words(given.words), given.columns)
    results: Results = {}
    preparing = Preparing()
    values = checked_alone(checked_words(given.words), preparing)
    run_one(values, results, preparing)
    _show(results, given.columns)
    return _told(results)


def _swept(words: Sequence[Word], columns: str) -> int:
    require_plugins(words)
    sweep = Tuning.of(words) if is_tuning(words) else Grid.of(words)
    results: Results = {}
    errors = sweep.run(results)
    lines = selected(sweep, results)
    if results:
        _show(results, columns)
    print("\n".join([*lines, f"sweep: {sweep.manifest.folder.resolve()}"]))  # noqa: T201
    for cell, error in errors.items():
        sys.stderr.write(f"cell {cell} failed: {error}\n")
    if errors:
        sys.stderr.write(f"{len(errors)} failed; the same command runs those again\n")
    return FAILED if errors else _told(results)


def _told(results: Results) -> int:
    lines = [line for result in results.values() if (line := lacking(result))]
    sys.stderr.write("".join(f"{line}\n" for line in dict.fromkeys(lines)))
    return FAILED if lines else 0


def lacking(result: RunResult) -> str:
    """What a run lacks: rows, or more answers than may fail; "" where it is as it should be."""
    metrics, settings = result.metrics, result.experiment.settings
    n, n_failed, n_selected = (int(metrics[name]) for name in ("n", "failed", "selected"))
    title, limit = metrics["title"], settings.failures.limit
    if too_many(metrics, limit):
        allowed = "all of them" if n_failed == n else f"more than failures.limit={limit:.0%}"
        return (
            f"{title}: {n_failed} of {n} questions failed, {allowed}; the same command tries "
            f"them again: {result.folder.file('failures', 'txt')}"
        )
    if n < n_selected and settings.part == (1, 1):
        return f"{title}: {n_selected - n} of {n_selected} questions have no row"
    return ""


def _show(results: Results, columns: str) -> None:
    text = _report(list(results.values()), columns)
    for folder in dict.fromkeys(result.folder.path for result in results.values()):
        RunFolder(folder).write_table(text)
        print(f"run: {folder.resolve()}")  # noqa: T201 - read by scripts


def _report(results: Sequence[RunResult], columns: str) -> str:
    compared = differences(results)
    for table in result_tables(results, compared, columns):
        show(table)
    kept = (run_table([result.metrics for result in results]), comparison_table(compared))
    return "\n".join(markdown(table) for table in kept if table)
