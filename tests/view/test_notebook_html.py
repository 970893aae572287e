"""A run and its questions as HTML for a notebook."""

import xml.etree.ElementTree as ElementTree

import pytest
from pages import CORPUS, QUESTIONS, SCRIPT
from toy_runs import TAGGER, write_set

import graphrag_bench.api as gb


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> gb.Run:
    home = tmp_path_factory.mktemp("home")
    data = gb.dataset("jsonl", write_set(home / "set", CORPUS, QUESTIONS))
    reader = {"_target_": "pages.reader"}
    method = gb.method("hipporag", embedder="hashing", llm=reader, nlp=TAGGER)
    return method.run(data, paths={"home": str(home)})


def test_a_run_shows_its_table(run: gb.Run) -> None:
    page = run._repr_html_()
    assert "<td>HippoRAG</td>" in page and page.count("<table>") >= 1
    ElementTree.fromstring(f"<div>{page}</div>")


def test_a_question_shows_its_answer_and_graph_and_no_markup_of_the_corpus(run: gb.Run) -> None:
    question = run.question("q1")
    page = question._repr_html_()
    ElementTree.fromstring(f"<div>{page}</div>")
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "(seed)" in page and "(gold)</td><td>is in</td>" in page
    assert question.values["calls"][-1]["reply"] == f"Ada Marsh {SCRIPT}"
    assert repr(question).startswith("<Question 'Who founded Norvik?")
    assert run.question("q1")._repr_html_() == page
