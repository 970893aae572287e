"""Stored runs as candidates for a paper's table: the rows they fit, and the paper's settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from graphrag_bench.analysis.papers.grading import BUDGET, NATIVE, Ours, Theirs, is_model
from graphrag_bench.config.compose import composed, value_of
from graphrag_bench.config.settings import check_settings
from graphrag_bench.data.card import card_names, load_card
from graphrag_bench.experiment.results import deciding
from graphrag_bench.papers.printed import PaperTable, Printed, printed_sizes
from graphrag_bench.runs.stored import StoredRun

ABSTRACT = "abstract"
"""What the task of a card says whose own questions are abstract."""
_PACKAGED = ("methods", "operators", "graphrag_bench")
"""The folders of this project's prompts."""
CHUNK_SIZE = 1200
"""The tokens of a chunk where a run says nothing: the default of `chunk_table.token`."""


@dataclass(frozen=True)
class Offered:
    """A stored run and its conditions, read once.

    `abstract` says that its questions were made for its corpus, or are abstract as its card has it.
    """

    run: StoredRun
    ours: Ours
    abstract: bool = False

    @classmethod
    def of(cls, run: StoredRun, papers_prompts: bool, sizes: Mapping[str, int]) -> Offered:
        """The run with its conditions and the `sizes` of its corpus.

        The prompts count as the paper's where the user says so and none of them is packaged here.
        """
        held = run.metrics
        name = held.get("card", held["dataset"])
        settings = stated(held["settings"], name)
        if BUDGET in held:
            settings[BUDGET] = held[BUDGET] or NATIVE
        own = not any(
            str(value).partition(":")[0] in _PACKAGED
            for name, value in settings.items()
            if name.endswith("prompt")
        )
        card = load_card(name) if name in card_names() else None
        ours = Ours(
            dataset=held["dataset"],
            n_questions=held["n"],
            llm=held["llm"],
            embedder=held["embedder"],
            settings=settings,
            llm_build=held["llm_build"],
            papers_prompts=papers_prompts and own,
            verified=bool(getattr(card, "verified", True)),
            card=name,
            sizes=sizes,
            limit=held.get("limit"),
            split=held.get("split", "all"),
        )
        abstract = held["dataset"] != name or ABSTRACT in getattr(card, "task", "")
        return cls(run, ours, abstract)


def fitting(
    table: PaperTable, cell: Printed, offered: Sequence[Offered], part: Sequence[str] = ()
) -> list[Offered]:
    """The runs that have what makes the row of a cell, or one part of it."""
    wanted = table.settings_of(cell, part)
    if wanted is None:
        return []
    return [
        one
        for one in offered
        if all(holds(one.ours.settings, text) for text in wanted)
        and not _of_another_row(table, cell, one.ours.llm)
        and not _of_another_set(table, cell, one)
    ]


def _of_another_set(table: PaperTable, cell: Printed, one: Offered) -> bool:
    place = table.paper.datasets[cell.dataset]
    made = one.ours.corpus != one.ours.dataset
    asks_others = not one.abstract if place.abstract else made
    if table.shape.kind != "counts":
        return place.abstract and asks_others and one.ours.corpus == place.card
    return one.ours.corpus != place.card or (table.counts_questions and asks_others)


def _of_another_row(table: PaperTable, cell: Printed, llm: str) -> bool:
    """Whether a table over several models has its own row for this one, or none but the first.

    A model that the table does not have is shown in the rows of its first one.
    """
    if len(table.llms) < 2 or not cell.llm or is_model(llm, table.paper.llms[cell.llm]):
        return False
    known = any(is_model(llm, table.paper.llms[name]) for name in table.llms)
    return known or cell.llm != table.llms[0]


def conditions(table: PaperTable, cell: Printed, part: Sequence[str] = ()) -> Theirs:
    """What the paper did for a cell, or for one part of it, in our words."""
    paper = table.paper
    place = paper.datasets[cell.dataset]
    llm = cell.llm or (paper.llm if cell.method else "")
    return Theirs(
        dataset=place.card,
        dataset_name=cell.dataset,
        n_questions=_sampled(cell) or place.questions,
        llm_name=llm,
        llm=paper.llms.get(llm),
        embedder_name=paper.embedder or "",
        embedder=paper.embedders.get(paper.embedder or ""),
        settings=_their_settings(table, cell, part),
        own_questions=place.abstract,
        judge_name=evaluator(table, cell),
        judge=paper.llms.get(evaluator(table, cell)),
        sizes=printed_sizes(table.paper_name, place.card) if place.card else (),
        sampled=_sampled(cell) is not None,
    )


def evaluator(table: PaperTable, cell: Printed) -> str:
    """The printed name of the judge of a cell: the answering model where the paper names none."""
    named = [text.partition("=")[2] for text in cell.setting if text.startswith("evaluator=")]
    return named[0] if named else table.paper.llm


def _sampled(cell: Printed) -> int | None:
    found = [item.partition("=")[2] for item in cell.setting if item.startswith("sampled queries=")]
    return int(found[0]) if found else None


def _their_settings(table: PaperTable, cell: Printed, part: Sequence[str]) -> Mapping[str, Any]:
    words = table.settings_of_paper(cell, part) or table.settings_of(cell, part) or ()
    found = decided(words, table.paper.datasets[cell.dataset].card)
    budget = [word.partition("=")[2] for word in words if word.startswith(f"{BUDGET}=")]
    return found | ({BUDGET: value_of(budget[0])} if budget else {})


def decided(given: Sequence[str], dataset: str | None) -> dict[str, Any]:
    """The settings by path that such a run would store; those of models and data set left aside.

    A chunking that follows the data set is that of the card `dataset`.
    """
    apart = ("dataset", "llm", "llm_build", "embedder")
    own = [text for text in given if re.split(r"[.=]", text, maxsplit=1)[0] not in apart]
    return stated(_composed(tuple(own)), dataset)


@cache
def _composed(words: tuple[str, ...]) -> dict[str, Any]:
    return deciding(check_settings(composed(words)))


def stated(settings: Mapping[str, Any], dataset: str | None) -> dict[str, Any]:
    """The settings of a run with the chunking said outright: that of the card, with its size."""
    made = dict(settings)
    if made.get("chunking.variant") == "auto" and dataset in card_names():
        made["chunking.variant"] = load_card(str(dataset)).chunking
    if made.get("chunking.variant") == "token":
        made.setdefault("chunking.size", CHUNK_SIZE)
    return made


def holds(settings: Mapping[str, Any], given: str) -> bool:
    """Whether the stored settings of a run (`stated`) have a setting as given, e.g. `a.b=3`."""
    name, _, text = given.partition("=")
    if name == "pooling":
        return bool(settings.get("pooling.mode", "off") == text)
    paths = {"method": "method.name", "chunking": "chunking.variant"}
    path = paths.get(name, name)
    held = settings.get(path)
    if path.startswith("build.") and held is None:
        held = settings.get(f"method.{path}", settings.get(f"method.{path}.variant"))
    return bool(held == value_of(text))
