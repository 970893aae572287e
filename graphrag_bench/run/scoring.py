"""Scores of stored results: metrics of evidence, context and answers, and judged values."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from graphrag_bench.arrays import unique
from graphrag_bench.config.settings import DatasetSettings, EvaluationSettings
from graphrag_bench.data.dataset import Dataset, Gold, evidence_name, evidence_names
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation import metrics as answer_metrics
from graphrag_bench.evaluation import retrieval
from graphrag_bench.evaluation.answers import Matching, abstains, answer_words, gold_words
from graphrag_bench.evaluation.listed_answers import KGQA
from graphrag_bench.evaluation.metrics import DEFAULT_METRICS
from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.fingerprint import digest
from graphrag_bench.run.folder import Row, RunFolder
from graphrag_bench.run.judged import judged_scores
from graphrag_bench.run.record import context_texts, documents_in


@dataclass(frozen=True)
class Scoring:
    """How questions are scored: the answer `metrics`, and the settings in `evaluation`.

    The other fields are keyed by question id: `questions` has the question, `texts` has the texts
    of the context (None if unknown), and `judged` has the values of judged metrics, by metric (None
    if unreadable).
    """

    metrics: tuple[str, ...] = DEFAULT_METRICS
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    questions: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str | None]] = field(default_factory=dict)  # of the context
    judged: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)


PLAIN = Scoring()


def scoring_of(
    dataset: Dataset, evaluation: EvaluationSettings, folder: RunFolder, rows: Mapping[str, Row]
) -> Scoring:
    """Return the scoring of a run, with the texts of its contexts and its judged values."""
    return Scoring(
        metric_names(dataset, evaluation), evaluation,
        {question.id: question.text for question in dataset.questions},
        context_texts(folder, rows, dataset), judged_scores(folder),
    )  # fmt: skip


def dataset_of(settings: DatasetSettings, home: str | Path, *, scored: bool = True) -> Dataset:
    """Read the data set of these settings. If `scored` is false, allow errors in the gold."""
    return read_dataset(
        settings.card or settings.name, settings.root, settings.openie, settings.own,
        home=home, questions=settings.questions, scored=scored,
    )  # fmt: skip


Datasets = dict[str, Dataset | UserError]
"""Data sets in memory, by `dataset_key`. If a data set cannot be read, its value is the error."""


def dataset_key(settings: DatasetSettings, home: str | Path) -> str:
    """Return the key of a data set in a cache of data sets."""
    return f"{Path(home).resolve()}: {settings.absolute.model_dump_json()}"


def metric_names(dataset: Dataset, evaluation: EvaluationSettings) -> tuple[str, ...]:
    """Return the answer metrics of a data set: its card's metrics, or else the default metrics.

    Metrics of options and sub-answers follow if the gold has any. `evaluation.metrics` come last.
    """
    golds, names = dataset.gold.values(), list(dataset.card.metrics or DEFAULT_METRICS)
    names += ["multiple_choice"] * any(gold.options for gold in golds)
    names += ["strrec", "strem", "strhit"] * any(gold.sub_answers for gold in golds)
    return unique([*names, *evaluation.metrics])


def check_scoring(dataset: Dataset, evaluation: EvaluationSettings, answering: bool = True) -> None:
    """Raise UserError for an unknown metric and, if `answering`, for a missing package."""
    card, check = dataset.card, answer_metrics.check_metrics
    check(evaluation.metrics, "evaluation.metrics", installed=answering)
    check(card.metrics, f"datasets/{card.name}/card.yaml", answering)


def question_scores(row: Row, gold: Gold, scoring: Scoring = PLAIN) -> dict[str, float]:
    """Return the metrics of a stored result that its gold allows, and readable judged values."""
    matching = Matching(scoring.evaluation.normaliser, scoring.evaluation.containment)
    scores = _of_evidence(row, gold, scoring.evaluation.cuts)
    scores |= _of_context(row, gold, scoring, matching)
    if (answer := row.get("answer")) is not None:
        text = scoring.questions.get(row["question"], "")
        answered = answer_metrics.AnsweredQuestion(text, answer, gold, matching)
        scores |= answer_metrics.metric_values(scoring.metrics, answered)
        scores |= {"answer_words": answer_words(answer), "abstained": abstains(answer)}
    judged = scoring.judged.get(row["question"], {})
    return scores | {name: value for name, value in judged.items() if value is not None}


def _of_evidence(row: Row, gold: Gold, cuts: Sequence[int]) -> dict[str, float]:
    if not gold.evidence or "documents" not in row:
        return {}
    documents, wanted = evidence_names(gold, row["documents"]), gold.evidence
    ranks = row.get("ranks") or range(1, len(documents) + 1)
    scores = {}
    for k in cuts:
        within = sum(rank <= k for rank in ranks)
        scores[f"evidence_recall@{k}"] = retrieval.evidence_recall(documents, wanted, within)
        scores[f"all_evidence@{k}"] = retrieval.all_evidence(documents, wanted, within)
    scores |= {f"ndcg@{k}": retrieval.ndcg(documents, gold.graded, k, ranks) for k in cuts}
    return scores | {"mrr": retrieval.reciprocal_rank(documents, wanted, ranks)}


def _of_context(row: Row, gold: Gold, scoring: Scoring, matching: Matching) -> dict[str, float]:
    """Return the metrics of the packed context. An empty context scores 0."""
    if "context" not in row:
        return {}
    pieces, items = _pieces(row), []
    texts = scoring.texts.get(row["question"]) or [None] * len(pieces)
    for piece, text in zip(pieces, texts, strict=True):
        documents = documents_in(piece)
        names = None if documents is None else tuple(evidence_name(gold, one) for one in documents)
        name = evidence_name(gold, piece["id"]) if piece["kind"] == "chunk" else piece["id"]
        items.append(retrieval.ContextItem(piece["kind"], name, piece["tokens"], text, names))
    has_texts = not items or any(item.text is not None for item in items)
    scores: dict[str, float] = {}
    shares: dict[str, Callable[..., float]] = {}
    if gold.evidence:
        packed = [name for item in items for name in item.documents or ()]
        dropped = row["context"].get("cut", ())
        cut = [evidence_name(gold, one) for kind, one in dropped if kind == "chunk"]
        scores["evidence_cut"] = retrieval.evidence_cut(packed, cut, gold.evidence)
        if all(item.documents is not None for item in items):  # else the evidence is unknown
            shares["evidence"] = partial(retrieval.evidence_within, items, gold.evidence)
    if gold.spans and has_texts:
        shares["spans"] = partial(retrieval.spans_within, items, gold.spans, matching)
    for kind, share in shares.items():
        scores[f"{kind}_in_context"] = share()
        scores |= {f"{kind}_at_tokens@{n}": share(n) for n in scoring.evaluation.evidence_tokens}
    wanted = gold.sub_answers or (gold.answers,)
    if has_texts and (found := retrieval.answer_within(items, wanted, matching)) is not None:
        scores["answer_in_context"] = found
    return scores


def context_tokens(row: Row) -> int:
    """Return the number of tokens in the context of a stored result."""
    return sum(piece["tokens"] for piece in _pieces(row))


def _pieces(row: Row) -> list[dict[str, Any]]:
    return list((row.get("context") or {}).get("pieces", ()))


def _kinds_cut(row: Row) -> Counter[str]:
    return Counter(kind for kind, _ in (row.get("context") or {}).get("cut", ()))


def score(
    rows: Sequence[Row], gold: Mapping[str, Gold], timing: Sequence[Row], scoring: Scoring = PLAIN
) -> dict[str, Any]:
    """Return the scores of stored results for `metrics.json`.

    `metrics` contains for each metric the `mean` over questions that did not fail, with its 95 %
    bootstrap interval. If questions share scopes, whole scopes are resampled, and `clusters` is the
    number of scopes. `answers_cut` is the fraction of answers cut at their limit. `missing` counts
    the unreadable judgements by metric. `computed_by` names packages that compute metrics.
    """
    alive = [row for row in rows if row["status"] != "failed"]
    answers = [row for row in rows if row["status"] == "answered"]
    values: dict[str, list[tuple[float, str | None]]] = {}
    for row in alive:
        for name, value in question_scores(row, gold[row["question"]], scoring).items():
            values.setdefault(name, []).append((value, row.get("scope")))
    judged = (scoring.judged.get(row["question"], {}) for row in alive)
    unread = Counter(name for of in judged for name, value in of.items() if value is None)
    failed = [row["error"] for row in rows if row["status"] == "failed"]
    errors = (f"{one['step']}: {one['message'].splitlines()[0][:200]}" for one in failed)
    fallbacks = (reason for row in rows for reason in row.get("fallbacks", ()))
    metrics = {}
    for name, pairs in values.items():
        numbers, scopes = zip(*pairs, strict=True)
        metrics[name] = mean_with_interval(numbers, scopes=scopes).stored()
    calls: dict[str, Counter[str]] = {}
    for step, counts in (item for row in rows for item in row.get("steps", {}).items()):
        calls.setdefault(step, Counter()).update(counts)
    lengths = _lengths(alive, gold, scoring)
    return {
        "n": len(rows),
        "failed": len(failed),
        "answered": len(answers),
        "answers_cut": round(sum("answer_cut" in row for row in answers) / max(len(answers), 1), 4),
        "metrics": metrics,
        "usage": _usage(rows, timing),
        "errors": [f"{n} x {text}" for text, n in Counter(sorted(errors)).most_common()],
        "rates": {step: shares(counts) for step, counts in sorted(calls.items())},
        "fell_back": sum("fallbacks" in row for row in rows),
        "fallbacks": dict(Counter(sorted(fallbacks)).most_common()),
        "missing": dict(sorted(unread.items())),
        "lengths": lengths,
        "computed_by": answer_metrics.metric_notes(filter(values.__contains__, scoring.metrics)),
        "contexts": contexts(alive),
        "flags": _flags(metrics, lengths),
    }


def contexts(rows: Iterable[Row]) -> dict[str, Any]:
    """Return a `digest` of all contexts and their `room`, or {} if all contexts are empty.

    `room` is, by kind, the mean number of texts in the contexts from which such texts were cut.
    """
    identities: dict[str, list[tuple[str, str, int]]] = {}
    room: dict[str, list[int]] = {}
    for row in rows:
        pieces = [(piece["kind"], piece["id"], piece["tokens"]) for piece in _pieces(row)]
        identities[row["question"]] = pieces
        for kind in _kinds_cut(row):
            room.setdefault(kind, []).append(sum(piece[0] == kind for piece in pieces))
    if not any(identities.values()):
        return {}
    means = {kind: _mean(counts, 1) for kind, counts in sorted(room.items())}
    return {"digest": digest(sorted(identities.items())), "room": means}


def _lengths(rows: Sequence[Row], gold: Mapping[str, Gold], scoring: Scoring) -> dict[str, float]:
    pairs = []
    for row in rows:
        of_question = gold[row["question"]]
        parts = [max(aliases, key=len) for aliases in of_question.sub_answers if aliases]
        together = bool(parts) or KGQA in scoring.metrics
        wanted = gold_words(parts or of_question.answers, together=together)
        if wanted and (answer := row.get("answer")) is not None:
            pairs.append((answer_words(answer), wanted))
    means = (round(fmean(words), 2) for words in zip(*pairs, strict=True))
    return dict(zip(("answer_words", "gold_words"), means, strict=False))


LONG, A_SENTENCE, UNSHARED = 3, 20, 0.3
"""A run gets a warning if its accuracy exceeds its F1 by at least 0.3 and its answers have, on
average, more than 20 words and more than 3 times the words of the gold."""


def _flags(metrics: Mapping[str, Any], lengths: Mapping[str, float]) -> list[str]:
    if not lengths or "accuracy" not in metrics:
        return []
    n_words, n_gold = lengths["answer_words"], lengths["gold_words"]
    above = metrics["accuracy"]["mean"] - metrics.get("f1", {"mean": 0.0})["mean"]
    if n_words <= max(LONG * n_gold, A_SENTENCE) or round(above, 6) < UNSHARED:
        return []
    words = f"answers have {n_words:.0f} words on average (gold: {n_gold:g})"
    return [f"accuracy accepts a gold answer anywhere in the text, and {words}; use F1 or a judge"]


def shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Return the number of `calls`, and the fraction of each kind of faulty call, e.g. `failed`."""
    names = ("failed", "truncated", "unreadable", "corrected", "fallbacks")
    calls = counts["calls"]
    return {"calls": calls} | {name: round(counts[name] / calls, 4) for name in names}


USAGE = (
    "calls", "prompt_tokens", "completion_tokens", "context_tokens_per_question",
    "chunks_per_context", "contexts_without_chunks", "tokens_per_question", "seconds_per_question",
)  # fmt: skip
"""Keys of the usage values in `metrics.json`. The first three values are sums over questions."""


def _usage(rows: Sequence[Row], timing: Sequence[Row]) -> Mapping[str, float | None]:
    if any("imported" in row for row in rows):
        return dict.fromkeys(USAGE)
    names = {row["question"] for row in rows}
    timed = (row for row in timing if row["question"] in names)
    seconds = {(row["question"], row["step"]): row["seconds"] for row in timed}
    answered = [row for row in rows if row["status"] == "answered"]
    with_context = [row for row in rows if row.get("context")]
    kinds = [Counter(piece["kind"] for piece in _pieces(row)) for row in with_context]
    counts = list(zip(kinds, map(_kinds_cut, with_context), strict=True))
    reports = [(n["community"], cut["community"]) for n, cut in counts]
    reports = [pair for pair in reports if any(pair)]
    usage: dict[str, float | None] = {name: sum(row[name] for row in rows) for name in USAGE[:3]}
    usage |= {
        "context_tokens_per_question": _mean(list(map(context_tokens, with_context)), 1),
        "chunks_per_context": _mean([n["chunk"] for n in kinds], 2),
        "contexts_without_chunks": sum(cut["chunk"] > 0 and not n["chunk"] for n, cut in counts),
        "tokens_per_question": _mean([sum(row[n] for n in USAGE[1:3]) for row in answered], 1),
        "seconds_per_question": round(sum(seconds.values()) / max(len(rows), 1), 3),
    }
    if reports:
        usage["reports_per_question"] = _mean(list(map(sum, reports)), 1)
        usage["reports_cut_per_question"] = _mean([cut for _, cut in reports], 1)
    return usage


def _mean(values: Sequence[int], decimals: int) -> float:
    return round(sum(values) / max(len(values), 1), decimals)
