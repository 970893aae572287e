"""The run page: data files, safe texts, several data sets, refusals."""

import re
import shutil
from contextlib import chdir
from pathlib import Path

import pytest
from pages import CORPUS, METHODS, QUESTIONS, SCRIPT, part, planted_runs
from toy_runs import TAGGER, TOY, command, run_folder, write_set

import graphrag_bench.api as gb
from graphrag_bench.cli.view import newest_runs
from graphrag_bench.errors import UserError
from graphrag_bench.run.stored import find_run
from graphrag_bench.view.page import part_text, write_page


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    with chdir(folder):
        planted_runs(folder)
    return folder


@pytest.fixture(scope="module")
def page(home, tmp_path_factory):
    return write_page(newest_runs(home, 8), tmp_path_factory.mktemp("of_all"), home).parent


def test_a_question_has_context_steps_calls_and_graph(page):
    index = part(page, "index")
    assert [run["method"] for run in index["runs"]] == list(METHODS)
    assert (index["runs"][0]["n"], len(index["pairs"])) == (3, 6)
    stored = part(page, "r1/q0")["questions"]["q2"]
    assert {piece["id"] for piece in stored["context"]} >= {"norvik"}
    assert any("nodes" in step["wrote"] for step in stored["steps"])
    (call,) = [one for one in stored["calls"] if "answer" in one["step"]]
    assert stored["question"] in call["prompt"][-1]["content"]
    assert call["reply"] == stored["answer"]
    assert {node["kind"] for node in stored["graph"]["nodes"]} == {"node", "chunk"}
    graph = part(page, "r2/q0")["questions"]["q2"]["graph"]
    nodes = {node["id"] for node in graph["nodes"]}
    assert graph["paths"] and all(nodes.issuperset(path["nodes"]) for path in graph["paths"])


def test_no_text_ends_a_script_and_nothing_is_loaded_from_the_network(page):
    texts = [path.read_text(encoding="utf-8") for path in (page / "data").rglob("*.js")]
    assert any("\\u003cscript>" in text for text in texts)
    assert all("<" not in text and "\u2028" not in text for text in texts)
    assert "default-src 'none'" in (page / "index.html").read_text(encoding="utf-8")
    assert part(page, "set0")["text"][0].endswith(SCRIPT)
    with pytest.raises(ValueError, match="JSON"):
        part_text("a", {"b": float("nan")})


def test_a_page_is_replaced_and_another_folder_is_refused(home, page, tmp_path):
    again = shutil.copytree(page, tmp_path / "page")
    assert write_page([find_run("vanilla", home)], again, home) == again / "index.html"
    assert [run["method"] for run in part(again, "index")["runs"]] == ["vanilla"]
    assert not (again / "data" / "r3").exists()
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    for place in (tmp_path, mine):
        with pytest.raises(UserError, match=re.escape(str(place))):
            write_page(newest_runs(home, 1), place, home)
    assert mine.read_text() == "mine"


def test_the_demo_has_the_fields_of_a_written_page(page, tmp_path, monkeypatch):
    monkeypatch.setattr("webbrowser.open", None)  # --out opens no browser
    demo = tmp_path / "demo"
    assert command("view", "--demo", "--out", str(demo)).out == f"{demo / 'index.html'}\n"
    assert command("view", "--demo", "some_run").code == 2
    index, own = part(demo, "index"), part(page, "index")
    assert index.keys() == own.keys() and index["runs"][0].keys() == own["runs"][0].keys()
    assert part(demo, "r0/list").keys() == part(page, "r0/list").keys()
    blocks = (part(one, "r1/q0")["questions"].values() for one in (demo, page))
    stored, question = (next(iter(block)) for block in blocks)
    assert stored.keys() == question.keys() and stored["graph"].keys() == question["graph"].keys()


def test_a_page_has_two_data_sets_and_a_run_without_artifacts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planted_runs(tmp_path, ["hipporag"])
    run_folder(*TOY, "method=vanilla", "reference_rows=off", "answer=off")
    for folder in (tmp_path / "artifacts").iterdir():
        if not folder.name.startswith("toy"):
            shutil.rmtree(folder)
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    assert command("view").code == 0
    assert shown == [(tmp_path / "page" / "index.html").as_uri()]
    index = part(tmp_path / "page", "index")
    assert ([run["set"] for run in index["runs"]], index["pairs"]) == (["set0", "set1"], [])
    assert "graph" in part(tmp_path / "page", "r0/q0")["questions"]["q1"]["without_names"]
    assert set(part(tmp_path / "page", "r1/list")["right"]) == {None}


def test_a_notebook_shows_runs_and_questions_as_escaped_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = gb.dataset("jsonl", write_set(Path("set"), CORPUS, QUESTIONS))
    models = {"embedder": "hashing", "llm": {"_target_": "pages.reader"}, "nlp": TAGGER}
    run = gb.method("hipporag", **models).run(data)
    assert "| HippoRAG |" in run._repr_markdown_()
    question = run.question("q1")
    page = question._repr_markdown_()
    assert "<script" not in page.replace(r"\<", "") and r"\<script\>" in page
    assert "(seed)" in page and "(gold) | is in |" in page
    assert question.values["calls"][-1]["reply"] == f"Ada Marsh {SCRIPT}"
    with pytest.raises(UserError, match="q1"):
        run.question("q11")
