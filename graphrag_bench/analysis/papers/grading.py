"""The grade of a run of ours against a paper's, with every difference by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from graphrag_bench.papers.names import Model
from graphrag_bench.papers.printed import PrintedSize

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
    """The grade of one figure of ours compared with a printed one, with every difference named.

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
    """A where the corpus has every size that the paper prints of it, else C with those it lacks."""
    others = _other_sizes(ours, theirs)
    return Grade("C", tuple(others)) if others else Grade("A")


def of_both(first: Grade, second: Grade) -> Grade:
    """The grade of a comparison of two runs: the worse one, with what differs on either side."""
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
    """Whether an identity of ours is that of a printed model."""
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
    """`path: value of ours, not theirs` of each setting that differs, in order of the paths.

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
    upper = [name for name in names if not _of_a_step(name)]
    return [
        f"{name.removeprefix('method.')}: {_said(ours, name)}, not {_said(theirs, name)}"
        for name in upper or names
    ]


def _of_a_step(name: str) -> bool:
    return name.startswith(("method.convert.", "method.retrieve.", "method.generate."))


def _said(settings: Mapping[str, object], name: str) -> str:
    value = settings.get(name)
    return MISSING if value is None else str(value)
