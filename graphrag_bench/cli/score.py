"""`graphrag-bench score`: stored runs re-scored, at no cost."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from graphrag_bench.cli.parsing import RUN, Parser, command_parser
from graphrag_bench.cli.settings_words import setting_rows
from graphrag_bench.cli.table_words import take_columns
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.baseline import stored_differences, with_baseline
from graphrag_bench.plain_yaml import read_yaml
from graphrag_bench.runs.rescoring import rescored
from graphrag_bench.runs.stored import StoredRun, find_run

_ABOUT = """
Re-scores the stored answers and contexts of finished runs, with no model call, writes their
metrics.json and prints the table, with the difference from evaluation.baseline, and every metric.
The run of the baseline is one of RUN... or, where the baseline is given, any below HOME. The cost
of a run stays.
Judged values (judged.jsonl in the run's folder) are included.

example
  graphrag-bench score runs/squality/vanilla/0a1b2c3d4e5f --metrics rouge_l,meteor
  graphrag-bench score 0a1b2c 9f8e7d evaluation.containment=token_boundary evaluation.cuts=[1,5]
  graphrag-bench score 0a1b2c evaluation.baseline=vanilla
"""


def _parser() -> Parser:
    from graphrag_bench.evaluation.answer_metrics import ANSWER_METRICS

    usage = "RUN [RUN ...] [evaluation.NAME=VALUE ...] [OPTIONS]"
    made = command_parser("score", _ABOUT, usage)
    made.add_argument("words", nargs="+", metavar="RUN", help=RUN)
    made.option(
        "--metrics",
        "NAMES",
        "answer metrics in addition to those of the set's card, comma-separated",
        "",
    )
    take_columns(made)
    made.home()
    metrics = [
        (name, metric.meaning + (f" (needs {metric.package})" if metric.package else ""))
        for name, metric in ANSWER_METRICS.items()
    ]
    made.rows("answer metrics", metrics)
    kept = "What is not given is as the run was scored last."
    made.rows("how to score", setting_rows("evaluation."), kept)
    return made


def main(arguments: Sequence[str]) -> int:
    """Score every run, then print one table of them all."""
    asked = _parser().read(arguments)
    from graphrag_bench.report.rendering import show
    from graphrag_bench.report.run_tables import checked_columns, shown_tables
    from graphrag_bench.report.tables import metrics_table

    changes, names = _read(asked.words)
    if asked.metrics:
        changes["metrics"] = [name.strip() for name in asked.metrics.split(",") if name.strip()]
    if not names:
        raise UserError("RUN is missing: a folder or the beginning of a key.")
    runs = [find_run(name, asked.home) for name in names]
    baseline = changes.get("baseline")
    added = with_baseline(runs, str(baseline), asked.home) if baseline is not None else []
    metrics = [rescored(run, changes) for run in runs]
    scored = [StoredRun(run.folder, run.dataset) for run in runs]
    compared = stored_differences(scored, added)
    main = next(iter(scored[0].evaluation.compared), None)
    columns = checked_columns(asked.columns)
    first, *others = shown_tables(metrics, compared, columns=columns, metric=main)
    for table in (first, metrics_table(metrics), *others):
        show(table)
    for run in runs:
        sys.stdout.write(f"scored: {run.folder.path}\n")
    return 0


def _read(words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    changes: dict[str, Any] = {}
    names: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.startswith("evaluation."):
            changes[name.removeprefix("evaluation.")] = read_yaml(value, f"'{word}'")
        else:
            names.append(word)
    return changes, names
