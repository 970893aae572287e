"""The guide for those who know Hydra: each command of it is run, and prints what stands below."""

import os
import shlex
from pathlib import Path

import pytest
from toy_runs import command as run

from scripts import follow

GUIDE = (Path(__file__).parents[1] / "docs" / "guides" / "hydra.md").read_text("utf-8")
BLOCKS = list(follow.blocks(GUIDE))
REFUSED = ("method.dampng", "hydra.nonsense")


def commands() -> list[tuple[str, list[str]]]:
    """Each command of the guide with the lines that it prints."""
    result: list[tuple[str, list[str]]] = []
    for line in "".join(one.text for one in BLOCKS if one.language == "console").splitlines():
        if line.startswith("$ "):
            result.append((line[2:], []))
        else:
            result[-1][1].append(line.strip())
    return result


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


@pytest.mark.slow
def test_every_habit_does_what_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in BLOCKS:
        if block.file:
            follow.write(block, tmp_path)
    for command, lines in commands():
        out = printed(command).replace(f"{tmp_path}/", "")
        assert [line for line in lines if line not in out] == [], f"{command}\n{out}"
    assert len(commands()) > 25
