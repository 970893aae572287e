"""Compare two runs question by question and setting by setting.

The command prints the paired difference of every metric with its interval, the questions gained and
lost, and the settings that differ. Only questions that are scored in both runs are compared.

example
  graphrag-bench diff 0a1b2c3d4e5f f5e4d3c2b1a0
"""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict

from graphrag_bench.cli.parsing import RUN, Parser
from graphrag_bench.errors import UserError
from graphrag_bench.report import comparisons
from graphrag_bench.report.notes import same_contexts, scored_again
from graphrag_bench.report.rendering import Table, show, show_json
from graphrag_bench.report.rows import check_one_corpus
from graphrag_bench.run.scoring import contexts
from graphrag_bench.run.stored import StoredRun, find_run, scores_of, with_one_rule

_FLIPS = ("accuracy", "all_evidence@5")
_Scores = dict[str, dict[str, float]]


def declare(parser: Parser) -> None:
    parser.add_word("first", "RUN_A", RUN)
    parser.add_word("second", "RUN_B", "the run to compare with RUN_A")
    parser.add_home()
    parser.add_json()


def main(options: Namespace) -> None:
    first, second = (find_run(name, options.home) for name in (options.first, options.second))
    if not options.json:
        for line in diff_lines(first, second):
            print(line) if isinstance(line, str) else show(line)
        return
    settings = comparisons.settings_that_differ(first.metrics, second.metrics)
    first, second, before, after = _compared(first, second)
    names = dict.fromkeys(name for of_question in before.values() for name in of_question)
    differences = comparisons.paired_differences(before, after, first.scopes, names)
    show_json({
        "runs": [str(first.folder.path), str(second.folder.path)],
        "metrics": {name: asdict(difference) for name, difference in differences},
        "settings": [{"path": path, "a": a, "b": b} for path, a, b in settings],
    })  # fmt: skip


def diff_lines(first: StoredRun, second: StoredRun) -> Iterator[str | Table]:
    """Yield lines and tables that compare two runs on the questions for which both have scores."""
    settings = comparisons.settings_that_differ(first.metrics, second.metrics)
    first, second, before, after = _compared(first, second)
    yield f"A: {first.folder.path}\nB: {second.folder.path}\n"
    caption = f"A: {first.metrics['title']}, B: {second.metrics['title']}"
    yield comparisons.difference_table(caption, before, after, first.scopes)
    shared = set(before) & set(after)
    yield from map(str, same_contexts([
        {**run.metrics, "title": title, "contexts": contexts(run.rows[q] for q in shared)}
        for title, run in (("A", first), ("B", second))
    ]))  # fmt: skip
    for name in _FLIPS:
        if any(name in of_question for of_question in before.values()):
            yield comparisons.flipped_line(name, before, after)
    yield from map(str, scored_again([first.metrics, second.metrics]))
    yield "\nsettings that differ"
    yield from (f"  {path}: {a} -> {b}" for path, a, b in settings)


def _compared(first: StoredRun, second: StoredRun) -> tuple[StoredRun, StoredRun, _Scores, _Scores]:
    check_one_corpus([first.metrics, second.metrics], of_each_set=False)
    for run in (first, second):
        run.require_dataset()
    first, second = with_one_rule([first, second])
    before, after = scores_of(first), scores_of(second)
    if not set(before) & set(after):
        raise UserError("The runs have no scored questions in common. Compare other runs.")
    return first, second, before, after
