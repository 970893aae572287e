"""Write docs/operators.md, docs/methods.md and docs/datasets.md.

The pages are generated from the registry, configs/method/*.yaml and datasets/*/card.yaml. A test
checks that they are up to date.
Usage: python scripts/write_docs.py
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench import api, contract
from graphrag_bench.algorithms.graph import ATTRIBUTES
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import built_in_names, method_file
from graphrag_bench.contract import Builder, Operator
from graphrag_bench.data.dataset import COLLECTIONS, Card, card_names, load_card
from graphrag_bench.fingerprint import is_core
from scripts.markdown import ROOT, table, write_pages

NOTE = "This page is generated from the code by `python scripts/write_docs.py`."
FAMILIES = ("question", "query", "node", "relationship", "chunk", "subgraph", "community", "path")
_DATASETS = """\
`graphrag-bench fetch dataset=NAME` downloads a data set. `dataset.root=FOLDER` reads a data set
from a folder with one of the layouts below. The numbers of documents and questions are from
publishers and papers.
"""
_WHICH = {"default": "by default", "all": "for all questions"}
SOURCES = ("paper", "zhou2025", "upstream", "fidelity=paper")
"""The columns of the table of profiles, in addition to the default."""
_PROFILES = """\
*Calls* is the maximum number of model calls for a question, including its conversion and the \
answer.

## Settings of the profiles

`profile=paper` uses the settings in the paper of a method, `profile=zhou2025` the settings of Zhou
et al. (PVLDB 2025), and `profile=upstream` the settings of the authors' code. `fidelity=paper`
calls a language model wherever the paper does. If a cell is empty, the profile keeps the default.
*unstated* means that the source gives no value, so the default is kept. *none* as a budget means
that the context is limited only by the context window and the numbers of items. With a profile,
each method has its own budget (`budget_context=native`). With `zhou2025` this budget is 7,500
tokens by default: the paper's context window has 8,096 tokens, and the rest is for the answer and
the instructions.
"""


def pages() -> dict[Path, str]:
    """Return the text of each page, by path."""
    load_plugins()
    lines = {"operators": operators_page(), "methods": methods_page(), "datasets": datasets_page()}
    return {ROOT / f"docs/{name}.md": "\n".join(of).rstrip() + "\n" for name, of in lines.items()}


def own(items: Iterable[Any]) -> list[Any]:
    """Return the operators or builders that belong to the project and not to plug-ins."""
    return [one for one in items if is_core(one.function.__module__)]


def operators_page() -> Iterator[str]:
    """Yield the lines of the page of operators, graph types and builders."""
    every, builders = own(contract.operators.all()), own(contract.builders.all())
    papers = [one for one in contract.paper_first(every) if one.table3]
    yield from ("# Operators and builders", "", NOTE)
    yield from ("", "## The operators of Zhou et al. 2025, Table 3", "")
    rows = [(one.name.partition(".")[0], one.table3,
             f"[`{one.name}`](#{one.name.replace('.', '')})", *reads_writes(one))
            for one in papers]  # fmt: skip
    yield from (*table(("family", "in the paper", "here", "reads", "writes"), rows), "")
    for operator in papers:
        yield from section("###", operator)
    yield from ("## Our operators", "", "These operators are not in the paper's Table 3. Some "
                "supplement its 19 operators; others are steps of methods that the paper does not "
                "cover.")  # fmt: skip
    families = {one.name.partition(".")[0] for one in every if not one.table3}
    for family in sorted(families, key=lambda f: (FAMILIES.index(f) if f in FAMILIES else 99, f)):
        yield from ("", f"### {family}", "")
        for operator in every:
            if operator.name.startswith(f"{family}.") and not operator.table3:
                yield from section("####", operator)
    yield from ("", "## Graph types by attributes, as in Zhou et al. 2025, Table 2", "")
    attributes = [*ATTRIBUTES.values(), "relationship.weight"]
    rows = [(f"`{one.variant}`", *("✓" if name in one.provides else "–" for name in attributes))
            for one in builders if one.resource == "graph"]  # fmt: skip
    yield from (*table(["graph", *attributes], rows), "", "## Builders", "")
    for builder in builders:
        yield from section("###", builder)


def reads_writes(operator: Operator) -> tuple[str, str]:
    """Return the slots that an operator reads and writes; a question mark means optional."""
    reads = ", ".join(r.slot + ("?" if r.optional else "") for r in operator.reads) or "nothing"
    return reads, ", ".join([*operator.writes, *(f"{name}?" for name in operator.may_write)])


def section(heading: str, item: Operator | Builder) -> Iterator[str]:
    """Yield the section of an operator or a builder: purpose, inputs, settings and source."""
    yield from (f"{heading} `{item.name}`", "", item.docstring.partition("\n")[0], "")
    if isinstance(item, Builder):
        needs = [need for need in item.needs if need not in ("scratch", "progress")]
        yield f"- from {', '.join(needs)}"
    else:
        yield f"- {' → '.join(reads_writes(item))}"
        for word, names in (("needs", item.needs), ("requires", sorted(item.requires))):
            if names:
                yield f"- {word} {', '.join(names)}"
    for name, setting in item.settings.items():
        shown = "null" if setting.default is None else _shown(setting.default)
        yield f"- `{name}`" + ("" if setting.default is contract.REQUIRED else f" = `{shown}`")
    pattern = r"Source:\s*(.*?)(?:\n\s*\n|\n\s*Deviation|$)"
    if source := re.search(pattern, item.docstring, re.S):
        yield f"- Source: {' '.join(source[1].split())}"
    yield ""


def _shown(value: Any) -> str:
    if hasattr(value, "digest"):
        return str(value.name)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return f"{len(value)} steps"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def methods_page() -> Iterator[str]:
    """Yield the lines of the page of methods, with the settings of the profiles."""
    names, toy = built_in_names("method"), api.dataset("toy")
    yield from ("# Methods", "", NOTE, "")
    yield from ("## Parts of each method, as in Zhou et al. 2025, Table 1", "")
    rows = []
    for name in names:
        experiment = api.method(name, embedder="hashing").experiment(toy)
        pipeline, used = experiment.method.pipeline, experiment.needed_artifacts
        planned = {item.resource: item.builder.variant for item in experiment.plan}
        chains = []
        for steps in (pipeline.convert, pipeline.retrieve, pipeline.generate):
            chain = dict.fromkeys(op.operator.name for step in steps for op in step.operators())
            chains.append(" → ".join(f"`{one}`" for one in chain) or "–")
        link = f"[{experiment.method.title}](../{page_of(name).relative_to(ROOT).as_posix()})"
        indices = ", ".join(sorted(used - {"graph", "chunk_table", "corpus"})) or "–"
        rows.append((link, planned.get("graph", "–"), indices, *chains, str(pipeline.max_calls())))
    heads = ("method", "graph", "indices", "question inputs", "operators", "generation", "calls")
    yield from (*table(heads, rows), "", _PROFILES)
    rows = [row for name in names for row in profile_rows(name)]
    yield from table(("method", "setting", "default", *SOURCES), rows)


def page_of(name: str) -> Path:
    """Return the page of a method: the `page` of its YAML file, or the README of its folder."""
    return ROOT / "methods" / method_file(name).get("page", name) / "README.md"


def profile_rows(name: str) -> Iterator[Sequence[str]]:
    """Yield a row for each setting of a method that a profile changes."""
    method = method_file(name)
    stored = {**(method.get("profiles") or {}), "fidelity=paper": method.get("fidelity") or {}}
    named = {"": "", "unstated": "*unstated*", "None": "none"}
    for path in dict.fromkeys(path for changed in stored.values() for path in changed):
        values = [default(method, path), *(stored.get(one, {}).get(path, "") for one in SOURCES)]
        cells = [named.get(str(value), f"`{_shown(value)}`") for value in values]
        setting = path if path.startswith("build.") else f"method.{path}"
        yield (f"`{name}`", f"`{setting}`", *cells)
    if stored.get("paper") == {}:
        yield (f"`{name}`", "*`profile=paper` changes nothing* | | | | |")


def default(method: Mapping[str, Any], path: str) -> Any:
    """Return the default of a setting in a method's file or in the signature of its builder."""
    if not path.startswith("build."):
        return method[path]
    _, resource, name = f"{path}.variant".split(".")[:3]
    chosen = (method.get("build") or {}).get(resource, "auto")
    chosen = chosen if isinstance(chosen, Mapping) else {"variant": chosen}
    alone = any(builder.name == resource for builder in contract.builders.all())
    if name in chosen or (chosen["variant"] == "auto" and not alone):
        return chosen.get(name, "")
    variant = resource if alone else f"{resource}.{chosen['variant']}"
    return contract.builders.get(variant).settings[name].default


def datasets_page() -> Iterator[str]:
    """Yield the lines of the page of data sets: a table, and a section for each data set."""
    rows, cards = [], [load_card(name) for name in card_names()]
    for card in cards:
        counts = (card.counts.get(kind) for kind in ("documents", "questions"))
        shown = ["–" if n is None else f"{n:,}" for n in counts]
        source = "this project" if card.name not in ("folder", "jsonl") else "your folder"
        if card.source:
            source = "fetch" if card.source.downloads else "by hand"
            source = "by name" if card.name in COLLECTIONS else source
        checked = "yes" if card.verified else "**no**"
        rows.append((f"[{card.name}](#{card.name})", *shown, card.license, checked, source))
    heads = ("set", "documents", "questions", "licence", "layout checked", "source")
    yield from ("# Data sets", "", NOTE, "", _DATASETS, *table(heads, rows))
    for card in cards:
        cited = card.citation
        citation = "" if cited == "your own" else f" {cited[0].upper()}{cited[1:]}."
        yield from ("", f"## {card.name}", "", f"{card.title}.{citation}", "")
        yield from (f"- {fact}" for fact in card_facts(card))


def card_facts(card: Card) -> Iterator[str]:
    """Yield sentences on files, layout, answers, counts and known problems of a data set."""
    if card.source:
        sums = {one.sha256 for one in card.source.downloads} - {"unknown"}
        known = "in the card" if sums else "unknown"
        place = f"<{card.source.url}>, revision {card.source.revision}"
        yield f"The files of `{card.name}` come from {place}. Their checksums are {known}."
    if card.checked:
        checked = "was checked" if card.verified else "was not checked on the publisher's files"
        yield f"The layout of `{card.name}` {checked}: {card.checked}."
    for shape in card.shapes:
        if files := _listed([f"`{file}`" for file in dict.fromkeys(shape.files.values())]):
            yield f"The reader `{shape.reader}` reads {files}{shape.note and ': ' + shape.note}."
    if card.answers != "short":
        forms = card.answers if isinstance(card.answers, dict) else {"all": card.answers}
        named = ((form, _WHICH.get(kind, f"for the type {kind}")) for kind, form in forms.items())
        which = _listed([f"`{form}` {kind}" for form, kind in named])
        yield f"The answer form of `{card.name}` is {which}."
    if card.counts_from:
        yield f"The document and question counts of `{card.name}` are from {card.counts_from}."
    yield from card.known_problems
    if card.contamination:
        yield card.contamination


def _listed(items: Sequence[str]) -> str:
    *first, last = items or [""]
    return f"{', '.join(first)} and {last}" if first else last


if __name__ == "__main__":
    write_pages(pages())
