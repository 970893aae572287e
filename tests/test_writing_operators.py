"""The page on writing an operator, block by block, and the operator of the guide to methods."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, Ended, shell

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
    """A command of the page, on the toy set and without weights."""
    words = [word for word in shlex.split(line) if word != "dataset=sample"]
    assert words[0] == "graphrag-bench"
    small = [] if words[1] == "list" else SMALL
    return shell(words[1], *small, *words[2:])


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """What every command of the page came to, by its words; a file is there from its block on."""
    folder = tmp_path_factory.mktemp("inventor")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = blocks(PAGE.read_text(encoding="utf-8"))
        done = {}
        for language, text in found:
            if language == "bash":
                done |= {line: ran(line) for line in text.strip().splitlines()}
            else:
                written(language, text)
        done["at the end"] = ran("graphrag-bench list plugins=[mylab]")
        patch.syspath_prepend(str(folder))
        (script,) = [t for lang, t in found if lang == "python" and not t.startswith("# ")]
        settings = (
            'embedder="hashing", llm="scripted", nlp={"_target_": "toy_runs.Capitals"}, '
            'plugins=["mylab"]'
        )
        small = script.replace('plugins=["mylab"]', settings).replace('"sample"', '"toy"')
        Path("script.py").write_text(
            f"import sys\nsys.path += [{str(ROOT)!r}, {str(ROOT / 'tests')!r}]\n{small}"
        )
        for name, words in (("script", ["script.py"]), ("test", ["-m", "pytest", "-q", "."])):
            run = subprocess.run(
                [sys.executable, *words],
                capture_output=True,
                text=True,
                check=False,
                env={"PATH": "", "PYTHONPATH": f"{ROOT}:{folder}", "HOME": str(folder)},
            )
            done[name] = Ended(run.returncode, run.stdout, run.stderr)
    return done


def test_every_command_of_the_page_runs(done: dict[str, Ended]) -> None:
    assert len(done) == 8
    for line, ended in done.items():
        assert ended.code == 0, f"{line}\n{ended.out}\n{ended.err}"


def test_plan_list_and_runs_show_the_operator_and_its_method(done: dict[str, Ended]) -> None:
    shown = {line.split()[1]: ended.out for line, ended in done.items() if " " in line}
    assert "node.bridges" in shown["plan"]
    assert "node.bridges" in shown["list"]
    assert "node.bridges.batched" in done["at the end"].out
    assert "bridges (" in shown["list"]
    assert "<Run bridges on toy: 5 questions" in done["script"].out
    assert "2 passed" in done["test"].out


def test_the_operator_of_the_guide_to_methods_runs_beside_vanilla(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    guide = (ROOT / "docs" / "guides" / "method.md").read_text(encoding="utf-8")
    section = guide.partition("An operator that does not exist yet")[2]
    new, run = (text.strip() for _, block in blocks(section) for text in block.splitlines())
    assert shell(*shlex.split(new)[1:]).code == 0
    assert Path("mine/chunk_mine.py").is_file()
    ended = ran(run)
    assert ended.code == 0, ended.err
    assert ended.methods == ["mine", "vanilla"]
