"""The guides run block by block on small data without weights, the README as it is."""

import os
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
HYDRA = (ROOT / "docs" / "guides" / "hydra.md").read_text("utf-8")
"""The guide whose commands print what stands below them."""
REFUSED = ("method.dampng", "hydra.nonsense")
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


def printed(line: str) -> str:
    """Run a command of the guide on Hydra in this process, and return its output."""
    program, *words = shlex.split(line)
    if program == "ls":
        return "\n".join(sorted(os.listdir(words[-1])))
    if program == "cat":
        return Path(words[0]).read_text("utf-8")
    ended = command(*(words[2:] if program == "python" else words))
    assert ended.code == (2 if any(name in line for name in REFUSED) else 0), ended.err
    return ended.out + ended.err


@pytest.fixture(scope="module")
def hydra_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hydra")


@pytest.mark.parametrize("section", HYDRA.split("\n## "), ids=lambda text: text.partition("\n")[0])
def test_the_hydra_guide_shows_the_real_output(
    section: str, hydra_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hydra_folder)
    blocks = list(follow.blocks(section))
    for block in blocks:
        if block.file:
            follow.write(block, hydra_folder)
    for block in blocks:
        for line, lines in block.dialogue if block.language == "console" else ():
            out = printed(line).replace(f"{hydra_folder}/", "")
            assert [one for one in lines if one not in out] == [], f"{line}\n{out}"


@pytest.mark.real
def test_the_readme_prints_what_it_says(tmp_path: Path, models_cache: Path) -> None:
    (tmp_path / "cache").symlink_to(models_cache)
    assert follow.check(ROOT / "README.md", tmp_path) == []


def test_the_readme_is_short_and_links_every_guide() -> None:
    assert {param.values[0] for param in PARTS} == set(PAGES)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    guides = [page.name for page in PAGES if page.parent.name == "guides"]
    assert not [name for name in guides if f"(docs/guides/{name})" not in readme]
    assert len(readme.splitlines()) <= 200
