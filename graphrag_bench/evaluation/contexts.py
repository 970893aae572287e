"""The evidence and the answer in a context, whatever its items are.

Contexts of other items (passages, relationships, reports) and of other sizes compare by tokens: all
in the first B tokens of the prompt's context as packed, cut at items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_bench.evaluation.answers import Reading
from graphrag_bench.evaluation.retrieval import evidence_recall

TRIVIAL = frozenset({"yes", "no", "noanswer"})
"""Gold answers that any context may hold by chance, normalised."""


@dataclass(frozen=True)
class Item:
    """One item of a context in its order: kind, id (a document for a chunk), tokens and text.

    `text` is None where it is not known; `documents` are those of which a text stands in it, None
    where that is not known.
    """

    kind: str
    id: str
    n_tokens: int
    text: str | None = None
    documents: tuple[str, ...] | None = None


def within(items: Sequence[Item], n_tokens: int) -> list[Item]:
    """The first items that fit into so many tokens together."""
    total, kept = 0, []
    for item in items:
        total += item.n_tokens
        if total > n_tokens:
            break
        kept.append(item)
    return kept


def evidence_within(
    items: Sequence[Item], evidence: Sequence[str], n_tokens: int | None = None
) -> float:
    """The share of the evidence documents of which a text stands in the items, in 0..1.

    In all of them, or in those in the first tokens. A long document counts by any text of it.
    Raises ValueError without evidence.
    """
    kept = items if n_tokens is None else within(items, n_tokens)
    held = [name for item in kept for name in item.documents or ()]
    return evidence_recall(held, evidence, None)


def spans_within(
    items: Sequence[Item], spans: Sequence[str], reading: Reading, n_tokens: int | None = None
) -> float:
    """The share of the evidence sentences that an item holds whole, both normalised, in 0..1.

    Over all items, or those in the first tokens. A sentence cut in two by chunking is not found.
    Raises ValueError without spans.
    """
    if not spans:
        raise ValueError("a question without evidence sentences cannot be scored by them")
    kept = items if n_tokens is None else within(items, n_tokens)
    texts = [reading.normal(item.text) for item in kept if item.text]
    wanted = [reading.normal(span) for span in dict.fromkeys(spans)]
    return sum(any(span and span in text for text in texts) for span in wanted) / len(wanted)


def answer_within(
    items: Sequence[Item], answers: Sequence[Sequence[str]], reading: Reading
) -> float | None:
    """The share of the answers of which an item holds an alias, in 0..1; None where chance decides.

    `answers` has the aliases of each wanted answer. Whole words are compared, whatever the
    `containment` of accuracy is, as a long text holds any short word by its characters; answers
    that are all yes or no are skipped, and with nothing left it is None.
    """
    words = Reading(reading.normaliser, "token_boundary")
    wanted = [
        [alias for alias in aliases if (said := words.normal(alias)) and said not in TRIVIAL]
        for aliases in answers
    ]
    wanted = [aliases for aliases in wanted if aliases]
    if not wanted:
        return None
    finders = [words.finder(item.text) for item in items if item.text]
    found = [any(holds(alias) for holds in finders for alias in aliases) for aliases in wanted]
    return sum(found) / len(wanted)
