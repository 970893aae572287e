"""How the questions of a run are scored: the set's metrics and what `evaluation.` asks for."""

from __future__ import annotations

from collections.abc import Mapping

from graphrag_bench.config.settings import EvaluationSettings
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.evaluation.answer_metrics import DEFAULT_METRICS, check_metrics
from graphrag_bench.evaluation.normalising import Normaliser
from graphrag_bench.runs.contexts import context_texts
from graphrag_bench.runs.folder import RunFolder
from graphrag_bench.runs.judged_scores import judged_scores
from graphrag_bench.runs.question_scores import Scored
from graphrag_bench.runs.record import Row


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
