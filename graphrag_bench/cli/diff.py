"""`graphrag-bench diff`: two stored runs compared question by question, at no cost."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.errors import UserError
from graphrag_bench.report.comparisons import difference_table, flipped_line, settings_that_differ
from graphrag_bench.report.corpora import differ, refuse_pair
from graphrag_bench.report.long_texts import with_cut_notes
from graphrag_bench.report.notes import same_contexts
from graphrag_bench.report.rendering import show
from graphrag_bench.runs.rescoring import scores_of
from graphrag_bench.runs.scoring import contexts
from graphrag_bench.runs.stored import StoredRun, find_run

_ABOUT = """
Compares two finished runs over the questions that both were scored on, with no model call: every
metric with the paired difference and its interval, which questions were gained and lost, and the
settings that differ.

example
  graphrag-bench diff runs/musique/vanilla/0a1b2c3d4e5f runs/musique/hipporag2/f5e4d3c2b1a0
"""
_BESIDE = ("llm", "llm_build", "embedder", "extraction", "tokenizer", "profile", "fidelity",
           "corpus")  # fmt: skip
_FLIPS = ("accuracy", "all_evidence@5")


def main(arguments: Sequence[str]) -> int:
    """Print the comparison."""
    parser = command_parser("diff", _ABOUT)
    parser.add_argument("first", metavar="RUN_A", help=RUN)
    parser.add_argument("second", metavar="RUN_B", help="the run that it is compared with")
    parser.flag("--across-corpora", "compare runs over different versions of a corpus all the same")
    parser.home()
    asked = parser.read(arguments)
    first, second = (find_run(name, asked.home) for name in (asked.first, asked.second))
    if not asked.across_corpora:
        refuse_pair(first.metrics, second.metrics)
    for run in (first, second):
        if not run.gold:
            raise UserError(
                f"The data set of {run.folder.path} is not at hand; its gold is needed."
            )
    before, after = scores_of(first), scores_of(second)
    if not set(before) & set(after):
        raise UserError("The two runs have no question in common.")
    sys.stdout.write(f"A: {first.folder.path}\nB: {second.folder.path}\n\n")
    caption = f"A: {first.metrics['title']}, B: {second.metrics['title']}"
    table = difference_table(caption, before, after, first.scopes)
    show(with_cut_notes(table, (first.metrics, second.metrics)))
    if differ(first.metrics, second.metrics):
        sys.stdout.write("! A and B are over different corpora: questions alone are the same\n")
    shared = set(before) & set(after)
    held = [
        {**run.metrics, "title": title, "contexts": contexts(run.rows[q] for q in shared)}
        for title, run in (("A", first), ("B", second))
    ]
    sys.stdout.writelines(f"{note}\n" for note in same_contexts(held))
    for name in _FLIPS:
        if any(name in held for held in before.values()):
            sys.stdout.write(flipped_line(name, before, after) + "\n")
    sys.stdout.write("\nsettings that differ\n")
    for path, a, b in settings_that_differ(_settings(first), _settings(second)):
        sys.stdout.write(f"  {path}: {a} -> {b}\n")
    return 0


def _settings(run: StoredRun) -> Mapping[str, Any]:
    return {**run.metrics["settings"], **{name: run.metrics.get(name) for name in _BESIDE}}
