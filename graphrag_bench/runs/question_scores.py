"""The metrics of one stored question: evidence, context, answer, and what a judge has said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_bench.config.settings import EvaluationSettings
from graphrag_bench.data.dataset import Dataset, Gold
from graphrag_bench.data.file_evidence import counted, name_of
from graphrag_bench.evaluation import retrieval
from graphrag_bench.evaluation.answer_form import abstained, answer_words
from graphrag_bench.evaluation.answer_metrics import (
    ANSWER_METRICS,
    DEFAULT_METRICS,
    AnsweredQuestion,
    check_metrics,
)
from graphrag_bench.evaluation.answers import Containment, Reading
from graphrag_bench.evaluation.contexts import Item, answer_within, evidence_within, spans_within
from graphrag_bench.evaluation.normalising import Normaliser
from graphrag_bench.runs.contexts import context_texts
from graphrag_bench.runs.folder import RunFolder
from graphrag_bench.runs.judged import judged_scores
from graphrag_bench.runs.record import Row, documents_in

CUTS = (2, 5, 10)
EVIDENCE_TOKENS = (500, 1000, 2000)
Judged = Mapping[str, Mapping[str, float | None]]
"""What was judged, by question and metric; None where the judge could not be read."""


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
    """The metrics of one question: evidence ones with evidence, answer ones with gold answers.

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
    found, wanted = counted(gold, row["documents"]), gold.evidence
    ranks = row.get("ranks") or range(1, len(found) + 1)
    scores = {}
    for k in cuts:
        within = sum(rank <= k for rank in ranks)
        scores[f"evidence_recall@{k}"] = retrieval.evidence_recall(found, wanted, within)
        scores[f"all_evidence@{k}"] = retrieval.all_evidence(found, wanted, within)
    scores |= {f"ndcg@{k}": retrieval.ndcg(found, wanted, k, ranks) for k in cuts}
    return scores | {"mrr": retrieval.reciprocal_rank(found, wanted, ranks)}


def _of_context(row: Row, gold: Gold, reading: Reading, scored: Scored) -> dict[str, float]:
    """Over what was packed into the prompt.

    `evidence_in_context` and `evidence_at_tokens@B` need items that all say which documents they
    are from; the metrics of texts need those that `contexts.jsonl` keeps. An empty context holds
    nothing and scores 0.
    """
    if "context" not in row:
        return {}
    items = _items(row, gold, scored.texts.get(row["question"], ()))
    told = not items or any(item.text is not None for item in items)
    scores: dict[str, float] = {}
    if gold.evidence:
        kept = [name for item in items for name in item.documents or ()]
        cut = [name_of(gold, one) for kind, one in row["context"].get("cut", ()) if kind == "chunk"]
        scores["evidence_cut"] = retrieval.evidence_cut(kept, cut, gold.evidence)
        if all(item.documents is not None for item in items):
            scores["evidence_in_context"] = evidence_within(items, gold.evidence)
            for n in scored.evidence_tokens:
                scores[f"evidence_at_tokens@{n}"] = evidence_within(items, gold.evidence, n)
    if gold.spans and told:
        scores["spans_in_context"] = spans_within(items, gold.spans, reading)
        for n in scored.evidence_tokens:
            scores[f"spans_at_tokens@{n}"] = spans_within(items, gold.spans, reading, n)
    wanted = gold.sub_answers or (gold.answers,)
    if told and (share := answer_within(items, wanted, reading)) is not None:
        scores["answer_in_context"] = share
    return scores


def _of_answer(row: Row, gold: Gold, reading: Reading, scored: Scored) -> dict[str, float]:
    answer = row["answer"]
    question = scored.questions.get(row["question"], "")
    asked = AnsweredQuestion(question, answer, gold, reading, scored.strict_none)
    scores: dict[str, float] = {}
    for name in scored.metrics:
        scores |= ANSWER_METRICS[name].values(asked)
    return scores | {"answer_words": answer_words(answer), "abstained": abstained(answer)}


def _items(row: Row, gold: Gold, texts: Sequence[str | None]) -> list[Item]:
    held = _pieces(row)
    known = texts if len(texts) == len(held) else [None] * len(held)
    return [
        Item(
            piece["kind"],
            name_of(gold, piece["id"]) if piece["kind"] == "chunk" else piece["id"],
            piece["tokens"],
            text,
            None
            if (held_by := documents_in(piece)) is None
            else tuple(name_of(gold, name) for name in held_by),
        )
        for piece, text in zip(held, known, strict=True)
    ]


def context_tokens(row: Row) -> int:
    """The tokens of the context of one row; 0 without a context."""
    return sum(piece["tokens"] for piece in _pieces(row))


def _pieces(row: Row) -> list[dict[str, Any]]:
    return list((row.get("context") or {}).get("pieces", ()))


def metric_names(dataset: Dataset, evaluation: EvaluationSettings) -> tuple[str, ...]:
    """The answer metrics of a set's card, four for none, and those asked for, each once.

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
    """How the rows of a run are scored; reads its context texts and what was judged."""
    return Scored(
        metrics=metric_names(dataset, evaluation),
        questions={question.id: question.text for question in dataset.questions},
        strict_none=evaluation.strict_none,
        normaliser=Normaliser(evaluation.normaliser, evaluation.accents),
        evidence_tokens=tuple(evaluation.evidence_tokens),
        texts=context_texts(folder, rows, dataset),
        judged=judged_scores(folder),
    )
