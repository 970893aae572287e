"""Copy the pages of the documentation site to build/pages.

Each file keeps its path, so that relative links between pages work. A chart of the pipeline is
added to the page of each method. With `api`, write site/api (docstrings, by pdoc) and site/demo
instead.
Usage: python -m scripts.docs_site [api]; `make docs` builds the whole site.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import count, pairwise
from typing import Any

from graphrag_bench import api
from graphrag_bench.config.sources import built_in_names
from graphrag_bench.pipeline.pipeline import STAGES, Pipeline
from graphrag_bench.pipeline.steps import OperatorStep, Step, Steps
from graphrag_bench.view.page import write_demo
from scripts.markdown import ROOT
from scripts.write_docs import page_of

PAGES = ROOT / "build" / "pages"
FILES = ("*.md", "*.j2", "docs", "configs", "datasets/*.yaml", "CITATION.cff", "LICENSE")
MODULES = (
    "api", "contract", "values", "arrays", "algorithms.graph", "algorithms.pagerank",
    "data.chunks", "llm.chat", "embedding.embedder", "embedding.nlp", "embedding.vector_index",
    "errors",
)  # fmt: skip
"""Public modules of graphrag_bench for writing operators, methods and notebooks."""


def copy() -> None:
    """Copy the pages, and add a chart of the pipeline to the page of each method."""
    shutil.rmtree(PAGES, ignore_errors=True)
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *FILES]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        if not name.startswith("tests/"):
            (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, PAGES / name)
    for name in built_in_names("method"):
        lines = flow_chart(method_pipeline(name), "../../docs/operators.html")
        with (PAGES / page_of(name).relative_to(ROOT)).open("a", encoding="utf-8") as page:
            page.write(f"\n## Pipeline of `{name}`\n\nDashed boxes may call a language model.\n\n")
            page.write("\n".join(["```mermaid", *lines, "```", ""]))


def method_pipeline(name: str) -> Pipeline:
    """Return the checked pipeline of a method."""
    return api.method(name, embedder="hashing").experiment(api.dataset("toy")).method.pipeline


def flow_chart(pipeline: Pipeline, operators_page: str) -> list[str]:
    """Return a pipeline as a Mermaid chart; its boxes link to sections of `operators_page`."""
    lines = ["flowchart TB", "classDef model stroke-dasharray: 5 3"]
    names = (f"s{number}" for number in count())

    def frame(title: str, arms: Iterable[tuple[str, Steps]]) -> str:
        own = next(names)
        lines.append(f'subgraph {own}["{title}"]')
        for arm, steps in arms:
            if arm:
                frame(arm, [("", steps)])
            else:
                lines.extend(f"{one} --> {two}" for one, two in pairwise(list(map(draw, steps))))
        lines.append("end")
        return own

    def draw(step: Step) -> str:
        if not isinstance(step, OperatorStep):
            values = {one.name: getattr(step, one.name) for one in fields(step)}  # type: ignore[arg-type]
            settings = [f"{name}={value}" for name, value in values.items()
                        if name != "label" and isinstance(value, str | int) and value]  # fmt: skip
            title = " ".join([*step.label.split(" ")[1:2], *settings])
            return frame(title, arms_of(step, values))
        own, operator = next(names), step.operator
        reads = [one.slot for one in operator.reads if not one.optional or one.slot in step.use]
        slots = f"{', '.join(reads)} → {', '.join([*operator.writes, *operator.may_write])}"
        lines.append(f'{own}["{operator.name}<br>{slots}"]{":::model" * bool(step.max_calls())}')
        lines.append(f'click {own} "{operators_page}#{operator.name.replace(".", "")}"')
        return own

    stages = [(name, steps) for name in STAGES if (steps := getattr(pipeline, name))]
    frames = [frame(name, [("", steps)]) for name, steps in stages]
    return [*lines, *(f"{one} --> {two}" for one, two in pairwise(frames))]


def arms_of(step: Step, values: Mapping[str, Any]) -> Iterator[tuple[str, Steps]]:
    """Yield the lists of steps inside a combinator, each with the name of its arm or field."""
    for field, value in values.items():
        named = isinstance(value, Mapping)
        for name, steps in (value if named else {field: value}).items():
            if isinstance(steps, tuple) and steps in step.parts and (steps or named):
                yield "" if field == "steps" else str(name), steps


def reference() -> None:
    """Write the API reference and the demo page."""
    import pdoc

    write_demo(ROOT / "site" / "demo")
    pdoc.render.configure(show_source=False, search=True)
    names = (f"graphrag_bench.{name}" for name in MODULES)
    pdoc.pdoc(*names, output_directory=ROOT / "site" / "api")


if __name__ == "__main__":
    reference() if sys.argv[1:] == ["api"] else copy()
