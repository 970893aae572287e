"""Every metric of some runs, one row each, for what the table of runs has no column for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.long_texts import cut_notes
from graphrag_bench.report.rendering import MISSING, Table


def metrics_table(runs: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each metric with its mean, interval and n in each run; runs as `metrics.json`.

    The notes give the rest: judgements that could not be read, the packages that metrics were
    computed by, and runs whose accuracy comes from long answers.
    """
    ordered = arranged(runs)
    names = sorted({name for run in ordered for name in run["metrics"]}, key=_place)
    rows = tuple((name, *(_cell(run["metrics"].get(name)) for run in ordered)) for name in names)
    titles = tuple(str(run["title"]) for run in ordered)
    notes = ["mean [95 % interval] (questions)"]
    computed = sorted({said for run in ordered for said in run.get("computed_by", ())})
    notes += [f"computed by {'; '.join(computed)}"] if computed else []
    for run in ordered:
        missing = [f"{name} {n}" for name, n in run.get("missing", {}).items()]
        notes += [f"{run['title']}: judgements not read: {', '.join(missing)}"] if missing else []
        notes += [f"{run['title']}: {said}" for said in run.get("flags", ())]
    notes += cut_notes((str(run["title"]), str(run.get("embedder", ""))) for run in ordered)
    return Table("all metrics", ("metric", *titles), rows, tuple(notes), texts=("metric",))


def _place(name: str) -> tuple[str, int]:
    """By name, and by the number behind `@` as a number."""
    stem, _, number = name.partition("@")
    return (stem, int(number)) if number.isdecimal() else (name, 0)


def _cell(held: Mapping[str, Any] | None) -> str:
    if not held:
        return MISSING
    return f"{held['mean']:.3f} [{held['low']:.3f}, {held['high']:.3f}] ({held['n']})"
