"""Write docs/operators.md, docs/methods.md and docs/datasets.md.

The pages are generated from the registry, configs/method/*.yaml and datasets/*/card.yaml. A test
checks that they are up to date.
Usage: python scripts/write_docs.py
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from graphrag_bench import api
from graphrag_bench.algorithms.graph import ATTRIBUTES
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import built_in_names, method_file
from graphrag_bench.contract import (
    REQUIRED,
    TABLE3,
    Builder,
    Operator,
    builders,
    operators,
    paper_first,
)
from graphrag_bench.data.dataset import COLLECTIONS, Card, Dataset, card_names, load_card
from scripts.markdown import table

ROOT = Path(__file__).resolve().parent.parent
OURS = (
    "These operators are not in the paper's Table 3. Some supplement its 19 operators; "
    "others are steps of methods that the paper does not cover."
)
NOTE = "This page is generated from the code by `python scripts/write_docs.py`."
FAMILIES = ("question", "query", "node", "relationship", "chunk", "subgraph", "community", "path")
MARK = "✓"
KINDS = ("documents", "questions")
PACKAGES = ("graphrag_bench", "operators", "methods")
_DATASETS = """\
`graphrag-bench fetch dataset=NAME` downloads a data set. `dataset.root=FOLDER` reads a data set
from a folder with one of the layouts below. The numbers of documents and questions are from
publishers and papers.
"""
_WHICH = {"default": "by default", "all": "for all questions"}
SOURCES = ("paper", "zhou2025", "upstream", "fidelity=paper")
"""The columns of the table of profiles, in addition to the default."""
_PROFILES = """\
`profile=paper` uses the settings in the paper of a method, `profile=zhou2025` the settings of Zhou
et al. (PVLDB 2025), and `profile=upstream` the settings of the authors' code. `fidelity=paper`
calls a language model wherever the paper does. If a cell is empty, the profile keeps the default.
*unstated* means that the source gives no value, so the default is kept. *none* as a budget means
that the context is limited only by the context window and the numbers of items. With a profile,
each method has its own budget (`budget_context=native`). With `zhou2025` this budget is 7,500
tokens by default: the paper's context window has 8,096 tokens, and the rest is for the answer and
the instructions.
"""
Item = TypeVar("Item", Operator, Builder)


def pages() -> dict[Path, str]:
    """Return the text of each page, by path."""
    load_plugins()
    docs = {"operators": operators_page, "methods": methods_page, "datasets": datasets_page}
    return {ROOT / "docs" / f"{name}.md": page() for name, page in docs.items()}


def own(items: Iterable[Item]) -> list[Item]:
    """Return the operators or builders that belong to the project and not to plug-ins."""
    return [i for i in items if i.function.__module__.split(".")[0] in PACKAGES]


def page_of(name: str) -> Path:
    """Return the page of a method: the `page` of its YAML file, or the README of its folder."""
    return ROOT / "methods" / method_file(name).get("page", name) / "README.md"


def profile_rows(name: str) -> list[Sequence[str]]:
    """Return a row for each setting of a method that a profile changes."""
    method = method_file(name)
    stored = dict(method.get("profiles") or {})
    if method.get("fidelity"):
        stored["fidelity=paper"] = method["fidelity"]
    paths = dict.fromkeys(path for changed in stored.values() for path in changed)
    rows: list[Sequence[str]] = []
    for path in paths:
        cells = [_value(stored[one].get(path, "")) if one in stored else "" for one in SOURCES]
        setting = f"`{path if path.startswith('build.') else f'method.{path}'}`"
        rows.append([f"`{name}`", setting, _value(_default(method, path)), *cells])
    if "paper" in stored and not stored["paper"]:
        rows.append([f"`{name}`", "*`profile=paper` changes nothing* | | | | |"])
    return rows


def _default(method: Mapping[str, Any], path: str) -> Any:
    """Return the default of a setting, from the method's file or from the signature of its builder.

    A resource with a single builder has no variants.
    """
    if not path.startswith("build."):
        return method[path]
    _, resource, *last = path.split(".")
    chosen = (method.get("build") or {}).get(resource, "auto")
    chosen = chosen if isinstance(chosen, Mapping) else {"variant": chosen}
    name = last[0] if last else "variant"
    if name in chosen:
        return chosen[name]
    alone = any(builder.name == resource for builder in builders.all())
    if chosen["variant"] == "auto" and not alone:  # the data set chooses the builder of chunks
        return ""
    builder = builders.get(resource if alone else f"{resource}.{chosen['variant']}")
    return builder.settings[name].default


def _value(value: Any) -> str:
    named = {"": "", "unstated": "*unstated*", None: "none"}
    return (
        named[value] if isinstance(value, str | None) and value in named else f"`{_shown(value)}`"
    )


def operators_page() -> str:
    """Return the page of operators, graph types and builders."""
    every = own(operators.all())
    papers = [one for one in paper_first(every) if one.table3]
    lines = ["# Operators and builders", "", NOTE]
    lines += ["", "## The operators of Zhou et al. 2025, Table 3", "", *_table_3(papers), ""]
    for operator in papers:
        lines += _operator(operator)
    lines += ["## Our operators", "", OURS]
    families = {one.name.partition(".")[0] for one in every if not one.table3}
    for family in sorted(families, key=lambda f: (FAMILIES.index(f) if f in FAMILIES else 99, f)):
        lines += ["", f"### {family}", ""]
        for operator in every:
            if operator.name.startswith(f"{family}.") and not operator.table3:
                lines += _operator(operator, "####")
    lines += ["", "## Graph types by attributes, as in Zhou et al. 2025, Table 2", "", *_table_2()]
    lines += ["", "## Builders", ""]
    for builder in own(builders.all()):
        lines += _builder(builder)
    return "\n".join(lines).rstrip() + "\n"


def _table_3(papers: Sequence[Operator]) -> list[str]:
    """Return a row for each operator of the paper, with its inputs and outputs."""
    names = {(one.name.partition(".")[0], one.table3): one for one in papers}
    rows = []
    for family, in_paper in TABLE3.items():
        for name in in_paper:
            one = names[family, name]
            link = f"[`{one.name}`](#{one.name.replace('.', '')})"
            rows.append((family, name, link, *_reads_writes(one)))
    return table(("family", "in the paper", "here", "reads", "writes"), rows)


def _table_2() -> list[str]:
    attributes = [*ATTRIBUTES.values(), "relationship.weight"]
    rows = [
        [f"`{one.variant}`", *(MARK if name in one.provides else "–" for name in attributes)]
        for one in own(builders.all())
        if one.resource == "graph"
    ]
    return table(["graph", *attributes], rows)


def _operator(operator: Operator, heading: str = "###") -> list[str]:
    reads, writes = _reads_writes(operator)
    facts = [f"- {reads} → {writes}"]
    for word, names in (("needs", operator.needs), ("requires", sorted(operator.requires))):
        facts += [f"- {word} {', '.join(names)}"] if names else []
    return _section(heading, operator, facts)


def _reads_writes(operator: Operator) -> tuple[str, str]:
    reads = ", ".join(r.slot + ("?" if r.optional else "") for r in operator.reads) or "nothing"
    return reads, ", ".join([*operator.writes, *(f"{name}?" for name in operator.may_write)])


def _builder(builder: Builder) -> list[str]:
    needs = [need for need in builder.needs if need not in ("scratch", "progress")]
    return _section("###", builder, [f"- from {', '.join(needs)}"])


def _section(heading: str, item: Operator | Builder, facts: list[str]) -> list[str]:
    doc = (item.function.__doc__ or "").strip()
    lines = [f"{heading} `{item.name}`", "", doc.partition("\n")[0], "", *facts]
    lines += [
        f"- `{name}`" + ("" if setting.default is REQUIRED else f" = `{_shown(setting.default)}`")
        for name, setting in item.settings.items()
    ]
    if source := re.search(r"Source:\s*(.*?)(?:\n\s*\n|\n\s*Deviation|$)", doc, re.S):
        lines.append(f"- Source: {' '.join(source[1].split())}")
    return [*lines, ""]


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if hasattr(value, "digest"):
        return str(value.name)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return f"{len(value)} steps"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def methods_page() -> str:
    """Return the page of methods, with the settings of the profiles."""
    heads = ("method", "graph", "indices", "question inputs", "operators", "generation",
             "calls")  # fmt: skip
    toy = api.dataset("toy")
    lines = ["# Methods", "", NOTE, "", "## Parts of each method, as in Zhou et al. 2025, Table 1"]
    lines += ["", *table(heads, [_method_row(name, toy) for name in built_in_names("method")])]
    lines += ["", "*Calls* is the maximum number of model calls for a question, including its "
              "conversion and the answer.", ""]  # fmt: skip
    lines += ["## Settings of the profiles", "", _PROFILES]
    rows = [row for name in built_in_names("method") for row in profile_rows(name)]
    lines += table(("method", "setting", "default", *SOURCES), rows)
    return "\n".join(lines).rstrip() + "\n"


def datasets_page() -> str:
    """Return the page of data sets: a table, and a section for each data set."""
    rows, cards = [], [load_card(name) for name in card_names()]
    for card in cards:
        counts = [f"{card.counts[kind]:,}" if kind in card.counts else "–" for kind in KINDS]
        checked = "yes" if card.verified else "**no**"
        rows.append([f"[{card.name}](#{card.name})", *counts, card.license, checked, _source(card)])
    heads = ("set", "documents", "questions", "licence", "layout checked", "source")
    lines = ["# Data sets", "", NOTE, "", _DATASETS, *table(heads, rows)]
    for card in cards:
        lines += ["", f"## {card.name}", "", f"{card.title}.{_citation(card)}", ""]
        lines += [f"- {fact}" for fact in _card_facts(card)]
    return "\n".join(lines).rstrip() + "\n"


def _citation(card: Card) -> str:
    if card.citation == "your own":
        return ""
    return f" {card.citation[0].upper()}{card.citation[1:]}."


def _source(card: Card) -> str:
    if card.source is None:
        return "your folder" if card.name in ("folder", "jsonl") else "this project"
    if card.name in COLLECTIONS:
        return "by name"
    return "fetch" if card.source.downloads else "by hand"


def _card_facts(card: Card) -> Iterator[str]:
    if card.source:
        sums = {one.sha256 for one in card.source.downloads} or {"unknown"}
        known = "unknown" if sums == {"unknown"} else "in the card"
        place = f"<{card.source.url}>, revision {card.source.revision}"
        yield f"The files of `{card.name}` come from {place}. Their checksums are {known}."
    if card.checked:
        checked = "was checked" if card.verified else "was not checked on the publisher's files"
        yield f"The layout of `{card.name}` {checked}: {card.checked}."
    for shape in card.shapes:
        files = _listed([f"`{file}`" for file in dict.fromkeys(shape.files.values())])
        if files:
            yield f"The reader `{shape.reader}` reads {files}{shape.note and ': ' + shape.note}."
    if card.answers != "short":
        forms = card.answers if isinstance(card.answers, dict) else {"all": card.answers}
        which = [
            f"`{form}` {_WHICH.get(kind, f'for the type {kind}')}" for kind, form in forms.items()
        ]
        yield f"The answer form of `{card.name}` is {_listed(which)}."
    if card.counts_from:
        yield f"The document and question counts of `{card.name}` are from {card.counts_from}."
    yield from card.known_problems
    if card.contamination:
        yield card.contamination


def _listed(items: Sequence[str]) -> str:
    *first, last = items or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _method_row(name: str, toy: Dataset) -> list[str]:
    experiment = api.method(name, embedder="hashing").experiment(toy)
    pipeline = experiment.method.pipeline
    planned = {item.resource: item.builder.variant for item in experiment.plan}
    wanted = sorted(experiment.needed_artifacts - {"graph", "chunk_table", "corpus"})

    def chain(steps: Any) -> str:
        result = [op.operator.name for step in steps for op in step.operators()]
        return " → ".join(f"`{one}`" for one in dict.fromkeys(result)) or "–"

    return [
        f"[{experiment.method.title}](../{page_of(name).relative_to(ROOT).as_posix()})",
        planned.get("graph", "–")
        if "graph" in experiment.needed_artifacts or "graph" in planned
        else "–",
        ", ".join(wanted) or "–",
        chain(pipeline.convert),
        chain(pipeline.retrieve),
        chain(pipeline.generate),
        str(pipeline.max_calls()),
    ]


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
