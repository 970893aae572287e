"""A run page: parts that any text is safe in, runs of several sets, refusals, and its server."""

import http.client
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import SCRIPT, addresses, part, planted_runs
from toy_runs import TOY, command, refused, run_folder

from graphrag_bench.cli.view import newest
from graphrag_bench.errors import UserError
from graphrag_bench.run.stored import find_run
from graphrag_bench.view.page import Parts, part_text, served, write_page


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with four runs over the planted corpus."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        planted_runs(folder)
    return folder


@pytest.fixture
def page(home: Path, tmp_path: Path) -> Path:
    return written(home, tmp_path / "page")


def written(home: Path, page: Path, *runs: str) -> Path:
    named = [find_run(name, home) for name in runs]
    assert write_page(named or newest(home, 8), page, home) == page / "index.html"
    return page


def test_the_newest_runs_are_shown_in_the_order_of_their_scoring(page: Path) -> None:
    index = part(page, "index")
    assert [run["method"] for run in index["runs"]] == [
        "vanilla", "hipporag", "pathrag", "entitypassage", "pankrag",
    ]  # fmt: skip
    assert not index["served"]
    assert not (page / "data" / "stamp.js").exists()
    first = index["runs"][0]
    assert first["n"] == 3 and first["metrics"]["evidence_recall@5"]["mean"] == 1.0
    assert [stage["stage"] for stage in first["funnel"]["stages"]][:2] == ["corpus", "chunk"]
    assert len(index["pairs"]) == 10


def test_a_question_has_its_context_steps_calls_and_graph(page: Path) -> None:
    held = part(page, "r1/q0")["questions"]["q2"]
    assert held["question"] == "Who was taught by the head of Norvik?"
    assert {piece["id"] for piece in held["context"]} >= {"norvik"}
    assert any("nodes" in step["wrote"] for step in held["steps"])
    (call,) = [one for one in held["calls"] if "answer" in one["step"]]
    assert held["question"] in call["prompt"][-1]["content"]
    assert call["reply"] == held["answer"]
    kinds = {node["kind"] for node in held["graph"]["nodes"]}
    assert kinds == {"node", "chunk"}
    assert any(node.get("gold") for node in held["graph"]["nodes"])
    assert held["graph"]["size"] == "node.ppr"


def test_the_paths_of_pathrag_are_told_one_by_one(page: Path) -> None:
    graph = part(page, "r2/q0")["questions"]["q2"]["graph"]
    drawn = {node["id"] for node in graph["nodes"]}
    assert graph["paths"]
    assert all(drawn.issuperset(path["nodes"]) for path in graph["paths"])


def test_the_plan_of_pankrag_has_its_sub_questions_and_answers(page: Path) -> None:
    plan = part(page, "r4/q0")["questions"]["q2"]["plan"]
    held = {one["id"]: one for one in plan["sub_questions"]}
    assert held["final"]["needs"] and len(held) > 2
    assert all(one["answer"] for one in held.values())


def test_no_text_ends_a_script_and_no_file_has_an_address(page: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (page / "data").rglob("*.js")]
    assert any("\\u003cscript>" in text for text in texts)
    assert all("<" not in text and "\u2028" not in text for text in texts)
    assert addresses(page) == []
    assert "default-src 'none'" in (page / "index.html").read_text(encoding="utf-8")
    list_ = part(page, "set0")
    assert list_["text"][0].endswith(SCRIPT)


def test_a_part_can_hold_every_number_and_refuses_what_json_has_not() -> None:
    assert part_text("a", {"b": "</script>\u2028"}) == (
        'grb.part("a",{"b":"\\u003c/script>\\u2028"});\n'
    )
    with pytest.raises(ValueError, match="JSON"):
        part_text("a", {"b": float("nan")})


def test_a_page_is_brought_up_to_date_and_keeps_no_part_of_a_run_that_is_gone(
    home: Path, page: Path
) -> None:
    assert (page / "data" / "r3").is_dir()
    before = (page / "data" / "set0.js").stat().st_mtime_ns
    vanilla = next((home / "runs").glob("*/vanilla/*"))
    written(home, page, str(vanilla))
    assert [run["method"] for run in part(page, "index")["runs"]] == ["vanilla"]
    assert not list((page / "data" / "r3").glob("*.js"))
    assert (page / "data" / "set0.js").stat().st_mtime_ns == before


def test_a_folder_that_holds_no_page_is_left_alone(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("mine")
    for place in (tmp_path, file):
        with pytest.raises(UserError, match=re.escape(str(place))):
            write_page(newest(home, 1), place, home)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_page_that_was_broken_off_is_written_again(home: Path, page: Path) -> None:
    (page / "data" / "index.js").unlink()
    written(home, page)
    assert part(page, "index")["runs"]


def test_graphs_beyond_the_most_are_counted(
    home: Path, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(home, page)
    whole = part(page, "index")
    assert whole["graphs_left_out"] == 0 and len(whole["graphs"]) > 1
    monkeypatch.setattr("graphrag_bench.view.page.MOST_GRAPHS", 1)
    written(home, page)
    first = part(page, "index")
    assert len(first["graphs"]) == 1
    assert first["graphs_left_out"] == len(whole["graphs"]) - 1


def test_the_command_writes_a_page_and_refuses_what_cannot_be(home: Path, tmp_path: Path) -> None:
    shown = command("view", "--out", str(tmp_path / "page"), "--home", str(home))
    assert (shown.code, shown.out) == (0, f"{tmp_path / 'page' / 'index.html'}\n")
    with pytest.raises(UserError, match=re.escape(str(tmp_path))):
        newest(tmp_path, 8)
    assert "--newest" in refused("--newest", "0", name="view")
    assert "--port" in refused("--port", "70000", name="view")


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
    assert index["graphs"] == []
    gone = part(page, "r0/q0")["questions"]["q1"]
    assert "graph" in gone["without_names"]
    toy = part(page, "r1/list")
    assert set(toy["right"]) == {None} and set(toy["status"]) == {"retrieved"}


def test_parts_name_only_what_they_wrote(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    parts.write("a", {"x": 1})
    old = tmp_path / "data" / "old.js"
    old.write_text("")
    parts.remove_others()
    assert not old.exists()
    assert json.loads((tmp_path / "data" / "a.js").read_text()[len('grb.part("a",') : -3]) == {
        "x": 1
    }


# ---- the page as it is served


@pytest.fixture
def address(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, int]]:
    """The host and port of a page of the home's runs, which is looked at all the time."""
    monkeypatch.setattr("graphrag_bench.view.page.LOOK_EVERY", 0.02)
    with served(lambda: newest(home, 1), tmp_path / "page", home, None, 0) as url:
        host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
        yield host, int(port)


def got(address: tuple[str, int], path: str, host: str | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*address, timeout=10)
    connection.request("GET", path, headers={"Host": host} if host else {})
    reply = connection.getresponse()
    return reply.status, reply.read()


def test_the_page_is_served_to_this_machine_alone(address: tuple[str, int]) -> None:
    status, body = got(address, "/")
    assert status == 200 and b"parts.js" in body
    assert address[0] == "127.0.0.1"
    assert got(address, "/", "evil.example")[0] == 403
    assert got(address, "/data/")[0] == 404
    assert got(address, "/../../etc/passwd")[0] == 404


def test_a_run_that_is_scored_anew_is_written_anew(
    address: tuple[str, int], home: Path, tmp_path: Path
) -> None:
    assert part(tmp_path / "page", "index")["served"]
    _, before = got(address, "/data/stamp.js")
    path = newest(home, 1)[0].folder.path / "metrics.json"
    path.write_text(json.dumps(json.loads(path.read_text())))
    until = time.monotonic() + 30
    while got(address, "/data/stamp.js")[1] == before:
        assert time.monotonic() < until, "the page was not written again"
        time.sleep(0.02)


def test_a_port_that_is_taken_is_refused(
    address: tuple[str, int], home: Path, tmp_path: Path
) -> None:
    again = served(lambda: newest(home, 1), tmp_path / "other", home, None, address[1])
    with pytest.raises(UserError, match="--port"), again:
        pass
