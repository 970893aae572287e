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
from functools import partial
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, CommandResult, command

from graphrag_bench import api
from scripts import follow

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = ("gpt-4o-mini", "OPENAI_API_KEY", "launcher=joblib", "launcher=submitit_local")
"""Words of commands that cost money, or that tests/cli/test_sweeps.py runs."""
PAGES = [page for page in follow.pages() if page.name not in ("hydra.md", "README.md")]
MODELS = {"embedder": "hashing", "nlp": {"_target_": "toy_runs.Capitals"}}


def small(words):
    words = ["dataset=toy" if word == "dataset=sample" else word for word in words]
    if words[0] not in {"ablate", "ask", "run", "plan"}:
        return words
    at = next((row for row, word in enumerate(words) if "=" in word), len(words))
    return [*words[:at], *WEIGHTLESS["embedder=" in " ".join(words) :], *words[at:]]


def parts(page):
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


@pytest.mark.usefixtures("open_registries")
@pytest.mark.parametrize(("page", "files", "text"), PARTS)
def test_every_command_of_a_page_runs(page, files, text, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.getbasetemp() / f"page_{page.stem}"
    folder.mkdir(exist_ok=True)
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
        space = {}
        exec(files[-1].text, space)
        tests = [value for name, value in space.items() if name.startswith("test_")]
        assert [test() for test in tests]


def here(text, folder, *, python=False):
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
def models_home(home, tmp_path_factory, monkeypatch):
    """The working directory, with the cache of the packaged models for all pages."""
    cached = tmp_path_factory.getbasetemp() / "cache"
    cached.mkdir(exist_ok=True)
    (home / "cache").symlink_to(cached)
    monkeypatch.setenv("COLUMNS", "100")
    return home


@pytest.mark.real
@pytest.mark.usefixtures("open_registries")
@pytest.mark.parametrize("page", ["README.md", "docs/guides/hydra.md"])
def test_a_page_prints_what_it_says(page, models_home):
    assert follow.check(ROOT / page, models_home, here) == []


FIGURE = re.compile(r"\b[01]\.\d{3}\b")


@pytest.mark.real
@pytest.mark.usefixtures("open_registries")
@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=str)
def test_a_notebook_prints_its_figures(file, models_home, monkeypatch):
    def show(one):
        print(one, getattr(one, "_repr_markdown_", str)())  # noqa: T201

    monkeypatch.setattr(sys, "displayhook", show)
    space = {"__name__": "cells"}
    cells = json.loads(file.read_text("utf-8"))["cells"]
    for cell in [one for one in cells if one["cell_type"] == "code"]:
        source, out = "".join(cell["source"]), io.StringIO()
        with contextlib.redirect_stdout(out):
            if source.startswith("!"):
                print(here(source[1:].partition(" 2>")[0], models_home).stdout)  # noqa: T201
            else:
                exec(compile(ast.Interactive(ast.parse(source).body), "cell", "single"), space)
        stored = FIGURE.findall(str(cell["outputs"]))
        assert dict.fromkeys(FIGURE.findall(out.getvalue())) == dict.fromkeys(stored), source


def test_the_readme_is_short_and_links_every_guide():
    assert {param.values[0] for param in PARTS} == set(PAGES)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    guides = [page.name for page in PAGES if page.parent.name == "guides"]
    assert not [name for name in guides if f"(docs/guides/{name})" not in readme]
    assert len(readme.splitlines()) <= 200
