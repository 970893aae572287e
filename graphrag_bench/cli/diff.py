"""Compares two finished runs over the questions that both were scored on.

No model is called. Every metric with the paired difference and its interval, which questions were
gained and lost, and the settings that differ.

example
  graphrag-bench diff runs/musique/vanilla/0a1b2c3d4e5f runs/musique/hipporag2/f5e4d3c2b1a0
"""

from argparse import Namespace
from collections.abc import Iterator

from graphrag_bench.cli.parsing import RUN, Parser
from graphrag_bench.errors import UserError
from graphrag_bench.report.comparisons import difference_table, flipped_line, settings_that_differ
from graphrag_bench.report.notes import same_contexts, scored_again
from graphrag_bench.report.rendering import Table, show
from graphrag_bench.report.rows import check_one_corpus
from graphrag_bench.run.scoring import contexts
from graphrag_bench.run.stored import StoredRun, alike, find_run, scores_of

_FLIPS = ("accuracy", "all_evidence@5")


def declare(parser: Parser) -> None:
    parser.word("first", "RUN_A", RUN)
    parser.word("second", "RUN_B", "the run that it is compared with")
    parser.home()


def main(options: Namespace) -> None:
    first, second = (find_run(name, options.home) for name in (options.first, options.second))
    for line in diff_lines(first, second):
        print(line) if isinstance(line, str) else show(line)


def diff_lines(first: StoredRun, second: StoredRun) -> Iterator[str | Table]:
    """Yield the lines and the table of two runs over the questions that both were scored on.

    Raises UserError for runs over different corpora, for one whose gold is not at hand, and for
    runs without a common question.
    """
    check_one_corpus([first.metrics, second.metrics], of_each_set=False)
    for run in (first, second):
        run.require_dataset()
    rules = first.metrics, second.metrics
    first, second = alike([first, second])
    before, after = scores_of(first), scores_of(second)
    shared = set(before) & set(after)
    if not shared:
        raise UserError("The two runs have no question in common.")
    yield f"A: {first.folder.path}\nB: {second.folder.path}\n"
    caption = f"A: {first.metrics['title']}, B: {second.metrics['title']}"
    yield difference_table(caption, before, after, first.scopes)
    yield from same_contexts([
        {**run.metrics, "title": title, "contexts": contexts(run.rows[q] for q in shared)}
        for title, run in (("A", first), ("B", second))
    ])  # fmt: skip
    for name in _FLIPS:
        if any(name in scores for scores in before.values()):
            yield flipped_line(name, before, after)
    yield from scored_again([first.metrics, second.metrics])
    yield "\nsettings that differ"
    for path, a, b in settings_that_differ(*rules):
        yield f"  {path}: {a} -> {b}"
