"""A run page: a folder of a static page and its parts, which opens in a browser from disk.

Parts are JavaScript files that hand JSON to the page, each when it is asked for: a page opened from
disk may not fetch files, but it may add script elements.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from graphrag_bench.analysis.explaining.names import Names
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.reopen import References, read_references
from graphrag_bench.graph.graph import Graph
from graphrag_bench.runs.folder import write_whole
from graphrag_bench.runs.stored import StoredRun
from graphrag_bench.version import __version__
from graphrag_bench.view.health import graph_differences, health
from graphrag_bench.view.overview import (
    funnel_of,
    metric_rows,
    pair_rows,
    run_row,
    titles_of,
)
from graphrag_bench.view.questions import blocks, list_columns, questions_of, roots_of, set_columns

Plain = dict[str, Any]
STATIC = Path(__file__).parent / "page"
INDEX = "index.html"
MOST_GRAPHS = 12
"""Graphs whose health a page tells, and it says how many more there are: one a scope, say."""
_SIGN = "<title>graphrag-bench: runs</title>"
FOLDER = "data"
_UNSAFE = ("<", "\u2028", "\u2029")


def part_text(name: str, value: Any) -> str:
    """The file of a part: `grb.part("NAME", JSON);`.

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
        for path in sorted((self.page / FOLDER).rglob("*.js")):
            if path not in self.written:
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
    refuse_other_folder(page)
    shutil.copytree(STATIC, page, dirs_exist_ok=True)
    parts = Parts(page)
    sets = _sets(runs)
    rows = []
    for place, (run, title) in enumerate(zip(runs, titles_of(runs), strict=True)):
        funnel = funnel_of(run, home, shared)
        row = run_row(run, title, funnel) | {"id": f"r{place}", "set": sets[_set_of(run)].id}
        rows.append(row)
        parts.write(f"r{place}/list", list_columns(run, funnel, sets[_set_of(run)].at))
        for number, block in enumerate(blocks(run, home, shared)):
            parts.write(f"r{place}/q{number}", {"questions": block})
    for one in sets.values():
        parts.write(one.id, one.columns)
    graphs, unopened = _graphs(runs, home, shared)
    for number, graph in enumerate(graphs):
        parts.write(f"g{number}", graph.health())
    index = {
        "version": __version__,
        "served": stamp is not None,
        "runs": rows,
        "metrics": metric_rows(),
        "pairs": pair_rows(runs),
        "graphs": [{"id": f"g{n}", "name": one.name, "runs": one.runs}
                   for n, one in enumerate(graphs)],
        "graphs_left_out": unopened,
        "graph_pairs": [{"a": f"g{a}", "b": f"g{b}", "part": f"g{a}-g{b}"}
                        for a, b in _compared(graphs, parts)],
    }  # fmt: skip
    parts.write("index", index)
    if stamp is not None:
        parts.write("stamp", {"of": stamp})
    parts.remove_others()
    return page / INDEX


def refuse_other_folder(page: Path) -> None:
    """Raise UserError for a file, and for a folder that holds something and no page."""
    if page.exists() and not page.is_dir():
        raise UserError(f"{page} is a file; --out takes a folder.")
    if page.is_dir() and any(page.iterdir()) and not _is_page(page):
        raise UserError(f"{page} is not empty and holds no page; give an empty or new folder.")


def _is_page(folder: Path) -> bool:
    index = folder / INDEX
    return index.is_file() and _SIGN in index.read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class _Set:
    id: str
    at: Mapping[str, int]
    columns: Plain


def _set_of(run: StoredRun) -> tuple[str, str]:
    return str(run.metrics.get("dataset")), str(run.metrics.get("corpus"))


def _sets(runs: Sequence[StoredRun]) -> dict[tuple[str, str], _Set]:
    sets: dict[tuple[str, str], _Set] = {}
    for key in dict.fromkeys(map(_set_of, runs)):
        over = [run for run in runs if _set_of(run) == key]
        names = list(dict.fromkeys(name for run in over for name in questions_of(run)))
        dataset = next((run.dataset for run in over if run.dataset), None)
        at = {name: row for row, name in enumerate(names)}
        columns = {"name": key[0], **set_columns(dataset, names)}
        sets[key] = _Set(f"set{len(sets)}", at, columns)
    return sets


@dataclass(frozen=True)
class _RunGraph:
    name: str
    corpus: tuple[str, str]
    graph: Graph
    chunks: ChunkTable | None
    run: StoredRun
    runs: list[int]

    def health(self) -> Plain:
        gold = {name: self.run.gold[name] for name in self.run.rows if name in self.run.gold}
        return health(self.graph, self.chunks, gold)


def _graphs(
    runs: Sequence[StoredRun], home: Path, shared: str | None
) -> tuple[list[_RunGraph], int]:
    """The distinct graphs of the runs that are still there, and how many were not opened.

    `MOST_GRAPHS` are opened at most, the first that the runs refer to.
    """
    users: dict[tuple[str, str | None, str], tuple[References, list[int]]] = {}
    for place, run in enumerate(runs):
        if references := read_references(run.folder):
            for scope, keys in references.keys.items():
                if "graph" in keys:
                    key = references.dataset, scope, keys["graph"]
                    users.setdefault(key, (references, []))[1].append(place)
    graphs: list[_RunGraph] = []
    for number, ((corpus, scope, graph_key), (references, places)) in enumerate(users.items()):
        if len(graphs) == MOST_GRAPHS:
            return graphs, len(users) - number
        run = runs[places[0]]
        roots = roots_of(run, corpus, home, shared)
        names = Names.read(roots, references.within(scope))
        if names.graph is not None:
            title = f"graph {graph_key} of {corpus}" + (f", {scope}" if scope else "")
            graph = _RunGraph(title, _set_of(run), names.graph, names.chunk_table, run, places)
            graphs.append(graph)
    return graphs, 0


def _compared(graphs: Sequence[_RunGraph], parts: Parts) -> Iterator[tuple[int, int]]:
    for (a, first), (b, second) in combinations(enumerate(graphs), 2):
        if first.corpus == second.corpus:
            parts.write(f"g{a}-g{b}", graph_differences(first.graph, second.graph))
            yield a, b
