"""Re-scores the stored answers and contexts of finished runs, with no model call.

Writes their metrics.json and prints the table, with the difference from evaluation.baseline, and
every metric. The run of the baseline is one of RUN.... The cost of a run stays; judged values
(judged.jsonl) are included. dataset.root=FOLDER names where their data set is now.

example
  graphrag-bench score runs/squality/vanilla/0a1b2c3d4e5f evaluation.metrics=[rouge_l,meteor]
  graphrag-bench score 0a1b2c 9f8e7d evaluation.containment=token_boundary evaluation.cuts=[1,5]
"""

from argparse import Namespace
from typing import Any

from graphrag_bench.cli.parsing import RUNS, Parser, setting_rows
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.files import read_yaml
from graphrag_bench.report.rendering import show
from graphrag_bench.report.tables import checked_columns, metrics_table
from graphrag_bench.run.session import NONE
from graphrag_bench.run.stored import (
    StoredRun,
    alike,
    moved,
    rescored,
    stored_differences,
    tables_of,
)
from graphrag_bench.run.sweep import named_runs


def declare(parser: Parser) -> None:
    parser.takes("RUN [RUN ...] [evaluation.NAME=VALUE ...] [dataset.root=FOLDER]")
    parser.word("words", "RUN", RUNS, "+")
    parser.columns()
    parser.home()
    parser.rows("answer metrics", [(name, one.meaning) for name, one in ANSWER_METRICS.items()])
    parser.rows("how to score; the rest is as it was scored last", setting_rows("evaluation."))


def main(options: Namespace) -> None:
    changes: dict[str, Any] = {}
    places: dict[str, Any] = {}
    names = []
    for word in options.words:
        name, equals, value = word.partition("=")
        group, _, setting = name.partition(".")
        if equals and group in ("evaluation", "dataset"):
            of_group = changes if group == "evaluation" else places
            of_group[setting] = read_yaml(value, f"'{word}'")
        else:
            names.append(word)
    if not names:
        raise UserError("RUN is missing: a folder or the beginning of a key.")
    columns = checked_columns(options.columns)
    runs = named_runs(names, options.home)
    runs = [moved(run, places) for run in runs] if places else runs
    methods = {*(str(run.metrics["method"]) for run in runs), NONE}
    if changes.get("baseline", NONE) not in methods:
        raise unknown("run of the baseline", str(changes["baseline"]), methods)
    metrics = [rescored(run, changes) for run in runs]
    scored = alike([StoredRun(run.folder, run.dataset) for run in runs])
    first, *rest = tables_of(scored, stored_differences(scored), columns)
    for table in (first, metrics_table(metrics), *rest):
        show(table)
    for run in runs:
        print(f"scored: {run.folder.path}")
