"""Conditions of stored runs and of printed cells, and the grade of one against the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from graphrag_bench.config.compose import composed, value_of
from graphrag_bench.config.settings import check_settings
from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.papers.names import Model
from graphrag_bench.papers.printed import PaperTable, Printed, PrintedSize, printed_sizes
from graphrag_bench.run.results import deciding
from graphrag_bench.run.stored import StoredRun

MISSING = "–"
BUDGET, NATIVE = "budget_context", "native"
"""The setting of one budget for all methods, and its value where each has its own."""
_QUANTISED = re.compile(r"\b(I?Q[2-8]_\w+|AWQ|GPTQ|int[48]|bnb)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Ours:
    """The conditions of a stored run; `settings` by path, models by their identities.

    `papers_prompts` is true only where the user says that the run was given the paper's prompts.
    An embedder, build model or judge that was not used is "". `card` is the card of the data set
    where questions of its own were made for it, whose name is then another. `sizes` are the
    documents and tokens of its corpus, empty where it is not at hand; `limit` and `split` say which
    part of the questions was asked.
    """

    dataset: str
    n_questions: int
    llm: str
    embedder: str
    settings: Mapping[str, object]
    llm_build: str = ""
    papers_prompts: bool = False
    verified: bool = True
    judge: str = ""
    card: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    limit: int | None = None
    split: str = "all"

    @property
    def corpus(self) -> str:
        """The card whose corpus it is."""
        return self.card or self.dataset


@dataclass(frozen=True)
class Theirs:
    """The conditions of a printed cell, in our words as far as there are any.

    `dataset` is the card of ours that holds the paper's set, None for none; `n_questions` None
    where the paper gives no number; `settings` are those of its recipe here. `own_questions`
    are made by the paper and not published; `corpus_alone` says that no question matters. `sizes`
    are those that it prints of the corpus; of `sampled` questions the row itself gives the number.
    """

    dataset: str | None
    dataset_name: str
    n_questions: int | None
    llm_name: str
    llm: Model | None
    embedder_name: str
    embedder: Model | None
    settings: Mapping[str, object]
    own_questions: bool = False
    corpus_alone: bool = False
    judge_name: str = ""
    judge: Model | None = None
    sizes: tuple[PrintedSize, ...] = ()
    sampled: bool = False


@dataclass(frozen=True)
class Grade:
    """A: nothing differs; B: what differs is named; C: other data, a part of it, or another model.

    `others` are the reasons for C, `differences` all the rest.
    """

    letter: Literal["A", "B", "C"]
    others: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def comparable(self) -> bool:
        """Whether a difference between the two figures means anything."""
        return self.letter != "C"


def grade(ours: Ours, theirs: Theirs) -> Grade:
    """Return the grade of a figure of ours compared with a printed one, with what differs.

    C when the data set or the language model is another one, when nothing says that it is the
    same, when a size of the corpus is another than the printed one, or when only a part of the
    questions was asked; A when data, models, settings and prompts are the same; else B.
    """
    others = [*_other_data(ours, theirs), *_other_sizes(ours, theirs), *_part(ours, theirs)]
    others += _other_model(ours, theirs)
    named = [*_of_questions(ours, theirs), *_of_models(ours, theirs)]
    named += different_settings(ours.settings, theirs.settings)
    if not ours.papers_prompts:
        named.append("prompts: in this project's words")
    if others:
        return Grade("C", tuple(others), tuple(named))
    return Grade("B", (), tuple(named)) if named else Grade("A")


def grade_of_sizes(ours: Ours, theirs: Theirs) -> Grade:
    """Return A for a corpus of every size that the paper prints of it, else C with what differs."""
    others = _other_sizes(ours, theirs)
    return Grade("C", tuple(others)) if others else Grade("A")


def of_both(first: Grade, second: Grade) -> Grade:
    """Return the grade of a comparison of two runs: the worse one, with what differs on a side."""
    others = tuple(dict.fromkeys([*first.others, *second.others]))
    differences = tuple(dict.fromkeys([*first.differences, *second.differences]))
    return Grade(max(first.letter, second.letter), others, differences)


def _other_data(ours: Ours, theirs: Theirs) -> list[str]:
    if theirs.dataset is None:
        name = theirs.dataset_name or "a set that the paper does not name"
        return [f"data: {ours.dataset}, not {name}"]
    if theirs.dataset != ours.corpus:
        return [f"data: {ours.dataset}, not {theirs.dataset_name}"]
    if theirs.own_questions:
        return [f"data: the questions of {ours.dataset}, not those made for {theirs.dataset_name}"]
    if theirs.dataset != ours.dataset and not theirs.corpus_alone:
        return [f"data: {ours.dataset}, not {theirs.dataset_name}"]
    return []


def _other_sizes(ours: Ours, theirs: Theirs) -> list[str]:
    if theirs.dataset is None or theirs.dataset != ours.corpus:
        return []
    if theirs.sizes and not ours.sizes:
        return ["corpus: the data set of the run is not at hand, so that no size is known"]
    return [said for one in theirs.sizes if (said := one.differs(ours.sizes[one.what]))]


def _part(ours: Ours, theirs: Theirs) -> list[str]:
    if theirs.corpus_alone or theirs.dataset is None or theirs.dataset != ours.corpus:
        return []
    found = []
    if theirs.n_questions is not None:
        found.append(PrintedSize("questions", theirs.n_questions).differs(ours.n_questions))
    if ours.limit is not None and not theirs.sampled:
        found.append(f"questions: limit={ours.limit}")
    if ours.split != "all":
        found.append(f"questions: split={ours.split}")
    return [said for said in found if said]


def _other_model(ours: Ours, theirs: Theirs) -> list[str]:
    found = []
    if theirs.llm_name and not is_model(ours.llm, theirs.llm):
        found.append(f"model: {ours.llm or 'none'}, not {theirs.llm_name}")
    if ours.judge and not is_model(ours.judge, theirs.judge):
        found.append(f"judge: {ours.judge}, not {theirs.judge_name or 'named'}")
    return found


def is_model(identity: str, model: Model | None) -> bool:
    """Return whether an identity of ours is that of a printed model."""
    return model is not None and re.search(model.found_by, identity.lower()) is not None


def _of_questions(ours: Ours, theirs: Theirs) -> list[str]:
    found = [] if ours.verified else ["data: this card was not checked against the original"]
    if theirs.dataset == ours.corpus and not theirs.sizes:
        found.append("corpus: the paper prints no size of it")
    if theirs.n_questions is None:
        return [*found, "number of questions: the paper does not say"]
    words = f"questions: {ours.n_questions:,}, not {theirs.n_questions:,}"
    if theirs.dataset == ours.corpus and theirs.n_questions != ours.n_questions:
        found += [words] if words not in _part(ours, theirs) else []
    if theirs.sampled:
        found.append("questions: another sample of as many")
    return found


def _of_models(ours: Ours, theirs: Theirs) -> list[str]:
    found = []
    same = is_model(ours.llm, theirs.llm)
    if same and (weights := _QUANTISED.search(ours.llm)):
        found.append(f"model: quantised ({weights[0]})")
    if ours.llm_build and theirs.llm_name and not is_model(ours.llm_build, theirs.llm):
        found.append(f"build model: {ours.llm_build.partition('@')[0]}, not {theirs.llm_name}")
    if ours.embedder and not theirs.embedder_name:
        found.append("embedder: the paper names none")
    elif ours.embedder and not is_model(ours.embedder, theirs.embedder):
        found.append(f"embedder: {ours.embedder.partition('@')[0]}, not {theirs.embedder_name}")
    return found


def different_settings(ours: Mapping[str, object], theirs: Mapping[str, object]) -> list[str]:
    """Return `path: value of ours, not theirs` of each setting that differs, in order of the paths.

    Settings of single steps are named only where no parameter, build or run setting differs, as
    those follow from these. Titles are words and no settings.
    """
    undecided = {"method.title"}
    if "auto" in (ours.get("chunking.variant"), theirs.get("chunking.variant")):
        undecided |= {"chunking.variant", "chunking.size"}
    if BUDGET not in ours or BUDGET not in theirs:
        undecided.add(BUDGET)
    names = sorted(
        name for name in {*ours, *theirs} - undecided if ours.get(name) != theirs.get(name)
    )
    steps = ("method.convert.", "method.retrieve.", "method.generate.")
    upper = [name for name in names if not name.startswith(steps)]
    return [
        f"{name.removeprefix('method.')}: {_shown(ours, name)}, not {_shown(theirs, name)}"
        for name in upper or names
    ]


def _shown(settings: Mapping[str, object], name: str) -> str:
    value = settings.get(name)
    return MISSING if value is None else str(value)


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
        metrics = run.metrics
        name = metrics.get("card", metrics["dataset"])
        settings = stated(metrics["settings"], name)
        if BUDGET in metrics:
            settings[BUDGET] = metrics[BUDGET] or NATIVE
        own = not any(
            str(value).partition(":")[0] in _PACKAGED
            for name, value in settings.items()
            if name.endswith("prompt")
        )
        card = load_card(name) if name in card_names() else None
        ours = Ours(
            dataset=metrics["dataset"],
            n_questions=metrics["n"],
            llm=metrics["llm"],
            embedder=metrics["embedder"],
            settings=settings,
            llm_build=metrics["llm_build"],
            papers_prompts=papers_prompts and own,
            verified=bool(getattr(card, "verified", True)),
            card=name,
            sizes=sizes,
            limit=metrics.get("limit"),
            split=metrics.get("split", "all"),
        )
        abstract = metrics["dataset"] != name or ABSTRACT in getattr(card, "task", "")
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
    settings = decided(words, table.paper.datasets[cell.dataset].card)
    budget = [word.partition("=")[2] for word in words if word.startswith(f"{BUDGET}=")]
    return settings | ({BUDGET: _value(budget[0])} if budget else {})


def decided(words: Sequence[str], dataset: str | None) -> dict[str, Any]:
    """Return the settings by path that such a run would store, without models and data set.

    A chunking that follows the data set is that of the card `dataset`.
    """
    apart = ("dataset", "llm", "llm_build", "embedder")
    own = [text for text in words if re.split(r"[.=]", text, maxsplit=1)[0] not in apart]
    return stated(_composed(tuple(own)), dataset)


@cache
def _composed(words: tuple[str, ...]) -> dict[str, Any]:
    return deciding(check_settings(composed(words)))


def stated(settings: Mapping[str, Any], dataset: str | None) -> dict[str, Any]:
    """Return the settings of a run with its chunking by name: that of the card, with its size."""
    named = dict(settings)
    if named.get("chunking.variant") == "auto" and dataset in card_names():
        named["chunking.variant"] = load_card(str(dataset)).chunking
    if named.get("chunking.variant") == "token":
        named.setdefault("chunking.size", CHUNK_SIZE)
    return named


def holds(settings: Mapping[str, Any], word: str) -> bool:
    """Return whether the stored settings of a run (`stated`) have a setting, e.g. `a.b=3`."""
    name, _, text = word.partition("=")
    if name == "pooling":
        return bool(settings.get("pooling.mode", "off") == text)
    path = {"method": "method.name", "chunking": "chunking.variant"}.get(name, name)
    value = settings.get(path)
    if path.startswith("build.") and value is None:
        value = settings.get(f"method.{path}", settings.get(f"method.{path}.variant"))
    return bool(value == _value(text))


_value = cache(value_of)
