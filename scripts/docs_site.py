"""Copies what the documentation site shows to build/pages, each file at its own path.

Pages link to each other and to files of the repository by relative paths, which stay right in a
copy. With `api` it writes site/api instead: the docstrings of the public modules, by pdoc.
Usage: python scripts/docs_site.py [api]; `make docs` builds the whole site.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "pages"
SHOWN = ("*.md", "*.j2", "docs", "configs", "datasets/*.yaml", "CITATION.cff", "LICENSE")
MODULES = (
    "graphrag_bench.api", "graphrag_bench.contract", "graphrag_bench.values",
    "graphrag_bench.algorithms.graph", "graphrag_bench.algorithms.pagerank",
    "graphrag_bench.data.chunks",
    "graphrag_bench.llm.chat", "graphrag_bench.embedding.embedder", "graphrag_bench.embedding.nlp",
    "graphrag_bench.indices.vector_index", "graphrag_bench.errors",
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
    """Copy the pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for path in shown():
        target = PAGES / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, target)


def api() -> None:
    """Write the reference of the public modules."""
    import pdoc

    pdoc.render.configure(show_source=False, search=True)
    pdoc.pdoc(*MODULES, output_directory=ROOT / "site" / "api")


if __name__ == "__main__":
    api() if sys.argv[1:] == ["api"] else copy()
