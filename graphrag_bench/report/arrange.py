"""The rows of a table in order, each with a title that tells it from the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from graphrag_bench.report.corpora import SHOWN
from graphrag_bench.report.selection import mark
from graphrag_bench.report.verified import doubt

_PLACES = {"floor": 0, "baseline": 1, "": 2, "ceiling": 3}
_SOURCES = ("profile", "fidelity")
_RECORDED = (*_SOURCES, "llm", "llm_build", "embedder", "extraction", "tokenizer", "limit",
             "answer", "budget_context")  # fmt: skip
_SPLIT = ("split", "dev_share", "dataset.part", "dataset.parts")
Run = Mapping[str, Any]


def arranged(runs: Sequence[Run]) -> list[Run]:
    """The runs by data set and context budget, each from floor to ceiling, with distinct `title`s.

    Runs without a context, the floor among them, are listed with the first budget.
    A title names the data set when there are several, and, where several runs share a title, the
    settings in which they differ: profile and fidelity, then parameters and models, then settings
    of single steps, as far as they are needed to tell all apart, and the run's key when nothing
    else tells two apart. A method that is not wholly verified has a mark, and a run that was
    chosen on the questions it is scored on says so. Runs are what `metrics.json` holds.
    """
    sets = list(dict.fromkeys(run["dataset"] for run in runs))
    budgets = list(dict.fromkeys(run.get("budget_context") for run in runs if _packed(run)))

    def place(run: Run) -> tuple[int, int, int]:
        budget = budgets.index(run.get("budget_context")) if _packed(run) else 0
        return sets.index(run["dataset"]), budget, _PLACES[run["role"]]

    ordered = sorted(runs, key=place)
    prefixes = [f"{run['dataset']}: " if len(sets) > 1 else "" for run in ordered]
    titles = [f"{prefix}{run['title']}" for prefix, run in zip(prefixes, ordered, strict=True)]
    details = _of_groups(titles, ordered, _told_apart)
    return [
        {**run, "title": " ".join(filter(None, (title, doubt(run), said, mark(run))))}
        for run, title, said in zip(ordered, titles, details, strict=True)
    ]


def named_along(runs: Sequence[Run], axis: str) -> list[str]:
    """The title of each run with the settings in which runs of one title differ, `axis` aside.

    `axis` is the path of a setting that has a column of its own; runs that differ in it alone have
    one name. Runs are what `metrics.json` holds.
    """
    groups = [(run["dataset"], run["title"]) for run in runs]
    details = _of_groups(groups, runs, partial(_told_apart, axis=axis))
    return [f"{run['title']} {said}".strip() for run, said in zip(runs, details, strict=True)]


def swept(groups: Sequence[Hashable], runs: Sequence[Run]) -> list[str]:
    """The settings in which runs of one group differ, for each; models and single steps aside."""
    return _of_groups(groups, runs, _parameters)


def _of_groups(
    groups: Sequence[Hashable], runs: Sequence[Run], said: Callable[[Sequence[Run]], list[str]]
) -> list[str]:
    rows: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    found = {
        row: words
        for held in rows.values()
        for row, words in zip(held, said([runs[row] for row in held]), strict=True)
    }
    return [found[row] for row in range(len(runs))]


def _parameters(runs: Sequence[Run]) -> list[str]:
    settings = [
        {name: value for name, value in run["settings"].items() if _weight(name)[0] < 2}
        for run in runs
    ]
    return _named(settings, _differing(settings))


def _packed(run: Run) -> bool:
    return bool(run.get("usage", {}).get("context_tokens_per_question"))


def _told_apart(runs: Sequence[Run], axis: str = "") -> list[str]:
    """What each of some runs of one title has that others have not; "" for a single run.

    The setting `axis` is shown already and tells them apart.
    """
    settings = [_settings(run) for run in runs]
    differ = _differing(settings)
    kept: list[str] = []
    for place in range(3):
        if place and _distinct(_named(settings, [axis, *kept])):
            break
        kept += [name for name in differ if _weight(name)[0] == place and name != axis]
    details = _named(settings, kept)
    if _distinct(_named(settings, [axis, *kept])):
        return details
    return [f"{said} {run['key']}".strip() for said, run in zip(details, runs, strict=True)]


def differing(runs: Sequence[Run]) -> list[str]:
    """The paths of the settings of retrieval that are not the same in all runs; models aside.

    Settings of single steps only where nothing above them differs.
    """
    of_answers = ("method.title", "answers", "reader_prompt")
    names = [
        name
        for name in _differing([run["settings"] for run in runs])
        if name not in of_answers and not name.endswith("prompt")
    ]
    return [name for name in names if _weight(name)[0] < 2] or names


def _differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    names = sorted(set().union(*settings), key=_weight)
    found = [name for name in names if len({repr(held.get(name)) for held in settings}) > 1]
    return [name for name in found if name != "corpus" or not _grows(settings)]


def _grows(settings: Sequence[Mapping[str, Any]]) -> bool:
    corpora: dict[object, set[object]] = {}
    for held in settings:
        place = held.get("dataset.part"), held.get("dataset.parts")
        corpora.setdefault(place, set()).add(held.get("corpus"))
    return len(corpora) > 1 and all(len(one) == 1 for one in corpora.values())


def _settings(run: Run) -> dict[str, Any]:
    held = {name: run[name] for name in _SPLIT if name in run}
    budget = {"budget_context": run.get("budget_context") or "native"}
    scoring = {f"evaluation.{name}": said for name, said in run.get("evaluation", {}).items()}
    repeats = {"repeats": run["repeats"]["n"]} if run.get("repeats") else {}
    models = {name: run.get(name) for name in _RECORDED}
    models["corpus"] = str(run.get("corpus") or "")[:SHOWN]
    return {**run["settings"], **models, **held, **budget, **scoring, **repeats}


def _weight(name: str) -> tuple[int, str]:
    deep = name.startswith(("method.convert.", "method.retrieve.", "method.generate."))
    return 0 if name in _SOURCES else 1 + deep, name


def _named(settings: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    return [
        ", ".join(f"{name.removeprefix('method.')}={held.get(name)}" for name in names)
        for held in settings
    ]


def _distinct(texts: Sequence[str]) -> bool:
    return len(set(texts)) == len(texts)
