"""The README and the guides, executed block by block on small data without weights."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, command

from scripts import follow

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = ("gpt-4o-mini", "OPENAI_API_KEY", "launcher=joblib")
"""Words of commands that cost money, or that tests/cli/test_launchers.py runs."""
OWN_TEST = {"operator.md", "hydra.md"}
"""Pages with a test of their own: tests/test_writing_operators.py, tests/test_hydra_guide.py."""
PAGES = [page for page in follow.pages() if page.name not in OWN_TEST]
OF_RUNS = {"ablate", "ask", "run", "plan"}


def small(words: list[str]) -> list[str]:
    """A command of a page on the toy set, with models that need no weights."""
    words = ["dataset=toy" if word == "dataset=sample" else word for word in words]
    if words[0] not in OF_RUNS:
        return words
    at = next((row for row, word in enumerate(words) if "=" in word), len(words))
    has_embedder = any(word.startswith("embedder=") for word in words)
    return [*words[:at], *WEIGHTLESS[has_embedder:], *words[at:]]


def parts(page: Path) -> Iterator[tuple[list[follow.Block], str]]:
    """Each command and each script of a page, after the files that are written before it."""
    files: list[follow.Block] = []
    for block in follow.blocks(page.read_text(encoding="utf-8")):
        texts = {"bash": block.commands, "python": [block.text]}.get(block.language, [])
        if block.file:
            files.append(block)
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
    """The folder in which a page is followed, from its first command to its last."""
    return {page: tmp_path_factory.mktemp(page.stem) for page in PAGES}


@pytest.mark.usefixtures("open_registries")
@pytest.mark.parametrize(("page", "files", "text"), PARTS)
def test_every_command_of_a_page_runs(
    page: Path, files: list[follow.Block], text: str, folders: dict[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(folders[page])
    for file in files:
        follow.write(file, folders[page])
    if text.startswith("graphrag-bench "):
        ended = command(*small(shlex.split(text)[1:]))
        assert ended.code == 0, f"{text}\n{ended.out}\n{ended.err}"
    else:
        weightless = 'run("toy", embedder="hashing", nlp={"_target_": "toy_runs.Capitals"}'
        exec(text.replace('run("toy"', weightless), {})


def test_printed_text_is_compared_and_a_failed_command_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    good = '```text title="a.txt"\nhello\n```\n\n```bash\ncat a.txt\n```\n\n```text\nhe...\n```\n'
    page.write_text(good)
    assert follow.followed(page, tmp_path, ["none"]) == []
    page.write_text(good.replace("he...", "bye") + "\n```bash\nfalse\n```\n")
    wrong = follow.followed(page, tmp_path, ["none"])
    assert "not:\nbye" in wrong[0]
    assert wrong[1].startswith("false\nended with 1")
    page.write_text("```console\n$ echo one; false\none\n$ echo two\nthree\n```\n")
    (wrong_line,) = follow.followed(page, tmp_path, ["none"])
    assert wrong_line.startswith("echo two") and "three" in wrong_line


def test_guides_have_commands_and_are_linked_from_the_readme() -> None:
    assert {param.values[0] for param in PARTS} == set(PAGES)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    guides = [page.name for page in PAGES if page.parent.name == "guides"]
    missing = [name for name in guides if f"(docs/guides/{name})" not in readme]
    assert not missing
    assert len(readme.splitlines()) <= 200
