"""Evidence among the retrieved documents, and evidence and answer in a packed context.

Contexts of other items (passages, relationships, reports) and of other sizes compare by tokens: all
in the first B tokens of the prompt's context, cut at items.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphrag_bench.evaluation.answers import Reading


def evidence_recall(documents: Sequence[str], evidence: Sequence[str], k: int | None) -> float:
    """Return the share of the evidence among the first `k` documents (None: all), in 0..1.

    Raises ValueError without evidence: the question cannot be scored.
    """
    wanted = _wanted(evidence)
    return len(wanted.intersection(documents[:k])) / len(wanted)


def evidence_cut(packed: Sequence[str], cut: Sequence[str], evidence: Sequence[str]) -> float:
    """Return 1.0 when all of an evidence document was cut from the context, else 0.

    Raises ValueError without evidence.
    """
    return float(bool(_wanted(evidence).intersection(cut).difference(packed)))


def all_evidence(documents: Sequence[str], evidence: Sequence[str], k: int) -> float:
    """Return 1.0 when the first `k` documents hold the whole evidence, else 0.0."""
    return float(evidence_recall(documents, evidence, k) == 1.0)


def reciprocal_rank(
    documents: Sequence[str], evidence: Sequence[str], ranks: Sequence[int] | None = None
) -> float:
    """Return 1 / rank of the first document of the evidence, counted from 1; 0 when none is found.

    `ranks` are those of the documents, ascending, where several share one. Its mean over questions
    is the MRR. Raises ValueError without evidence.
    """
    wanted = _wanted(evidence)
    placed = zip(ranks or range(1, len(documents) + 1), documents, strict=True)
    return next((1 / rank for rank, name in placed if name in wanted), 0.0)


def ndcg(
    documents: Sequence[str], evidence: Sequence[str], k: int, ranks: Sequence[int] | None = None
) -> float:
    """Return the nDCG of the first `k` documents, each of the evidence with gain 1, in 0..1.

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


TRIVIAL = frozenset({"yes", "no", "noanswer"})
"""Gold answers that any context may hold by chance, normalised."""


@dataclass(frozen=True)
class ContextItem:
    """One item of a context in its order: kind, id (a document for a chunk), tokens and text.

    `text` is None where it is not known; `documents` are those of which a text stands in it, None
    where that is not known.
    """

    kind: str
    id: str
    n_tokens: int
    text: str | None = None
    documents: tuple[str, ...] | None = None


def within(items: Sequence[ContextItem], n_tokens: int) -> list[ContextItem]:
    """Return the first items that fit into so many tokens together."""
    total, first = 0, []
    for item in items:
        total += item.n_tokens
        if total > n_tokens:
            break
        first.append(item)
    return first


def evidence_within(
    items: Sequence[ContextItem], evidence: Sequence[str], n_tokens: int | None = None
) -> float:
    """Return the share of the evidence documents of which a text stands in the items, in 0..1.

    In all of them, or in those in the first tokens. A long document counts by any text of it.
    Raises ValueError without evidence.
    """
    first = items if n_tokens is None else within(items, n_tokens)
    documents = [name for item in first for name in item.documents or ()]
    return evidence_recall(documents, evidence, None)


def spans_within(
    items: Sequence[ContextItem],
    spans: Sequence[str],
    reading: Reading,
    n_tokens: int | None = None,
) -> float:
    """Return the share of evidence sentences that an item holds whole, both normalised, in 0..1.

    Over all items, or those in the first tokens. A sentence cut in two by chunking is not found.
    Raises ValueError without spans.
    """
    if not spans:
        raise ValueError("a question without evidence sentences cannot be scored by them")
    first = items if n_tokens is None else within(items, n_tokens)
    texts = [reading.normal(item.text) for item in first if item.text]
    wanted = [reading.normal(span) for span in dict.fromkeys(spans)]
    return sum(any(span and span in text for text in texts) for span in wanted) / len(wanted)


def answer_within(
    items: Sequence[ContextItem], answers: Sequence[Sequence[str]], reading: Reading
) -> float | None:
    """Return the share of answers of which an item holds an alias; None where chance decides.

    `answers` has the aliases of each wanted answer. Whole words are compared, whatever the
    `containment` of accuracy is, as a long text holds any short word by its characters; answers
    that are all yes or no are skipped, and with nothing left it is None.
    """
    words = replace(reading, containment="token_boundary")
    wanted = [
        [alias for alias in aliases if (text := words.normal(alias)) and text not in TRIVIAL]
        for aliases in answers
    ]
    wanted = [aliases for aliases in wanted if aliases]
    if not wanted:
        return None
    finders = [words.finder(item.text) for item in items if item.text]
    hits = [any(holds(alias) for holds in finders for alias in aliases) for aliases in wanted]
    return sum(hits) / len(wanted)
