"""The README and the guides, executed block by block on small data without weights."""

import importlib.util
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from toy_runs import WEIGHTLESS, command

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PAID = "gpt-4o-mini"
OWN_TEST = {"operator.md", "hydra.md"}
"""Pages with a test of their own: tests/test_writing_operators.py, tests/test_hydra_guide.py."""


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("follow", ROOT / "scripts" / "follow.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["follow"] = module
    spec.loader.exec_module(module)
    return module


FOLLOW = loaded()
PAGES = [page for page in FOLLOW.pages() if page.name not in OWN_TEST]
OF_RUNS = {"ablate", "ask", "run", "plan"}


def small(words: list[str]) -> list[str]:
    """A command of a page on the toy set, with models that need no weights."""
    words = ["dataset=toy" if word == "dataset=sample" else word for word in words]
    if words[0] not in OF_RUNS:
        return words
    at = next((row for row, word in enumerate(words) if "=" in word), len(words))
    config = [word for word in WEIGHTLESS if not any(w.startswith("embedder=") for w in words)
             or not word.startswith("embedder=")]  # fmt: skip
    return [*words[:at], *config, *words[at:]]


@pytest.fixture
def plugins_leave(tmp_path: Path, open_registries: None) -> Iterator[None]:
    """Modules of a page's own packages are forgotten after it."""
    yield
    for name, module in list(sys.modules.items()):
        if str(tmp_path) in str(getattr(module, "__file__", "")):
            del sys.modules[name]


@pytest.mark.usefixtures("plugins_leave")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    n_commands = 0
    for block in FOLLOW.blocks(page.read_text(encoding="utf-8")):
        if block.file:
            FOLLOW.write(block, tmp_path)
        elif block.language == "bash":
            for line in block.commands:
                words = shlex.split(line)
                if words[0] != "graphrag-bench" or PAID in line:
                    continue
                ended = command(*small(words[1:]))
                assert ended.code == 0, f"{line}\n{ended.out}\n{ended.err}"
                n_commands += 1
        elif block.language == "python":
            weightless = 'run("toy", embedder="hashing", nlp={"_target_": "toy_runs.Capitals"}'
            exec(block.text.replace('run("toy"', weightless), {})
    assert n_commands >= 1


def test_printed_text_is_compared_and_a_failed_command_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    good = '```text title="a.txt"\nhello\n```\n\n```bash\ncat a.txt\n```\n\n```text\nhe...\n```\n'
    page.write_text(good)
    assert FOLLOW.followed(page, tmp_path, ["none"], show=False) == []
    page.write_text(good.replace("he...", "bye") + "\n```bash\nfalse\n```\n")
    wrong = FOLLOW.followed(page, tmp_path, ["none"], show=False)
    assert "not:\nbye" in wrong[0]
    assert wrong[1].startswith("false\nended with 1")


def test_guides_are_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [page.name for page in PAGES[1:] if f"(docs/guides/{page.name})" not in readme]
    assert not missing
    assert len(readme.splitlines()) <= 200
