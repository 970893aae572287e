"""Add the models, data sets, rows and tables of the papers to the Hydra config groups.

Examples are `llm=zhou2025.Llama-3-8B`, `dataset=zhou2025.PopAll`, `row=pathrag.table2.Random.3`,
`row=zhou2025.table5+musique.RAPTOR-K` (with a data set) and the sweep `experiment=pathrag/table2`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from graphrag_bench.papers.names import Paper
from graphrag_bench.papers.printed import Recipe, load_paper, load_table, paper_names, table_names

_GROUPS = ("dataset", "method", "profile", "fidelity", "llm", "embedder", "pooling")
"""Config groups that `paper.yaml` sets by `GROUP=CHOICE`. All other overrides set values."""


@dataclass(frozen=True)
class TableRuns:
    """The runs of a paper's table, and the `params` of a sweep over them.

    `rows` maps the names of rows to settings. Rows that also select a data set come last. `pairs`
    lists the row and the data set of each run.
    """

    rows: Mapping[str, tuple[str, ...]]
    pairs: tuple[tuple[str, str], ...]
    params: Mapping[str, str]


def names(group: str) -> list[str]:
    """Return the choices that the papers add to a config group."""
    if group == "experiment":
        return [name for name in table_names() if table_runs(name).pairs]
    if group == "row":
        return [name for table in table_names() for name in table_runs(table).rows]
    own = [(name, paper) for name in paper_names() if not (paper := load_paper(name)).like]
    return [f"{name}.{choice}" for name, paper in own for choice in _of_paper(paper, group)]


def content(group: str, name: str) -> dict[str, Any] | None:
    """Return the Hydra config of a choice, or None if the name is unknown."""
    if group == "experiment":
        if name not in table_names() or not (runs := table_runs(name)).pairs:
            return None
        return {"hydra": {"mode": "MULTIRUN", "sweeper": {"params": {**runs.params}}}}
    if group == "row":
        table = "/".join(re.split(r"[.+]", name)[:2])
        if table not in table_names() or (row := table_runs(table).rows.get(name)) is None:
            return None
        choices, values = _split(row)
        return {"defaults": [{f"override /{g}": one} for g, one in choices.items()], **values}
    if not (words := _words(group, name)):
        return None
    choices, values = _split(words)
    if group == "dataset":
        return {"name": choices["dataset"], **values.get("dataset", {})}
    return {"defaults": [choices[group], "_self_"], **values.get(group, {})}


def chunking(dataset: str) -> dict[str, Any] | None:
    """Return the chunking that a paper sets for a data set, or None."""
    return _split(_words("dataset", dataset))[1].get("chunking")


@cache
def table_runs(full_name: str) -> TableRuns:
    """Return the distinct runs that a table needs; a win rate needs two runs."""
    table = load_table(full_name)
    row_names, rows = dict[tuple[str, ...], str](), dict[str, tuple[str, ...]]()
    pairs: dict[tuple[str, str], None] = {}
    parts = (part for cell in table.cells for part in table.parts(cell))
    for recipe in (side for part in parts for side in part.sides):
        if (words := recipe.row_words) is not None:
            own = f"{full_name.replace('/', '.')}.{_row_name(recipe, words)}"
            name = row_names.setdefault(tuple(sorted(words)), own)
            rows.setdefault(name, words)
            choices = _of_paper(table.paper, "dataset").items()
            named = (f"{table.owner}.{one}" for one, of in choices if of == recipe.set_words)
            card = recipe.set_words[0].partition("=")[2]
            pairs[name, next(named, card)] = None
    assert len(rows) == len(row_names), f"{full_name} has two rows of one name"
    datasets = dict.fromkeys(dataset for _, dataset in pairs)
    if len(pairs) == len(rows) * len(datasets):
        return TableRuns(rows, tuple(pairs), {"row": ",".join(rows), "dataset": ",".join(datasets)})
    on_sets = {}
    for row, dataset in pairs:
        paper, table_name, own = row.split(".", 2)
        name = f"{paper}.{table_name}+{dataset.rpartition('.')[2]}.{own}"
        on_sets[name] = (*rows[row], f"dataset={dataset}")
    return TableRuns({**rows, **on_sets}, tuple(pairs), {"row": ",".join(on_sets)})


def _row_name(recipe: Recipe, words: Sequence[str]) -> str:
    method = recipe.method_name
    model = recipe.model if method and len(recipe.table.llms) > 1 else ""
    rows = zip(recipe.cell.setting, recipe.table.rows_of(recipe.cell), strict=True)
    setting = [item for item, row in rows if recipe.relevant([*row.run, *row.also])]
    items = [one.removeprefix(f"{method} ").removeprefix("method.") for one in setting]
    labels = [word.partition("=")[2] for word in recipe.extra]
    ours = [word.partition("=")[2] for word in words if word.startswith("method=")]
    parts = [part for part in (method, model, *items, *labels) if part] or ours
    return ".".join(map(_slug, parts))


def _slug(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", text, flags=re.ASCII).strip("-")


def _words(group: str, name: str) -> list[str]:
    paper, _, choice = name.partition(".")
    return _of_paper(load_paper(paper), group).get(choice, []) if paper in paper_names() else []


def _of_paper(paper: Paper, group: str) -> dict[str, list[str]]:
    if group == "dataset":
        named = {_slug(name): one.words() for name, one in paper.datasets.items() if one.run_card}
        return {name: words for name, words in named.items() if name and len(words) > 1}
    models = {"llm": paper.llms, "embedder": paper.embedders}.get(group, {})
    return {name: model.run for name, model in models.items()}


def _split(words: Sequence[str]) -> tuple[dict[str, str], dict[str, Any]]:
    choices, values = dict[str, str](), dict[str, Any]()
    for word in words:
        path, _, text = word.partition("=")
        if path in _GROUPS:
            choices[path] = text
            continue
        *above, last = {"chunking": "chunking.variant"}.get(path, path).split(".")
        place = values
        for part in above:
            place = place.setdefault(part, {})
        place[last] = text
        with suppress(ValueError):
            place[last] = json.loads(text, parse_constant=str)
    return choices, values
