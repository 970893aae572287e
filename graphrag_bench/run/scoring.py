"""The metrics of stored questions: evidence, context, answer, and judged values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_bench.config.settings import EvaluationSettings
from graphrag_bench.data.dataset import Dataset, Gold, counted, name_of
from graphrag_bench.evaluation import retrieval
from graphrag_bench.evaluation.answers import (
    Containment,
    Normaliser,
    Reading,
    abstained,
    answer_words,
    gold_words,
)
from graphrag_bench.evaluation.listed_answers import KGQA
from graphrag_bench.evaluation.metrics import (
    ANSWER_METRICS,
    DEFAULT_METRICS,
    AnsweredQuestion,
    check_metrics,
    metric_notes,
)
from graphrag_bench.evaluation.retrieval import Item, answer_within, evidence_within, spans_within
from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.fingerprint import digest
from graphrag_bench.run.folder import Row, RunFolder
from graphrag_bench.run.judged import judged_scores
from graphrag_bench.run.record import context_texts, documents_in, is_imported

CHUNK = "chunk"
CUTS = (2, 5, 10)
EVIDENCE_TOKENS = (500, 1000, 2000)
Judged = Mapping[str, Mapping[str, float | None]]
"""Judged values by question and metric; None where the reply could not be read."""


@dataclass(frozen=True)
class Scored:
    """How a set is scored: `metrics` are those of answers.

    `questions` are the texts by id, which the metrics of listed answers read; `strict_none` as of
    `predictions`. `texts` are those of each question's context, None for a text that is not known;
    `judged` is what a judge has said of the answers.
    """

    metrics: tuple[str, ...] = DEFAULT_METRICS
    questions: Mapping[str, str] = field(default_factory=dict)
    strict_none: bool = False
    normaliser: Normaliser = field(default_factory=Normaliser)
    evidence_tokens: tuple[int, ...] = EVIDENCE_TOKENS
    texts: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    judged: Judged = field(default_factory=dict)


def question_scores(
    row: Row,
    gold: Gold,
    cuts: Sequence[int] = CUTS,
    containment: Containment = "substring",
    scored: Scored = Scored(),  # noqa: B008 (frozen)
) -> dict[str, float]:
    """Return the metrics of one question, those that its evidence and gold answers allow.

    `answer_words` and `abstained` are of every answer. What was judged is added; a judgement that
    could not be read is missing, never 0.
    """
    reading = Reading(scored.normaliser, containment)
    scores = _of_evidence(row, gold, cuts) | _of_context(row, gold, reading, scored)
    if "answer" in row:
        scores |= _of_answer(row, gold, reading, scored)
    judged = scored.judged.get(row["question"], {})
    return scores | {name: value for name, value in judged.items() if value is not None}


def _of_evidence(row: Row, gold: Gold, cuts: Sequence[int]) -> dict[str, float]:
    if not gold.evidence or "documents" not in row:
        return {}
    documents, wanted = counted(gold, row["documents"]), gold.evidence
    ranks = row.get("ranks") or range(1, len(documents) + 1)
    scores = {}
    for k in cuts:
        within = sum(rank <= k for rank in ranks)
        scores[f"evidence_recall@{k}"] = retrieval.evidence_recall(documents, wanted, within)
        scores[f"all_evidence@{k}"] = retrieval.all_evidence(documents, wanted, within)
    scores |= {f"ndcg@{k}": retrieval.ndcg(documents, wanted, k, ranks) for k in cuts}
    return scores | {"mrr": retrieval.reciprocal_rank(documents, wanted, ranks)}


def _of_context(row: Row, gold: Gold, reading: Reading, scored: Scored) -> dict[str, float]:
    """Over what was packed into the prompt.

    `evidence_in_context` and `evidence_at_tokens@B` need items that all say which documents they
    are from; the metrics of texts need those that `contexts.jsonl` keeps. An empty context holds
    nothing and scores 0.
    """
    if "context" not in row:
        return {}
    items = _items(row, gold, scored.texts.get(row["question"], ()))
    has_texts = not items or any(item.text is not None for item in items)
    scores: dict[str, float] = {}
    if gold.evidence:
        packed = [name for item in items for name in item.documents or ()]
        cut = [name_of(gold, one) for kind, one in row["context"].get("cut", ()) if kind == CHUNK]
        scores["evidence_cut"] = retrieval.evidence_cut(packed, cut, gold.evidence)
        if all(item.documents is not None for item in items):
            scores["evidence_in_context"] = evidence_within(items, gold.evidence)
            for n in scored.evidence_tokens:
                scores[f"evidence_at_tokens@{n}"] = evidence_within(items, gold.evidence, n)
    if gold.spans and has_texts:
        scores["spans_in_context"] = spans_within(items, gold.spans, reading)
        for n in scored.evidence_tokens:
            scores[f"spans_at_tokens@{n}"] = spans_within(items, gold.spans, reading, n)
    wanted = gold.sub_answers or (gold.answers,)
    if has_texts and (share := answer_within(items, wanted, reading)) is not None:
        scores["answer_in_context"] = share
    return scores


def _of_answer(row: Row, gold: Gold, reading: Reading, scored: Scored) -> dict[str, float]:
    answer = row["answer"]
    question = scored.questions.get(row["question"], "")
    answered = AnsweredQuestion(question, answer, gold, reading, scored.strict_none)
    scores: dict[str, float] = {}
    for name in scored.metrics:
        scores |= ANSWER_METRICS[name].values(answered)
    return scores | {"answer_words": answer_words(answer), "abstained": abstained(answer)}


def _items(row: Row, gold: Gold, texts: Sequence[str | None]) -> list[Item]:
    pieces = _pieces(row)
    items = []
    known = texts if len(texts) == len(pieces) else [None] * len(pieces)
    for piece, text in zip(pieces, known, strict=True):
        documents = documents_in(piece)
        names = None if documents is None else tuple(name_of(gold, one) for one in documents)
        name = name_of(gold, piece["id"]) if piece["kind"] == CHUNK else piece["id"]
        items.append(Item(piece["kind"], name, piece["tokens"], text, names))
    return items


def context_tokens(row: Row) -> int:
    """Return the tokens of the context of one row; 0 without a context."""
    return sum(piece["tokens"] for piece in _pieces(row))


def _pieces(row: Row) -> list[dict[str, Any]]:
    return list((row.get("context") or {}).get("pieces", ()))


def metric_names(dataset: Dataset, evaluation: EvaluationSettings) -> tuple[str, ...]:
    """Return the answer metrics of a set's card, four for none, and those asked for, each once.

    A set with options or sub-answers is scored by what they are for, whatever its card names.
    """
    named = dataset.card.metrics or DEFAULT_METRICS
    golds = dataset.gold.values()
    options = ["multiple_choice"] if any(gold.options for gold in golds) else []
    parts = ["strrec", "strem", "strhit"] if any(gold.sub_answers for gold in golds) else []
    return tuple(dict.fromkeys([*named, *options, *parts, *evaluation.metrics]))


def check_scoring(dataset: Dataset, evaluation: EvaluationSettings, answering: bool = True) -> None:
    """Refuse a metric that there is not, or, where answers are scored, whose package is missing.

    Raises UserError, which names the nearest metrics or the line that installs the package.
    """
    check_metrics(evaluation.metrics, "evaluation.metrics", installed=answering)
    check_metrics(dataset.card.metrics, f"datasets/{dataset.card.name}/card.yaml", answering)


def scored_by(
    dataset: Dataset, evaluation: EvaluationSettings, folder: RunFolder, rows: Mapping[str, Row]
) -> Scored:
    """Return how the rows of a run are scored; reads its context texts and judged values."""
    return Scored(
        metrics=metric_names(dataset, evaluation),
        questions={question.id: question.text for question in dataset.questions},
        strict_none=evaluation.strict_none,
        normaliser=Normaliser(evaluation.normaliser, evaluation.accents),
        evidence_tokens=tuple(evaluation.evidence_tokens),
        texts=context_texts(folder, rows, dataset),
        judged=judged_scores(folder),
    )


def score(
    rows: Sequence[Row],
    gold: Mapping[str, Gold],
    timing: Sequence[Row],
    cuts: Sequence[int] = CUTS,
    containment: Containment = "substring",
    *,
    scored: Scored = Scored(),  # noqa: B008 (frozen)
) -> dict[str, Any]:
    """Return what `metrics.json` holds: `n`, `failed`, `answered`, `metrics`, `usage` and the rest.

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
            name: mean_with_interval(numbers, scopes=scopes[name]).stored()
            for name, numbers in values.items()
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
    return scores | {"flags": [flag for flag in (containment_flag(scores),) if flag]}


def contexts(rows: Iterable[Row]) -> dict[str, Any]:
    """Return the `digest` of all contexts, and what the budget has room for; {} for no context.

    The digest is of the kind, id and tokens of every piece, by question, so that texts alone may
    differ where they have the same length. `room` is the mean number of pieces of each kind over
    the contexts from which the budget cut some of it.
    """
    identities: list[tuple[str, list[tuple[str, str, int]]]] = []
    room: dict[str, list[int]] = {}
    for row in rows:
        pieces = [(piece["kind"], piece["id"], piece["tokens"]) for piece in _pieces(row)]
        identities.append((row["question"], pieces))
        kinds = Counter(kind for kind, _, _ in pieces)
        for kind in {kind for kind, _ in (row.get("context") or {}).get("cut", ())}:
            room.setdefault(kind, []).append(kinds[kind])
    if not any(pieces for _, pieces in identities):
        return {}
    means = {kind: _mean(counts, 1) for kind, counts in sorted(room.items())}
    return {"digest": digest(sorted(identities)), "room": means}


def _missing(rows: Sequence[Row], scored: Scored) -> dict[str, int]:
    counted = Counter(
        name
        for row in rows
        for name, value in scored.judged.get(row["question"], {}).items()
        if value is None
    )
    return dict(sorted(counted.items()))


def _lengths(rows: Sequence[Row], gold: Mapping[str, Gold], scored: Scored) -> dict[str, float]:
    lengths: list[tuple[float, float]] = []
    for row in rows:
        of_question = gold[row["question"]]
        parts = [max(aliases, key=len) for aliases in of_question.sub_answers if aliases]
        together = bool(parts) or KGQA in scored.metrics
        wanted = gold_words(parts or of_question.answers, together=together)
        if "answer" in row and wanted:
            lengths.append((answer_words(row["answer"]), wanted))
    if not lengths:
        return {}
    answers, golds = (sum(counts) / len(lengths) for counts in zip(*lengths, strict=True))
    return {"answer_words": round(answers, 2), "gold_words": round(golds, 2)}


LONG, A_SENTENCE, UNSHARED = 3, 20, 0.3
"""Beyond how many times the gold's words, and how many words, answers are long on average; and by
how much accuracy passes F1 when the words around a gold answer are many."""


def containment_flag(run: Mapping[str, Any]) -> str:
    """Return the note on a run whose accuracy comes from long answers; "" for none.

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
    """Return the calls, and the shares that failed, were cut, unreadable, corrected or replaced."""
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
    packed = sum(piece["kind"] == CHUNK for piece in context["pieces"])
    return packed, sum(kind == CHUNK for kind, _ in context["cut"])


_USAGE = (
    "calls", "prompt_tokens", "completion_tokens", "context_tokens_per_question",
    "chunks_per_context", "contexts_without_chunks", "tokens_per_question", "seconds_per_question",
)  # fmt: skip


def _usage(rows: Sequence[Row], timing: Sequence[Row]) -> Mapping[str, float | None]:
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
        "chunks_per_context": _mean([packed for packed, _ in chunks], 2),
        "contexts_without_chunks": sum(cut > 0 and not packed for packed, cut in chunks),
        "tokens_per_question": _mean(spent, 1),
        "seconds_per_question": round(sum(seconds.values()) / max(len(rows), 1), 3),
        **_reports(rows),
    }


def _reports(rows: Sequence[Row]) -> dict[str, float]:
    totals, cuts = [], []
    for context in [row["context"] for row in rows if row.get("context")]:
        n_cut = sum(kind == "community" for kind, _ in context.get("cut", ()))
        n_packed = sum(piece["kind"] == "community" for piece in context["pieces"])
        if n_packed + n_cut:
            totals.append(n_packed + n_cut)
            cuts.append(n_cut)
    if not totals:
        return {}
    return {"reports_per_question": _mean(totals, 1), "reports_cut_per_question": _mean(cuts, 1)}


def _mean(values: Sequence[int], decimals: int) -> float:
    return round(sum(values) / max(len(values), 1), decimals)
