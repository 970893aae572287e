"""The guide for those who know Hydra: each command of it is run, and prints what stands below."""

import contextlib
import io
import os
import re
import shlex
from pathlib import Path

import pytest

from graphrag_bench.cli.main import main

GUIDE = (Path(__file__).parents[1] / "docs" / "guides" / "hydra.md").read_text("utf-8")
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE = re.compile(r'^```yaml title="(.*?)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
REFUSED = ("method.dampng", "hydra.nonsense")


def commands() -> list[tuple[str, list[str]]]:
    """Each command of the guide with the lines that it prints."""
    result: list[tuple[str, list[str]]] = []
    for line in "".join(BLOCK.findall(GUIDE)).splitlines():
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
    words = words[2:] if program == "python" else words
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    assert code == (2 if any(name in command for name in REFUSED) else 0), err.getvalue()
    return out.getvalue() + err.getvalue()


@pytest.mark.slow
def test_every_habit_does_what_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILE.findall(GUIDE):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    for command, lines in commands():
        out = printed(command).replace(f"{tmp_path}/", "")
        assert [line for line in lines if line not in out] == [], f"{command}\n{out}"
    assert len(commands()) > 25
