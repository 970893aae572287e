"""Packages of one's own: beside the built-in operators, found in the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, Ended, shell

pytestmark = pytest.mark.slow

OPERATOR = '''
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.values import Chunk, Question, Ranked


@operator("lab.first")
def first(question: Question, *, chunk_table: ChunkTable, top_k: int = 3) -> Ranked[Chunk]:
    """The first chunks of the corpus."""
    return Ranked[Chunk].top([-row for row in range(len(chunk_table))], top_k)
'''
METHOD = """name: mine
retrieve:
  - {op: lab.first}
generate:
  - {op: context.chunks, top_k: 2}
  - {op: answer.direct, use: [context], prompt: "methods:vanilla/prompts/answer.j2"}
"""
SETTINGS = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of one's own, with the package `mylab` to be filled."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mylab").mkdir()
    (tmp_path / "mine.yaml").write_text(METHOD)
    return tmp_path


def lab(init: str, **modules: str) -> None:
    Path("mylab/__init__.py").write_text(init)
    for name, text in modules.items():
        Path(f"mylab/{name}.py").write_text(text)


def refused(*words: str) -> str:
    ended: Ended = shell("plan", *SETTINGS, "method=./mine.yaml", *words)
    assert ended.code == 2, ended.out
    assert "Traceback" not in ended.err
    return ended.err


def test_a_package_of_the_working_directory_comes_beside_the_built_in_ones() -> None:
    lab("from mylab import retrieval\n", retrieval=OPERATOR)
    ended = shell("run", *SETTINGS, "method=./mine.yaml", "plugins=[mylab]")
    assert ended.code == 0, ended.err
    assert ended.folder.parent.name == "mine"
    assert "lab.first" in shell("list", "plugins=[mylab]").out
    both = shell("plan", "-m", *SETTINGS, "method=./mine.yaml,hipporag", "plugins=[mylab]")
    assert both.code == 0, both.err


def test_a_package_that_registers_nothing_is_refused_with_what_it_could_import() -> None:
    lab("", retrieval=OPERATOR)
    said = refused("plugins=[mylab]")
    assert "'mylab' registers no operator and no builder" in said
    assert "retrieval.py" in said


def test_an_error_of_a_package_is_told_with_its_file_and_line() -> None:
    lab("from mylab import retrieval\n", retrieval="x = 1\ny = x.nothing\n")
    said = refused("plugins=[mylab]")
    assert 'mylab/retrieval.py", line 2' in said
    assert "AttributeError: 'int' object has no attribute 'nothing'" in said
    assert "graphrag_bench/" not in said


@pytest.mark.parametrize("name", ["nowhere", "mylab.nowhere", "../mylab"])
def test_a_package_that_is_not_there_is_refused_by_its_name(name: str) -> None:
    lab("from mylab import retrieval\n", retrieval=OPERATOR)
    assert f"'{name}'" in refused(f"plugins=[{name}]")
