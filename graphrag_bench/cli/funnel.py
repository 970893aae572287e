"""`graphrag-bench funnel`: at which stage stored runs lost the gold evidence, at no cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.analysis.funnel.stored import RunFunnel, run_funnel
from graphrag_bench.analysis.funnel.table import LEGEND, SAID, funnel_lines, funnel_table
from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.report.notes import with_cut_notes
from graphrag_bench.report.rendering import show
from graphrag_bench.runs.stored import find_run

_ABOUT = """
Shows at which stage a method lost the gold evidence, from a run's stored rows, chunks and graph;
no model is called and nothing is built. Every document in a question's evidence is counted once, at
the first stage that it did not pass:

  in corpus      the data set holds the document
  in a chunk     a chunk was made of it
  extracted      a relationship of the graph is from one of its chunks (or a node, where the graph
                 has no relationships that chunks state)
  linked         what the first steps found for the question holds a node of it, or is joined to
                 one through the evidence of the question (its relationships, and synonymy)
  retrieved      it is among the ranked chunks (or the ranked rows of the graph, without chunks),
                 or in the prompt
  not cut        the context's budget did not cut it
  in the prompt  a text read from it stands in the context: its chunk, or what a node, relationship,
                 path or report says word for word
  not failed     the question did not fail behind this point (shown when one has)
  answered       the answer is right

Stages that a method does not have are left out. Evidence that a stage lost and a later one found
on another way (a dense fallback) is not lost, and counted as "found otherwise". Where a document
has several chunks any of them counts.

example
  graphrag-bench funnel runs/sample/vanilla/0a1b2c3d4e5f runs/sample/hipporag/f5e4d3c2b1a0
"""


def main(arguments: Sequence[str]) -> int:
    """Print the funnel of every run, and a table when there are several."""
    parser = command_parser("funnel", _ABOUT)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    parser.flag(
        "--questions", "the ids of the questions that lost their first evidence at each stage"
    )
    parser.flag("--json", "counts, and the fate of every document, as JSON")
    parser.home()
    parser.shared()
    asked = parser.read(arguments)
    home = Path(asked.home)
    runs = [find_run(name, home) for name in asked.runs]
    found = [run_funnel(run, home, asked.shared) for run in runs]
    if asked.json:
        text = json.dumps([_as_json(one) for one in found], indent=1, ensure_ascii=False)
        sys.stdout.write(text + "\n")
        return 0
    for one in found:
        _show(one, asked.questions)
    sys.stdout.write(f"{LEGEND}\n")
    if len(found) > 1:
        sets = ", ".join(sorted({one.dataset for one in found}))
        rows = [(one.title, one.funnel) for one in found]
        table = funnel_table(f"{sets}: where evidence was lost", rows)
        show(with_cut_notes(table, [run.metrics for run in runs]))
    return 0


def _show(one: RunFunnel, questions: bool) -> None:
    made = one.funnel
    sys.stdout.write(
        f"{one.title} on {one.dataset}: {made.n_documents} documents of evidence, "
        f"{made.n_questions} of {one.n_rows} questions have some\n  {one.folder}\n"
    )
    for line in funnel_lines(made):
        sys.stdout.write(line.rstrip() + "\n")
    for reason in one.unknown:
        sys.stdout.write(f"  not known: {reason}\n")
    if questions:
        for stage in (*made.stages, None):
            names = made.questions_at(stage)
            said = f"lost before '{SAID[stage]}'" if stage else "nothing lost"
            sys.stdout.write(f"  {said}: {', '.join(names) or 'none'}\n")
    sys.stdout.write("\n")


def _as_json(one: RunFunnel) -> dict[str, Any]:
    made = one.funnel
    return {
        "run": str(one.folder),
        "method": one.title,
        "dataset": one.dataset,
        "questions": made.n_questions,
        "documents": made.n_documents,
        "stages": [vars(count) for count in made.counts()],
        "unknown": list(one.unknown),
        "evidence": [
            {"question": fate.question, "document": fate.document, "lost": fate.lost}
            | {"otherwise": list(fate.found_otherwise), "right": fate.right}
            for fate in made.fates
        ],
    }
