"""Stored rows and gold to metrics, in a pass of its own that calls no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_bench.data.dataset import Gold
from graphrag_bench.evaluation.answers import METRICS, Containment, accuracy
from graphrag_bench.evaluation.listed_answers import KGQA, list_scores
from graphrag_bench.evaluation.retrieval import all_evidence, evidence_cut, evidence_recall
from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.runs.record import Row

CUTS = (2, 5, 10)


@dataclass(frozen=True)
class Scored:
    """Which answer metrics a set is scored by: those its card names, all of METRICS for none.

    `questions` are the texts by id, which the metrics of listed answers read; `strict_none` as of
    `predictions`.
    """

    metrics: tuple[str, ...] = ()
    questions: Mapping[str, str] = field(default_factory=dict)
    strict_none: bool = False

    def holds(self, name: str) -> bool:
        """Whether the set is scored by that metric."""
        return name in (self.metrics or METRICS)


def question_scores(
    row: Row,
    gold: Gold,
    cuts: Sequence[int] = CUTS,
    containment: Containment = "substring",
    scored: Scored = Scored(),  # noqa: B008 (frozen)
) -> dict[str, float]:
    """The metrics of one question: evidence ones with evidence, answer ones with gold answers."""
    scores: dict[str, float] = {}
    if gold.evidence and "documents" in row:
        for k in cuts:
            scores[f"evidence_recall@{k}"] = evidence_recall(row["documents"], gold.evidence, k)
            scores[f"all_evidence@{k}"] = all_evidence(row["documents"], gold.evidence, k)
    if gold.evidence and "context" in row:
        kept = [piece["id"] for piece in _pieces(row) if piece["kind"] == "chunk"]
        scores["evidence_cut"] = evidence_cut(kept, _cut(row), gold.evidence)
    if gold.answers and "answer" in row:
        given, wanted = row["answer"], gold.answers
        for name, metric in METRICS.items():
            if name == "accuracy" and scored.holds(name):
                scores[name] = accuracy(given, wanted, containment)
            elif scored.holds(name):
                scores[name] = metric(given, wanted)
        if scored.holds(KGQA):
            scores |= _of_list(row, gold, scored)
    return scores


def _of_list(row: Row, gold: Gold, scored: Scored) -> dict[str, float]:
    """The metrics of a listed answer, and once more where the subgraph holds a gold answer."""
    asked = scored.questions.get(row["question"], "")
    found = list_scores(row["answer"], gold.answers, asked, strict_none=scored.strict_none)
    scores = {
        "hit@1": found.hit_at_1,
        "hit": found.hit,
        "list_precision": found.precision,
        "list_recall": found.recall,
        "list_f1": found.f1,
    }
    return scores | ({f"{k}_in_graph": v for k, v in scores.items()} if gold.in_graph else {})


def score(
    rows: Sequence[Row],
    gold: Mapping[str, Gold],
    timing: Sequence[Row],
    cuts: Sequence[int] = CUTS,
    containment: Containment = "substring",
    *,
    scored: Scored = Scored(),  # noqa: B008 (frozen)
) -> dict[str, Any]:
    """What `metrics.json` holds: `n`, `failed`, `answered`, `metrics` and `usage`.

    Each metric has `mean`, `low`, `high` (95 % bootstrap interval), its own `n`, and where questions
    share scopes `clusters`, how many were drawn whole for the interval; metrics that no question
    can be scored by are left out. Failed questions are counted and not averaged.
    """
    values: dict[str, list[float]] = {}
    scopes: dict[str, list[str | None]] = {}
    alive = [row for row in rows if row["status"] != "failed"]
    for row in alive:
        found = question_scores(row, gold[row["question"]], cuts, containment, scored)
        for name, score_of_question in found.items():
            values.setdefault(name, []).append(score_of_question)
            scopes.setdefault(name, []).append(row.get("scope"))
    return {
        "n": len(rows),
        "failed": len(rows) - len(alive),
        "answered": sum(row["status"] == "answered" for row in rows),
        "metrics": {
            name: mean_with_interval(held, scopes=scopes[name]).stored()
            for name, held in values.items()
        },
        "usage": _usage(rows, timing),
        "errors": _errors(rows),
        "rates": _rates(rows),
    }


def _rates(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """For each step that calls a model: its calls, and shares of them that went wrong, in 0..1."""
    totals: dict[str, Counter[str]] = {}
    for row in rows:
        for step, counts in row.get("steps", {}).items():
            totals.setdefault(step, Counter()).update(counts)
    names = ("failed", "truncated", "unreadable", "corrected", "fallbacks")
    return {
        step: {"calls": total["calls"]}
        | {name: round(total[name] / total["calls"], 4) for name in names}
        for step, total in sorted(totals.items())
    }


def _errors(rows: Sequence[Row]) -> list[str]:
    """What failed, as "count x step: message", the most frequent first."""
    counted = Counter(
        f"{row['error']['step']}: {row['error']['message'].splitlines()[0][:200]}"
        for row in rows
        if row["status"] == "failed"
    )
    return [f"{count} x {text}" for text, count in sorted(counted.items(), key=_most_first)]


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _usage(rows: Sequence[Row], timing: Sequence[Row]) -> dict[str, float]:
    """Sums over all questions, failed ones too, and means; seconds as the steps were run."""
    names = {row["question"] for row in rows}
    seconds: dict[tuple[str, str], float] = {}
    for row in timing:
        if row["question"] in names:
            seconds[row["question"], row["step"]] = row["seconds"]
    n = max(len(rows), 1)
    answered = [row for row in rows if row["status"] == "answered"]
    tokens = [context_tokens(row) for row in rows if row.get("context")]
    return {
        "calls": sum(row["calls"] for row in rows),
        "prompt_tokens": sum(row["prompt_tokens"] for row in rows),
        "completion_tokens": sum(row["completion_tokens"] for row in rows),
        "context_tokens_per_question": round(sum(tokens) / max(len(tokens), 1), 1),
        "tokens_per_question": round(
            sum(r["prompt_tokens"] + r["completion_tokens"] for r in answered)
            / max(len(answered), 1),
            1,
        ),  # fmt: skip
        "seconds_per_question": round(sum(seconds.values()) / n, 3),
    }


def context_tokens(row: Row) -> int:
    """The tokens of the context of one row; 0 without a context."""
    return sum(piece["tokens"] for piece in _pieces(row))


def _cut(row: Row) -> list[str]:
    """The documents of the chunks that the budget cut from the context."""
    return [name for kind, name in row["context"].get("cut", ()) if kind == "chunk"]


def _pieces(row: Row) -> list[dict[str, Any]]:
    context: dict[str, Any] = row.get("context") or {}
    pieces: list[dict[str, Any]] = context.get("pieces", [])
    return pieces
