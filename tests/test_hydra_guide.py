"""The guide for those who know Hydra: each command of it is run, and prints what stands below."""

import os
import shlex
from pathlib import Path

import pytest
from toy_runs import command as run

from scripts import follow

GUIDE = (Path(__file__).parents[1] / "docs" / "guides" / "hydra.md").read_text("utf-8")
SECTIONS = GUIDE.split("\n## ")
REFUSED = ("method.dampng", "hydra.nonsense")

pytestmark = pytest.mark.slow


def commands(blocks: list[follow.Block]) -> list[tuple[str, list[str]]]:
    """Each command of some blocks with the lines that it prints."""
    return [one for block in blocks if block.language == "console" for one in block.dialogue]


def printed(command: str) -> str:
    """What a command prints, in this process."""
    program, *words = shlex.split(command)
    if program == "ls":
        return "\n".join(sorted(os.listdir(words[-1])))
    if program == "cat":
        return Path(words[0]).read_text("utf-8")
    ended = run(*(words[2:] if program == "python" else words))
    assert ended.code == (2 if any(name in command for name in REFUSED) else 0), ended.err
    return ended.out + ended.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the guide is followed, from its first section to its last."""
    return tmp_path_factory.mktemp("guide")


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.partition("\n")[0])
def test_every_habit_does_what_the_guide_says(
    section: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    blocks = list(follow.blocks(section))
    for block in blocks:
        if block.file:
            follow.write(block, folder)
    for command, lines in commands(blocks):
        out = printed(command).replace(f"{folder}/", "")
        assert [line for line in lines if line not in out] == [], f"{command}\n{out}"


def test_the_guide_has_commands() -> None:
    assert len(commands(list(follow.blocks(GUIDE)))) > 25
