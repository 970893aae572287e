"""Metrics of ranked documents and of contexts against gold documents and answers.

Contexts can contain passages, relationships or reports. To compare them, only the items in the
first B tokens of each context are counted. All metrics except `answer_within` raise ValueError if a
question has no gold document or sentence.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from graphrag_bench.evaluation.answers import TRIVIAL, Matching

Ranks = Sequence[int] | None
"""Rank of each document, in ascending order from 1; ties share a rank. None means 1, 2, 3, ..."""


def evidence_recall(documents: Sequence[str], evidence: Sequence[str], k: int | None) -> float:
    """Return the recall of the gold documents among the first `k` documents (None: all), in 0..1.

    >>> [evidence_recall(["x", "a", "y", "b"], ["a", "b"], k) for k in (1, 2, 4)]
    [0.0, 0.5, 1.0]
    """
    gold = _gold(evidence)
    return len(gold.intersection(documents[:k])) / len(gold)


def evidence_cut(packed: Sequence[str], cut: Sequence[str], evidence: Sequence[str]) -> float:
    """Return 1.0 if a gold document is among the `cut` documents but not in the context, else 0.0.

    >>> evidence_cut(packed=["a"], cut=["a", "b"], evidence=["a", "b"])
    1.0
    """
    return float(bool(_gold(evidence).intersection(cut).difference(packed)))


def all_evidence(documents: Sequence[str], evidence: Sequence[str], k: int) -> float:
    """Return 1.0 if all gold documents are among the first `k`, else 0.0."""
    return float(evidence_recall(documents, evidence, k) == 1.0)


def reciprocal_rank(
    documents: Sequence[str], evidence: Sequence[str], ranks: Ranks = None
) -> float:
    """Return 1 / rank of the first gold document, or 0 if no gold document is ranked.

    >>> reciprocal_rank(["x", "a", "y", "b"], ["a", "b"])
    0.5
    """
    gold = _gold(evidence)
    placed = zip(ranks or range(1, len(documents) + 1), documents, strict=True)
    return next((1 / rank for rank, name in placed if name in gold), 0.0)


def ndcg(
    documents: Sequence[str], evidence: Mapping[str, int], k: int, ranks: Ranks = None
) -> float:
    """Return nDCG@k of graded gold documents, in 0..1, as computed by trec_eval.

    `evidence` maps each gold document to its grade (1 or more), which is its gain. The discount is
    log2(1 + rank). The ideal ranking starts with all gold documents, even if the corpus lacks some
    of them. With shared ranks, the value is limited to 1.
    Source: Jarvelin & Kekalainen 2002.

    >>> round(ndcg(["x", "a", "y", "b"], {"a": 1, "b": 3}, k=4), 3)
    0.53
    """
    gold = _gold(evidence)
    placed = zip(ranks or range(1, len(documents) + 1), documents, strict=True)
    found = ((rank, evidence[name]) for rank, name in placed if rank <= k and name in gold)
    ideal = enumerate(sorted(evidence.values(), reverse=True)[:k], start=1)
    gained, most = (
        sum(gain * (1 / math.log2(1 + rank)) for rank, gain in ranking)
        for ranking in (found, ideal)
    )
    return min(gained / most, 1.0)


def _gold(evidence: Collection[str]) -> frozenset[str]:
    if not evidence:
        raise ValueError("a question without gold evidence cannot be scored")
    return frozenset(evidence)


@dataclass(frozen=True)
class ContextItem:
    """Item of a context, such as a report or a chunk. A chunk has the `id` of its document.

    `documents` lists the documents whose text is in the item. `text` and `documents` are None if
    they are unknown.
    """

    kind: str
    id: str
    n_tokens: int
    text: str | None = None
    documents: tuple[str, ...] | None = None


Items = Sequence[ContextItem]


def within(items: Items, n_tokens: int | None) -> Items:
    """Return as many of the first items as fit into `n_tokens` tokens (None: all items)."""
    totals = list(accumulate(item.n_tokens for item in items))
    return items[: len(totals) if n_tokens is None else bisect_right(totals, n_tokens)]


def evidence_within(items: Items, evidence: Sequence[str], n_tokens: int | None = None) -> float:
    """Return the recall of gold documents in the items of the first `n_tokens` tokens, in 0..1.

    >>> items = [ContextItem("chunk", "a", 60), ContextItem("report", "r", 60, documents=("b",))]
    >>> [evidence_within(items, ["b", "c"], n) for n in (100, 200)]
    [0.0, 0.5]
    """
    documents = [name for item in within(items, n_tokens) for name in item.documents or ()]
    return evidence_recall(documents, evidence, None)


def spans_within(
    items: Items, spans: Sequence[str], matching: Matching, n_tokens: int | None = None
) -> float:
    """Return the fraction of gold sentences that occur in the first `n_tokens`, in 0..1.

    A sentence that is split between two chunks is not found.

    >>> items = [ContextItem("chunk", "a", 9, "Ada was born in Lund. She left.")]
    >>> spans_within(items, ["Ada was born in Lund.", "She came back."], Matching())
    0.5
    """
    texts = [matching.normal(item.text) for item in within(items, n_tokens) if item.text]
    wanted = [matching.normal(span) for span in _gold(spans)]
    return sum(any(span and span in text for text in texts) for span in wanted) / len(wanted)


def answer_within(
    items: Items, answers: Sequence[Sequence[str]], matching: Matching
) -> float | None:
    """Return the fraction of gold answers that occur in some item as whole words, in 0..1.

    `answers` has the aliases of each gold answer. Yes, no and empty answers are left out. Returns
    None if no answer remains.

    >>> items = [ContextItem("chunk", "a", 9, "Ada Marsh was born in Lund.")]
    >>> answer_within(items, [["A. Marsh", "Ada Marsh"], ["Tarn"]], Matching())
    0.5
    """
    words = replace(matching, containment="token_boundary")
    left_out = {"", *TRIVIAL}
    wanted = [[one for one in aliases if words.normal(one) not in left_out] for aliases in answers]
    finders = [words.finder(item.text) for item in items if item.text]
    hits = [any(find(one) for find in finders for one in aliases) for aliases in wanted if aliases]
    return sum(hits) / len(hits) if hits else None
