"""What judges have said of a run's answers, `judged.jsonl`, as scores of its questions."""

from __future__ import annotations

from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.answer_metrics import ANSWER_METRICS
from graphrag_bench.runs.folder import RunFolder, read_lines
from graphrag_bench.runs.judged import JUDGED
from graphrag_bench.runs.record import Row


def judged_scores(folder: RunFolder) -> dict[str, dict[str, float | None]]:
    """The value of each question and metric, in 0..1; None where the judge could not be read.

    The last row per question, metric and judge counts. Where several judges gave a metric, its
    names tell them apart, "judged_correctness by MODEL", and they are never averaged together.
    Without the file there is nothing. Raises UserError for a row that lacks question, metric or
    value, for a value out of range, and for a metric that is computed and never judged.
    """
    path = folder.path / JUDGED
    rows: list[Row] = []
    judges: dict[str, set[str]] = {}
    for number, row in enumerate(read_lines(path), 1):
        if fault := _fault(row):
            raise UserError(f"{path}, row {number}: {fault}.")
        rows.append(row)
        judges.setdefault(row["metric"], set()).add(str(row.get("judge", "")))
    held: dict[str, dict[str, float | None]] = {}
    for row in rows:
        value, metric = row["value"], row["metric"]
        name = f"{metric} by {row.get('judge', '')}" if len(judges[metric]) > 1 else metric
        held.setdefault(row["question"], {})[name] = None if value is None else float(value)
    return held


def _fault(row: Row) -> str:
    """What is wrong with a row; "" when nothing is."""
    if not isinstance(row, dict) or not {"question", "metric", "value"} <= set(row):
        return "question, metric and value are needed"
    value = row["value"]
    if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
        return f"value {value!r}; 0 to 1 or null was expected"
    return f"'{row['metric']}' is computed, not judged" if row["metric"] in ANSWER_METRICS else ""
