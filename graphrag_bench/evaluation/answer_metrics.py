"""The answer metrics by name: what a card's `metrics` and `evaluation.metrics` may list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.answers import (
    Reading,
    accuracy,
    exact_match,
    f1,
    recall,
    recall_concat,
    str_scores,
)
from graphrag_bench.evaluation.choices import choice_scores
from graphrag_bench.evaluation.listed_answers import KGQA, LISTED, list_scores
from graphrag_bench.evaluation.reference_texts import bleu, meteor, notes, rouge


@dataclass(frozen=True)
class AnsweredQuestion:
    """One answered question: its text, the answer, its gold, and how answers are compared."""

    question: str
    answer: str
    gold: Gold
    reading: Reading
    strict_none: bool = False


Scores = dict[str, float]


@dataclass(frozen=True)
class AnswerMetric:
    """A metric: what it measures, its values by name, and the package that it is computed by.

    `values` is {} for a question whose gold lacks what the metric needs. `gives` are the names of
    the values where they are not the metric's own.
    """

    meaning: str
    values: Callable[[AnsweredQuestion], Scores]
    package: str = ""
    gives: tuple[str, ...] = ()


def _of_answers(name: str, metric: Callable[[str, Sequence[str], Reading], float]) -> AnswerMetric:
    def values(asked: AnsweredQuestion) -> Scores:
        golds = asked.gold.answers
        return {name: metric(asked.answer, golds, asked.reading)} if golds else {}

    return AnswerMetric((metric.__doc__ or "").partition("\n")[0].rstrip("."), values)


def _of_parts(name: str, meaning: str) -> AnswerMetric:
    def values(asked: AnsweredQuestion) -> Scores:
        parts = asked.gold.sub_answers
        return {name: str_scores(asked.answer, parts, asked.reading)[name]} if parts else {}

    return AnswerMetric(meaning, values)


def _of_options(asked: AnsweredQuestion) -> Scores:
    gold = asked.gold
    if not gold.options or gold.correct is None:
        return {}
    return choice_scores(asked.answer, gold.options, gold.correct, asked.reading)


def _of_texts(
    name: str, meaning: str, package: str, metric: Callable[[str, Sequence[str]], float]
) -> AnswerMetric:
    def values(asked: AnsweredQuestion) -> Scores:
        return {name: metric(asked.answer, asked.gold.answers)} if asked.gold.answers else {}

    return AnswerMetric(meaning, values, package)


def _of_list(asked: AnsweredQuestion) -> Scores:
    gold = asked.gold
    if not gold.answers:
        return {}
    scores = list_scores(asked.answer, gold.answers, asked.question, strict_none=asked.strict_none)
    again = {f"{name}_in_graph": value for name, value in scores.items()}
    return scores | again if gold.in_graph else scores


ANSWER_METRICS: dict[str, AnswerMetric] = {
    "accuracy": _of_answers("accuracy", accuracy),
    "recall": _of_answers("recall", recall),
    "recall_concat": _of_answers("recall_concat", recall_concat),
    "exact_match": _of_answers("exact_match", exact_match),
    "f1": _of_answers("f1", f1),
    "strrec": _of_parts("strrec", "The share of the sub-answers found (ALCE)"),
    "strem": _of_parts("strem", "Whether all sub-answers are found (ALCE)"),
    "strhit": _of_parts("strhit", "Whether any sub-answer is found (ALCE)"),
    "multiple_choice": AnswerMetric(
        "Whether the right option is chosen; option_unread: whether none can be read", _of_options
    ),
    KGQA: AnswerMetric(
        "Listed answers: hit@1, hit, list_precision, list_recall, list_f1",
        _of_list,
        gives=(*LISTED, *(f"{name}_in_graph" for name in LISTED)),
    ),
    **{
        f"bleu_{n}": _of_texts(
            f"bleu_{n}", f"Cumulative BLEU-{n} of words", "sacrebleu", partial(bleu, order=n)
        )
        for n in (1, 2)
    },
    **{
        f"rouge_{n}": _of_texts(
            f"rouge_{n}",
            f"ROUGE-{n.upper()} F1 of words",
            "rouge-score",
            partial(rouge, kind=f"rouge{n.upper()}"),
        )  # fmt: skip
        for n in ("1", "2", "l")
    },
    "meteor": _of_texts("meteor", "METEOR of words", "nltk", meteor),
}
"""Every answer metric by name; what it gives is the better the higher, but for option_unread."""

_MODULES = {"rouge-score": "rouge_score"}


def check_metrics(names: Iterable[str], where: str, installed: bool = True) -> None:
    """Raise UserError for a name that is not a metric, with the nearest that are.

    With `installed` also for one whose package is missing, with the line that installs it.
    """
    for name in names:
        if name not in ANSWER_METRICS:
            hint = did_you_mean(name, ANSWER_METRICS)
            raise UserError(f"{where}: there is no metric '{name}'. {hint}")
        package = ANSWER_METRICS[name].package
        if installed and package and find_spec(_MODULES.get(package, package)) is None:
            raise UserError(
                f"{where}: the metric '{name}' needs the package {package}, which is not "
                "installed: pip install 'graphrag-bench[metrics]'."
            )


def metric_notes(names: Iterable[str]) -> list[str]:
    """The packages that these metrics were computed by, with versions, each once, sorted."""
    return sorted({notes(found) for name in names if (found := ANSWER_METRICS[name].package)})


DEFAULT_METRICS = ("accuracy", "recall", "exact_match", "f1")
"""What a set is scored by whose card names no metric."""
