"""All problems of a command are reported together, with the nearest names."""

from pathlib import Path

import pytest
from toy_runs import TOY, command_error

import graphrag_bench as gb
from graphrag_bench.errors import UserError

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
NAMED = [
    ("'kng'", "'ceiling'"), ("'method.top_k'", ""), ("'method.biuld'", "'build'"),
    ("${method.damping}", "'method.dampng'"), ("'retreive'", "'retrieve'"),
    ("'chunk.vbd'", "'chunk.vdb'"), ("'dampin'", "'damping'"), ("'zero'", "integer"),
    ("'contxt'", "context"), ("answr.j2", "'answer.j2'"), ("'many'", ""), ("workers=0", ""),
]  # fmt: skip
"""Each problem, and the valid name in its line."""


def test_all_problems_are_in_one_message(home):
    Path("mine.yaml").write_text(METHOD)
    words = ["method=./mine.yaml", "limit=many", "workers=0"]
    lines = command_error(*TOY, *words, name="plan").splitlines()
    lacking = [pair for pair in NAMED if not any(pair[0] in x and pair[1] in x for x in lines)]
    assert not lacking


def test_python_errors_name_the_problem():
    for call, named in (
        (lambda: gb.method("hipporag", dampng=0.1, limmit=3), "(?s)'damping'.*'limit'"),
        (lambda: gb.method("hiporag"), "hipporag"),
        (lambda: gb.method("bm25").run("tyo"), "'tyo'"),
        (lambda: gb.method("bm25", limit=0).run("toy"), "limit=0"),
        (lambda: gb.method("bm25", llm="scrpted").ask("Who?", "toy"), "scrpted"),
        (lambda: gb.method("bm25", plugins="near"), "'near'"),
        (lambda: gb.method("bm25").experiment("toy", plugins="near"), "'near'"),
        (lambda: gb.method("bm25", llm="scripted").ask("Who?", "toy"), r"1.*llm\.replies"),
        (lambda: gb.method(Path("ok.yaml")), r"'\./ok\.yaml'"),
        (lambda: gb.method(5), "'5'.*bm25"),
        (lambda: gb.dataset(Path("docs")), "'docs'.*root=FOLDER"),
        (lambda: gb.dataset("./docs"), "docs.*root="),
        (lambda: gb.method("bm25").experiment(3), "3.*root="),
        (lambda: gb.dataset_of(["x"], [5]), "question 0.*text.*5"),
        (lambda: gb.dataset_of([Path("x")]), "document 0.*text.*'x'"),
        (lambda: gb.dataset_of(3), "document 0.*text.*3"),
    ):
        with pytest.raises(UserError, match=named):
            call()
