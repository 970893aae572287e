"""`graphrag-bench runs`: stored runs listed, shown and removed, and what none of them needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from graphrag_bench.analysis import cleanup
from graphrag_bench.cli.parsing import RUN, Parser, command_parser
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.experiment.reopen import read_references
from graphrag_bench.offline.manifest import RECIPE
from graphrag_bench.report.rendering import Table, show
from graphrag_bench.report.run_page import ListedRun, run_lines, runs_table
from graphrag_bench.runs.damage import METRICS, DamagedRun, check_run, read_json, sealed_faults
from graphrag_bench.runs.folder import ENVIRONMENT, RunFolder

_ABOUT = """
Every run is a folder HOME/runs/<data set>/<method>/<key>/. RUN is such a folder or the beginning
of its key. `graphrag-bench runs ACTION --help` has the options of an action.

gc collects artifacts that no run refers to, folders of builds, imports and removals that were
broken off, and files that were never finished. It lists them; only with --delete are they removed.
The cache of paid replies is never touched, nor is a store of others (paths.shared_artifacts), nor a
broken-off build that a stored run still waits for.

examples
  graphrag-bench runs ls dataset=sample method=hipporag
  graphrag-bench runs show 0a1b2c
  graphrag-bench runs rm 0a1b2c f5e4d3 --yes
  graphrag-bench runs gc --delete
"""
_FILTERS = ("dataset", "method")


def main(arguments: Sequence[str]) -> int:
    """Print the list, the page, or what was or would be removed; 1 when removal was declined."""
    asked = _parser().read(arguments)
    home = Path(asked.home)
    if asked.action == "ls":
        show(_listed(home, {n: v for n in _FILTERS if (v := getattr(asked, n))}))
        return 0
    if asked.action == "show":
        _show(cleanup.find_folder(asked.run, home), home)
        return 0
    if asked.action == "rm":
        return _remove([cleanup.find_folder(name, home) for name in asked.runs], asked.yes)
    _collect(home, asked.delete)
    return 0


def _parser() -> Parser:
    parser = command_parser("runs", _ABOUT)
    listing = parser.action("ls", "a line for each run: model, questions, failures, size")
    listing.usage = "graphrag-bench runs ls [dataset=NAME] [method=NAME] [OPTIONS]"
    listing.settings((name, "NAME", None, f"only runs with this {name}") for name in _FILTERS)
    showing = parser.action("show", "its configuration, metrics, cost, artifacts and environment")
    removing = parser.action(
        "rm", "remove runs below HOME/runs that no process is running; artifacts and cache stay"
    )
    collecting = parser.action("gc", "what no stored run needs any more")
    showing.add_argument("run", metavar="RUN", help=RUN)
    removing.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    removing.flag("--yes", "remove without asking")
    collecting.flag("--delete", "remove what gc lists")
    for action in (listing, showing, removing, collecting):
        action.home()
    return parser


def _listed(home: Path, filters: dict[str, str]) -> Table:
    runs, left_out = [], []
    for folder in cleanup.run_folders(home):
        try:
            check_run(folder)
            runs.append(_of(folder))
        except DamagedRun as error:
            left_out.append(f"left out: {error}")
    for name, value in filters.items():
        known = {str(getattr(run, name)) for run in runs}
        if value not in known:
            raise unknown(f"run with {name}", value, known)
    kept = [run for run in runs if all(getattr(run, n) == v for n, v in filters.items())]
    table = runs_table(str(home / "runs"), kept)
    return replace(table, notes=(*table.notes, *left_out))


def _of(path: Path) -> ListedRun:
    """What the list says of a run folder."""
    folder = RunFolder(path)
    metrics = folder.metrics()
    records = [*folder.files("records"), *folder.files("journal")]
    last = max(file.stat().st_mtime for file in [path / METRICS, *records, path] if file.exists())
    changed = datetime.fromtimestamp(last).strftime("%Y-%m-%d %H:%M")
    n_rows = metrics["n"] if metrics else len(folder.rows())
    dataset, method, key = path.parts[-3:]
    return ListedRun(dataset, method, key, n_rows, changed, cleanup.size(path), metrics)


def _show(path: Path, home: Path) -> None:
    check_run(path)
    folder = RunFolder(path)
    run = _of(path)
    title = run.metrics.get("title", run.method)
    sys.stdout.write(f"{title} on {run.dataset}, key {run.key}\n{path}\n")
    for name, what in sealed_faults(path).items():  # check_run lets pass what is for people alone
        sys.stdout.write(f"{path}: {name} is damaged ({what}); the same run writes it again\n")
    if not run.metrics:
        sys.stdout.write(f"not scored: {run.n_rows} questions are stored; start it again\n")
    references = read_references(folder)
    places = sorted(references.places) if references else []
    there = {
        place: "there" if (home / "artifacts" / place / RECIPE).is_file() else "not there"
        for place in places
    }
    environment = path / ENVIRONMENT
    said = read_json(environment) if environment.is_file() else {}
    files = [(one.name, cleanup.size(one)) for one in sorted(path.iterdir())]
    for line in run_lines(run.metrics, said, there, files):
        sys.stdout.write(line + "\n")


def _remove(folders: Sequence[Path], yes: bool) -> int:
    chosen = list(dict.fromkeys(folders))
    total = sum(cleanup.size(folder) for folder in chosen) / 1e6
    for folder in chosen:
        sys.stdout.write(f"{folder}\n")
    if not yes and not _agreed(f"Remove {len(chosen)} run(s), {total:.1f} MB? [y/N] "):
        sys.stdout.write("nothing was removed\n")
        return 1
    for folder in chosen:
        cleanup.remove_run(folder)
        sys.stdout.write(f"removed: {folder}\n")
    return 0


def _agreed(question: str) -> bool:
    """What the user says; raises UserError when there is nobody to ask."""
    sys.stdout.write(question)
    sys.stdout.flush()
    said = sys.stdin.readline()
    if not said:
        raise UserError("There is nobody to ask; to remove without asking add --yes.")
    return said.strip().lower() in ("y", "yes")


def _collect(home: Path, delete: bool) -> None:
    found, notes = cleanup.garbage(home)
    done = cleanup.collect(home, found) if delete else found
    show(_garbage_table(home, done))
    total = sum(item.n_bytes for item in done) / 1e6
    what = f"{len(done)} of {len(found)} removed" if delete else f"{len(found)} could be removed"
    sys.stdout.write(f"{what}: {total:.1f} MB\n")
    if not delete and found:
        sys.stdout.write("nothing was removed; `graphrag-bench runs gc --delete` removes them\n")
    for note in notes:
        sys.stdout.write(f"{note}\n")


def _garbage_table(home: Path, items: Sequence[cleanup.Garbage]) -> Table:
    rows = tuple(
        (
            item.path.relative_to(home).as_posix(),
            item.kind,
            f"{item.n_calls:,}",
            f"{item.n_bytes / 1e6:.1f}",
        )
        for item in items
    )
    notes = (
        "calls: of language models, made to build it; their replies stay in the cache, so that "
        "building it again asks for none of them, unless it was built with cache.mode=off",
    )
    heads = ("path", "why", "calls", "MB")
    return Table(f"what no stored run below {home} needs", heads, rows, notes, texts=heads[:2])
