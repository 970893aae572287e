"""Evidence metrics over the distinct documents that were retrieved, in order."""

from __future__ import annotations

import math
from collections.abc import Sequence


def evidence_recall(documents: Sequence[str], evidence: Sequence[str], k: int | None) -> float:
    """The share of the evidence among the first `k` documents (None: all), in 0..1.

    Raises ValueError without evidence: the question cannot be scored.
    """
    wanted = _wanted(evidence)
    return len(wanted.intersection(documents[:k])) / len(wanted)


def evidence_cut(kept: Sequence[str], cut: Sequence[str], evidence: Sequence[str]) -> float:
    """1.0 when a document of the evidence was cut from the context and nothing of it kept, else 0.

    Raises ValueError without evidence.
    """
    return float(bool(_wanted(evidence).intersection(cut).difference(kept)))


def all_evidence(documents: Sequence[str], evidence: Sequence[str], k: int) -> float:
    """1.0 when the first `k` documents hold the whole evidence, else 0.0."""
    return float(evidence_recall(documents, evidence, k) == 1.0)


def reciprocal_rank(
    documents: Sequence[str], evidence: Sequence[str], ranks: Sequence[int] | None = None
) -> float:
    """1 / rank of the first document of the evidence, counted from 1; 0 when none is found.

    `ranks` are those of the documents, ascending, where several share one. Its mean over questions
    is the MRR. Raises ValueError without evidence.
    """
    wanted = _wanted(evidence)
    placed = zip(ranks or range(1, len(documents) + 1), documents, strict=True)
    return next((1 / rank for rank, name in placed if name in wanted), 0.0)


def ndcg(
    documents: Sequence[str], evidence: Sequence[str], k: int, ranks: Sequence[int] | None = None
) -> float:
    """The nDCG of the first `k` documents, each of the evidence with gain 1, in 0..1.

    The ideal order has the evidence first, up to `k` of it, also what no document of the corpus
    has; a rank is discounted by log2(1 + rank). `ranks` are those of the documents, ascending;
    where several share one, the gain is at most the ideal one. Raises ValueError without evidence.
    Source: Jarvelin & Kekalainen 2002.
    """
    wanted = _wanted(evidence)
    placed = zip(ranks or range(1, len(documents) + 1), documents, strict=True)
    gained = sum(_discount(rank) for rank, name in placed if rank <= k and name in wanted)
    return min(gained / sum(map(_discount, range(1, min(len(wanted), k) + 1))), 1.0)


def _wanted(evidence: Sequence[str]) -> frozenset[str]:
    if not evidence:
        raise ValueError("a question without evidence cannot be scored by it")
    return frozenset(evidence)


def _discount(rank: int) -> float:
    return 1 / math.log2(1 + rank)
