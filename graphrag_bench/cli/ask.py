"""`graphrag-bench ask`: one question of your own against a data set, by one method or several."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from graphrag_bench.analysis.explaining.names import Names
from graphrag_bench.analysis.explaining.own_question import asked, told
from graphrag_bench.analysis.explaining.text import explained_lines
from graphrag_bench.cli.settings_words import (
    divided,
    refuse_unread,
    settings_parser,
)
from graphrag_bench.config.compose import composed
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.unused_settings import refuse_unused

_ONE = "there is one question of your own, asked once; `run` asks those of a data set."
_SCORED = "nothing is scored; `run` scores the questions of a data set."
UNREAD = {
    **dict.fromkeys(("limit", "split", "dev_share", "shard", "workers", "repeats"), _ONE),
    **dict.fromkeys(("objective", "evaluation", "llm_judge", "reference_rows"), _SCORED),
    "answer": "the question is always answered.",
    "trace": "every step is shown.",
}
"""What only the questions of a data set give a meaning."""
_ABOUT = """
Answers one question of your own, by one method or by several (method=A,B), and says why: the
context with its scores, and the steps by names of nodes, relationships and chunks. What was asked
is kept in HOME/runs/.asked with its artifacts: as long as nothing has changed it is answered from
there, with no model; cache.mode=refresh asks the model again.

examples
  graphrag-bench ask dataset=sample method=hipporag "Who taught the discoverer of the neutron?"
  graphrag-bench ask dataset=sample method=bm25,hipporag --json "With whom did ...?"
  graphrag-bench ask dataset=folder dataset.root=FOLDER method=vanilla "What is ...?"
"""


def main(arguments: Sequence[str]) -> int:
    """Print for each method the answer, the context with its scores, and the steps by name."""
    given = _read(arguments)
    questions, words = divided(given.words)
    if len(questions) != 1 or not questions[0].strip():
        raise UserError('ask takes settings and one question: ask method=hipporag "Who ...?"')
    refuse_unread("ask", words, UNREAD)
    made = []
    for settings in by_method(words):
        made.append(Experiment.prepare(composed(settings)))
        refuse_unused(settings, made[-1:])
    found = [_told(experiment, questions[0]) for experiment in made]
    if given.json:
        sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        return 0
    for one in found:
        head = f"== {one['title']} ==\n" if len(found) > 1 else ""
        sys.stdout.write(head + "\n".join(explained_lines(one)) + "\n" + ("\n" if head else ""))
    return 0


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    usage = '[--json] [GROUP=NAME ...] [SETTING=VALUE ...] "QUESTION"'
    parser = settings_parser("ask", _ABOUT, usage, without=(*UNREAD, "graph.per"))
    parser.add_argument("words", nargs="*", metavar='"QUESTION"', help="one question of your own")
    parser.flag("--json", "print all rows, for a program")
    return parser.read(arguments)


def by_method(settings: Sequence[str]) -> list[list[str]]:
    """The settings once for each method of `method=a,b`, in order."""
    names = [word.partition("=")[2] for word in settings if word.startswith("method=")]
    if not names or "," not in names[-1]:
        return [list(settings)]
    rest = [word for word in settings if not word.startswith("method=")]
    several = dict.fromkeys(name.strip() for name in names[-1].split(",") if name.strip())
    return [[*rest, f"method={name}"] for name in several]


def _told(experiment: Experiment, text: str) -> dict[str, object]:
    found = asked(experiment, text)
    roots = [root for root in (experiment.artifacts, experiment.shared_artifacts) if root]
    return told(found, Names.read(roots, found.artifacts))
