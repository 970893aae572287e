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
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from toy_runs import WEIGHTLESS, CommandResult, command

from graphrag_bench import api
from scripts import follow

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = ("gpt-4o-mini", "OPENAI_API_KEY", "launcher=joblib", "launcher=submitit_local")
"""Words of commands that cost money, or that tests/cli/test_launchers.py runs."""
PAGES = [page for page in follow.pages() if page.name not in ("hydra.md", "README.md")]
MODELS = {"embedder": "hashing", "nlp": {"_target_": "toy_runs.Capitals"}}


def small(words: list[str]) -> list[str]:
    """Return a command on the toy set, with models without weights."""
    words = ["dataset=toy" if word == "dataset=sample" else word for word in words]
    if words[0] not in {"ablate", "ask", "run", "plan"}:
        return words
    at = next((row for row, word in enumerate(words) if "=" in word), len(words))
    return [*words[:at], *WEIGHTLESS["embedder=" in " ".join(words) :], *words[at:]]


def parts(page: Path) -> Iterator[tuple[list[follow.Block], str]]:
    """Yield each command and script of a page, with the files to write before it."""
    files: list[follow.Block] = []
    for block in follow.blocks(page.read_text(encoding="utf-8")):
        texts = [block.text] if block.language == "python" else []
        if block.language == "bash":  # continued lines are joined
            texts = list(filter(str.strip, block.text.replace("\\\n", " ").splitlines()))
        if block.file:
            files.append(block)
            texts = [""] if block.file.startswith("test_") else []
        for text in texts:
            if not any(word in text for word in SKIPPED):
                yield files, text
                files = []


PARTS = [
    pytest.param(page, *part, id=f"{page.name}-{row}")
    for page in PAGES for row, part in enumerate(parts(page), 1)
]  # fmt: skip


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that returns the folder of a page."""
    return cache(tmp_path_factory.mktemp)


@pytest.mark.usefixtures("open_registries")
@pytest.mark.parametrize(("page", "files", "text"), PARTS)
def test_every_command_of_a_page_runs(
    page: Path, files: list[follow.Block], text: str, folder_of: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = folder_of(page.stem)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    for file in files:
        follow.write(file, folder)
    if text.startswith("graphrag-bench "):
        ended = command(*small(shlex.split(text)[1:]))
        assert ended.code == 0, f"{text}\n{ended.out}\n{ended.err}"
    elif "ranx" in text:  # in a process without its compiler, which takes 40 s
        env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        subprocess.run([sys.executable, "-c", text], env=env, check=True)
    elif text:
        small_text = text.replace('("sample"', '("toy"').replace("gb.method(", "weightless(")
        space = {"__name__": "page"}  # an operator needs the name of its module
        exec(small_text, space | {"weightless": partial(api.method, **MODELS)})
    else:
        space = dict[str, Any]()
        exec(files[-1].text, space)
        for test in (tests := [name for name in space if name.startswith("test_")]):
            space[test]()
        assert tests


def here(text: str, folder: Path, *, python: bool = False) -> follow.Done:
    """Run a command or a script in this process, where the models are loaded."""
    program, *words = [""] if python else shlex.split(text)
    if python:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(text, {"__name__": "page"})
        ended = CommandResult(0, out.getvalue(), "")
    elif program == "ls":
        ended = CommandResult(0, "\n".join(sorted(os.listdir(folder / words[-1]))), "")
    elif program == "cat":
        ended = CommandResult(0, (folder / words[-1]).read_text("utf-8"), "")
    else:
        ended = command(*(words[2:] if program == "python" else words))
    return subprocess.CompletedProcess(text, ended.code, ended.out, ended.err)


@pytest.fixture
def models_home(home: Path, tmp_path_factory: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the cache of the packaged models for all pages."""
    cached = tmp_path_factory.getbasetemp() / "cache"
    cached.mkdir(exist_ok=True)
    (home / "cache").symlink_to(cached)
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
    def show(one: Any) -> None:
        print(one, getattr(one, "_repr_markdown_", str)())  # noqa: T201

    monkeypatch.setattr(sys, "displayhook", show)
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
