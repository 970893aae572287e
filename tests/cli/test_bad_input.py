"""Whatever a user can get wrong ends with exit code 2 and one message that says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from toy_runs import TOY, WEIGHTLESS, ran, records, refused, shell, stops_on, write_set

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla"]
NOWHERE = "llm.base_url=http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("method=hiporag", "hipporag"),
        ("dataset=tyo", "toy"),
        ("embedder=hash", "hashing"),
        ("llm=scrpted", "scripted"),
        ("llm@llm_build=scrpted", "scripted"),
        ("chunking=tokens", "token"),
        ("experiment=nothing", "experiment"),
        ("method=", "bm25"),
        ("-m method=glob(x*)", "bm25"),
        ("-m method=choice(bm52)", "bm25"),
    ],
)
def test_an_unknown_choice_names_the_nearest_one(wrong: str, nearest: str) -> None:
    message = refused(*TOY, *wrong.split())
    assert wrong.partition("=")[0].removeprefix("-m ").partition("@")[0] in message
    assert nearest in message


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("limt=3", "limit"),
        ("metod=vanilla", "method"),
        ("dataset.rot=/data", "root"),
        ("graph.imprt_from=x", "'graph.import_from'"),
        ("frame=off", "Did you mean 'reference_rows'?"),
        ("graph.scope=per_scope", "Did you mean 'graph.per'?"),
        ("graph.per=per_scope", "Did you mean 'partition'?"),
        ("evaluation.cut=[1]", "cuts"),
        ("method.topk=3", "top_k"),
        ("method.retrive.0.top_k=3", "retrieve"),
        ("method.retrieve.0.topk=3", "top_k"),
        ("method.retrieve.7.top_k=3", "method.retrieve[7]"),
        ("method.retrieve.first.top_k=3", "'first'"),
        ("llm_build.model=x", "llm@llm_build"),
        ("llm.replys=3", "replies"),
        ("embedder.dimensions=3", "dimension"),
        ("chunking.sise=3", "chunking"),
        ("build.chunk_tabel=token", "chunk_table"),
        ("build.chunk_table=tokens", "token"),
        ("paths.hom=x", "home"),
    ],
)
def test_an_unknown_setting_names_the_nearest_one(wrong: str, nearest: str) -> None:
    message = refused(*VANILLA, wrong)
    misspelt = re.split("[.=]", wrong)
    assert any(re.search(rf"\W{part}\W", message) for part in misspelt)
    assert nearest in message


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("limit=0", ["limit=0", "greater than 0"]),
        ("limit=many", ["limit='many'", "integer"]),
        ("answer=maybe", ["answer='maybe'", "'on' or 'off'", "integer"]),
        ("graph.per=some", ["graph.per='some'", "partition"]),
        ("evaluation.cuts=[0]", ["evaluation.cuts.0=0", "greater than 0"]),
        ("workers=2.5", ["workers=2.5", "integer"]),
        ("plugins=[nothing_here]", ["plugins", "nothing_here"]),
        ("method.top_k=0", ["top_k", "0", "greater than 0"]),
        ("method.top_k=four", ["top_k", "'four'", "integer"]),
        ("method.retrieve=chunk.vdb", ["retrieve", "list of steps", "chunk.vdb"]),
        ("method.name=mine", ["method.name", "method=NAME"]),
        ("+method.build=graph", ["method.build='graph'", "mapping"]),
        ("+method.given=[]", ["method.given=[]", "text"]),
        ("evaluation.compared=[acuracy]", ["evaluation.compared", "'acuracy'", "'accuracy'"]),
        ("method.role=king", ["method.role", "'king'", "floor, baseline, ceiling"]),
        ("budget.usd=-1", ["budget.usd=-1", "greater than 0"]),
        ("build.chunk_table=3", ["build.chunk_table=3", "variant"]),
        ("embedder.dimension=wide", ["embedder.dimension='wide'", "integer"]),
        ("llm.replies=3", ["llm.replies=3", "dictionary"]),
        ("llm._target_=nowhere.Model", ["llm._target_", "nowhere.Model"]),
        ("chunking=token chunking.size=-1", ["chunking", "size", "greater than 0"]),
        ("chunking=token chunking.size=9 chunking.overlap=9", ["overlap 9", "below size 9"]),
    ],
)
def test_a_setting_of_the_wrong_type_or_range_is_named(wrong: str, words: list[str]) -> None:
    message = refused(*VANILLA, *wrong.split())
    assert all(word in message for word in words), message


def test_several_values_without_m_are_told_about_m() -> None:
    assert "-m" in refused(*TOY, "method=vanilla,bm25")
    assert "limit=1,2" in refused(*VANILLA, "limit=1,2")


def test_a_value_that_hydra_cannot_read_is_named_alone_with_how_to_quote_it() -> None:
    message = refused(*VANILLA, "dataset.root=/data (old)/{set}")
    assert "'dataset.root=/data (old)/{set}'" in message
    assert "embedder" not in message
    assert "double quotes" in message


def test_words_that_are_no_settings_are_refused() -> None:
    assert "'vanilla'" in refused(*TOY, "vanilla")
    assert "--limit" in refused(*TOY, "--limit", "3")
    assert "run" in refused(name="rum")


def test_a_parameter_that_no_method_of_a_sweep_has_is_refused() -> None:
    message = refused("-m", *TOY, "method=vanilla,hipporag", "method.dampnig=0.3,0.5")
    assert "method.dampnig" in message
    assert "method.damping" in message


def test_a_sweep_of_bad_cells_is_refused_before_the_first_runs(home: Path) -> None:
    assert "top_k" in refused("-m", *TOY, "method=vanilla", "method.top_k=0,-1")
    assert not (home / "runs").exists()


@pytest.mark.parametrize(
    "word",
    ["plugins=[../x]", "paths.home=/dev/null/x", f"paths.home={'x' * 300}", "cache.path=/proc/x",
     "paths.shared_artifacts=/dev/null", f"limit={'9' * 6000}", "method.prompts=/dev/null"],
    ids=lambda word: word[:30],
)  # fmt: skip
def test_a_setting_that_leads_nowhere_is_refused(word: str) -> None:
    assert len(refused(*VANILLA, "reference_rows=off", word)) < 9000


def test_a_home_that_cannot_hold_runs_is_named(home: Path) -> None:
    (home / "notes.txt").write_text("no folder")
    assert "notes.txt" in refused(*VANILLA, "paths.home=notes.txt")


def test_an_unreachable_model_stops_the_run_and_leaves_no_error_rows(home: Path) -> None:
    message = refused(
        *["dataset=toy", "embedder=hashing", "method=vanilla", "llm=openai_compatible"],
        *[NOWHERE, "llm.api_key_env=null"],
        code=1,
    )
    assert "127.0.0.1:9" in message
    assert "llm.base_url" in message
    assert not list(home.rglob("journal.jsonl"))
    assert not list(home.rglob("records.jsonl"))


def test_earlier_work_is_untouched_by_whatever_is_refused(home: Path) -> None:
    folder = ran(*VANILLA, "limit=2", "reference_rows=off").folder
    kept = [path for name in ("runs", "artifacts") for path in (home / name).rglob("*")]
    before = {path: path.read_bytes() for path in kept if path.is_file()}
    assert before
    refused(*VANILLA, "method.top_k=0")
    refused(*VANILLA, "dataset.root=/no/such/folder")
    refused(*VANILLA, "llm.replys=3")
    folder_of_nothing = write_set(home / "books", b"", b"")
    refused("dataset=jsonl", f"dataset.root={folder_of_nothing}", *WEIGHTLESS, "method=vanilla")
    assert {path: path.read_bytes() for path in before} == before
    stops_on.add("Question")
    try:
        refused(*VANILLA, "limit=4", "reference_rows=off", code=1)
    finally:
        stops_on.clear()
    assert [row["status"] for row in records(folder)] == ["answered", "answered"]
    assert before[folder / "records.jsonl"] == (folder / "records.jsonl").read_bytes()


def test_the_shell_sees_exit_code_2_and_no_traceback() -> None:
    ended = shell("run", "method=hiporag")
    assert ended.code == 2
    said = "graphrag-bench run: No method 'hiporag'. Did you mean 'hipporag'"
    assert ended.err.startswith(said)
    assert len(ended.err.splitlines()) == 1
    assert ended.out == ""
