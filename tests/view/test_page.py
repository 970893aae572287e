"""A run page: parts that any text is safe in, runs of several sets, and refusals."""

import re
import shutil
from pathlib import Path

import pytest
from pages import METHODS, SCRIPT, addresses, part, planted_runs
from toy_runs import TOY, command, run_folder

from graphrag_bench.cli.view import newest
from graphrag_bench.errors import UserError
from graphrag_bench.explain.stages import LABELS
from graphrag_bench.run.stored import find_run
from graphrag_bench.view.page import part_text, write_page


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with four runs over the planted corpus."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        planted_runs(folder)
    return folder


@pytest.fixture(scope="module")
def page(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(home, tmp_path_factory.mktemp("of_all") / "page")


def written(home: Path, page: Path, *runs: str) -> Path:
    named = [find_run(name, home) for name in runs]
    assert write_page(named or newest(home, 8), page, home) == page / "index.html"
    return page


def test_the_newest_runs_are_shown_in_the_order_of_their_scoring(page: Path) -> None:
    index = part(page, "index")
    assert [run["method"] for run in index["runs"]] == list(METHODS)
    first = index["runs"][0]
    assert first["n"] == 3 and first["metrics"]["evidence_recall@5"]["mean"] == 1.0
    assert [stage["stage"] for stage in first["funnel"]["stages"]][:2] == ["corpus", "chunk"]
    assert [stage for stage, _ in index["stages"]] == list(LABELS)
    assert all(run["answers"] for run in index["runs"])
    assert len(index["pairs"]) == 6


def test_a_question_has_its_context_steps_calls_graph_and_whole_paths(page: Path) -> None:
    stored = part(page, "r1/q0")["questions"]["q2"]
    assert stored["question"] == "Who was taught by the head of Norvik?"
    assert {piece["id"] for piece in stored["context"]} >= {"norvik"}
    assert any("nodes" in step["wrote"] for step in stored["steps"])
    (call,) = [one for one in stored["calls"] if "answer" in one["step"]]
    assert stored["question"] in call["prompt"][-1]["content"]
    assert call["reply"] == stored["answer"]
    graph = stored["graph"]
    assert {node["kind"] for node in graph["nodes"]} == {"node", "chunk"}
    assert any(node.get("gold") for node in graph["nodes"]) and graph["size"] == "node.ppr"
    of_paths = part(page, "r2/q0")["questions"]["q2"]["graph"]
    drawn = {node["id"] for node in of_paths["nodes"]}
    assert of_paths["paths"]
    assert all(drawn.issuperset(path["nodes"]) for path in of_paths["paths"])


def test_no_text_ends_a_script_and_no_file_has_an_address(page: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (page / "data").rglob("*.js")]
    assert any("\\u003cscript>" in text for text in texts)
    assert all("<" not in text and "\u2028" not in text for text in texts)
    assert addresses(page) == []
    assert "default-src 'none'" in (page / "index.html").read_text(encoding="utf-8")
    list_ = part(page, "set0")
    assert list_["text"][0].endswith(SCRIPT)


def test_a_part_can_hold_every_number_and_refuses_what_json_has_not() -> None:
    text = part_text("a", {"b": "</script>\u2028"})
    assert text == 'grb.part("a",{"b":"\\u003c/script>\\u2028"});\n'
    with pytest.raises(ValueError, match="JSON"):
        part_text("a", {"b": float("nan")})


def test_a_page_is_brought_up_to_date_and_keeps_no_part_of_a_run_that_is_gone(
    home: Path, tmp_path: Path
) -> None:
    page = written(home, tmp_path / "page")
    assert (page / "data" / "r3").is_dir()
    vanilla = next((home / "runs").glob("*/vanilla/*"))
    written(home, page, str(vanilla))
    assert [run["method"] for run in part(page, "index")["runs"]] == ["vanilla"]
    assert not (page / "data" / "r3").exists()


def test_a_folder_that_holds_no_page_is_left_alone(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("mine")
    for place in (tmp_path, file):
        with pytest.raises(UserError, match=re.escape(str(place))):
            write_page(newest(home, 1), place, home)
    assert [*tmp_path.iterdir()] == [file]


def test_the_command_writes_a_page_and_opens_it_unless_its_folder_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    ended = command("view", "--out", str(tmp_path / "page"), "--home", str(home))
    assert (ended.code, ended.out) == (0, f"{tmp_path / 'page' / 'index.html'}\n")
    assert shown == []
    assert command("view", "--home", str(home)).out == f"{home / 'page' / 'index.html'}\n"
    assert shown == [(home / "page" / "index.html").as_uri()]
    with pytest.raises(UserError, match=re.escape(str(tmp_path))):
        newest(tmp_path, 8)


def test_the_packaged_runs_are_a_page_of_the_same_parts(page: Path, tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    assert command("view", "--demo", "--out", str(demo)).out == f"{demo / 'index.html'}\n"
    assert command("view", "--demo", "some_run").code == 2
    index, own = part(demo, "index"), part(page, "index")
    assert index.keys() == own.keys() and index["runs"][0].keys() == own["runs"][0].keys()
    assert [run["method"] for run in index["runs"]] == ["entitypassage", "hipporag", "pathrag"]
    assert part(demo, "r0/list").keys() == part(page, "r0/list").keys()
    stored, question = (
        next(iter(part(one, "r1/q0")["questions"].values())) for one in (demo, page)
    )
    assert stored.keys() == question.keys() and stored["graph"].keys() == question["graph"].keys()


def test_runs_of_two_sets_and_one_whose_artifacts_are_gone_share_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    planted_runs(tmp_path, ["hipporag"])
    run_folder(*TOY, "method=vanilla", "reference_rows=off", "answer=off")
    for folder in (tmp_path / "artifacts").iterdir():
        if not folder.name.startswith("toy"):
            shutil.rmtree(folder)
    page = written(tmp_path, tmp_path / "page")
    index = part(page, "index")
    assert [run["set"] for run in index["runs"]] == ["set0", "set1"]
    assert index["pairs"] == []
    gone = part(page, "r0/q0")["questions"]["q1"]
    assert "graph" in gone["without_names"]
    toy = part(page, "r1/list")
    assert set(toy["right"]) == {None} and set(toy["status"]) == {"retrieved"}
    assert [run["answers"] for run in index["runs"]] == [True, False]
