"""Show stored runs in a browser.

The page plots scores against tokens, shows the evidence funnel and the costs, and compares two
methods side by side. It shows every question with its context, prompts, replies and answer graph.
The page is a folder that can be opened from disk, without a server or the internet. It contains the
texts and prompts of its runs.

examples
  graphrag-bench view --demo                        packaged runs
  graphrag-bench view                               the newest runs, written to HOME/page
  graphrag-bench view 0a1b2c f5e4d3 --out page      then open page/index.html
"""

import webbrowser
from argparse import Namespace
from pathlib import Path

from graphrag_bench.cli.parsing import RUNS, Parser
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import METRICS
from graphrag_bench.run.stored import StoredRun, stored_runs
from graphrag_bench.run.sweep import find_runs
from graphrag_bench.view.page import write_demo, write_page

NEWEST = 8


def declare(parser: Parser) -> None:
    parser.add_word("runs", "RUN", f"{RUNS} (default: the {NEWEST} newest runs)", "*")
    parser.add_flag("--demo", "show packaged runs, written to HOME/demo")
    about = "write the page to a new folder, and open no browser"
    parser.add_option("--out", "FOLDER", about, type=Path)
    parser.add_home()


def main(options: Namespace) -> None:
    if options.demo:
        if options.runs:
            raise UserError("--demo shows packaged runs. Remove either --demo or the runs.")
        page = write_demo(options.out or options.home / "demo")
    else:
        load_plugins()
        runs = find_runs(options.runs, options.home) or newest_runs(options.home, NEWEST)
        page = write_page(runs, options.out or options.home / "page", options.home)
    print(page)
    if options.out is None:
        webbrowser.open(page.resolve().as_uri())


def newest_runs(home: Path, n: int) -> list[StoredRun]:
    """Return the `n` newest runs below `home`, from oldest to newest."""
    runs = stored_runs(home)
    if not runs:
        raise UserError(f"{home}/runs has no finished run. Run a method first, or set --home.")
    runs.sort(key=lambda run: ((run.folder.path / METRICS).stat().st_mtime_ns, run.folder.path))
    return runs[-n:]
