"""A run and its questions as tables of a notebook."""

from pathlib import Path

import pytest
from pages import CORPUS, QUESTIONS, SCRIPT
from toy_runs import TAGGER, write_set

import graphrag_bench.api as gb
from graphrag_bench.errors import UserError


def test_a_run_and_a_question_are_tables_without_markup_of_the_corpus(home: Path) -> None:
    data = gb.dataset("jsonl", write_set(home / "set", CORPUS, QUESTIONS))
    reader = {"_target_": "pages.reader"}
    method = gb.method("hipporag", embedder="hashing", llm=reader, nlp=TAGGER)
    run = method.run(data)
    assert "| HippoRAG |" in run._repr_markdown_()
    question = run.question("q1")
    page = question._repr_markdown_()
    assert "<script" not in page.replace(r"\<", "") and r"\<script\>" in page
    assert "(seed)" in page and "(gold) | is in |" in page
    assert question.values["calls"][-1]["reply"] == f"Ada Marsh {SCRIPT}"
    with pytest.raises(UserError, match="q1"):
        run.question("q11")
