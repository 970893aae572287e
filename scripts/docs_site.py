"""Copies what the documentation site shows to build/pages, each file at its own path.

Pages link to each other and to files of the repository by relative paths, which stay right in a
copy. The start page is one of results, and the README is about.md; the page of a method ends with
its pipeline and its files. With `api` it writes site/api instead, the docstrings of
the public modules by pdoc, and site/demo, the page of the packaged runs.
Usage: python -m scripts.docs_site [api]; `make docs` builds the whole site.
"""

import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import count, pairwise
from pathlib import Path

from graphrag_bench import api
from graphrag_bench.config.sources import built_in
from graphrag_bench.pipeline.pipeline import STAGES, Pipeline
from graphrag_bench.pipeline.steps import OperatorStep, Step, Steps
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import method_files
from graphrag_bench.view.page import write_demo
from scripts import write_board, write_docs

ROOT = Path(__file__).resolve().parent.parent
FIELD, PARITY = "docs/results/field.md", "docs/parity.md"
PAGES = ROOT / "build" / "pages"
SHOWN = ("*.md", "*.j2", "docs", "configs", "datasets/*.yaml", "CITATION.cff", "LICENSE")
MODULES = (
    "graphrag_bench.api", "graphrag_bench.contract", "graphrag_bench.values",
    "graphrag_bench.algorithms.graph", "graphrag_bench.algorithms.pagerank",
    "graphrag_bench.data.chunks",
    "graphrag_bench.llm.chat", "graphrag_bench.embedding.embedder", "graphrag_bench.embedding.nlp",
    "graphrag_bench.embedding.vector_index", "graphrag_bench.errors",
)  # fmt: skip
"""What operators, methods and notebooks are written with."""


def shown() -> list[str]:
    """The files that the site shows, by their paths in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *SHOWN],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [path for path in listed.stdout.splitlines() if not path.startswith("tests/")]


def copy() -> None:
    """Copy the pages, with the start page and what the pages of the methods end with."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for path in shown():
        _copy(path, path)
    _copy("README.md", "about.md")
    every = write_board.results()
    (PAGES / "README.md").write_text(start_page(every), encoding="utf-8")
    by_page: dict[Path, list[Experiment]] = {}
    for name in built_in("method"):
        by_page.setdefault(write_docs.page_of(name), []).append(prepared(name))
    for page, experiments in by_page.items():
        for file in {file for one in experiments for file in method_files(one)}:
            _copy(file.relative_to(ROOT).as_posix(), file.relative_to(ROOT).as_posix())
        target = PAGES / page.relative_to(ROOT)
        text = "\n".join([page.read_text(encoding="utf-8"), *method_sections(experiments)])
        target.write_text(text, encoding="utf-8")


def prepared(name: str) -> Experiment:
    """A method over the toy set, its steps checked; nothing is run."""
    return api.method(name, embedder="hashing").experiment(api.dataset("toy"))


def _copy(path: str, to: str) -> None:
    target = PAGES / to
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(ROOT / path, target)


def start_page(every: Sequence[write_board.Result]) -> str:
    """The results: the field, the board, the papers' tables with grades, parity, the methods."""
    lines = ["# Results", "", "[What graphrag-bench is, and how to install it](about.md).", ""]
    lines += ["## The field", "", f"[{_title(FIELD)}]({FIELD}) has sources and commands.", ""]
    lines += [*first_table(FIELD), ""]
    lines += ["## The board", "", "Each method links to the command that made its row"]
    lines += ["([how to add a row](docs/guides/sharing.md#a-row-of-the-board)).", ""]
    lines += write_board.board(every, f"{write_board.BOARD}.md")
    lines += ["## The papers' tables", "", "`graphrag-bench table NAME` prints your figures beside"]
    lines += ["the paper's, with a grade, and the command for the missing runs.", ""]
    lines += [*write_board.papers(), "", "## Parity with the released engines", ""]
    lines += [f"[How it is measured, and each first difference]({PARITY}).", ""]
    lines += [*first_table(PARITY), "", "## Methods", "", "recall@5 on 100 MuSiQue questions.", ""]
    return "\n".join([*lines, *first_table("README.md")]) + "\n"


def _title(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def first_table(path: str) -> list[str]:
    """The first table of a page, its links as from the root."""
    text = re.search(r"(^\|.*\n)+", (ROOT / path).read_text(encoding="utf-8"), re.M)
    folder = posixpath.dirname(path)

    def from_root(link: re.Match[str]) -> str:
        return f"]({posixpath.normpath(posixpath.join(folder, link[1]))})"

    return re.sub(r"\]\((?!\w+:|#)([^)]+)\)", from_root, text[0] if text else "").splitlines()


def method_sections(experiments: Sequence[Experiment]) -> Iterator[str]:
    """What the page of some methods ends with: pipelines and files."""
    yield from ("", "## Pipeline", "", "Dashed: may call a language model.")
    for one in experiments:
        chart = flow_chart(one.method.pipeline, "../../docs/operators.html")
        yield from ("", f"### `{one.method.name}`", "", "```mermaid", *chart, "```")
    yield from ("", "## Files", "")
    for one in experiments:
        yield from (f"`graphrag-bench show method={one.method.name} --files`", "")
        paths = [file.relative_to(ROOT).as_posix() for file in method_files(one)]
        yield from (f"1. [{path}](../../{path})" for path in paths)
        yield ""


def flow_chart(pipeline: Pipeline, operators_page: str) -> list[str]:
    """Return a pipeline in Mermaid's language: a frame for each stage, combinator and arm.

    A box has the name of an operator, which links to its section of a page, and its slots.
    """
    lines = ["flowchart TB", "classDef model stroke-dasharray: 5 3"]
    names = (f"s{number}" for number in count())

    def frame(title: str, inside: Sequence[tuple[str, Steps]]) -> str:
        own = next(names)
        lines.append(f'subgraph {own}["{title}"]')
        for arm, steps in inside:
            if arm:
                frame(arm, [("", steps)])
            else:
                lines.extend(f"{one} --> {two}" for one, two in pairwise(list(map(draw, steps))))
        lines.append("end")
        return own

    def draw(step: Step) -> str:
        if not isinstance(step, OperatorStep):
            return frame(" ".join([*step.label.split(" ")[1:2], *scalars(step)]), list(arms(step)))
        own, operator = next(names), step.operator
        reads = [one.slot for one in operator.reads if not one.optional or one.slot in step.use]
        slots = f"{', '.join(reads)} → {', '.join([*operator.writes, *operator.may_write])}"
        model = ":::model" if step.bound() else ""
        lines.append(f'{own}["{operator.name}<br>{slots}"]{model}')
        lines.append(f'click {own} "{operators_page}#{operator.name.replace(".", "")}"')
        return own

    stages = [(name, steps) for name in STAGES if (steps := getattr(pipeline, name))]
    frames = [frame(name, [("", steps)]) for name, steps in stages]
    return [*lines, *(f"{one} --> {two}" for one, two in pairwise(frames))]


def scalars(step: Step) -> list[str]:
    """The settings of a combinator that are words or numbers, as `name=value`."""
    values = {one.name: getattr(step, one.name) for one in fields(step)}  # type: ignore[arg-type]
    return [f"{name}={value}" for name, value in values.items()
            if name != "label" and isinstance(value, str | int) and value]  # fmt: skip


def arms(step: Step) -> Iterator[tuple[str, Steps]]:
    """The lists of steps inside a combinator, each with the name of its arm or field."""
    for one in fields(step):  # type: ignore[arg-type]
        value = getattr(step, one.name)
        named = value if isinstance(value, Mapping) else {one.name: value}
        for name, steps in named.items():
            if isinstance(steps, tuple) and steps in step.parts and (steps or named is value):
                yield "" if one.name == "steps" else str(name), steps


def reference() -> None:
    """Write the reference of the public modules, and the page of the packaged runs."""
    import pdoc

    write_demo(ROOT / "site" / "demo")
    pdoc.render.configure(show_source=False, search=True)
    pdoc.pdoc(*MODULES, output_directory=ROOT / "site" / "api")


if __name__ == "__main__":
    reference() if sys.argv[1:] == ["api"] else copy()
