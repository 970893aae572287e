"""The page on writing an operator, block by block, and the operator of the guide to methods."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, Ended, command

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guides" / "operator.md"
SMALL = ["dataset=toy", *WEIGHTLESS, "reference_rows=off"]
"""What takes the place of models that need weights."""


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and the content of each block of a page, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)


def written(language: str, text: str) -> Path | None:
    """The file that a block is to be written to, after writing it; None for one without."""
    named = re.match(r"# (\S+\.\w+)( \(at the end\))?\n", text)
    if named is None or language == "bash":
        return None
    path = Path(named[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text() + "\n\n" if named[2] else ""
    path.write_text(before + text[named.end() :])
    return path


def ran(line: str) -> Ended:
    """A command of the page, on the toy set and without weights, with its package as it is now."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "mylab"]:
        del sys.modules[name]
    words = [word for word in shlex.split(line) if word != "dataset=sample"]
    assert words[0] == "graphrag-bench"
    ended = command(words[1], *([] if words[1] == "list" else SMALL), *words[2:])
    assert ended.code == 0, f"{line}\n{ended.out}\n{ended.err}"
    return ended


def process(folder: Path, *words: str) -> str:
    """What a process of Python with these words prints, the page's folder on its path."""
    env = {"PATH": "", "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}:{folder}", "HOME": str(folder)}
    run = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, env=env
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_every_block_of_the_page_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_registries: None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    page = blocks(PAGE.read_text(encoding="utf-8"))
    shown = {}
    for language, text in page:
        if language == "bash":
            shown |= {line.split()[1]: ran(line).out for line in text.strip().splitlines()}
        else:
            written(language, text)
    assert "node.bridges" in shown["plan"]
    assert "node.bridges" in shown["list"]
    assert "bridges (" in shown["list"]
    assert "node.bridges.batched" in ran("graphrag-bench list plugins=[mylab]").out
    (script,) = [t for lang, t in page if lang == "python" and not t.startswith("# ")]
    settings = (
        'embedder="hashing", llm="scripted", nlp={"_target_": "toy_runs.Capitals"}, '
        'plugins=["mylab"]'
    )
    small = script.replace('plugins=["mylab"]', settings).replace('"sample"', '"toy"')
    Path("script.py").write_text(small)
    assert "<Run bridges on toy: 5 questions" in process(tmp_path, "script.py")
    assert "2 passed" in process(tmp_path, "-m", "pytest", "-q", ".")


def test_the_operator_of_the_guide_to_methods_runs_beside_vanilla(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_registries: None
) -> None:
    monkeypatch.chdir(tmp_path)
    guide = (ROOT / "docs" / "guides" / "method.md").read_text(encoding="utf-8")
    section = guide.partition("An operator that does not exist yet")[2]
    new, run = (text.strip() for _, block in blocks(section) for text in block.splitlines())
    assert command(*shlex.split(new)[1:]).code == 0
    assert Path("mine/chunk_mine.py").is_file()
    ended = ran(run)
    assert ended.methods == ["mine", "vanilla"]
