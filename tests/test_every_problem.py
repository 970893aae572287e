"""What a user got wrong is told at once, with the nearest names."""

from collections.abc import Callable
from pathlib import Path

import pytest
from toy_runs import TOY, refusal, refused

import graphrag_bench as gb
from graphrag_bench.errors import UserError

pytestmark = pytest.mark.slow

METHOD = """name: mine
top_k: 4
dampng: 0.3
biuld: {graph: kg}
build: {node_indx: name}
role: kng
retreive:
  - {op: chunk.vbd, top_k: 10}
  - {op: node.ppr, dampin: 0.3, damping: "${method.damping}"}
generate:
  - {op: context.chunks, top_k: zero}
  - {op: answer.direct, use: [contxt], prompt: "methods:vanilla/prompts/answr.j2"}
"""
PROBLEMS = [
    "method.role='kng': Input should be 'floor', 'baseline' or 'ceiling'.",
    "The parameter 'method.top_k' of 'mine' is read by no step.",
    "The parameter 'method.biuld' of 'mine' is read by no step. Did you mean 'build'?",
    "${method.damping}, which does not exist. Did you mean 'method.dampng'",
    "There is no stage 'retreive' in a method. Did you mean 'retrieve'?",
    "retreive.0: No operator 'chunk.vbd'. Did you mean 'chunk.vdb'",
    "retreive.1 node.ppr has no setting 'dampin'. Did you mean 'damping'?",
    "generate.0 context.chunks: setting 'top_k' is 'zero': Input should be a valid integer",
    "generate.1 answer.direct cannot use 'contxt'; it can use context",
    "No prompt file 'methods:vanilla/prompts/answr.j2'. Did you mean 'answer.j2'",
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(METHOD)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ([], []),
        (["limit=many", "workers=0"], ["limit='many'", "workers=0"]),
        (["dataset=jsonl", "dataset.root=nowhere"], ["nowhere"]),
    ],
)
@pytest.mark.parametrize("name", ["run", "plan"])
def test_every_problem_is_told_in_one_message(name: str, words: list[str], more: list[str]) -> None:
    message = refused(*TOY, "method=./mine.yaml", *words, name=name)
    assert [one for one in [*PROBLEMS, *more] if one not in message] == []


def test_a_misspelt_stage_alone_is_one_problem_and_nothing_follows_from_it() -> None:
    method = METHOD.partition("top_k: 4")[0] + (
        "retreive:\n  - {op: chunk.bm25}\ngenerate:\n  - {op: context.chunks}\n  - {op: "
        'answer.direct, use: [context], prompt: "methods:vanilla/prompts/answer.j2"}\n'
    )
    Path("mine.yaml").write_text(method)
    (_, message) = refusal(*TOY, "method=./mine.yaml").splitlines()
    assert message == "  There is no stage 'retreive' in a method. Did you mean 'retrieve'?"


def test_python_tells_every_setting_that_there_is_not() -> None:
    with pytest.raises(gb.UserError) as error:
        gb.method("hipporag", dampng=0.1, limmit=3)
    assert "'dampng'. Did you mean 'damping'" in str(error.value)
    assert "'limmit'. Did you mean 'limit'" in str(error.value)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: gb.method("hiporag"), "hipporag"),
        (lambda: gb.dataset("tyo"), "'tyo'"),
        (lambda: gb.method("bm25").run("tyo"), "'tyo'"),
        (lambda: gb.method("bm25", limit=0).run("toy"), "limit=0"),
        (lambda: gb.method("bm25", llm="scrpted").ask("Who?", "toy"), "scrpted"),
    ],
)
def test_python_names_what_is_wrong(call: Callable[[], object], named: str) -> None:
    with pytest.raises(UserError, match=named):
        call()
