"""The guides run block by block on small data without weights, README and notebooks as they are."""

import ast
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from toy_runs import WEIGHTLESS, command

from graphrag_bench import api
from scripts import follow

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = ("gpt-4o-mini", "OPENAI_API_KEY", "launcher=joblib", "launcher=submitit_local")
"""Words of commands that cost money, or that tests/cli/test_launchers.py runs."""
PAGES = [page for page in follow.pages() if page.name not in ("hydra.md", "README.md")]
MODELS = {"embedder": "hashing", "nlp": {"_target_": "toy_runs.Capitals"}}
OF_RUNS = {"ablate", "ask", "run", "plan"}


def small(words: list[str]) -> list[str]:
    """Return a command on the toy set, with models without weights."""
    words = ["dataset=toy" if word == "dataset=sample" else word for word in words]
    if words[0] not in OF_RUNS:
        return words
    at = next((row for row, word in enumerate(words) if "=" in word), len(words))
    has_embedder = any(word.startswith("embedder=") for word in words)
    return [*words[:at], *WEIGHTLESS[has_embedder:], *words[at:]]


def parts(page: Path) -> Iterator[tuple[list[follow.Block], str]]:
    """Yield each command and script of a page, with the files to write before it."""
    files: list[follow.Block] = []
    for block in follow.blocks(page.read_text(encoding="utf-8")):
        texts = {"bash": block.commands, "python": [block.text]}.get(block.language, [])
        if block.file:
            files.append(block)
            if block.file.startswith("test_"):
                yield files, ""
                files = []
        for text in () if block.file else texts:
            if not any(word in text for word in SKIPPED):
                yield files, text
                files = []


PARTS = [
    pytest.param(page, *part, id=f"{page.name}-{row}")
    for page in PAGES for row, part in enumerate(parts(page), 1)
]  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """The folder of each page."""
    return {page: tmp_path_factory.mktemp(page.stem) for page in PAGES}


@pytest.mark.usefixtures("open_registries")
@pytest.mark.parametrize(("page", "files", "text"), PARTS)
def test_every_command_of_a_page_runs(
    page: Path, files: list[follow.Block], text: str, folders: dict[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(folders[page])
    monkeypatch.syspath_prepend(str(folders[page]))
    for file in files:
        follow.write(file, folders[page])
    if text.startswith("graphrag-bench "):
        ended = command(*small(shlex.split(text)[1:]))
        assert ended.code == 0, f"{text}\n{ended.out}\n{ended.err}"
    elif "ranx" in text:  # in a process without its compiler, which takes 40 s
        done = subprocess.run(
            [sys.executable, "-c", text], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False,
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    elif text:
        small_text = text.replace('("sample"', '("toy"').replace("gb.method(", "weightless(")
        space = {"__name__": "page"}  # an operator needs the name of its module
        exec(small_text, space | {"weightless": partial(api.method, **MODELS)})
    else:
        space = dict[str, Any]()
        exec(files[-1].text, space)
        tests = [value for name, value in space.items() if name.startswith("test_")]
        assert tests
        for test in tests:
            test()


def here(text: str, folder: Path, *, python: bool = False) -> follow.Done:
    """Run a command or a script in this process, where the models are loaded."""
    if python:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(text, {"__name__": "page"})
        return subprocess.CompletedProcess(text, 0, out.getvalue(), "")
    program, *words = shlex.split(text)
    if program in ("ls", "cat"):
        path = folder / words[-1]
        shown = "\n".join(sorted(os.listdir(path))) if program == "ls" else path.read_text("utf-8")
        return subprocess.CompletedProcess(text, 0, shown, "")
    ended = command(*(words[2:] if program == "python" else words))
    return subprocess.CompletedProcess(text, ended.code, ended.out, ended.err)


@pytest.fixture
def models_home(home: Path, models_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the cache of the packaged models."""
    (home / "cache").symlink_to(models_cache)
    monkeypatch.setenv("COLUMNS", "100")
    return home


@pytest.mark.real
@pytest.mark.usefixtures("open_registries")
@pytest.mark.parametrize("page", ["README.md", "docs/guides/hydra.md"])
def test_a_page_prints_what_it_says(page: str, models_home: Path) -> None:
    assert follow.check(ROOT / page, models_home, here) == []


FIGURE = re.compile(r"\b[01]\.\d{3}\b")


def displayed(source: str, folder: Path, space: dict[str, Any]) -> str:
    """Run a cell of a notebook, and return what it prints and displays."""
    if source.startswith("!"):
        return here(source[1:].partition(" 2>")[0], folder).stdout
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(ast.Interactive(ast.parse(source).body), "cell", "single"), space)
    return out.getvalue()


@pytest.mark.real
@pytest.mark.usefixtures("open_registries")
@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=str)
def test_a_notebook_prints_its_figures(
    file: Path, models_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sys,
        "displayhook",
        lambda one: print(one, getattr(one, "_repr_markdown_", str)()),  # noqa: T201
    )
    space: dict[str, Any] = {"__name__": "cells"}
    for cell in json.loads(file.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            out = displayed("".join(cell["source"]), models_home, space)
            stored = FIGURE.findall(str(cell["outputs"]))
            assert dict.fromkeys(FIGURE.findall(out)) == dict.fromkeys(stored), out


def test_the_readme_is_short_and_links_every_guide() -> None:
    assert {param.values[0] for param in PARTS} == set(PAGES)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    guides = [page.name for page in PAGES if page.parent.name == "guides"]
    assert not [name for name in guides if f"(docs/guides/{name})" not in readme]
    assert len(readme.splitlines()) <= 200
