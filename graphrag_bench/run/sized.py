"""Stand-in data sets of printed sizes, to plan a paper's row before its data are fetched."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import ABSTRACT, Dataset, Document, Gold, load_card
from graphrag_bench.data.readers import is_on_disk
from graphrag_bench.errors import UserError
from graphrag_bench.papers.printed import load_paper, paper_names, printed_sizes
from graphrag_bench.values import Question

TOKENS_OF_QUESTION = 20
"""Tokens of a stand-in question; 100 questions of MuSiQue have 19.7 on average."""
SIZES = " (sizes)"
"""Suffix of the name of a stand-in."""
_WORD = " word"
"""One token of cl100k."""


def stand_in(values: Mapping[str, Any]) -> Dataset | None:
    """Return a stand-in for the data set of a paper's row, or None if the set is on disk.

    It has the printed numbers of documents, tokens and questions; all documents have one length.
    `values` are composed settings with a `row`. Raises UserError if no paper prints the sizes.
    """
    source = values["dataset"]
    card = load_card(str(source["name"]))
    if source.get("root") or is_on_disk(card, Path(str(values["paths"]["home"]))):
        return None
    return _of_sizes(str(values["row"]).partition(".")[0], card.name, bool(source.get("questions")))


@cache
def _of_sizes(paper: str, name: str, abstract: bool) -> Dataset:
    card, kind = load_card(name), ABSTRACT if abstract else ""
    every = [size for one in [*paper_names(), paper] for size in printed_sizes(one, name)]
    sizes = {size.what: size.value for size in every}
    if not {"documents", "tokens"} <= set(sizes):
        raise UserError(f"Data set '{name}' is not on disk, and no paper prints its sizes.")
    places = [one for one in load_paper(paper).datasets.values() if one.run_card == name]
    places.sort(key=lambda one: one.abstract != abstract)
    asked = [one.questions for one in places if one.questions]
    text = _WORD * max(1, round(sizes["tokens"] / sizes["documents"]))
    documents = tuple(Document(str(n), "", f"{n}{text}") for n in range(sizes["documents"]))
    questions = tuple(
        Question(str(n), _WORD * TOKENS_OF_QUESTION, form=card.form_of(kind))
        for n in range(asked[0] if asked else 1)
    )
    gold = {question.id: Gold(("-",), type=kind) for question in questions}
    return Dataset(f"{name}{SIZES}", documents, questions, gold, card)
