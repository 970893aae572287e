"""Judged values of the answers of a run: rows of `judged.jsonl`, and what is read from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from graphrag_bench.runs.folder import read_lines
from graphrag_bench.runs.record import Row

JUDGED = "judged.jsonl"
"""One row for each question, metric and judge: `question`, `metric`, `value` (0..1, or null where
the judge gave none, with `missing` and `reason`), `judge` (identity of the model), `how` (a
fingerprint of the prompts), `of` (a fingerprint of what was judged)."""

_SAME = ("question", "metric", "judge", "how")


def judged_rows(folder: Path) -> list[Row]:
    """The valid rows, in file order: a later row replaces an earlier one.

    Rows judged with other prompts, or by another judge, are all kept.
    """
    held: dict[tuple[object, ...], Row] = {}
    for row in read_lines(folder / JUDGED):
        key = tuple(row.get(name) for name in _SAME)
        held.pop(key, None)
        held[key] = row
    return list(held.values())


def judged_values(rows: Iterable[Row]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Judge, then metric, then question to value; None is missing and must not be averaged.

    Of several rows that differ in prompts alone the last one counts.
    """
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for row in rows:
        of_judge = found.setdefault(row["judge"], {})
        of_judge.setdefault(row["metric"], {})[row["question"]] = row["value"]
    return found


def in_order(rows: Iterable[Row], questions: Sequence[str], metrics: Sequence[str]) -> list[Row]:
    """The rows by question, metric and judge, in the orders given; others last, by name."""
    of_question: Mapping[str, int] = {name: row for row, name in enumerate(questions)}
    of_metric: Mapping[str, int] = {name: row for row, name in enumerate(metrics)}

    def place(row: Row) -> tuple[object, ...]:
        name, metric = row["question"], row["metric"]
        at = of_question.get(name, len(of_question)), of_metric.get(metric, len(of_metric))
        return *at, name, metric, row["judge"], row["how"]

    return sorted(rows, key=place)
