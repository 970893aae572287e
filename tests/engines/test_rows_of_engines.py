"""A released engine as a row: here a small one of our own, in a process, behind the same pipe."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import fake_engine
import pytest
from toy_runs import Ended, command, metrics, ran, records, refused

from graphrag_bench.models.engine import Engine
from graphrag_bench.models.ledger import read_ledger, sums

pytestmark = pytest.mark.slow

FAKE = [
    "dataset=toy", "method=original", "engine._target_=fake_engine.engine", "embedder=hashing",
    "llm=scripted", "llm._target_=fake_engine.reader", "reference_rows=off", "workers=1",
]  # fmt: skip
LIMITED = [*FAKE, "limit=3"]
MAY_FAIL = [*LIMITED, "failures.limit=0.5"]
OBSERVATORY = "Norvik Observatory"
SEA, FOUNDER = "Into which sea", "Who founded"
"""How the first two questions begin."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    fake_engine.asked.clear()
    return tmp_path


def rows(ended: Ended) -> dict[str, dict[str, Any]]:
    return {str(row["question"]): dict(row) for row in records(ended.folder)}


def by_kind(row: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for piece in row["context"]["pieces"]:
        found.setdefault(piece["kind"], []).append(piece["id"])
    return found


def texts(folder: Path) -> dict[str, list[str]]:
    lines = (folder / "contexts.jsonl").read_text().splitlines()
    return {row["question"]: row["texts"] for row in map(json.loads, lines)}


def artifact(home: Path) -> Path:
    (found,) = home.glob("artifacts/toy/original_index/*/recipe.json")
    return found.parent


# ---- rows


def test_equal_retrieves_our_chunks_and_our_reader_answers_from_its_context() -> None:
    ended = ran(*FAKE)
    held = metrics(ended.folder)
    assert (held["n"], held["failed"], held["answered"]) == (6, 0, 6)
    assert held["title"] == "fake 0.1 (equal)"
    first = rows(ended)["q1"]
    assert first["documents"][0] == "ada"  # the engine ranks by cosine, and "founded" stands there
    assert first["engine_passages"] == {"passages": 8, "ours": 8}
    assert set(by_kind(first)) == {"engine", "chunk"}
    assert by_kind(first)["chunk"] == first["documents"]
    (named, *_) = (text for text in texts(ended.folder)["q1"] if text)
    assert named.startswith("Names: ") and "\nKeywords: " in named
    (prompt,) = [text for text in fake_engine.asked if "Who founded" in text and "Names:" in text]
    assert not prompt.startswith("Answer briefly")  # the words of our reader, not of the engine


def test_equal_cuts_the_context_of_the_engine_to_our_budget() -> None:
    ended = ran(*FAKE, "budget_context=120")
    for row in rows(ended).values():
        n_tokens = sum(piece["tokens"] for piece in row["context"]["pieces"])
        assert 0 < n_tokens <= 120
        assert row["context"]["cut"]


def test_as_released_answers_itself_from_chunks_of_its_own() -> None:
    ended = ran(*FAKE, "method.mode=as_released")
    held = metrics(ended.folder)
    assert (held["title"], held["failed"], held["answered"]) == ("fake 0.1 (as_released)", 0, 6)
    first = rows(ended)["q1"]
    assert first["documents"][:2] == ["ada", "norvik"]  # two of our passages are one of its chunks
    pair = first["context"]["pieces"][1]
    assert (pair["kind"], pair["id"], pair["also"]) == ("chunk", "ada", ["norvik"])
    answering = [text for text in fake_engine.asked if text.startswith("Answer briefly")]
    assert len(answering) == 6
    asked_twice = [
        text for text in fake_engine.asked if text.startswith("Keywords of: Who founded")
    ]
    assert len(asked_twice) == 1 and first["calls"] == 2  # what it asked for is not asked again


def test_retrieval_alone_asks_for_no_answer() -> None:
    ended = ran(*FAKE, "answer=off", "method.mode=as_released")
    assert not [text for text in fake_engine.asked if text.startswith("Answer")]
    assert all(row["documents"] for row in rows(ended).values())


def test_a_passage_of_nobody_is_counted_and_noted() -> None:
    ended = ran(*LIMITED, "+engine.settings.foreign=true", "method.mode=as_released")
    held = dict(metrics(ended.folder)["engine"])  # type: ignore[call-overload]
    assert (held["passages"], held["foreign"]) == (12, 3)
    assert by_kind(rows(ended)["q1"])["passage"] == ["1"]
    table = (ended.folder / "table.md").read_text()
    assert "3 of 12 passages hold no passage of ours" in table


def test_the_table_says_mode_version_and_what_could_not_be_made_equal() -> None:
    ended = ran(*LIMITED)
    table = (ended.folder / "table.md").read_text()
    assert "| fake 0.1 (equal) | 3 | 0 |" in table
    assert "not equal: temperature and seed are those of our model; it lowers all words" in table


def test_the_table_says_where_the_lock_leaves_the_release() -> None:
    ended = ran(*LIMITED, "+engine.differs='its lock has one 2 for 1'")
    table = (ended.folder / "table.md").read_text()
    assert "those of our model; its lock has one 2 for 1; it lowers all words" in table


def test_a_plan_says_what_is_equal_before_and_after_the_index_is_built() -> None:
    before = command("plan", *LIMITED, "engine.seconds=7").out
    assert "engine: fake 0.1 (equal): our chunks, our context budget, our reader prompt" in before
    assert "a question may take 7 s" in before
    assert "what else is not equal, it says when it has built its index" in before
    ran(*LIMITED)
    after = command("plan", *LIMITED).out
    assert "not equal: it lowers all words before it embeds them" in after
    assert "similarity = cosine (in force)" in after


def test_a_plan_says_that_an_engine_is_not_installed_or_cannot_be_run(tmp_path: Path) -> None:
    words = ("dataset=toy", "method=original", "llm=scripted", f"paths.engines={tmp_path}")
    absent = command("plan", *words, "engine=hipporag").out
    assert "The engine 'hipporag' is not installed: graphrag-bench engines install" in absent
    assert "not equal: its lock has openai 1.92.0 for 1.91.1" in absent
    stopped = command("plan", *words, "engine=gfmrag").out
    assert "The engine 'gfmrag' cannot be run: it has no driver" in stopped


def test_chunks_that_an_engine_has_dropped_are_told() -> None:
    ended = ran(*LIMITED, "engine.settings={lose_on: Observatory}")
    table = (ended.folder / "table.md").read_text()
    assert "! fake 0.1 (equal): 2 of 8 chunks are not in its graph" in table


# ---- our layers


def test_every_call_is_in_the_ledger_with_its_question_or_the_build(home: Path) -> None:
    ended = ran(*LIMITED, "method.mode=as_released")
    built = sums(read_ledger(artifact(home) / "ledger.jsonl"), "stage", "step")
    assert {key: held.calls for key, held in built.items()} == {("build", "original_index"): 4}
    asked = sums(read_ledger(ended.folder / "ledger.jsonl"), "step", "item")
    assert {key: held.calls for key, held in asked.items()} == {
        (step, name): 1
        for step in ("generate.0 original.answer", "retrieve.0 original.retrieve")
        for name in rows(ended)
    }


def test_with_a_warm_cache_nothing_is_asked_and_the_bytes_are_the_same(home: Path) -> None:
    first = ran(*FAKE, "method.mode=as_released")
    before = {name: (first.folder / name).read_bytes() for name in ("records.jsonl", "table.md")}
    manifest = (artifact(home) / "manifest.json").read_text()
    n_asked = len(fake_engine.asked)
    shutil.rmtree("runs")
    shutil.rmtree("artifacts")
    again = ran(*FAKE, "method.mode=as_released", "workers=3")
    assert len(fake_engine.asked) == n_asked
    assert (again.folder / "records.jsonl").read_bytes() == before["records.jsonl"]
    content = json.loads(manifest)["files"]
    told = json.loads((artifact(home) / "manifest.json").read_text())["files"]
    for name in ("engine/words.json", "engine/config.ini", "graph.graphml", "engine.json"):
        assert told[name] == content[name]


def test_an_engine_is_asked_one_question_at_a_time_whatever_the_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask, askers = Engine.ask, set()

    def noted(self: Engine, *given: Any, **more: Any) -> Any:
        askers.add(threading.current_thread())
        return ask(self, *given, **more)

    monkeypatch.setattr(Engine, "ask", noted)
    ran(*FAKE, "workers=3")
    assert askers == {threading.main_thread()}


def test_the_index_is_built_once_for_both_answers_and_limits(home: Path) -> None:
    ran(*LIMITED, "answer=off")
    recipe = (artifact(home) / "recipe.json").stat().st_mtime_ns
    ran(*FAKE, "engine.seconds=11", "method.n_retrieved=3")
    assert (artifact(home) / "recipe.json").stat().st_mtime_ns == recipe


def test_another_setting_of_the_engine_is_another_index(home: Path) -> None:
    ran(*LIMITED, "answer=off")
    ran(*LIMITED, "answer=off", "+engine.settings.foreign=true")
    ran(*LIMITED, "answer=off", "method.mode=as_released")
    assert len(list(home.glob("artifacts/toy/original_index/*/recipe.json"))) == 3


def test_the_key_of_the_proxy_is_in_no_file(home: Path) -> None:
    ran(*LIMITED)
    assert (artifact(home) / "engine" / "config.ini").read_text().startswith("key = ------")
    held = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not [one for one in held if b"local-" in one]


def test_a_spent_budget_fails_the_question_with_the_reason(home: Path) -> None:
    released = [*FAKE, "method.mode=as_released"]
    ran(*released, "answer=off", "limit=1")
    spent = sums(read_ledger(artifact(home) / "ledger.jsonl"))[()].paid
    n_tokens = spent.prompt_tokens + spent.completion_tokens + 600
    ended = command("run", *released, f"budget.tokens={n_tokens}")
    assert ended.code == 1
    failed = [row for row in rows(ended).values() if row["status"] == "failed"]
    assert 0 < len(failed) < 6
    assert all("budget.tokens=" in row["error"]["message"] for row in failed)
    again = ran(*released)  # with a larger budget, the same command goes on
    assert again.folder == ended.folder
    assert {row["status"] for row in rows(again).values()} == {"answered"}


def test_an_engine_that_ignores_a_spent_budget_fails_all_the_same(home: Path) -> None:
    swallow = "+engine.settings.swallow=true"
    ran(*LIMITED, "answer=off", swallow)
    shutil.rmtree("runs")
    spent = sums(read_ledger(artifact(home) / "ledger.jsonl"))[()].paid
    n_tokens = spent.prompt_tokens + spent.completion_tokens + 1
    ended = command("run", *FAKE, swallow, "cache.mode=off", f"budget.tokens={n_tokens}")
    assert {row["error"]["kind"] for row in rows(ended).values()} == {"EngineFailed"}
    assert "fake was given no reply: budget.tokens=" in rows(ended)["q1"]["error"]["message"]


def test_more_calls_than_allowed_fail_the_question() -> None:
    ended = ran(*LIMITED, "engine.settings={greedy_on: Who founded}", "method.max_calls=5",
                "failures.limit=1")  # fmt: skip
    assert rows(ended)["q1"]["status"] == "failed"
    assert "more than 5 calls" in rows(ended)["q1"]["error"]["message"]
    assert rows(ended)["q2"]["status"] == "answered"


# ---- faults


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        ("crash_on", "EngineDied", "fake: its process ended (exit code 3)."),
        ("hang_on", "EngineHung", "within 2 s"),
        ("nonsense_on", "EngineDied", "it wrote what is no reply: 'this is no JSON'"),
        ("fail_on", "EngineFailed", "RuntimeError: I was told to fail"),
    ],
)
def test_a_fault_is_a_failed_question_with_its_log_and_the_next_is_answered(
    fault: str, kind: str, said: str
) -> None:
    ended = ran(*MAY_FAIL, f"engine.settings={{{fault}: {SEA}}}", "engine.seconds=2")
    held = rows(ended)
    error = held["q2"]["error"]
    assert (held["q2"]["status"], error["kind"]) == ("failed", kind)
    assert said in error["message"]
    log = Path(error["message"].rpartition("Its log: ")[2].rstrip("."))
    assert "the fake engine begins" in log.read_text()
    assert [held[name]["status"] for name in held if name != "q2"] == ["answered", "answered"]
    assert "some questions failed" in (ended.folder / "table.md").read_text()


def test_an_answer_without_a_word_is_a_failure() -> None:
    ended = ran(*MAY_FAIL, f"engine.settings={{silent_on: {SEA}}}", "method.mode=as_released")
    assert rows(ended)["q2"]["error"]["message"].startswith("fake: it gave no answer.")


def test_three_deaths_in_a_row_stop_the_run_with_one_error() -> None:
    said = refused(*FAKE, "engine.settings={crash_on: '?'}", code=1)
    assert "ended 3 times in a row" in said
    assert "Its log: " in said


def test_the_same_command_asks_the_failed_question_again(home: Path) -> None:
    once = home / "armed"
    once.write_text("")
    words = [*MAY_FAIL, f"engine.settings={{crash_on: {SEA}, once: {once}}}"]
    first = ran(*words)
    assert rows(first)["q2"]["status"] == "failed"
    again = ran(*words)
    assert again.folder == first.folder
    assert [row["status"] for row in rows(again).values()] == ["answered"] * 3


def test_an_engine_that_dies_while_it_builds_stores_nothing(home: Path) -> None:
    said = refused(*LIMITED, f"engine.settings={{crash_on: {OBSERVATORY}}}", code=1)
    assert "original_index (original_index) is not built: fake has built no index" in said
    assert "Its log: " in said
    assert not list(home.glob("artifacts/toy/original_index/*/recipe.json"))


def test_an_engine_that_is_not_installed_says_how_to_install_it() -> None:
    said = refused(*LIMITED, "+engine.installed=false")
    assert (
        said.strip()
        == f"graphrag-bench run: The engine 'fake' is not installed: {fake_engine.INSTALL}"
    )


def test_a_setting_that_the_engine_does_not_have_is_its_own_error() -> None:
    said = refused(*LIMITED, "engine.settings={crush_on: x}", code=1)
    assert "there is no setting crush_on" in said


# ---- like any other run


def test_the_graph_of_the_engine_is_one_that_our_methods_take(home: Path) -> None:
    ran(*LIMITED)
    graph = artifact(home) / "graph.graphml"
    ended = ran(
        "dataset=toy", "method=hipporag", "embedder=hashing", "llm=scripted", "answer=off",
        "llm._target_=toy_runs.reader", "nlp._target_=toy_runs.Capitals", "reference_rows=off",
        f"graph.import_from={graph}",
    )  # fmt: skip
    assert all(row["documents"] for row in records(ended.folder))


def test_it_is_bundled_verified_and_viewed(home: Path) -> None:
    ended = ran(*LIMITED)
    bundled = command("bundle", str(ended.folder), "-o", "paper.zip")
    assert bundled.code == 0, bundled.err
    checked = command("verify", "paper.zip")
    assert checked.code == 0, checked.err + checked.out
    shown = command("view", str(ended.folder), "--out", "page")
    assert shown.code == 0, shown.err
    page = "".join(path.read_text() for path in sorted((home / "page").rglob("*.js*")))
    assert "fake 0.1 (equal)" in page


def test_the_index_goes_to_another_home(home: Path) -> None:
    ran(*LIMITED, "answer=off")
    key = artifact(home).name
    assert command("artifacts", "export", key, "index.tar.gz").code == 0
    assert command("artifacts", "import", "index.tar.gz", "--home", "other").code == 0
    n_asked = len(fake_engine.asked)
    ran(*LIMITED, "answer=off", "paths.home=other", "cache.path=cache/replies.sqlite")
    assert len(fake_engine.asked) == n_asked
