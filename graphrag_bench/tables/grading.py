"""The stored runs that qualify for a row of a paper's table, and their grades there.

A run qualifies for a row when it has the method and the settings that the row names. Runs
on the paper's data by the paper's model come first. Whatever else a table has comes from one group
of runs (one data set, one model, as many questions, one judge) for each model of the paper, so that
its methods compare.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import attrgetter
from typing import Any

from graphrag_bench.config.compose import composed, value_of
from graphrag_bench.config.settings import check_settings
from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.judging.pairs import HOUSE, StoredVerdicts
from graphrag_bench.papers.names import Model
from graphrag_bench.papers.printed import (
    PaperTable,
    Part,
    Printed,
    PrintedSize,
    Recipe,
    printed_sizes,
)
from graphrag_bench.report.rendering import MISSING
from graphrag_bench.run.conditions import deciding
from graphrag_bench.run.stored import StoredRun

REGIME = "regime"
BUDGET, NATIVE = "budget_context", "native"
"""The setting of one budget for all methods, and its value where each has its own."""
ABSTRACT = "abstract"
"""What the task of a card says whose own questions are abstract."""
CHUNK_SIZE = 1200
"""The tokens of a chunk where a run says nothing: the default of `chunk_table.token`."""
_PACKAGED = ("methods", "operators", "graphrag_bench")
"""The folders of this project's prompts."""
_QUANTISED = re.compile(r"\b(I?Q[2-8]_\w+|AWQ|GPTQ|int[48]|bnb)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Offered:
    """A stored run and its conditions, read once.

    `card` is that of its corpus: of a set with questions made for one it has another name than the
    set. `abstract` says that its questions were made so, or are abstract as the card has it;
    `papers_prompts` that the user says so and no prompt is packaged here; `sizes` are the documents
    and tokens of its corpus, empty where it is not at hand.
    """

    run: StoredRun
    settings: Mapping[str, Any]
    card: str
    sizes: Mapping[str, int]
    papers_prompts: bool = False
    verified: bool = True
    abstract: bool = False
    judge: str = ""
    protocol: str = ""

    @classmethod
    def of(cls, run: StoredRun, papers_prompts: bool, sizes: Mapping[str, int]) -> "Offered":
        """The run with its conditions and the `sizes` of its corpus."""
        metrics = run.metrics
        name = metrics.get("card", metrics["dataset"])
        settings = stated(metrics["settings"], name)
        if BUDGET in metrics:
            settings[BUDGET] = metrics[BUDGET] or NATIVE
        prompts = [str(value) for path, value in settings.items() if path.endswith("prompt")]
        own = not any(text.partition(":")[0] in _PACKAGED for text in prompts)
        card = load_card(name) if name in card_names() else None
        verified = bool(getattr(card, "verified", True))
        abstract = metrics["dataset"] != name or ABSTRACT in getattr(card, "task", "")
        return cls(run, settings, name, sizes, papers_prompts and own, verified, abstract)


@dataclass(frozen=True)
class Grade:
    """A: nothing differs; B: what differs is named; C: other data, a part of it, or another model.

    `others` are the reasons for C, `differences` all the rest.
    """

    others: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def letter(self) -> str:
        """A, B or C."""
        return "C" if self.others else "B" if self.differences else "A"

    @property
    def comparable(self) -> bool:
        """Whether a difference between the two figures means anything."""
        return not self.others


def grade(one: Offered, recipe: Recipe) -> Grade:
    """Return the grade of a figure of a run compared with a printed one, with what differs.

    C in another regime than the published one, when the data set or the language model is another
    one, when nothing says that it is the same, when a size of the corpus is another than the
    printed one, or when only a part of the questions was asked; A when data, models, settings and
    prompts are the same; else B. What is only counted takes a corpus of every printed size alone,
    whatever the regime, and no question matters to a graph.
    """
    place, kind = recipe.place, recipe.metric.kind
    same = place.card == one.card
    sizes = printed_sizes(recipe.table.paper_name, one.card) if same else ()
    others = [words for size in sizes if (words := size.differs(one.sizes.get(size.what, 0)))]
    if sizes and not one.sizes:
        others = ["corpus: the data set of the run is not at hand, so that no size is known"]
    if kind == "count":
        return Grade(tuple(others))
    corpus_alone = kind in ("graph", "build")
    part = _part(one, recipe) if same and not corpus_alone else []
    other_models, models = _models(one, recipe)
    regime = str(one.settings.get(REGIME, "not known"))
    house = [] if regime == "published" else [f"regime: {regime}, not published"]
    others = [*_other_data(one, recipe, corpus_alone), *others, *part, *other_models, *house]
    named = [] if one.verified else ["data: this card was not checked against the original"]
    if same and not sizes:
        named.append("corpus: the paper prints no size of it")
    named += [words for words in _other_number(one, recipe) if words not in part]
    named += [*models, *different_settings(one.settings, _settings(recipe))]
    if not one.papers_prompts:
        named.append("prompts: in this project's words")
    return Grade(tuple(others), tuple(named))


def of_both(first: Grade, second: Grade) -> Grade:
    """Return the grade of a comparison of two runs: the worse one, with what differs on a side."""
    others = tuple(dict.fromkeys([*first.others, *second.others]))
    return Grade(others, tuple(dict.fromkeys([*first.differences, *second.differences])))


def _other_data(one: Offered, recipe: Recipe, corpus_alone: bool) -> list[str]:
    ours, name, place = one.run.metrics["dataset"], recipe.cell.dataset, recipe.place
    if place.card is None:
        return [f"data: {ours}, not {name or 'a set that the paper does not name'}"]
    if place.card == one.card and place.abstract and not corpus_alone:
        return [f"data: the questions of {ours}, not those made for {name}"]
    if place.card != (one.card if corpus_alone else ours):
        return [f"data: {ours}, not {name}"]
    return []


def _part(one: Offered, recipe: Recipe) -> list[str]:
    metrics, n = one.run.metrics, recipe.n_questions
    parts = [] if n is None else [PrintedSize("questions", n).differs(metrics["n"])]
    if metrics.get("limit") is not None and not recipe.sampled:
        parts.append(f"questions: limit={metrics['limit']}")
    if metrics.get("split", "all") != "all":
        parts.append(f"questions: split={metrics['split']}")
    return [words for words in parts if words]


def _other_number(one: Offered, recipe: Recipe) -> list[str]:
    n, ours = recipe.n_questions, one.run.metrics["n"]
    if n is None:
        return ["number of questions: the paper does not say"]
    other = n != ours and recipe.place.card == one.card
    named = [f"questions: {ours:,}, not {n:,}"] if other else []
    return [*named, "questions: another sample of as many"] if recipe.sampled else named


def is_model(identity: str, model: Model | None) -> bool:
    """Return whether an identity of ours is that of a printed model."""
    return model is not None and re.search(model.pattern, identity.lower()) is not None


def _models(one: Offered, recipe: Recipe) -> tuple[list[str], list[str]]:
    """What of the models makes it another figure, and what is only named."""
    llm, build, embedder = (one.run.metrics[name] for name in ("llm", "llm_build", "embedder"))
    paper, others, named = recipe.table.paper, list[str](), list[str]()
    model = paper.llms.get(recipe.llm)
    if recipe.llm and not is_model(llm, model):
        others.append(f"model: {llm or 'none'}, not {recipe.llm}")
    elif recipe.llm and (weights := _QUANTISED.search(llm)):
        named.append(f"model: quantised ({weights[0]})")
    if one.judge and not is_model(one.judge, paper.llms.get(recipe.judge)):
        others.append(f"judge: {one.judge}, not {recipe.judge or 'named'}")
    if one.protocol == HOUSE:
        others.append("judge: the protocol of the house, not the paper's")
    if build and recipe.llm and not is_model(build, model):
        named.append(f"build model: {build.partition('@')[0]}, not {recipe.llm}")
    if embedder and not paper.embedder:
        named.append("embedder: the paper names none")
    elif embedder and not is_model(embedder, paper.embedders.get(paper.embedder or "")):
        named.append(f"embedder: {embedder.partition('@')[0]}, not {paper.embedder}")
    return others, named


def different_settings(ours: Mapping[str, object], theirs: Mapping[str, object]) -> list[str]:
    """Return `path: value of ours, not theirs` of each setting that differs, in order of the paths.

    Settings of single steps are named only where no parameter, build or run setting differs, as
    those follow from these. Titles are words and no settings; another regime is graded apart.
    """
    undecided = {"method.title", REGIME}
    if "auto" in (ours.get("chunking.variant"), theirs.get("chunking.variant")):
        undecided |= {"chunking.variant", "chunking.size"}
    if BUDGET not in ours or BUDGET not in theirs:
        undecided.add(BUDGET)
    names = sorted(
        name for name in {*ours, *theirs} - undecided if ours.get(name) != theirs.get(name)
    )
    steps = ("method.convert.", "method.retrieve.", "method.generate.")

    def shown(settings: Mapping[str, object], name: str) -> str:
        value = settings.get(name)
        return MISSING if value is None else str(value)

    return [
        f"{name.removeprefix('method.')}: {shown(ours, name)}, not {shown(theirs, name)}"
        for name in [name for name in names if not name.startswith(steps)] or names
    ]


def _settings(recipe: Recipe) -> dict[str, Any]:
    words = recipe.words or recipe.required or ()
    budget = [word.partition("=")[2] for word in words if word.startswith(f"{BUDGET}=")]
    return decided(words, recipe.place.card) | ({BUDGET: _value(budget[0])} if budget else {})


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


def fitting(recipe: Recipe, offered: Sequence[Offered]) -> list[Offered]:
    """Return the runs that have what makes the row of a cell, or one part of it."""
    wanted = recipe.required
    if wanted is None:
        return []
    return [
        one
        for one in offered
        if all(holds(one.settings, text) for text in wanted)
        and not _of_another_row(recipe, one.run.metrics["llm"])
        and not _of_another_set(recipe, one)
    ]


def _of_another_set(recipe: Recipe, one: Offered) -> bool:
    place, table = recipe.place, recipe.table
    asks_others = not one.abstract if place.abstract else one.card != one.run.metrics["dataset"]
    if not table.counts:
        return place.abstract and asks_others and one.card == place.card
    return one.card != place.card or (table.counts_questions and asks_others)


def _of_another_row(recipe: Recipe, llm: str) -> bool:
    """Whether a table over several models has its own row for this one, or none but the first.

    A model that the table does not have is shown in the rows of its first one.
    """
    own, listed, known = recipe.cell.llm, recipe.table.llms, recipe.table.paper.llms
    if len(listed) < 2 or not own or is_model(llm, known[own]):
        return False
    return own != listed[0] or any(is_model(llm, known[name]) for name in listed)


Row = tuple[str, str, str, tuple[str, ...], str]
"""A row of the paper (`Printed.row`), and the kind of metric where that is graded apart."""
Group = tuple[str, str, int, str, str]


@dataclass(frozen=True)
class Candidate:
    """A run that qualifies for a row, with its grade; a win rate has the `other` run too.

    Of a row that is made of several runs, `parts` has one for each (`PaperTable.parts`), None for
    one that is lacking, and the rest is that of the first.
    """

    run: StoredRun
    grade: Grade
    other: StoredRun | None = None
    judge: str = ""
    protocol: str = ""
    parts: "tuple[Candidate | None, ...]" = ()

    @property
    def group(self) -> Group:
        """Data set, answering model, number of questions, judge and its protocol."""
        metrics, how = self.run.metrics, (self.judge, self.protocol)
        return metrics["dataset"], metrics["llm"], metrics["selected"], *how

    @property
    def order(self) -> tuple[Any, ...]:
        """The nearest to the paper first, then the one with more questions, then by key."""
        metrics, other = self.run.metrics, self.other.metrics["key"] if self.other else ""
        near = self.grade.letter, len(self.grade.others), len(self.grade.differences)
        return *near, -metrics["n"], metrics["key"], other, self.judge, self.protocol


def candidates(
    table: PaperTable, cell: Printed, offered: Sequence[Offered], verdicts: StoredVerdicts
) -> list[Candidate]:
    """Return the runs that qualify for a cell; for a judged metric only those a judge has seen.

    A cell that is made of several runs takes them from one group: data set, model, questions and
    judge.
    """
    parts = [list(_of_part(part, offered, verdicts)) for part in table.parts(cell)]
    if len(parts) == 1:
        return parts[0]
    whole = []
    for group in sorted({one.group for runs in parts for one in runs}):
        nearest = [_nearest(one for one in runs if one.group == group) for runs in parts]
        there = [one for one in nearest if one is not None]
        graded = reduce(of_both, (one.grade for one in there))
        if len(there) < len(nearest):
            lacks = f"over {len(there)} of {len(nearest)} runs"
            graded = replace(graded, differences=(*graded.differences, lacks))
        whole.append(replace(there[0], grade=graded, parts=tuple(nearest)))
    return whole


def _nearest(runs: Iterable[Candidate]) -> Candidate | None:
    return min(runs, key=attrgetter("order"), default=None)


def _of_part(
    part: Part, offered: Sequence[Offered], verdicts: StoredVerdicts
) -> Iterator[Candidate]:
    metric = part.own.metric
    for one, other in pairs(part, offered) if metric.criteria else ():
        keys = [side.run.folder.path.name for side in (one, other)]
        seen = [set(verdicts.judges(keys[0], keys[1], name)) for name in metric.criteria]
        for judge, protocol in sorted(set.intersection(*seen)):
            first, second = (replace(side, judge=judge, protocol=protocol) for side in (one, other))
            graded = of_both(grade(first, part.own), grade(second, part.other))
            yield Candidate(one.run, graded, other.run, judge, protocol)
    for one in () if metric.criteria else fitting(part.own, offered):
        judges = [""]
        if metric.kind == "judged_answer":
            judges = verdicts.judges_of(one.run.folder.path, metric.value)
        for judge in judges:
            yield Candidate(one.run, grade(replace(one, judge=judge), part.own), judge=judge)


def pairs(part: Part, offered: Sequence[Offered]) -> list[tuple[Offered, Offered]]:
    """Return the runs of both sides of a part, on one set and by one model; none with itself."""
    cell = part.own.cell
    if not cell.versus or cell.method == cell.versus:
        return []
    others = fitting(part.other, offered)
    return [
        (one, other)
        for one in fitting(part.own, offered)
        for other in others
        if all(one.run.metrics[name] == other.run.metrics[name] for name in ("dataset", "llm"))
        and one.run.folder.path != other.run.folder.path
    ]


def chosen(rows: Mapping[Row, Sequence[Candidate]]) -> dict[Row, Candidate]:
    """Return the run of each row, out of those that have a figure for it, where there is one.

    The nearest to the paper on its own data by its own model; else one of the group that fills most
    rows, so that they compare.
    """
    groups = {
        llm: _largest_group({row: runs for row, runs in rows.items() if row[2] == llm})
        for llm in sorted({row[2] for row in rows})
    }
    picked = {}
    for row, runs in rows.items():
        best = _nearest(one for one in runs if one.grade.comparable)
        if one := best or _nearest(one for one in runs if one.group == groups[row[2]]):
            picked[row] = one
    return picked


def _largest_group(candidates_of: Mapping[Row, Sequence[Candidate]]) -> Group | None:
    n_rows: Counter[Group] = Counter()
    others: dict[Group, int] = {}
    for runs in candidates_of.values():
        groups = {one.group: len(one.grade.others) for one in runs if not one.grade.comparable}
        n_rows.update(groups.keys())
        others |= groups

    def place(group: Group) -> tuple[int, int, int, Group]:
        return -n_rows[group], others[group], -group[2], group

    return min(n_rows, key=place, default=None)
