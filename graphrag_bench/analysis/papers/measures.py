"""Figures read from one stored run: means, costs, seconds and tokens of steps, layers, sizes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.plan import Planned
from graphrag_bench.offline.store import loaded
from graphrag_bench.offline.tree import layer_of
from graphrag_bench.runs.folder import write_whole
from graphrag_bench.runs.record import Row
from graphrag_bench.runs.stored import StoredRun
from graphrag_bench.text import count_tokens

_SUMS = ("calls", "prompt_tokens", "completion_tokens")
"""What the usage of a run sums over its questions; the rest are means."""


@dataclass(frozen=True)
class Measured:
    """A figure over `n` questions; a `share` is in 0..1 and printed in percent."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None
    share: bool = False


def averaged(found: Iterable[Measured | None]) -> Measured | None:
    """The mean of the figures of several runs, without an interval; one figure stays as it is."""
    held = [one for one in found if one is not None]
    if len(held) < 2:
        return held[0] if held else None
    mean = sum(one.value for one in held) / len(held)
    return Measured(mean, min(one.n for one in held), share=held[0].share)


def share_of(found: Mean | None) -> Measured | None:
    """A mean of shares with its interval."""
    return Measured(found.mean, found.n, found.low, found.high, share=True) if found else None


def _mean_of(values: Sequence[float]) -> Measured | None:
    if not sum(values):
        return None
    found = mean_with_interval(values)
    return Measured(found.mean, found.n, found.low, found.high)


def metric_of(held: Mapping[str, Any], names: str) -> Measured | None:
    """The first metric of `a|b` that a run has."""
    having = [name for name in names.split("|") if name in held["metrics"]]
    if not having:
        return None
    found = held["metrics"][having[0]]
    return Measured(found["mean"], found["n"], found["low"], found["high"], share=True)


def usage_of(held: Mapping[str, Any], name: str) -> Measured | None:
    """The mean usage per question; None for 0."""
    value = held["usage"].get(name)
    n = held["n"] if name in _SUMS else 1
    return Measured(value / n, held["n"]) if value else None


def usd(held: Mapping[str, Any]) -> Measured | None:
    """The mean US dollars per question, cached replies at their price; None for none."""
    parts = held["cost"]["questions"].values()
    return _mean_of([part["paid"]["usd"] + part["cached"]["usd"] for part in parts])


def build_tokens(held: Mapping[str, Any], *, reports: bool) -> Measured | None:
    """Prompt and completion tokens of building, paid or cached, or those of the reports alone."""
    cost = held["cost"]
    named = {name: part for name, part in cost["steps"].items() if name.startswith("reports")}
    parts = list(named.values()) if reports else [cost["stages"].get("build")]
    n_tokens = sum(
        part[where][kind]
        for part in parts
        if part
        for where in ("paid", "cached")
        for kind in ("prompt_tokens", "completion_tokens")
    )
    return Measured(n_tokens, held["n"]) if n_tokens else None


def seconds(timing: Sequence[Row], cost: Mapping[str, Any], what: str = "") -> Measured | None:
    """Return the mean seconds per question of a run that asked one at a time, all replies paid.

    None for any other run: parallel questions and stored replies are no measurement. With `what`
    those of a stage or operator alone, a question for which a step did not run counting as 0; None
    where no step is of it.
    """
    if not timing or any(row.get("workers") != 1 for row in timing):
        return None
    if any(part["cached"]["calls"] for part in cost.get("questions", {}).values()):
        return None
    n = len({row["question"] for row in timing})
    of_steps = {(row["question"], row["step"]): row["seconds"] for row in timing}
    parts = [held for (_, step), held in of_steps.items() if not what or _is_of(step, what)]
    return Measured(sum(parts) / n, n) if parts else None


def _is_of(step: str, what: str) -> bool:
    place, _, operator = step.partition(" ")
    return what in (place.partition(".")[0], operator)


def step_tokens(rows: Iterable[Row], what: str) -> Measured | None:
    """The mean prompt and completion tokens per question in a stage or operator; None for none."""
    return _mean_of([
        sum(
            part.get("prompt_tokens", 0) + part.get("completion_tokens", 0)
            for name, part in row["steps"].items()
            if _is_of(name, what)
        )
        for row in rows
        if row["status"] != "failed"
    ])  # fmt: skip


def layer_share(rows: Iterable[Row], layer: str) -> Measured | None:
    """The share of the nodes retrieved for the prompt that are of a layer: `0`, `1`, or `>1`.

    The mean over questions that retrieved any; nodes that the budget cut count too. None where a
    node is of no tree.
    """
    shares = []
    for row in rows:
        context = row.get("context") or {}
        names = [one["id"] for one in context.get("pieces", ()) if one["kind"] == "node"]
        names += [name for kind, name in context.get("cut", ()) if kind == "node"]
        layers = [layer_of(name) for name in names]
        if None in layers:
            return None
        if layers:
            shares.append(sum(_is_in(one, layer) for one in layers) / len(layers))
    return share_of(mean_with_interval(shares)) if shares else None


def _is_in(found: int | None, layer: str) -> bool:
    least = layer.removeprefix(">")
    return found is not None and (found > int(least) if least != layer else found == int(layer))


def corpus_sizes(run: StoredRun, home: Path) -> Mapping[str, int]:
    """The `documents` of a run's corpus and the `tokens` (cl100k) of their texts without titles.

    Counted once and kept by the digest of the corpus. Empty where the data set is not at hand any
    more, or has another corpus now.
    """
    file = home / "runs" / ".tables" / "corpus_sizes.json"
    known: dict[str, dict[str, int]] = {}
    if file.is_file():
        known = json.loads(file.read_text(encoding="utf-8"))
    digest = run.metrics.get("corpus")
    if digest and digest not in known:
        found = run.dataset
        if found is None or found.corpus_digest != digest:
            return {}
        n_tokens = sum(count_tokens(one.text) for one in found.documents)
        known[digest] = {"documents": len(found.documents), "tokens": n_tokens}
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(known, indent=1, sort_keys=True) + "\n")
    return known.get(str(digest), {})


def length(folder: Path, item: Planned, what: str) -> int:
    """The chunks, nodes or relationships of an artifact."""
    if item.resource == "chunk_table":
        return len(loaded(ChunkTable, folder).texts)
    graph: Graph = loaded(Graph, folder)
    return graph.n_nodes if what == "nodes" else graph.n_relationships
