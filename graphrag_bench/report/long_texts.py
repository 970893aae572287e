"""Notes on texts that were longer than the embedder reads: in windows, or cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphrag_bench.models.fit import Fit
from graphrag_bench.report.rendering import Table

Run = Mapping[str, Any]
_CUT, _UNKNOWN = ":long=cut(", "(not known"


def long_text_notes(runs: Sequence[Run]) -> list[str]:
    """How many texts were longer than the embedder reads, a warning where they were cut.

    One line for the same texts of several runs; it names them where it does not hold of all. Runs
    are what `metrics.json` holds.
    """
    titles: dict[str, dict[str, None]] = {}
    embedding = [run for run in runs if run.get("long_texts")]
    for run in embedding:
        for row in run["long_texts"]:
            fit = Fit.of(row)
            if fit.n_long:
                mark = "! " if fit.long_texts == "cut" else ""
                line = f"{mark}{run['dataset']}: {fit.said(row['what'])}"
                titles.setdefault(line, {})[str(run["title"])] = None
    n_titles = len({run["title"] for run in embedding})
    notes = [
        line if len(named) == n_titles else f"{line} ({', '.join(named)})"
        for line, named in titles.items()
    ]
    if unknown := {str(run["title"]): None for run in runs if _UNKNOWN in run.get("embedder", "")}:
        notes.append(
            "! how many tokens the embedder reads is not known, and its server may have cut longer "
            f"texts (embedder.window=N sets it): {', '.join(unknown)}"
        )
    return notes


def cut_notes(embedders: Iterable[tuple[str, str]]) -> list[str]:
    """A warning that names those whose embedder cuts longer texts: pairs of name and identity."""
    cut = dict.fromkeys(name for name, identity in embedders if _CUT in identity)
    if not cut:
        return []
    return [
        "! texts longer than the embedder reads are cut (embedder.long_texts=cut): "
        f"{', '.join(cut)}"
    ]


def with_cut_notes(table: Table, runs: Iterable[Run]) -> Table:
    """The table with a warning that names the runs whose embedder cuts longer texts."""
    notes = cut_notes((str(run["title"]), str(run.get("embedder", ""))) for run in runs)
    return replace(table, notes=(*table.notes, *notes))
