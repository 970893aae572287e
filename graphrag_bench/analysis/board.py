"""GraphRAG-Bench's own table: its scores by type of question, and the files its evaluation reads.

Source: Xiang et al. 2025, and its released evaluation (GraphRAG-Bench/GraphRAG-Benchmark,
`Evaluation/generation_eval.py`): which scores each of the four types has.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.report.rendering import MISSING, Table, markdown
from graphrag_bench.runs.contexts import context_texts
from graphrag_bench.runs.folder import write_whole
from graphrag_bench.runs.judged import judged_scores
from graphrag_bench.runs.stored import StoredRun

ACC, ROUGE, COV, FS = "ACC", "ROUGE-L", "Cov", "FS"
JUDGED = {ACC: "answer_correctness", COV: "coverage", FS: "faithfulness"}
"""The judged metric behind each column."""
TYPES: Mapping[str, tuple[str, ...]] = {
    "Fact Retrieval": (ACC, ROUGE),
    "Complex Reasoning": (ACC, ROUGE),
    "Contextual Summarize": (ACC, COV),
    "Creative Generation": (ACC, FS, COV),
}
"""The types of questions in the order of the tables, each with its columns."""
_PUBLISHED = {ACC: "answer_correctness", ROUGE: "rouge_score", COV: "coverage_score",
              FS: "faithfulness"}  # fmt: skip
"""The names of the scores in the file that the released evaluation writes."""
_ABOUT = (
    ("ACC (types)", "the mean of the four ACC; ACC (questions): the mean over all questions"),
)


@dataclass(frozen=True)
class BoardRow:
    """A run as a row: scores in 0..1 by type and column; None where a question lacks one.

    `n` are the questions by type, `correctness` the values of all questions.
    """

    title: str
    n: Mapping[str, int]
    scores: Mapping[tuple[str, str], float | None]
    correctness: tuple[float, ...]
    n_missing: int

    @property
    def of_types(self) -> float | None:
        """The mean of the four ACC; None where a type has none."""
        found = [self.scores[name, ACC] for name in TYPES]
        return fmean(one for one in found if one is not None) if None not in found else None


def board_row(run: StoredRun) -> BoardRow:
    """The scores of a run whose answers were judged.

    ROUGE-L is that of the released evaluation (with stemming). Raises UserError where the data set
    is not at hand or has other types, and where the answers were not judged for its metrics.
    """
    gold = _gold(run)
    judged = judged_scores(run.folder)
    values: dict[tuple[str, str], list[float]] = {}
    n: dict[str, int] = dict.fromkeys(TYPES, 0)
    missing = 0
    for name, row in run.rows.items():
        kind = gold[name].type
        if row["status"] != "answered" or kind not in TYPES:
            continue
        n[kind] += 1
        for column in TYPES[kind]:
            found = (
                rouge_l(str(row["answer"]), gold[name].answers[0])
                if column == ROUGE
                else judged.get(name, {}).get(JUDGED[column])
            )
            missing += found is None
            if found is not None:
                values.setdefault((kind, column), []).append(found)
    _refuse_unjudged(run, n, values)
    return BoardRow(
        title=str(run.metrics["title"]),
        n=n,
        scores={
            (kind, column): fmean(values[kind, column]) if (kind, column) in values else None
            for kind, columns in TYPES.items()
            for column in columns
        },
        correctness=tuple(one for kind in TYPES for one in values.get((kind, ACC), [])),
        n_missing=missing,
    )


def _gold(run: StoredRun) -> Mapping[str, Any]:
    """The gold of the set; raises UserError for a set without the four types."""
    if run.dataset is None:
        raise UserError(f"The data set of {run.folder.path} is not at hand; its types are needed.")
    if not {held.type for held in run.gold.values()} & set(TYPES):
        raise UserError(
            f"{run.metrics['dataset']} has no question of the types of GraphRAG-Bench "
            f"({', '.join(TYPES)}): run dataset=graphragbench_novel or graphragbench_medical."
        )
    return run.gold


def _refuse_unjudged(
    run: StoredRun, n: Mapping[str, int], values: Mapping[tuple[str, str], Sequence[float]]
) -> None:
    lacking = [
        JUDGED[column]
        for kind, columns in TYPES.items()
        for column in columns
        if n[kind] and column != ROUGE and (kind, column) not in values
    ]
    if lacking:
        names = ",".join(dict.fromkeys(lacking))
        raise UserError(
            f"{run.folder.path} is not judged for this table: graphrag-bench judge "
            f"{run.folder.path.name} --metrics {names} llm_judge=..."
        )


def rouge_l(answer: str, gold: str) -> float:
    """F1 of the longest common subsequence of stemmed words, in 0..1; 0 for an empty text."""
    if not answer.strip() or not gold.strip():
        return 0.0
    return float(_scorer().score(gold, answer)["rougeL"].fmeasure)


@lru_cache(maxsize=1)
def _scorer() -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise UserError(
            "ROUGE-L needs pip install 'graphrag-bench[metrics]' in this environment."
        ) from None
    return RougeScorer(["rougeL"], use_stemmer=True)


def board_table(rows: Sequence[BoardRow]) -> Table:
    """The table in its published layout: percentages with two decimals."""
    heads = tuple(f"{_short(kind)} {column}" for kind, columns in TYPES.items()
                  for column in columns)  # fmt: skip
    cells = tuple(
        (
            one.title,
            *(_percent(one.scores[kind, column]) for kind, columns in TYPES.items()
              for column in columns),
            _percent(one.of_types),
            _percent(fmean(one.correctness) if one.correctness else None),
        )
        for one in rows
    )  # fmt: skip
    notes = [
        f"{one.title}: n {', '.join(f'{count} {kind}' for kind, count in one.n.items())}"
        + (f"; {one.n_missing} values missing, in no mean" if one.n_missing else "")
        for one in rows
    ]
    head = ("method", *heads, "ACC (types)", "ACC (questions)")
    return Table("GraphRAG-Bench", head, cells, tuple(notes), about=_ABOUT)


def _short(kind: str) -> str:
    return kind.partition(" ")[0] if kind != "Contextual Summarize" else "Summarize"


def _percent(value: float | None) -> str:
    return MISSING if value is None else f"{100 * value:.2f}"


def predictions(run: StoredRun) -> list[dict[str, Any]]:
    """The answers in the form that the released evaluation reads, in the order of the set.

    Raises UserError where the contexts were not kept.
    """
    gold, dataset = _gold(run), run.dataset
    assert dataset is not None
    texts = context_texts(run.folder, run.rows, dataset)
    asked = {question.id: question for question in dataset.questions}
    answered = {name for name, row in run.rows.items() if row["status"] == "answered"}
    if lost := sorted(answered - set(texts)):
        raise UserError(
            f"{run.folder.path} has not kept the contexts of {len(lost)} answers (trace=off?), "
            f"which the evaluation reads: {', '.join(lost[:3])}"
        )
    return [
        {
            "id": name,
            "question": question.text,
            "source": question.scope or "",
            "context": list(texts[name]),
            "evidence": list(gold[name].statements),
            "question_type": gold[name].type,
            "generated_answer": run.rows[name]["answer"],
            "ground_truth": gold[name].answers[0] if gold[name].answers else "",
        }
        for name, question in asked.items()
        if name in answered
    ]


def write_board(runs: Sequence[StoredRun], rows: Sequence[BoardRow], folder: Path) -> list[Path]:
    """The files for the board: each run's answers and scores, and the table; what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    table = board_table(rows)
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows([table.heads, *table.rows])
    texts = {"board.md": markdown(table), "board.csv": lines.getvalue()}
    for run, row in zip(runs, rows, strict=True):
        name = f"{run.metrics['method']}-{run.folder.path.name}"
        texts[f"{name}.json"] = _json(predictions(run))
        texts[f"{name}.scores.json"] = _json(_scores(row))
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in sorted(texts)]


def _scores(row: BoardRow) -> dict[str, dict[str, float]]:
    """The scores by type under the names of the released evaluation."""
    return {
        kind: {
            _PUBLISHED[column]: found
            for column in columns
            if (found := row.scores[kind, column]) is not None
        }
        for kind, columns in TYPES.items()
    }


def _json(held: object) -> str:
    return json.dumps(held, ensure_ascii=False, indent=2) + "\n"
