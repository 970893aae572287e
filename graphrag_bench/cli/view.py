"""Shows stored runs in a browser.

Scores against tokens, the evidence funnel, costs, every question with its context, prompts, replies
and the graph of its answer, what differs between two methods, and the health of their graphs.
Nothing is run, and no model is called.

With --out a folder is written that opens from disk, offline, with the texts and prompts of its
runs. Without it the page is served to this machine alone, and written again when its runs change;
Ctrl-C ends it.

examples
  graphrag-bench view                               the newest runs
  graphrag-bench view 0a1b2c f5e4d3 --out page      then open page/index.html
"""

import threading
from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from graphrag_bench.cli.parsing import RUN, Parser, positive
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import METRICS
from graphrag_bench.run.stored import StoredRun, find_run, stored_runs
from graphrag_bench.view.page import served, write_page

NEWEST = 8


def declare(parser: Parser) -> None:
    """Take runs, and where the page is written or served."""
    parser.alone = True
    parser.word("runs", "RUN", f"{RUN}; without one the newest", "*")
    parser.option("--out", "FOLDER", "write the page there: an empty folder, or an earlier page")
    meaning = f"how many runs, where none is named; default: {NEWEST}"
    parser.option("--newest", "N", meaning, NEWEST, positive)
    parser.option("--port", "N", "the port to serve at; default: any that is free", 0, int)
    parser.home()
    parser.shared()


def main(options: Namespace) -> None:
    """Write the page, or serve it until it is stopped."""
    if not 0 <= options.port <= 65535:
        raise UserError(f"--port {options.port}: from 1 to 65535.")
    load_plugins()
    home = Path(options.home)

    def find() -> list[StoredRun]:
        named = [find_run(name, home) for name in options.runs]
        return named or newest(home, options.newest)

    if options.out is not None:
        print(write_page(find(), Path(options.out), home, options.shared))
        return
    with (
        TemporaryDirectory(prefix="graphrag-bench-view-") as folder,
        served(find, Path(folder), home, options.shared, options.port) as address,
    ):
        print(f"{address}  (Ctrl-C ends it)", flush=True)
        threading.Event().wait()


def newest(home: Path, n: int) -> list[StoredRun]:
    """Return the `n` runs below `home` that were scored last, the earliest of them first."""
    runs = stored_runs(home)
    if not runs:
        raise UserError(f"{home}/runs holds no finished run. Run a method first, or give --home.")
    paths = {run.folder.path: run for run in runs}
    ordered = sorted(paths, key=lambda path: ((path / METRICS).stat().st_mtime_ns, str(path)))
    return [paths[path] for path in ordered[-n:]]
