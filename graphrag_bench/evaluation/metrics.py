"""Every metric of a run by name: the source of its values, and whether higher is better.

Objectives, tables, commands and docs/metrics.md read this list and keep none of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag_bench.evaluation.answer_metrics import ANSWER_METRICS

Source = Literal["retrieved", "context", "answer", "judge"]
"""What a metric is computed from: the documents retrieved, the packed context, the answer, or what
a judge has said of the answer."""
CUTOFF, TOKENS = "@k", "@B"
"""The end of a name with a rank (`evaluation.cuts`) or a number of tokens
(`evaluation.evidence_tokens`)."""


@dataclass(frozen=True)
class Metric:
    """A metric by name, its source, what it measures, and whether more is better."""

    name: str
    source: Source
    meaning: str
    more_is_better: bool = True

    def names(self, cuts: Sequence[int], tokens: Sequence[int]) -> list[str]:
        """The names under which a run with these cutoffs has it."""
        for sign, values in ((CUTOFF, cuts), (TOKENS, tokens)):
            if self.name.endswith(sign):
                return [f"{self.name.removesuffix(sign)}@{value}" for value in values]
        return [self.name]


def _answer_metrics() -> Iterator[Metric]:
    for name, metric in ANSWER_METRICS.items():
        yield from (Metric(one, "answer", metric.meaning) for one in metric.gives or (name,))


_BEFORE = (
    Metric("evidence_recall@k", "retrieved", "Share of the gold documents among the first k"),
    Metric("all_evidence@k", "retrieved", "Whether all gold documents are among the first k"),
    Metric("ndcg@k", "retrieved", "nDCG of the first k, gain 1 for each gold document"),
    Metric("mrr", "retrieved", "1 / rank of the first gold document"),
    Metric("evidence_in_context", "context", "Share of the gold documents with a text in it"),
    Metric("evidence_at_tokens@B", "context", "Share of the gold documents in the first B tokens"),
    Metric("spans_at_tokens@B", "context", "Share of the gold sentences in the first B tokens"),
    Metric("spans_in_context", "context", "Share of the gold sentences in the context"),
    Metric("answer_in_context", "context", "Share of the wanted answers that the context holds"),
    Metric("evidence_cut", "context", "Evidence was retrieved and cut by the budget", False),
)
_AFTER = (
    Metric("option_unread", "answer", "No single option can be read from the answer", False),
    Metric("answer_words", "answer", "Words of the answer", False),
    Metric("abstained", "answer", "The answer says only that there is none", False),
    Metric("judged_correctness", "judge", "The answer offers the gold and nothing else"),
    Metric("faithfulness", "judge", "Share of the answer's statements that the context supports"),
    Metric("answer_relevance", "judge", "Likeness of questions asked back to the question"),
    Metric("context_recall", "judge", "Share of the gold answer that the context supports"),
    Metric("context_precision", "judge", "Precision over ranks of the useful passages"),
    Metric("answer_correctness", "judge", "F1 of the answer's statements, with its likeness"),
    Metric("coverage", "judge", "Share of the gold's statements that the answer holds"),
    Metric("context_relevance", "judge", "Whether the context is enough for an answer"),
    Metric("evidence_statements", "judge", "Share of the evidence that the context states"),
)
UNDIRECTED = tuple(metric.name for metric in (*_BEFORE, *_AFTER) if not metric.more_is_better)
"""Metrics of which more is not better."""


def metrics() -> list[Metric]:
    """Every metric; the answer metrics are those of `ANSWER_METRICS`."""
    return [*_BEFORE, *_answer_metrics(), *_AFTER]


def metric_names(
    sources: Collection[Source], cuts: Sequence[int] = (), tokens: Sequence[int] = ()
) -> list[str]:
    """The names that a run with these cutoffs may have from these sources, in the list's order."""
    every = [metric for metric in metrics() if metric.source in sources]
    return list(dict.fromkeys(name for one in every for name in one.names(cuts, tokens)))
