"""Grades that tell how comparable the value of a stored run is with a printed value."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from graphrag_bench.config.compose import compose_settings, value_of
from graphrag_bench.config.settings import check_settings
from graphrag_bench.data.dataset import ABSTRACT, card_names, load_card
from graphrag_bench.judging.pairs import HOUSE, PAPER
from graphrag_bench.papers.names import PrintedModel
from graphrag_bench.papers.printed import PrintedSize, Recipe, printed_sizes
from graphrag_bench.report.rendering import MISSING
from graphrag_bench.report.rows import above_steps
from graphrag_bench.run.conditions import result_settings
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.text import model_name

REGIME = "regime"
BUDGET, NATIVE = "budget_context", "native"
"""The setting of the context budget, and its value if each method keeps its own budget."""
_OF_CORPUS = ("graph", "build")
"""Kinds of metrics that depend on the corpus, but not on the questions."""
_value = cache(value_of)
_PACKAGED = ("methods", "operators", "graphrag_bench")
"""Packages that contain the prompts of this project."""
_QUANTISED = re.compile(r"\b(I?Q[2-8]_\w+|AWQ|GPTQ|int[48]|bnb)\b", re.IGNORECASE)


@dataclass(frozen=True)
class RunConditions:
    """Stored run and the properties that grading compares.

    `sizes` has the numbers of documents and tokens of the corpus, if they are known.
    `papers_prompts` is true if no prompt comes from this project and the user says that the prompts
    are the paper's. `verified` tells whether the format of the data set was checked against
    original files, and `abstract` whether the questions are about the whole corpus.
    """

    run: StoredRun
    settings: Mapping[str, Any]
    card: str
    sizes: Mapping[str, int]
    papers_prompts: bool = False
    verified: bool = True
    abstract: bool = False

    @classmethod
    def of(cls, run: StoredRun, papers_prompts: bool, sizes: Mapping[str, int]) -> "RunConditions":
        """Collect the properties of a run that grading compares."""
        metrics = run.metrics
        name = metrics.get("card", metrics["dataset"])
        settings = with_chunking(metrics["settings"], name)
        if BUDGET in metrics:
            settings[BUDGET] = metrics[BUDGET] or NATIVE
        prompts = (str(value) for path, value in settings.items() if path.endswith("prompt"))
        own = not any(text.partition(":")[0] in _PACKAGED for text in prompts)
        card = load_card(name) if name in card_names() else None
        abstract = metrics["dataset"] != name or bool(card and ABSTRACT in card.task)
        verified = not card or card.verified
        return cls(run, settings, name, sizes, papers_prompts and own, verified, abstract)


@dataclass(frozen=True)
class Mismatch:
    """Difference between a run and a paper; a `major` mismatch makes their values incomparable."""

    field: str
    ours: str
    theirs: str
    major: bool = False

    def __str__(self) -> str:
        return f"{self.field}: {self.ours}, not {self.theirs or 'stated'}"


@dataclass(frozen=True)
class Grade:
    """Grade of a value: A (no mismatch), B (only minor mismatches) or C (a major mismatch).

    >>> Grade.of([Mismatch("damping", "0.5", "0.1")]).letter
    'B'
    """

    mismatches: tuple[Mismatch, ...] = ()

    @classmethod
    def of(cls, mismatches: Iterable[Mismatch]) -> "Grade":
        """Return the grade for these mismatches, without duplicates and with major ones first."""
        return cls(tuple(sorted(dict.fromkeys(mismatches), key=lambda one: not one.major)))

    @property
    def major(self) -> tuple[Mismatch, ...]:
        """The mismatches that lead to grade C."""
        return tuple(one for one in self.mismatches if one.major)

    @property
    def letter(self) -> str:
        """The letter of the grade: A, B or C."""
        return "C" if self.major else "B" if self.mismatches else "A"

    @property
    def sentence(self) -> str:
        """All mismatches as text, with the values of the run and of the paper; "" for grade A."""
        return "; ".join(map(str, self.mismatches))


def grade(one: RunConditions, recipe: Recipe, judge: str = "", protocol: str = "") -> Grade:
    """Grade the value of a run against a printed value; `judge` is the judge of the run.

    The grade is C if the data set, corpus size, answering model, judge, judging protocol or choice
    of questions differs, if the corpus size of the run is unknown, or if the regime is not
    `published`. It is A if the data, models, settings and prompts are equal, and otherwise B. A
    count is graded by corpus size only. For graphs and builds, different questions never give C.
    """
    if recipe.metric.kind == "count":
        return Grade.of(_corpus(one, recipe, silent=True))
    words = recipe.words or recipe.required
    theirs = settings_of_words(words, recipe.place.card)
    own = (word.partition("=") for word in words)
    theirs |= {name: _value(text) for name, _, text in own if name == BUDGET}
    regime = str(one.settings.get(REGIME, "not known"))
    return Grade.of([
        *_data(one, recipe),
        *_corpus(one, recipe),
        *_questions(one, recipe),
        *_models(one, recipe, judge),
        *[Mismatch("protocol of the judge", HOUSE, PAPER, major=True)] * (protocol == HOUSE),
        *[Mismatch(REGIME, regime, "published", major=True)] * (regime != "published"),
        *different_settings(one.settings, theirs),
        *[Mismatch("prompts", "this project's", "the paper's")] * (not one.papers_prompts),
    ])  # fmt: skip


def _data(one: RunConditions, recipe: Recipe) -> Iterator[Mismatch]:
    ours, name, place = one.run.metrics["dataset"], recipe.cell.dataset, recipe.place
    alone = recipe.metric.kind in _OF_CORPUS
    if place.card is None:
        yield Mismatch("data", ours, name or "a data set without a name in the paper", major=True)
    elif place.card == one.card and place.abstract and not alone:
        theirs = f"questions generated for {name}"
        yield Mismatch("data", f"the questions of {ours}", theirs, major=True)
    elif place.card != (one.card if alone else ours):
        yield Mismatch("data", ours, name, major=True)
    if not one.verified:
        yield Mismatch("card", "unverified", "checked against the original")


def _corpus(one: RunConditions, recipe: Recipe, *, silent: bool = False) -> Iterator[Mismatch]:
    """Yield mismatches in corpus size. If `silent`, a size missing in the paper is no mismatch."""
    if recipe.place.card != one.card:
        return
    sizes = printed_sizes(recipe.table.paper_name, one.card)
    if not sizes and not silent:
        yield Mismatch("corpus size", "counted", "")
    if sizes and not one.sizes:
        yield Mismatch("corpus size", "unknown", "the printed one", major=True)
        return
    for size in sizes:
        if not size.agrees(n := one.sizes.get(size.what, 0)):
            yield Mismatch(size.what, f"{n:,}", f"{size.value:,}", major=True)


def _questions(one: RunConditions, recipe: Recipe) -> Iterator[Mismatch]:
    """Yield mismatches in the questions; up to 2 % more or fewer questions is a minor mismatch."""
    metrics, same = one.run.metrics, recipe.place.card == one.card
    sampled = recipe.cell.setting_value("sampled queries")
    n = int(sampled) if sampled else recipe.place.questions
    whole = same and recipe.metric.kind not in _OF_CORPUS
    if n is None:
        yield Mismatch("number of questions", f"{metrics['n']:,}", "")
    elif same and n != metrics["n"]:
        part = whole and not PrintedSize("questions", n).agrees(metrics["n"])
        yield Mismatch("questions", f"{metrics['n']:,}", f"{n:,}", major=part)
    if sampled:
        yield Mismatch("questions", "another sample", "the paper's")
    elif whole and metrics.get("limit") is not None:
        yield Mismatch("questions", f"limit={metrics['limit']}", "all", major=True)
    if whole and metrics.get("split", "all") != "all":
        yield Mismatch("questions", f"split={metrics['split']}", "all", major=True)


def is_model(identity: str, model: PrintedModel | None) -> bool:
    """Return whether the name of a run's model matches a model of a paper."""
    return model is not None and re.search(model.pattern, identity.lower()) is not None


def _models(one: RunConditions, recipe: Recipe, judge: str) -> Iterator[Mismatch]:
    """Yield mismatches in the models, major for the answering model and the judge only."""
    llm, build, embedder = (one.run.metrics[name] for name in ("llm", "llm_build", "embedder"))
    paper, cell = recipe.table.paper, recipe.cell
    theirs = cell.llm or (paper.llm if cell.method else "")
    model = paper.llms.get(theirs)
    if theirs and not is_model(llm, model):
        yield Mismatch("model", llm or "none", theirs, major=True)
    elif theirs and (weights := _QUANTISED.search(llm)):
        yield Mismatch("model", f"quantised ({weights[0]})", theirs)
    if build and theirs and not is_model(build, model):
        yield Mismatch("build model", model_name(build), theirs)
    if embedder and not is_model(embedder, paper.embedders.get(paper.embedder or "")):
        yield Mismatch("embedder", model_name(embedder), paper.embedder or "")
    if judge and not is_model(judge, paper.llms.get(recipe.judge)):
        yield Mismatch("judge", judge, recipe.judge, major=True)


def different_settings(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[Mismatch]:
    """Yield a mismatch for each differing setting; for steps, only if no other setting differs."""
    undecided = {"method.title", REGIME}
    if "auto" in (ours.get("chunking.variant"), theirs.get("chunking.variant")):
        undecided |= {"chunking.variant", "chunking.size"}
    if BUDGET not in ours or BUDGET not in theirs:
        undecided.add(BUDGET)
    names = sorted({*ours, *theirs} - undecided)
    for name in above_steps(name for name in names if ours.get(name) != theirs.get(name)):
        values = (settings.get(name) for settings in (ours, theirs))
        mine, other = (MISSING if value is None else str(value) for value in values)
        yield Mismatch(name.removeprefix("method."), mine, other)


def settings_of_words(words: Sequence[str], dataset: str | None) -> dict[str, Any]:
    """Return the settings of a run with these overrides, by path and without models."""
    apart = ("dataset", "llm", "llm_build", "embedder")
    own = (text for text in words if re.split(r"[.=]", text, maxsplit=1)[0] not in apart)
    return with_chunking(_composed(tuple(own)), dataset)


@cache
def _composed(words: tuple[str, ...]) -> dict[str, Any]:
    return result_settings(check_settings(compose_settings(words)))


def with_chunking(settings: Mapping[str, Any], dataset: str | None) -> dict[str, Any]:
    """Replace the chunking `auto` by that of the data set, and add the default chunk size."""
    named = dict(settings)
    if named.get("chunking.variant") == "auto" and dataset in card_names():
        named["chunking.variant"] = load_card(str(dataset)).chunking
    token = named.get("chunking.variant") == "token"
    return {"chunking.size": 1200, **named} if token else named


def has_setting(settings: Mapping[str, Any], word: str) -> bool:
    """Return whether the settings agree with an override such as `method.top_k=3`."""
    name, _, text = word.partition("=")
    if name == "pooling":
        return bool(settings.get("pooling.mode", "off") == text)
    path = {"method": "method.name", "chunking": "chunking.variant"}.get(name, name)
    value = settings.get(path)
    if path.startswith("build.") and value is None:
        value = settings.get(f"method.{path}", settings.get(f"method.{path}.variant"))
    return bool(value == _value(text))
