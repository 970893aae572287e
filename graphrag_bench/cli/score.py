"""`graphrag-bench score`: stored runs re-scored, at no cost."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from graphrag_bench.cli.parsing import RUN, Parser, setting_rows, take_columns
from graphrag_bench.errors import UserError
from graphrag_bench.files import read_yaml
from graphrag_bench.run.session import stored_differences, with_baseline
from graphrag_bench.run.stored import StoredRun, find_run, rescored

_ABOUT = """
Re-scores the stored answers and contexts of finished runs, with no model call, writes their
metrics.json and prints the table, with the difference from evaluation.baseline, and every metric.
The run of the baseline is one of RUN... or, where the baseline is given, any below HOME. The cost
of a run stays; judged values (judged.jsonl) are included.

example
  graphrag-bench score runs/squality/vanilla/0a1b2c3d4e5f --metrics rouge_l,meteor
  graphrag-bench score 0a1b2c 9f8e7d evaluation.containment=token_boundary evaluation.cuts=[1,5]
"""


def main(arguments: Sequence[str]) -> int:
    """Score every run, then print one table of them all."""
    options = _parser().read(arguments)
    from graphrag_bench.report.rendering import show
    from graphrag_bench.report.tables import checked_columns, metrics_table, shown_tables

    changes, names = _changes_and_names(options.words)
    if options.metrics:
        changes["metrics"] = [name.strip() for name in options.metrics.split(",") if name.strip()]
    if not names:
        raise UserError("RUN is missing: a folder or the beginning of a key.")
    columns = checked_columns(options.columns)
    runs = [find_run(name, options.home) for name in names]
    baseline = changes.get("baseline")
    others = with_baseline(runs, str(baseline), options.home) if baseline is not None else []
    metrics = [rescored(run, changes) for run in runs]
    scored = [StoredRun(run.folder, run.dataset) for run in runs]
    differences = stored_differences(scored, others)
    main_metric = next(iter(scored[0].evaluation.compared), None)
    first, *rest = shown_tables(metrics, differences, columns=columns, metric=main_metric)
    for table in (first, metrics_table(metrics), *rest):
        show(table)
    sys.stdout.writelines(f"scored: {run.folder.path}\n" for run in runs)
    return 0


def _parser() -> Parser:
    from graphrag_bench.evaluation.metrics import ANSWER_METRICS

    parser = Parser("score", _ABOUT, "RUN [RUN ...] [evaluation.NAME=VALUE ...] [OPTIONS]")
    parser.add_argument("words", nargs="+", metavar="RUN", help=RUN)
    meaning = "answer metrics in addition to those of the set's card, comma-separated"
    parser.option("--metrics", "NAMES", meaning, "")
    take_columns(parser)
    parser.home()
    metrics = [
        (name, metric.meaning + (f" (needs {metric.package})" if metric.package else ""))
        for name, metric in ANSWER_METRICS.items()
    ]
    parser.rows("answer metrics", metrics)
    unchanged = "What is not given is as the run was scored last."
    parser.rows("how to score", setting_rows("evaluation."), unchanged)
    return parser


def _changes_and_names(words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    changes: dict[str, Any] = {}
    names: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.startswith("evaluation."):
            changes[name.removeprefix("evaluation.")] = read_yaml(value, f"'{word}'")
        else:
            names.append(word)
    return changes, names
