"""The data set of a bundled run: whole where its licence lets it be passed on, else its shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from graphrag_bench.data.card import Card
from graphrag_bench.data.dataset import Dataset, Document, Gold
from graphrag_bench.data.file_evidence import with_parts
from graphrag_bench.values import Question

FREE = frozenset({
    "Apache-2.0", "MIT", "BSD-3-Clause", "CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0",
    "CC-BY-SA-4.0", "ODC-BY", "ODC-BY-1.0", "PDDL-1.0", "Unlicense",
})  # fmt: skip
"""Licences, as cards name them alone, under which a data set may be passed on."""


def is_free(card: Card) -> bool:
    """Whether the card names a licence, and no more, under which data may be passed on."""
    return card.license in FREE


def write_data_set(path: Path, dataset: Dataset, *, whole: bool) -> None:
    """Write a data set as JSON; without its texts, answers and evidence unless it is `whole`."""
    kept = dataset if whole else shape_of(dataset)
    held = {
        "name": kept.name,
        "card": kept.card.model_dump(mode="json"),
        "whole": whole,
        "corpus": dataset.corpus_digest,
        "questions_digest": dataset.questions_digest,
        "documents": [asdict(row) for row in kept.documents],
        "questions": [asdict(row) for row in kept.questions],
        "gold": {name: asdict(gold) for name, gold in kept.gold.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(held, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def shape_of(dataset: Dataset) -> Dataset:
    """The ids, scopes and types of the questions: what says which ones a scoring is of."""
    questions = tuple(replace(row, text="", entities=()) for row in dataset.questions)
    gold = {name: Gold(type=held.type, hops=held.hops) for name, held in dataset.gold.items()}
    return replace(dataset, documents=(), questions=questions, gold=gold)


def read_data_set(path: Path) -> tuple[Dataset, bool]:
    """A data set, and whether it is whole; raises ValueError where its digests are not its own."""
    held = json.loads(path.read_text(encoding="utf-8"))
    found = Dataset(
        name=held["name"],
        documents=tuple(Document(**_tuples(row)) for row in held["documents"]),
        questions=tuple(Question(**_tuples(row)) for row in held["questions"]),
        gold={name: _gold(row) for name, row in held["gold"].items()},
        card=Card.model_validate(held["card"]),
    )
    if held["whole"] and found.questions_digest != held["questions_digest"]:
        raise ValueError("the questions are not those of the runs")
    return found, bool(held["whole"])


def _gold(row: Mapping[str, Any]) -> Gold:
    held = _tuples(row)
    parts = held.pop("parts", None)
    gold = Gold(**held)
    return gold if parts is None else with_parts(gold, parts)


def _tuples(held: Any) -> Any:
    """JSON lists as tuples, at any depth; of a mapping the values."""
    if isinstance(held, Mapping):
        return {name: _tuples(one) for name, one in held.items()}
    return tuple(map(_tuples, held)) if isinstance(held, list) else held
