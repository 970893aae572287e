"""The texts that an experiment embeds, and how many exceed the embedder's window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.graph.communities import Reports
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.fit import Fit
from graphrag_bench.offline.indices import (
    attribute_texts,
    named_node_texts,
    node_texts,
    relationship_texts,
)
from graphrag_bench.offline.plan import Planned
from graphrag_bench.values import Question

COUNTED = 4_000_000
"""Characters whose tokens a plan counts: of more texts it counts every second, third and so on."""
Measured = dict[tuple[str, str], str]
"""The lines of what was measured already, by embedder and by key of what holds the texts."""


def _reports(reports: Reports) -> list[str]:
    return [text for text in reports.texts if text]


def _facts(graph: Graph) -> list[str]:
    told = zip(relationship_texts(graph), graph.synonym, strict=True)
    return [text for text, synonym in told if not synonym]


_TEXTS: Mapping[str, tuple[str, str, Callable[[Any], list[str]]]] = {
    "chunk_index": ("chunk_table", "chunks", lambda table: table.passages),
    "node_index.description": ("graph", "node descriptions", named_node_texts),
    "node_index.text": ("graph", "node descriptions", node_texts),
    "relationship_index": ("graph", "relationships", _facts),
    "attribute_index": ("graph", "attributes", attribute_texts),
    "community_index": ("reports", "reports", _reports),
}
"""What an index is made of, what its texts are called, and which they are."""
_MADE = {
    "chunk_table": "the chunks are made",
    "graph": "the graph is built",
    "reports": "the reports are written",
}


def planned_lines(experiment: Experiment, measured: Measured) -> Iterator[str]:
    """What the embedder reads, and how much of each kind of text is longer, before any is embedded.

    Chunks are made where they are not stored; what a graph or reports will say is known only where
    these are. Nothing for a run that embeds nothing. Loads no weights. Raises UserError for longer
    texts under `embedder.long_texts=refuse`.
    """
    if "embedder" not in experiment.used:
        return
    embedder: Embedder = experiment.models.bare("embedder")
    yield f"embedder: {embedder.reading}"
    if embedder.window is None:
        return
    for item in experiment.plan:
        if item.builder.name in _TEXTS:
            yield f"  {_line(experiment, item, embedder, measured)}"


def chunk_line(experiment: Experiment) -> str:
    """How many chunks are longer than the embedder reads; "" where nothing is known to be."""
    embedder: Embedder = experiment.models.bare("embedder")
    chunks = next(item for item in experiment.plan if item.resource == "chunk_table")
    table = _stored(experiment, "chunk_table", chunks)
    return _said(embedder, "chunks", table.passages) if embedder.window else ""


def long_text_rows(experiment: Experiment, selected: Sequence[Question]) -> list[dict[str, Any]]:
    """How the texts of each index fitted, as `metrics.json` holds it; those of all scopes together.

    Only indices that an embedder with a window made, and that are there.
    """
    store = experiment.store()
    found: dict[str, tuple[str, Fit]] = {}
    for item in (item for plan in experiment.plans(selected) for item in plan):
        if "embedder" not in item.builder.needs or not store.holds(item):
            continue
        row = store.recipe(item).get("statistics", {})
        if row.get("window") is None:
            continue
        held = found.get(item.builder.name)
        fit = Fit.of(row)
        found[item.builder.name] = (row["what"], held[1].plus(fit) if held else fit)
    return [{"what": what, **fit.row} for what, fit in found.values()]


def _line(experiment: Experiment, item: Planned, embedder: Embedder, measured: Measured) -> str:
    source, what, texts_of = _TEXTS[item.builder.name]
    store = experiment.store()
    there = store.holds(item) and experiment.settings.graph.per == "all"
    if there and (row := store.recipe(item).get("statistics")):
        return Fit.of(row).said(what) or f"no {what}"
    origin = next(one for one in experiment.plan if one.resource == source)
    place = (experiment.models.identity("embedder"), f"{item.builder.name} {origin.key}")
    if place not in measured:
        held = _stored(experiment, source, origin)
        unknown = f"{what}: how long they are is not known before {_MADE[source]}"
        measured[place] = unknown if held is None else _said(embedder, what, texts_of(held))
    return measured[place]


def _stored(experiment: Experiment, resource: str, item: Planned) -> Any:
    """What is stored under that name, chunks made again where they are not; None for anything else.

    A graph for each scope is read nowhere: there may be hundreds.
    """
    store = experiment.store()
    whole = experiment.settings.graph.per == "all"
    if whole and store.holds(item) and "same_as" not in store.recipe(item):
        return store.resources(experiment.plan, {resource}, {})[resource]
    if resource != "chunk_table" or set(item.builder.needs) != {"corpus"}:
        return None
    table: ChunkTable = item.builder.function(corpus=experiment.dataset, **item.settings)
    return table


def _said(embedder: Embedder, what: str, texts: Sequence[str]) -> str:
    step = -(-sum(map(len, texts)) // COUNTED) or 1
    fit = embedder.fit(texts[::step], load=False)
    fit.refuse(what)
    sampled = f" (one of {step} counted; a run counts all)" if step > 1 else ""
    unknown = f"{what}: how long they are is not known before the model is loaded"
    return f"{fit.said(what)}{sampled}" if fit.window else unknown
