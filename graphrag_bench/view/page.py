"""A run page: a folder of a static page and its parts, which opens in a browser from disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from graphrag_bench.analysis.explaining.names import Names
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.reopen import References, read_references
from graphrag_bench.graph.graph import Graph
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
from graphrag_bench.view.parts import Parts
from graphrag_bench.view.questions import blocks, list_columns, questions_of, roots_of, set_columns

Plain = dict[str, Any]
STATIC = Path(__file__).parent / "page"
INDEX = "index.html"
MOST_GRAPHS = 12
"""Graphs whose health a page tells, and it says how many more there are: one a scope, say."""
_SIGN = "<title>graphrag-bench: runs</title>"


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
        found = funnel_of(run, home, shared)
        row = run_row(run, title, found) | {"id": f"r{place}", "set": sets[_set_of(run)].id}
        rows.append(row)
        parts.write(f"r{place}/list", list_columns(run, found, sets[_set_of(run)].at))
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
    found: dict[tuple[str, str], _Set] = {}
    for key in dict.fromkeys(map(_set_of, runs)):
        held = [run for run in runs if _set_of(run) == key]
        names = list(dict.fromkeys(name for run in held for name in questions_of(run)))
        dataset = next((run.dataset for run in held if run.dataset), None)
        at = {name: row for row, name in enumerate(names)}
        columns = {"name": key[0], **set_columns(dataset, names)}
        found[key] = _Set(f"set{len(found)}", at, columns)
    return found


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
    users: dict[tuple[str, str | None, str], list[int]] = {}
    keys: dict[tuple[str, str | None, str], tuple[References, str | None]] = {}
    for place, run in enumerate(runs):
        references = read_references(run.folder)
        for scope, held in references.keys.items() if references else ():
            if references and "graph" in held:
                key = (references.dataset, scope, held["graph"])
                users.setdefault(key, []).append(place)
                keys.setdefault(key, (references, scope))
    found: list[_RunGraph] = []
    for number, (key, places) in enumerate(users.items()):
        if len(found) == MOST_GRAPHS:
            return found, len(users) - number
        references, scope = keys[key]
        run = runs[places[0]]
        roots = roots_of(run, references.dataset, home, shared)
        names = Names.read(roots, references.within(scope))
        if names.graph is not None:
            said = f"graph {key[2]} of {key[0]}" + (f", {scope}" if scope else "")
            found.append(_RunGraph(said, _set_of(run), names.graph, names.chunk_table, run, places))
    return found, 0


def _compared(graphs: Sequence[_RunGraph], parts: Parts) -> Iterator[tuple[int, int]]:
    for (a, first), (b, second) in combinations(enumerate(graphs), 2):
        if first.corpus == second.corpus:
            parts.write(f"g{a}-g{b}", graph_differences(first.graph, second.graph))
            yield a, b
