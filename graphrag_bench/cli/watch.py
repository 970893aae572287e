"""`graphrag-bench watch`: a method tried again whenever its code is saved."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.settings_words import settings_parser
from graphrag_bench.config.words import Word, given_names
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.inventing.watching import against, remember, remembered, told, tried, watched

_ABOUT = """
Retrieves for the questions of a data set by one method, prints its evidence and the paired
difference from a reference, and does so again whenever a file of its plug-in package, of ./configs
or of the method is saved. Only the changed step is computed, and those whose values it changes:
what steps found is kept in HOME/cache/steps.sqlite. Nothing is answered, and no model is asked
unless --calls is given. Ctrl-C ends it.

examples
  graphrag-bench watch dataset=sample method=mine plugins=[mine]
  graphrag-bench watch dataset=sample method=mine plugins=[mine] --against hipporag
  graphrag-bench watch dataset=sample method=./both.yaml limit=20 --once
"""
_SINCE = "GRAPHRAG_BENCH_WATCH_SINCE"
"""The variable that names the file of the last try's figures, set for a try of its own process."""


def main(arguments: Sequence[str]) -> int:
    """Print each try; ends at Ctrl-C, or after the first with `--once`."""
    usage = "method=NAME [GROUP=NAME ...] [SETTING=VALUE ...] [OPTIONS]"
    parser = settings_parser("watch", _ABOUT, usage)
    parser.add_argument("words", nargs="*", metavar="WORD", help="groups and settings, as of a run")
    parser.option("--against", "METHOD", "the reference; none: no reference", "vanilla")
    parser.option("--metric", "NAME", "a metric of evidence or context", "evidence_recall@5")
    parser.flag("--once", "try once, and end")
    parser.flag("--calls", "let steps ask a model for replies that are not stored")
    asked = parser.read(arguments)
    words = checked_words(asked.words)
    if "method" not in given_names(words):
        raise UserError("watch needs a method: method=NAME.")
    if asked.once:
        return _once(words, asked.against, asked.metric, asked.calls)
    return _again(arguments, words)


def _once(words: Sequence[Word], reference: str, metric: str, calls: bool) -> int:
    since = os.environ.get(_SINCE)
    now = tried(words, metric, calls=calls)
    other = None if reference == "none" else tried(against(words, reference), metric, calls=calls)
    before = remembered(Path(since)) if since else {}
    for line in told(now, other, before):
        sys.stdout.write(f"{line}\n")
    if since:
        remember(Path(since), now, before)
    return 1 if now.n_failed else 0


def _again(arguments: Sequence[str], words: Sequence[Word]) -> int:
    """Try in a new process, which has the code as it is on disk, at once and after each save."""
    from watchfiles import PythonFilter, watch

    paths = watched(words)
    command = [sys.executable, "-m", "graphrag_bench.cli.main", "watch", *arguments, "--once"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, _SINCE: str(Path(folder) / "last.json")}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"  # a second save in one second is seen too
        _try(command, environment)
        names = ", ".join(map(str, paths))
        sys.stdout.write(f"watching {names}\n")
        sys.stdout.flush()
        changes = PythonFilter(extra_extensions=(".yaml", ".j2"))
        for _ in watch(*paths, watch_filter=changes, raise_interrupt=False):
            _try(command, environment)
    return 0


def _try(command: Sequence[str], environment: dict[str, str]) -> None:
    sys.stdout.write(f"\n{time.strftime('%H:%M:%S')}\n")
    sys.stdout.flush()
    subprocess.run(command, env=environment, check=False)
