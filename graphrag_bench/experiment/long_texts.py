"""The texts that an experiment embeds, and how many exceed the embedder's window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.fit import Fit
from graphrag_bench.values import Question

COUNTED = 4_000_000
"""Characters whose tokens a plan counts: of more texts it counts every second, third and so on."""


def planned_lines(experiment: Experiment) -> Iterator[str]:
    """What the embedder reads, and how much of each kind of text is longer, before any is embedded.

    Chunks are counted; of other texts an index says it once it is there. Nothing for a run that
    embeds nothing. Loads no weights. Raises UserError for longer chunks under
    `embedder.long_texts=refuse`.
    """
    if "embedder" not in experiment.used:
        return
    embedder: Embedder = experiment.models.bare("embedder")
    yield f"embedder: {embedder.reading}"
    if embedder.window is None:
        return
    store = experiment.store()
    for item in (item for item in experiment.plan if "embedder" in item.builder.needs):
        stored = store.holds(item) and experiment.settings.graph.per == "all"
        row = store.recipe(item).get("statistics", {}) if stored else {}
        if row.get("window") is not None:
            yield f"  {Fit.of(row).said(row['what']) or item.resource}"
        elif item.resource == "chunk_index":
            yield f"  {chunk_line(experiment)}"
        else:
            yield f"  {item.resource}: how long its texts are is not known before it is built"


def chunk_line(experiment: Experiment) -> str:
    """How many chunks are longer than the embedder reads; "" where nothing is known to be."""
    chunks = next(item for item in experiment.plan if item.resource == "chunk_table")
    key = [experiment.models.identity("embedder"), chunks.key]
    line: str = experiment.models.shared.once("long chunks", key, lambda: _chunks(experiment))
    return line


def _chunks(experiment: Experiment) -> str:
    embedder: Embedder = experiment.models.bare("embedder")
    if not embedder.window:
        return ""
    store, whole = experiment.store(), experiment.settings.graph.per == "all"
    item = next(one for one in experiment.plan if one.resource == "chunk_table")
    if whole and store.holds(item) and "same_as" not in store.recipe(item):
        table: ChunkTable = store.resources(experiment.plan, {"chunk_table"}, {})["chunk_table"]
    elif set(item.builder.needs) == {"corpus"}:
        table = item.builder.function(corpus=experiment.dataset, **item.settings)
    else:
        return "chunks: how long they are is not known before they are made"
    texts = table.passages
    step = -(-sum(map(len, texts)) // COUNTED) or 1
    fit = embedder.fit(texts[::step], load=False)
    fit.refuse("chunks")
    sampled = f" (one of {step} counted; a run counts all)" if step > 1 else ""
    unknown = "chunks: how long they are is not known before the model is loaded"
    return f"{fit.said('chunks')}{sampled}" if fit.window else unknown


def long_text_rows(experiment: Experiment, selected: Sequence[Question]) -> list[dict[str, Any]]:
    """How the texts of each index fitted, as `metrics.json` holds it; those of all scopes together.

    Only indices that an embedder with a window made, and that are there.
    """
    store = experiment.store()
    fits: dict[str, tuple[str, Fit]] = {}
    for item in (item for plan in experiment.plans(selected) for item in plan):
        if "embedder" not in item.builder.needs or not store.holds(item):
            continue
        row = store.recipe(item).get("statistics", {})
        if row.get("window") is None:
            continue
        earlier, fit = fits.get(item.builder.name), Fit.of(row)
        fits[item.builder.name] = (row["what"], earlier[1].plus(fit) if earlier else fit)
    return [{"what": what, **fit.row} for what, fit in fits.values()]
