"""Judged values of the answers of a run: rows of `judged.jsonl`, and what is read from them."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.run.folder import Row, RunFolder, read_lines, write_whole

JUDGED = "judged.jsonl"
"""One row for each question, metric and judge: `question`, `metric`, `value` (0..1, or null where
the judge gave none, with `missing` and `reason`), `judge` (identity of the model), `how` (a
fingerprint of the prompts), `of` (a fingerprint of what was judged)."""


def judged_rows(folder: Path) -> list[Row]:
    """The valid rows, in file order: a later row replaces an earlier one.

    Rows judged with other prompts, or by another judge, are all kept.
    """
    latest: dict[tuple[object, ...], Row] = {}
    for row in read_lines(folder / JUDGED):
        key = tuple(row.get(name) for name in ("question", "metric", "judge", "how"))
        latest.pop(key, None)
        latest[key] = row
    return list(latest.values())


def judged_values(rows: Iterable[Row]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Judge, then metric, then question to value; None is missing and must not be averaged.

    Of several rows that differ in prompts alone the last one counts.
    """
    judges: dict[str, dict[str, dict[str, float | None]]] = {}
    for row in rows:
        of_judge = judges.setdefault(row["judge"], {})
        of_judge.setdefault(row["metric"], {})[row["question"]] = row["value"]
    return judges


def in_order(rows: Iterable[Row], questions: Sequence[str], metrics: Sequence[str]) -> list[Row]:
    """The rows by question, metric and judge, in the orders given; others last, by name."""
    first, second = ({name: at for at, name in enumerate(of)} for of in (questions, metrics))

    def place(row: Row) -> tuple[object, ...]:
        name, metric = row["question"], row["metric"]
        at = first.get(name, len(first)), second.get(metric, len(second))
        return *at, name, metric, row["judge"], row["how"]

    return sorted(rows, key=place)


def judged_scores(folder: RunFolder) -> dict[str, dict[str, float | None]]:
    """The value of each question and metric, in 0..1; None where the judge could not be read.

    The last row per question, metric and judge counts. Where several judges gave a metric, its
    names tell them apart, "judged_correctness by MODEL", and they are never averaged together.
    Without the file there is nothing. Raises UserError for a row that lacks question, metric or
    value, for a value out of range, and for a metric that is computed and never judged.
    """
    path = folder.path / JUDGED
    rows = list(read_lines(path))
    judges: dict[str, set[str]] = {}
    for number, row in enumerate(rows, 1):
        if fault := _fault(row):
            raise UserError(f"{path}, row {number}: {fault}.")
        judges.setdefault(row["metric"], set()).add(str(row.get("judge", "")))
    scores: dict[str, dict[str, float | None]] = {}
    for row in rows:
        value, metric = row["value"], row["metric"]
        name = f"{metric} by {row.get('judge', '')}" if len(judges[metric]) > 1 else metric
        scores.setdefault(row["question"], {})[name] = None if value is None else float(value)
    return scores


def _fault(row: Row) -> str:
    if not {"question", "metric", "value"} <= set(row):
        return "question, metric and value are needed"
    value = row["value"]
    if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
        return f"value {value!r}; 0 to 1 or null was expected"
    return f"'{row['metric']}' is computed, not judged" if row["metric"] in ANSWER_METRICS else ""


_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


def guarded(text: str) -> str:
    """The text with an apostrophe before a sign that would begin a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """What `guarded` was given."""
    return text[1:] if _GUARDED.match(text) else text


def write_sheet(path: Path, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a CSV file whole, every cell guarded, with a mark by which Excel reads it as UTF-8."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow([guarded(head) for head in heads])
    writer.writerows([[guarded(cell) for cell in row] for row in rows])
    write_whole(path, "\ufeff" + out.getvalue())


def read_sheet(path: Path, heads: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a sheet by head, unguarded; commas, semicolons or tabs between the cells.

    Raises UserError when the file is missing, no UTF-8, or lacks a column.
    """
    if not path.is_file():
        raise UserError(f"There is no sheet '{path}'.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}); save it as CSV UTF-8.") from None
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
    names = [unguarded(name).strip() for name in reader.fieldnames or ()]
    for head in heads:
        if head not in names:
            hint = did_you_mean(head, names)
            raise UserError(f"{path}: there is no column '{head}'. {hint}")
    reader.fieldnames = names
    return [{name: unguarded(row[name]) for name in names} for row in reader if any(row.values())]
