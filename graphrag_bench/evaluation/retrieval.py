"""Evidence metrics over the distinct documents that were retrieved, in order."""

from __future__ import annotations

from collections.abc import Sequence


def evidence_recall(documents: Sequence[str], evidence: Sequence[str], k: int) -> float:
    """The share of the evidence among the first `k` documents, in 0..1.

    Raises ValueError without evidence: the question cannot be scored.
    """
    wanted = frozenset(evidence)
    if not wanted:
        raise ValueError("a question without evidence has no evidence recall")
    return len(wanted.intersection(documents[:k])) / len(wanted)


def evidence_cut(kept: Sequence[str], cut: Sequence[str], evidence: Sequence[str]) -> float:
    """1.0 when a document of the evidence was cut from the context and nothing of it kept, else 0.

    Raises ValueError without evidence.
    """
    if not evidence:
        raise ValueError("a question without evidence has no evidence to cut")
    return float(bool(set(evidence).intersection(cut).difference(kept)))


def all_evidence(documents: Sequence[str], evidence: Sequence[str], k: int) -> float:
    """1.0 when the first `k` documents hold the whole evidence, else 0.0."""
    return float(evidence_recall(documents, evidence, k) == 1.0)
