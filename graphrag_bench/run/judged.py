"""The scores that a judge model gave to the answers of a run, stored in `judged.jsonl`."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import metrics
from graphrag_bench.run.folder import Row, RunFolder, read_lines

JUDGED = "judged.jsonl"
"""File with a row for each question, metric and judge. `value` is a number from 0 to 1, or null
with the fields `missing` and `reason`. `judge` is the identity of the model. The fields
`how` and `of` are digests of the prompts and of the judged texts."""


def _read(path: Path) -> Iterator[Row]:
    """Check and yield all rows. Fields that only this program writes are "" if they are missing."""
    computed = {one.name.partition("@")[0] for one in metrics() if one.source != "judge"}
    for number, row in enumerate(read_lines(path), 1):
        where = f"{path}, row {number}"
        if not {"question", "metric", "value"} <= row.keys():
            raise UserError(f"{where}: a row needs question, metric and value.")
        row = row | {name: "" for name in ("missing", "judge", "how", "of") if name not in row}
        for name in ("question", "metric", "judge", "how"):
            if not isinstance(row[name], str):
                raise UserError(f"{where}: {name} {row[name]!r} is not a text.")
        value, metric = row["value"], row["metric"]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and 0 <= value <= 1):
            raise UserError(f"{where}: value {value!r} is neither a number from 0 to 1 nor null.")
        if metric.partition("@")[0] in computed:
            raise UserError(f"{where}: '{metric}' is a metric that is computed without a judge.")
        yield row


def judged_rows(folder: Path) -> list[Row]:
    """Return the last row of each combination of question, metric, judge and set of prompts."""
    latest: dict[tuple[object, ...], Row] = {}
    for row in _read(folder / JUDGED):
        key = tuple(row[name] for name in ("question", "metric", "judge", "how"))
        latest.pop(key, None)
        latest[key] = row
    return list(latest.values())


def judged_values(rows: Iterable[Row]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return values by judge, metric and question. The value of an unreadable reply is None."""
    judges: dict[str, dict[str, dict[str, float | None]]] = {}
    for row in rows:
        of_judge = judges.setdefault(row["judge"], {})
        of_judge.setdefault(row["metric"], {})[row["question"]] = row["value"]
    return judges


def sort_rows(rows: Iterable[Row], questions: Sequence[str], metrics: Sequence[str]) -> list[Row]:
    """Sort rows by question, metric and judge, in the given orders. Unknown names come last."""
    first, second = ({name: at for at, name in enumerate(of)} for of in (questions, metrics))

    def place(row: Row) -> tuple[object, ...]:
        name, metric = row["question"], row["metric"]
        at = first.get(name, len(first)), second.get(metric, len(second))
        return *at, name, metric, row["judge"], row["how"]

    return sorted(rows, key=place)


def judged_scores(folder: RunFolder) -> dict[str, dict[str, float | None]]:
    """Return judged values by question and metric: 0 to 1, or None for an unreadable reply.

    If a value has several rows, the last row is used. If a metric has several judges, its name
    includes the judge ("judged_correctness by MODEL").
    """
    rows = list(_read(folder.path / JUDGED))
    judges: dict[str, set[str]] = {}
    for row in rows:
        judges.setdefault(row["metric"], set()).add(row["judge"])
    scores: dict[str, dict[str, float | None]] = {}
    for row in rows:
        value, metric = row["value"], row["metric"]
        name = f"{metric} by {row['judge']}" if len(judges[metric]) > 1 else metric
        scores.setdefault(row["question"], {})[name] = None if value is None else float(value)
    return scores
