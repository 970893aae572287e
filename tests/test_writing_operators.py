"""The page on writing an operator, block by block."""

import contextlib
import io
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, Ended, command

from scripts import follow

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guides" / "operator.md"
SMALL = ["dataset=toy", *WEIGHTLESS, "reference_rows=off"]
"""What takes the place of models that need weights."""


def ran(line: str) -> Ended:
    """A command of the page, on the toy set and without weights, with its package as it is now."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "mylab"]:
        del sys.modules[name]
    words = [word for word in shlex.split(line) if word != "dataset=sample"]
    assert words[0] == "graphrag-bench"
    ended = command(words[1], *([] if words[1] == "list" else SMALL), *words[2:])
    assert ended.code == 0, f"{line}\n{ended.out}\n{ended.err}"
    return ended


def test_every_block_of_the_page_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_registries: None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    page = list(follow.blocks(PAGE.read_text(encoding="utf-8")))
    shown = {}
    for block in page:
        if block.file:
            follow.write(block, tmp_path)
        elif block.language == "bash":
            shown |= {line.split()[1]: ran(line).out for line in block.commands}
    assert "node.bridges" in shown["plan"]
    assert "node.bridges" in shown["list"]
    assert "bridges" in ran("graphrag-bench list methods plugins=[mylab]").out
    assert "node.bridges.batched" in ran("graphrag-bench list operators plugins=[mylab]").out
    (script,) = [one.text for one in page if one.language == "python" and not one.file]
    settings = (
        'embedder="hashing", llm="scripted", nlp={"_target_": "toy_runs.Capitals"}, '
        'plugins=["mylab"]'
    )
    small = script.replace('plugins=["mylab"]', settings).replace('"sample"', '"toy"')
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(small, {})
    assert "<Run bridges on toy: 5 questions" in out.getvalue()
    env = {"PATH": "", "PYTHONPATH": f"{ROOT}:{tmp_path}", "HOME": str(tmp_path)}
    tested = [sys.executable, "-m", "pytest", "-q", "."]
    run = subprocess.run(tested, capture_output=True, text=True, check=False, env=env)
    assert "2 passed" in run.stdout, run.stdout + run.stderr
