"""A run page: a folder of a static page and its parts, which opens from disk or is served.

Parts are JavaScript files that hand JSON to the page, each when it is asked for: a page opened from
disk may not fetch files, but it may add script elements.
"""

import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from pathlib import Path
from typing import Any

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import metrics
from graphrag_bench.explain.funnel import run_funnel
from graphrag_bench.explain.names import Names
from graphrag_bench.explain.stages import SAID, Funnel
from graphrag_bench.report.comparisons import (
    paired_differences,
    recorded_settings,
    settings_that_differ,
)
from graphrag_bench.report.notes import run_notes
from graphrag_bench.report.rows import differ, in_table_order, spent, usual_metrics
from graphrag_bench.run.folder import METRICS, write_whole
from graphrag_bench.run.results import References, read_references
from graphrag_bench.run.stored import StoredRun, scores_of
from graphrag_bench.version import __version__
from graphrag_bench.view.health import graph_differences, health
from graphrag_bench.view.questions import blocks, list_columns, questions_of, roots_of, set_columns

Plain = dict[str, Any]
_FIELDS = ("dataset", "method", "key", "role", "n", "selected", "failed", "answered", "fell_back",
         "fallbacks", "errors", "flags", "commit", "corpus", "limit", "imported")  # fmt: skip
STATIC = Path(__file__).parent / "page"
INDEX, FOLDER = "index.html", "data"
MOST_GRAPHS = 12
"""Graphs whose health a page tells, and it says how many more there are: one a scope, say."""
_SIGN = "<title>graphrag-bench: runs</title>"
_UNSAFE = ("<", "\u2028", "\u2029")


def part_text(name: str, value: Any) -> str:
    """Return the file of a part: `grb.part("NAME", JSON);`.

    `<` and the line ends U+2028 and U+2029 are escaped, so that no text ends the script. Raises
    ValueError for a number that JSON does not have (infinite, or none).
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in _UNSAFE:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f"grb.part({json.dumps(name)},{text});\n"


@dataclass
class Parts:
    """The parts of a page that is being written; `written` are the paths of their files."""

    page: Path
    written: set[Path] = field(default_factory=set)

    def write(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a part as data/NAME.js; a name may have folders (`r0/q3`)."""
        path = self.page / FOLDER / f"{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = part_text(name, value)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_whole(path, text)
        self.written.add(path)

    def remove_others(self) -> None:
        """Remove the parts of an earlier page that this one does not have."""
        for path in {*(self.page / FOLDER).rglob("*.js")} - self.written:
            path.unlink()


def write_page(
    runs: Sequence[StoredRun],
    page: Path,
    home: Path,
    shared: str | None = None,
    *,
    stamp: str | None = None,
) -> Path:
    """Write the page of some runs into a folder, and return its index.html.

    A folder that holds a page is brought up to date; any other that is not empty is refused.
    `home` and `shared` are where artifacts are, as for `graphrag-bench show`. What a run does not
    have any more (its data set, its graph) is named on the page. `stamp` is given for a page that
    is served: a browser loads it anew when the stamp has changed. Raises UserError for no run.
    """
    if not runs:
        raise UserError("A page needs a run: name one, or run a method first.")
    _refuse_other_folder(page)
    shutil.copytree(STATIC, page, dirs_exist_ok=True)
    parts = Parts(page)
    sets: dict[tuple[str, str], tuple[str, dict[str, int]]] = {}
    for number, key in enumerate(dict.fromkeys(map(_set_of, runs))):
        over = [run for run in runs if _set_of(run) == key]
        ids = list(dict.fromkeys(name for run in over for name in questions_of(run)))
        sets[key] = f"set{number}", {name: row for row, name in enumerate(ids)}
        dataset = next((run.dataset for run in over if run.dataset), None)
        parts.write(f"set{number}", {"name": key[0], **set_columns(dataset, ids)})
    titled = in_table_order([{**run.metrics, "place": place} for place, run in enumerate(runs)])
    titles = {row["place"]: str(row["title"]) for row in titled}
    rows = []
    for place, run in enumerate(runs):
        set_id, at = sets[_set_of(run)]
        funnel = _funnel_of(run, home, shared)
        rows.append({**_run_row(run, titles[place], funnel), "id": f"r{place}", "set": set_id})
        parts.write(f"r{place}/list", list_columns(run, funnel, at))
        for number, block in enumerate(blocks(run, home, shared)):
            parts.write(f"r{place}/q{number}", {"questions": block})
    index = {
        "version": __version__,
        "served": stamp is not None,
        "runs": rows,
        "metrics": [
            {"name": one.name, "meaning": one.meaning, "more": one.more_is_better}
            for one in metrics()
        ],
        "pairs": pair_rows(runs),
        **_write_graphs(runs, parts, home, shared),
    }
    parts.write("index", index)
    if stamp is not None:
        parts.write("stamp", {"of": stamp})
    parts.remove_others()
    return page / INDEX


def _refuse_other_folder(page: Path) -> None:
    if page.exists() and not page.is_dir():
        raise UserError(f"{page} is a file; --out takes a folder.")
    index = page / INDEX
    is_page = index.is_file() and _SIGN in index.read_text(encoding="utf-8", errors="replace")
    if page.is_dir() and any(page.iterdir()) and not is_page:
        raise UserError(f"{page} is not empty and holds no page; give an empty or new folder.")


def _set_of(run: StoredRun) -> tuple[str, str]:
    return str(run.metrics.get("dataset")), str(run.metrics.get("corpus"))


def _funnel_of(run: StoredRun, home: Path, shared: str | None) -> Funnel | str:
    try:
        return run_funnel(run, home, shared)
    except UserError as error:
        return str(error)


def _run_row(run: StoredRun, title: str, funnel: Funnel | str) -> Plain:
    """What the table of the overview and its plots show; `funnel_note` says why there is none."""
    metrics = run.metrics
    n_tokens, usd = (None, None) if run.imported else spent(metrics)
    steps: dict[str, list[float]] = {}
    for one in run.folder.timing():
        steps.setdefault(one["step"], []).append(one["seconds"])
    counts, note = None, funnel
    if not isinstance(funnel, str):
        stages = [{**vars(count), "said": SAID[count.stage]} for count in funnel.counts()]
        sizes = {"documents": len(funnel.fates), "questions": len(funnel.lost)}
        counts, note = {**sizes, "stages": stages}, "; ".join(funnel.unknown)
    return {
        **{name: metrics.get(name) for name in _FIELDS},
        **{name: metrics[name] for name in ("metrics", "usage", "estimate")},
        "title": title,
        "spent": {"tokens": n_tokens, "usd": usd},
        "cost": {name: metrics["cost"][name] for name in ("steps", "stages")},
        "seconds": {step: round(sum(s) / len(s), 6) for step, s in sorted(steps.items())},
        "settings": recorded_settings(metrics),
        "notes": run_notes([metrics]),
        "funnel": counts,
        "funnel_note": note,
    }


def pair_rows(runs: Sequence[StoredRun]) -> list[Plain]:
    """Return for each two runs over one corpus B minus A in each metric, and other settings."""
    scores = [scores_of(run) for run in runs]
    rows = []
    for b, second in enumerate(runs):
        for a, first in enumerate(runs[:b]):
            same = first.metrics["dataset"] == second.metrics["dataset"]
            if not same or differ(first.metrics, second.metrics):
                continue
            metrics = usual_metrics(name for one in scores[a].values() for name in one)
            pairs = paired_differences(scores[a], scores[b], first.scopes, metrics)
            differences = [{"metric": name, **vars(difference)} for name, difference in pairs]
            settings = settings_that_differ(first.metrics, second.metrics)
            rows.append({"a": a, "b": b, "differences": differences, "settings": settings})
    return rows


def _write_graphs(runs: Sequence[StoredRun], parts: Parts, home: Path, shared: str | None) -> Plain:
    """Write the health of the distinct graphs that are still there, and what each two share.

    `MOST_GRAPHS` are opened at most, the first that the runs refer to.
    """
    users: dict[tuple[str, str | None, str], tuple[References, list[int]]] = {}
    for place, run in enumerate(runs):
        if references := read_references(run.folder):
            for scope, keys in references.keys.items():
                if "graph" in keys:
                    key = references.dataset, scope, keys["graph"]
                    users.setdefault(key, (references, []))[1].append(place)
    graphs: list[tuple[tuple[str, str], Graph]] = []
    rows: list[Plain] = []
    left_out = 0
    for number, ((corpus, scope, graph_key), (references, places)) in enumerate(users.items()):
        if len(graphs) == MOST_GRAPHS:
            left_out = len(users) - number
            break
        run = runs[places[0]]
        names = Names.read(roots_of(run, corpus, home, shared), references.within(scope))
        if names.graph is None:
            continue
        gold = {name: run.gold[name] for name in run.rows if name in run.gold}
        title = f"graph {graph_key} of {corpus}" + (f", {scope}" if scope else "")
        rows.append({"id": f"g{len(graphs)}", "name": title, "runs": places})
        parts.write(f"g{len(graphs)}", health(names.graph, names.chunk_table, gold))
        graphs.append((_set_of(run), names.graph))
    pairs = []
    for (a, (corpus_a, first)), (b, (corpus_b, second)) in combinations(enumerate(graphs), 2):
        if corpus_a == corpus_b:
            pairs.append({"a": f"g{a}", "b": f"g{b}", "part": f"g{a}-g{b}"})
            parts.write(f"g{a}-g{b}", graph_differences(first, second))
    return {"graphs": rows, "graphs_left_out": left_out, "graph_pairs": pairs}


HOST = "127.0.0.1"
LOOK_EVERY = 2.0
"""Seconds between two looks at the runs."""


class _Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        if self.headers.get("Host", "").partition(":")[0] not in (HOST, "localhost"):
            self.send_error(403, "This page is for this machine alone.")
        else:
            super().do_GET()

    do_HEAD = do_GET  # noqa: N815 - likewise

    def list_directory(self, path: object) -> None:
        self.send_error(404)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a line for each file helps nobody."""


@contextmanager
def served(
    find: Callable[[], Sequence[StoredRun]], page: Path, home: Path, shared: str | None, port: int
) -> Iterator[str]:
    """Write the page of the runs that `find` gives, serve it, and yield its address.

    Every `LOOK_EVERY` seconds `find` is asked again; where a run has come, gone or been scored
    anew the page is written again, and an open browser loads it. `port` 0 takes any free one.
    Raises UserError for a port that is taken.
    """

    def update(before: str) -> str:
        runs = find()
        files = [run.folder.path / METRICS for run in runs]
        state = str([(str(one), one.stat().st_mtime_ns) for one in files if one.is_file()])
        if state != before:
            write_page(runs, page, home, shared, stamp=state)
        return state

    def watch(state: str) -> None:
        while not stop.wait(LOOK_EVERY):
            try:
                state = update(state)
            except (UserError, OSError) as error:  # a run that is being written, or was removed
                sys.stderr.write(f"the page was not written again: {error}\n")

    state = update("")
    try:
        server = ThreadingHTTPServer((HOST, port), partial(_Handler, directory=str(page)))
    except OSError as error:
        raise UserError(f"Port {port} cannot be used: {error}. Give another: --port N.") from None
    stop = threading.Event()
    watching = threading.Thread(target=watch, args=(state,), daemon=True)
    watching.start()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}/"
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        watching.join()
