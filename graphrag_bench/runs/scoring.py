"""Stored rows and gold to metrics, in a separate pass that calls no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphrag_bench.data.dataset import Gold
from graphrag_bench.evaluation.answer_form import answer_words, gold_words
from graphrag_bench.evaluation.answer_metrics import metric_notes
from graphrag_bench.evaluation.answers import Containment
from graphrag_bench.evaluation.listed_answers import KGQA
from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.fingerprint import digest
from graphrag_bench.runs.question_scores import CUTS, Scored, context_tokens, question_scores
from graphrag_bench.runs.record import Row, is_imported


def score(
    rows: Sequence[Row],
    gold: Mapping[str, Gold],
    timing: Sequence[Row],
    cuts: Sequence[int] = CUTS,
    containment: Containment = "substring",
    *,
    scored: Scored = Scored(),  # noqa: B008 (frozen)
) -> dict[str, Any]:
    """What `metrics.json` holds: `n`, `failed`, `answered`, `metrics`, `usage` and the rest.

    Each metric has `mean`, `low`, `high` (95 % bootstrap interval), its own `n`, and, where
    questions share scopes, `clusters`, how many were drawn whole for the interval; metrics that no
    question can be scored by are left out. Failed questions are counted and not averaged.
    `answers_cut` is the share of the answers that ended at their limit.
    `fallbacks` counts the questions that went another way than the method's own, by reason, and
    `fell_back` all of them. `missing` counts the judgements that could not be read, by metric;
    `lengths` has the mean words of answers and of gold answers over the questions with both,
    `computed_by` the packages of the metrics that need one, `flags` what `containment_flag` says,
    and `contexts` the digest of all contexts (`contexts`).
    """
    values: dict[str, list[float]] = {}
    scopes: dict[str, list[str | None]] = {}
    alive = [row for row in rows if row["status"] != "failed"]
    answers = [row for row in rows if row["status"] == "answered"]
    for row in alive:
        of_question = question_scores(row, gold[row["question"]], cuts, containment, scored)
        for name, score_of_question in of_question.items():
            values.setdefault(name, []).append(score_of_question)
            scopes.setdefault(name, []).append(row.get("scope"))
    scores: dict[str, Any] = {
        "n": len(rows),
        "failed": len(rows) - len(alive),
        "answered": len(answers),
        "answers_cut": round(sum("answer_cut" in row for row in answers) / max(len(answers), 1), 4),
        "metrics": {
            name: mean_with_interval(held, scopes=scopes[name]).stored()
            for name, held in values.items()
        },
        "usage": _usage(rows, timing),
        "errors": _errors(rows),
        "rates": _rates(rows),
        "fell_back": sum("fallbacks" in row for row in rows),
        "fallbacks": _fallbacks(rows),
        "missing": _missing(alive, scored),
        "lengths": _lengths(alive, gold, scored),
        "computed_by": metric_notes(name for name in scored.metrics if name in values),
        "contexts": contexts(alive),
    }
    return scores | {"flags": [said for said in (containment_flag(scores),) if said]}


def contexts(rows: Iterable[Row]) -> dict[str, Any]:
    """The `digest` of what went into the prompts, and what the budget has room for; {} for nothing.

    The digest is of the kind, id and tokens of every piece, by question, so that texts alone may
    differ where they have the same length. `room` is the mean number of pieces of each kind over
    the contexts from which the budget cut some of it.
    """
    told: list[tuple[str, list[tuple[str, str, int]]]] = []
    room: dict[str, list[int]] = {}
    for row in rows:
        context = row.get("context") or {"pieces": ()}
        kinds = Counter(piece["kind"] for piece in context["pieces"])
        told.append(
            (row["question"], [(p["kind"], p["id"], p["tokens"]) for p in context["pieces"]])
        )
        for kind in {kind for kind, _ in context.get("cut", ())}:
            room.setdefault(kind, []).append(kinds[kind])
    if not any(pieces for _, pieces in told):
        return {}
    means = {kind: _mean(counts, 1) for kind, counts in sorted(room.items())}
    return {"digest": digest(sorted(told)), "room": means}


def _missing(rows: Sequence[Row], scored: Scored) -> dict[str, int]:
    counted = Counter(
        name
        for row in rows
        for name, value in scored.judged.get(row["question"], {}).items()
        if value is None
    )
    return dict(sorted(counted.items()))


def _lengths(rows: Sequence[Row], gold: Mapping[str, Gold], scored: Scored) -> dict[str, float]:
    together = KGQA in scored.metrics
    told: list[tuple[float, float]] = []
    for row in rows:
        held = gold[row["question"]]
        parts = [max(aliases, key=len) for aliases in held.sub_answers if aliases]
        wanted = gold_words(parts or held.answers, together=bool(parts) or together)
        if "answer" in row and wanted:
            told.append((answer_words(row["answer"]), wanted))
    if not told:
        return {}
    answers, golds = (sum(counts) / len(told) for counts in zip(*told, strict=True))
    return {"answer_words": round(answers, 2), "gold_words": round(golds, 2)}


CHUNK = "chunk"
LONG, A_SENTENCE, UNSHARED = 3, 20, 0.3
"""Beyond how many times the gold's words, and how many words, answers are long on average; and by
how much accuracy passes F1 when the words around a gold answer are many."""


def containment_flag(run: Mapping[str, Any]) -> str:
    """What a table says of a run whose accuracy comes from long answers; "" for none.

    A run is flagged when its answers have on average more than 3 times the words of the gold
    answers, and more than 20, while accuracy (a gold answer contained anywhere) is above F1 by 0.3
    or more. Without F1 among the metrics, accuracy itself is compared with 0.3. `run` is what
    `metrics.json` holds; one from before lengths were kept is never flagged.
    """
    lengths, metrics = run.get("lengths") or {}, run["metrics"]
    if not lengths or "accuracy" not in metrics:
        return ""
    long = lengths["answer_words"] > max(LONG * lengths["gold_words"], A_SENTENCE)
    above = metrics["accuracy"]["mean"] - metrics.get("f1", {"mean": 0.0})["mean"]
    if not long or round(above, 6) < UNSHARED:
        return ""
    return (
        f"accuracy counts a gold answer anywhere, and the answers have "
        f"{lengths['answer_words']:.0f} words on average (gold: {lengths['gold_words']:g}): "
        "read F1 or a judge's verdict instead"
    )


def _rates(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    totals: dict[str, Counter[str]] = {}
    for row in rows:
        for step, counts in row.get("steps", {}).items():
            totals.setdefault(step, Counter()).update(counts)
    return {step: shares(total) for step, total in sorted(totals.items())}


def shares(counts: Mapping[str, int]) -> dict[str, float]:
    """The calls, and the share of them that failed, was cut, unreadable, corrected or replaced."""
    names = ("failed", "truncated", "unreadable", "corrected", "fallbacks")
    calls = counts["calls"]
    return {"calls": calls} | {name: round(counts[name] / calls, 4) for name in names}


def _fallbacks(rows: Sequence[Row]) -> dict[str, int]:
    counted = Counter(reason for row in rows for reason in row.get("fallbacks", ()))
    return dict(sorted(counted.items(), key=_most_first))


def _errors(rows: Sequence[Row]) -> list[str]:
    counted = Counter(
        f"{row['error']['step']}: {row['error']['message'].splitlines()[0][:200]}"
        for row in rows
        if row["status"] == "failed"
    )
    return [f"{count} x {text}" for text, count in sorted(counted.items(), key=_most_first)]


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _chunks(row: Row) -> tuple[int, int]:
    context = row["context"]
    kept = sum(piece["kind"] == CHUNK for piece in context["pieces"])
    return kept, sum(kind == CHUNK for kind, _ in context["cut"])


_USAGE = (
    "calls", "prompt_tokens", "completion_tokens", "context_tokens_per_question",
    "chunks_per_context", "contexts_without_chunks", "tokens_per_question", "seconds_per_question",
)  # fmt: skip


def _usage(rows: Sequence[Row], timing: Sequence[Row]) -> Mapping[str, float | None]:
    """Sums over all questions, failed ones too, and means; seconds as the steps were run.

    None where rows do not tell: an imported run has no context, calls or seconds.
    """
    if any(map(is_imported, rows)):
        return dict.fromkeys(_USAGE)
    names = {row["question"] for row in rows}
    seconds: dict[tuple[str, str], float] = {}
    for row in timing:
        if row["question"] in names:
            seconds[row["question"], row["step"]] = row["seconds"]
    answered = [row for row in rows if row["status"] == "answered"]
    spent = [row["prompt_tokens"] + row["completion_tokens"] for row in answered]
    tokens = [context_tokens(row) for row in rows if row.get("context")]
    chunks = [_chunks(row) for row in rows if row.get("context")]
    return {
        "calls": sum(row["calls"] for row in rows),
        "prompt_tokens": sum(row["prompt_tokens"] for row in rows),
        "completion_tokens": sum(row["completion_tokens"] for row in rows),
        "context_tokens_per_question": _mean(tokens, 1),
        "chunks_per_context": _mean([kept for kept, _ in chunks], 2),
        "contexts_without_chunks": sum(cut > 0 and not kept for kept, cut in chunks),
        "tokens_per_question": _mean(spent, 1),
        "seconds_per_question": round(sum(seconds.values()) / max(len(rows), 1), 3),
        **_reports(rows),
    }


def _reports(rows: Sequence[Row]) -> dict[str, float]:
    held, cut = [], []
    for context in [row["context"] for row in rows if row.get("context")]:
        n_cut = sum(kind == "community" for kind, _ in context.get("cut", ()))
        n_kept = sum(piece["kind"] == "community" for piece in context["pieces"])
        if n_kept + n_cut:
            held.append(n_kept + n_cut)
            cut.append(n_cut)
    if not held:
        return {}
    return {"reports_per_question": _mean(held, 1), "reports_cut_per_question": _mean(cut, 1)}


def _mean(values: Sequence[int], decimals: int) -> float:
    return round(sum(values) / max(len(values), 1), decimals)
