"""`graphrag-bench search`: pipelines put together by their types, the best of them confirmed."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from graphrag_bench.cli.plotting import check_figure, take_plot, tell_plot
from graphrag_bench.cli.settings_words import settings_parser
from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.words import given_names, value_of
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.progress import Progress
from graphrag_bench.report.rendering import show
from graphrag_bench.report.run_tables import COLUMNS
from graphrag_bench.searching.report import front_table, plot, write
from graphrag_bench.searching.search import Outcome, Search, Wanted
from graphrag_bench.searching.space import read_space
from graphrag_bench.sweeps.baseline import differences, result_tables
from graphrag_bench.sweeps.cells import Preparing
from graphrag_bench.sweeps.launching import Results, run_one

_ABOUT = """
Puts operators together in every way that their types allow, over several graphs, draws pipelines of
these by seed, and scores the evidence they find on the dev half of the questions: all of them over
a quarter, the better half over half, the better half of those over all. What pipelines have in
common is computed once, and no language model is called. The front (score, context tokens, size of
the index) is confirmed on the test half against hand-written methods, with p corrected for the
number of pipelines, and each winner is written as a method's file. With answers (answer=off:
without) the best are read too, on test. The same command goes on after a stop, and gives the same
front.

examples
  graphrag-bench search dataset=sample cells=200 answer=off
  graphrag-bench search dataset=sample graphs=entities,kg,none max_steps=4 time=10m answer=off
  graphrag-bench search dataset=sample space=./mine.yaml plugins=[mylab] best=3 limit=40
"""
_AGAINST = "vanilla,bm25,hybrid,hipporag,linearrag,llightrag,entitypassage"
_SETTINGS = (
    ("graphs", "A,B", "", "graphs of the space to search over; default: all of them"),
    ("space", "NAME", "default", "configs/search/NAME.yaml, or ./FILE.yaml"),
    ("max_steps", "N", "5", "most operators, those that convert the question aside"),
    ("cells", "N", "500", "pipelines that are drawn"),
    ("time", "30m", "", "ends the scoring (s, m, h); default: when all are scored"),
    ("best", "N", "5", "pipelines of the front that are confirmed and read"),
    ("against", "A,B", _AGAINST, f"methods that they are compared with; default: {_AGAINST}"),
    ("metric", "NAME", "evidence_recall@5", "the score; default: evidence_recall@5"),
)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def main(arguments: Sequence[str]) -> int:
    """Print the front, the files of the winners and, with answers, their table; 0."""
    parser = settings_parser("search", _ABOUT, "dataset=NAME [SETTING=VALUE ...]",
                             without=("method", "pooling", "split"))  # fmt: skip
    parser.add_argument("words", nargs="*", metavar="WORD", help="groups and settings, as of a run")
    parser.settings(_SETTINGS)
    take_plot(parser)
    asked = parser.read(arguments)
    check_figure(asked)
    words = checked_words(asked.words)
    for name in given_names(words):
        if name.partition(".")[0] in ("method", "pooling", "split", "build"):
            raise UserError(f"{name}: a search chooses that itself.")
    values = composed(words)
    load_plugins(values.get("plugins") or [])
    space = read_space(asked.space)
    if asked.graphs:
        space = space.within(_listed(asked.graphs))
    wanted = Wanted(
        cells=_number("cells", asked.cells),
        max_steps=_number("max_steps", asked.max_steps),
        best=_number("best", asked.best),
        against=tuple(_listed(asked.against)),
        metric=asked.metric,
        seconds=_seconds(asked.time),
    )
    outcome = Search(values, space, wanted, Progress()).run()
    command = shlex.join(["graphrag-bench", "search", *arguments])
    return _told(asked, outcome, command, values)


def _told(asked: argparse.Namespace, outcome: Outcome, command: str, values: dict[str, Any]) -> int:
    show(front_table(outcome, asked.metric))
    for path in write(outcome, command):
        sys.stdout.write(f"method: {path}\n")
    if asked.plot is not None:
        plot(asked.plot, outcome, asked.metric, asked.span)
        tell_plot(asked.plot)
    if values.get("answer", "on") not in ("off", False, 0):
        _read(outcome, values)
    return 0


def _read(outcome: Outcome, values: dict[str, Any]) -> None:
    """Let the reader answer the questions of the test half by each winner, as `run` does."""
    results: Results = {}
    preparing = Preparing()
    for one in outcome.found:
        run_one({**values, "method": dict(one.method), "split": "test"}, results, preparing,
                swept=True)  # fmt: skip
    made = list(results.values())
    for table in result_tables(made, differences(made), COLUMNS[0]):
        show(table)
    for result in made:
        sys.stdout.write(f"run: {result.folder.path.resolve()}\n")


def _listed(text: str) -> list[str]:
    inner = text.strip()
    if inner.startswith("["):
        return [str(one) for one in value_of(inner, "graphs")]
    return [one.strip() for one in inner.split(",") if one.strip()]


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9_]*", text):
        raise UserError(f"{name}={text}: a number from 1 on was expected.")
    return int(text)


def _seconds(text: str) -> float | None:
    if not text:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh])", text)
    if found is None:
        raise UserError(f"time={text}: a number with s, m or h was expected, as in time=30m.")
    return float(found[1]) * _SECONDS[found[2]]
