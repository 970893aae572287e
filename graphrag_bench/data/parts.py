"""A corpus as it grows: its first documents, and the questions that the first part answers."""

from __future__ import annotations

from dataclasses import replace

from graphrag_bench.data.dataset import Dataset, Gold
from graphrag_bench.data.file_evidence import documents_of
from graphrag_bench.errors import UserError


def first_parts(dataset: Dataset, part: int, parts: int) -> Dataset:
    """The first `part` of `parts` equal parts of the documents, in the order of the corpus.

    The questions are those whose evidence is in the first part, whatever `part` is, so that every
    size of the corpus is asked the same; of a file that the evidence names, one document must be
    there. Raises UserError for a part that there is not, and where
    no question is left.
    """
    if not 1 <= part <= parts:
        raise UserError(f"dataset.part={part}: there is no part {part} of {parts}.")
    if parts == 1:
        return dataset
    n = len(dataset.documents)
    documents = dataset.documents[: -(-n * part // parts)]
    first = {row.id for row in documents[: -(-n // parts)]}
    questions = tuple(
        question for question in dataset.questions if _answered_by(first, dataset.gold[question.id])
    )
    if not questions:
        raise UserError(
            f"dataset.parts={parts}: the first {len(first):,} of {n:,} documents hold the evidence "
            "of no question; a smaller number of parts makes the first one larger."
        )
    gold = {question.id: dataset.gold[question.id] for question in questions}
    return replace(
        dataset, documents=documents, questions=questions, gold=gold, part=part, parts=parts
    )


def _answered_by(documents: set[str], gold: Gold) -> bool:
    named = [documents_of(gold, one) for one in gold.evidence]
    return bool(named) and all(not documents.isdisjoint(one) for one in named)
