"""All metrics with their names, sources and meanings, and whether higher values are better."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Literal

from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import MissingPackage, UserError, unknown
from graphrag_bench.evaluation import answers
from graphrag_bench.evaluation.answers import Matching
from graphrag_bench.evaluation.listed_answers import KGQA, LISTED, choice_scores, list_scores

DEFAULT_METRICS = ("accuracy", "recall", "exact_match", "f1")
"""Metrics of a data set whose card (the YAML file that describes the data set) lists no metrics."""
CUTOFF, TOKENS = "@k", "@B"
"""Suffixes of metric names, for values of `evaluation.cuts` and `evaluation.evidence_tokens`."""
MetricSource = Literal["retrieved", "context", "answer", "judge"]
"""What a metric evaluates. The source `judge` means that a judge model evaluates the answer."""


@dataclass(frozen=True)
class AnsweredQuestion:
    """Question with its answer, its gold data, and settings for comparing answers."""

    question: str
    answer: str
    gold: Gold
    matching: Matching


@dataclass(frozen=True)
class Metric:
    """Metric with its name, meaning and direction.

    `values` returns the values for one answer by name, or {} if the required gold data is missing.
    It needs the optional `package`. A metric without `values` cannot be listed in a card or in
    `evaluation.metrics`. `gives` lists the names of the values if there are several.
    """

    name: str
    source: MetricSource
    meaning: str
    more_is_better: bool = True
    values: Callable[[AnsweredQuestion], dict[str, float]] | None = None
    package: str = ""
    gives: tuple[str, ...] = ()

    def names(self, cuts: Sequence[int], tokens: Sequence[int]) -> list[str]:
        """Return the names of the metric in a run with these cutoff ranks and token limits.

        >>> Metric("ndcg@k", "retrieved", "").names(cuts=[2, 5], tokens=[])
        ['ndcg@2', 'ndcg@5']
        """
        for sign, values in ((CUTOFF, cuts), (TOKENS, tokens)):
            if self.name.endswith(sign):
                return [f"{self.name.removesuffix(sign)}@{value}" for value in values]
        return [self.name]


Compare = Callable[..., float | dict[str, float]]


def _metric(
    name: str, meaning: str, metric: Compare, needs: str = "answers", package: str = ""
) -> Metric:
    def values(answered: AnsweredQuestion) -> dict[str, float]:
        if not (wanted := getattr(answered.gold, needs)):
            return {}
        matching = () if package else (answered.matching,)  # packages compare plain words
        value = metric(answered.answer, wanted, *matching)
        return {name: value[name] if isinstance(value, dict) else value}

    return Metric(name, "answer", meaning, values=values, package=package)


def _choices(one: AnsweredQuestion) -> dict[str, float]:
    if not one.gold.options or one.gold.correct is None:
        return {}
    return choice_scores(one.answer, one.gold.options, one.gold.correct, one.matching)


def _lists(one: AnsweredQuestion) -> dict[str, float]:
    golds = one.gold.answers
    scores = list_scores(one.answer, golds, one.question) if golds else {}
    again = {f"{name}_in_graph": value for name, value in scores.items()}
    return scores | again if one.gold.in_graph else scores


_CONTEXT_METRICS = (
    Metric("evidence_recall@k", "retrieved", "Recall of the gold documents in the first k"),
    Metric("all_evidence@k", "retrieved", "Whether all gold documents are among the first k"),
    Metric("ndcg@k", "retrieved", "nDCG of the first k documents, with grades as gains"),
    Metric("mrr", "retrieved", "1 / rank of the first gold document"),
    Metric("evidence_in_context", "context", "Recall of the gold documents in the context"),
    Metric("evidence_at_tokens@B", "context", "Recall of the gold documents in the first B tokens"),
    Metric("spans_at_tokens@B", "context", "Recall of the gold sentences in the first B tokens"),
    Metric("spans_in_context", "context", "Recall of the gold sentences in the context"),
    Metric("answer_in_context", "context", "Recall of the gold answers in the context"),
    Metric("evidence_cut", "context", "Whether the budget removed a gold document", False),
)
_ANSWER_METRICS = (
    _metric("accuracy", "Whether the answer contains a gold answer", answers.accuracy),
    _metric("recall", "Highest token recall over the gold answers", answers.recall),
    _metric("recall_concat", "Token recall of all gold answers together", answers.recall_concat),
    _metric("exact_match", "Whether the answer equals a gold answer", answers.exact_match),
    _metric("f1", "Highest token F1 over the gold answers", answers.f1),
    _metric("strrec", "Recall of the sub-answers (ALCE)", answers.str_scores, "sub_answers"),
    _metric("strem", "Whether all sub-answers are found (ALCE)", answers.str_scores, "sub_answers"),
    _metric("strhit", "Whether any sub-answer is found (ALCE)", answers.str_scores, "sub_answers"),
    Metric("multiple_choice", "answer", "Whether the right option is chosen", values=_choices),
    Metric(KGQA, "answer", "Listed answers: hit@1, hit, list_precision, list_recall, list_f1",
           values=_lists, gives=(*LISTED, *(f"{name}_in_graph" for name in LISTED))),
    *(_metric(f"bleu_{n}", f"Cumulative BLEU-{n}", partial(answers.bleu, order=n),
              package="sacrebleu") for n in (1, 2)),
    *(_metric(f"rouge_{n.lower()}", f"ROUGE-{n} F1", partial(answers.rouge, kind=f"rouge{n}"),
              package="rouge-score") for n in "12L"),
    _metric("meteor", "METEOR", answers.meteor, package="nltk"),
)  # fmt: skip
_OTHER_METRICS = (
    Metric("option_unread", "answer", "Whether it is unclear which option is chosen", False),
    Metric("answer_words", "answer", "Number of words in the answer", False),
    Metric("abstained", "answer", "Whether the answer abstains", False),
    *(Metric(name, "judge", meaning) for name, meaning in {
        "judged_correctness": "Whether the answer states the gold answer and no other answer",
        "faithfulness": "Fraction of the answer's statements supported by the context",
        "answer_relevance": "Similarity of the question and questions made from the answer",
        "context_recall": "Recall of the gold answer's statements in the context",
        "context_precision": "Mean precision@k over the ranks k of useful passages",
        "answer_correctness": "F1 of the answer's statements, combined with similarity to the gold "
                              "answer",
        "coverage": "Recall of the gold answer's statements in the answer",
        "context_relevance": "Whether the context suffices for an answer",
        "evidence_statements": "Recall of the evidence statements in the context",
    }.items()),
)  # fmt: skip
ANSWER_METRICS: dict[str, Metric] = {one.name: one for one in _ANSWER_METRICS}
"""Metrics by name that a card (`metrics`) and `evaluation.metrics` can list."""
UNDIRECTED = tuple(m.name for m in (*_CONTEXT_METRICS, *_OTHER_METRICS) if not m.more_is_better)
"""Descriptive metrics, for which neither a higher nor a lower value is better."""


def metrics() -> list[Metric]:
    """Return all metrics. A metric with several named values is returned once for each name."""
    every = (*_CONTEXT_METRICS, *ANSWER_METRICS.values(), *_OTHER_METRICS)
    return [replace(one, name=name) for one in every for name in one.gives or (one.name,)]


def metric_names(
    sources: Collection[MetricSource], cuts: Sequence[int] = (), tokens: Sequence[int] = ()
) -> list[str]:
    """Return the names of all metrics with these sources, cutoff ranks and token limits.

    >>> metric_names(["retrieved"], cuts=[5])
    ['evidence_recall@5', 'all_evidence@5', 'ndcg@5', 'mrr']
    """
    every = [metric for metric in metrics() if metric.source in sources]
    return list(dict.fromkeys(name for one in every for name in one.names(cuts, tokens)))


def metric_values(names: Iterable[str], answered: AnsweredQuestion) -> dict[str, float]:
    """Return the values of these metrics for one answered question.

    >>> asked = AnsweredQuestion("Who?", "Ada Marsh", Gold(("Ada",)), Matching())
    >>> metric_values(["accuracy", "exact_match"], asked)
    {'accuracy': 1.0, 'exact_match': 0.0}
    """
    functions = (ANSWER_METRICS[name].values for name in names)
    return {name: value for of in functions if of for name, value in of(answered).items()}


def check_metrics(names: Iterable[str], where: str, installed: bool = True) -> None:
    """Raise UserError if a metric is unknown. If `installed`, its package must be installed."""
    for name in names:
        if name not in ANSWER_METRICS:
            raise UserError(f"{where}: {unknown('metric', name, ANSWER_METRICS)}")
        package = ANSWER_METRICS[name].package
        if installed and package and find_spec(package.replace("-", "_")) is None:
            raise MissingPackage(
                f"{where}: the metric '{name}' needs the package {package}, which is not "
                "installed: pip install 'graphrag-bench[metrics]'."
            )


def metric_notes(names: Iterable[str]) -> list[str]:
    """Return the names and versions of the packages that compute these metrics, sorted."""
    packages = {ANSWER_METRICS[name].package for name in names} - {""}
    return sorted(map(answers.package_note, packages))
