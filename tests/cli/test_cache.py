"""`graphrag-bench cache`: replies that were paid for, counted, shared and taken over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from toy_runs import TOY, asked, command, ran, refused

from graphrag_bench.llm.cache_exchange import cache_stats

STORE = Path("cache/replies.sqlite")
VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]
KEY = "sk-planted-0123456789abcdef"


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the six replies of a run of the toy set."""
    home = tmp_path_factory.mktemp("paid")
    ran(*VANILLA, f"paths.home={home}")
    return home


@pytest.fixture(autouse=True)
def home(paid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the working folder."""
    monkeypatch.setenv("COLUMNS", "400")
    shutil.copytree(paid, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cells(table: str, first: str) -> list[str]:
    """The cells of the row that begins with a text."""
    for line in table.splitlines():
        found = [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")]
        if found[0].startswith(first):
            return found
    raise AssertionError(f"no row '{first}' in\n{table}")


def test_stats_count_the_replies_of_each_model_by_verdict() -> None:
    shown = command("cache", "stats")
    assert shown.code == 0, shown.err
    row = dict(zip(cells(shown.out, "model"), cells(shown.out, "scripted:"), strict=True))
    assert (row["replies"], row["valid"], row["failed"]) == ("6", "6", "0")
    assert int(row["prompt tokens"].replace(",", "")) > 100
    assert row["USD"] == "0.0000"


@pytest.mark.parametrize("name", ["shared.jsonl", "shared.jsonl.gz"])
def test_an_exported_file_is_a_store_for_the_next_home(home: Path, name: str) -> None:
    exported = command("cache", "export", name)
    assert exported.out == f"6 rows from {STORE} to {name}\n"
    assert cells(command("cache", "stats", "--path", name).out, "scripted:")[1] == "6"
    imported = command("cache", "import", name, "--home", "other")
    assert imported.out == f"6 rows from {name} to other/{STORE}\n"
    asked.clear()
    again = ran(*VANILLA, "paths.home=other")
    assert not asked
    first = next(home.glob("runs/*/*/*/records.jsonl"))
    assert (again.folder / "records.jsonl").read_bytes() == first.read_bytes()


def test_vectors_are_counted_and_shared_too(fake: FakeOpenAI) -> None:
    url = fake.scenario(dimension=8)
    of_server = ["embedder=openai_compatible", "embedder.model=fake", "embedder.dimension=8"]
    of_server += [f"embedder.base_url={url}", "embedder.api_key_env=null"]
    ran(*VANILLA, *of_server)
    n_calls = fake.stats(url).requests
    sent = {text for body in fake.stats(url).bodies for text in body["input"]}
    row = cells(command("cache", "stats").out, "openai:fake:8")
    heads = cells(command("cache", "stats").out, "model")
    assert int(row[heads.index("vectors")]) == len(sent) > n_calls
    assert row[heads.index("replies")] == "0"
    command("cache", "export", "shared.jsonl.gz")
    command("cache", "import", "shared.jsonl.gz", "--home", "other")
    ran(*VANILLA, *of_server, "paths.home=other")
    assert fake.stats(url).requests == n_calls


def test_one_model_of_several_is_picked_by_its_identity() -> None:
    ran(*VANILLA, "llm.replies={Question: another}")
    identities = [stats.identity for stats in cache_stats(STORE)]
    assert len(identities) == 2
    assert command("cache", "export", "one.jsonl", "--identity", identities[0]).code == 0
    assert [stats.identity for stats in cache_stats("one.jsonl")] == identities[:1]
    message = refused("export", "none.jsonl", "--identity", identities[0][:-1], name="cache")
    assert identities[0] in message
    assert not Path("none.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stat"], "stats"),
        (["export"], "FILE"),
        (["import"], "FILE"),
        (["stats", "x.jsonl"], "--path"),
        (["stats", "--home", "none"], "none/cache/replies.sqlite"),
        (["stats", "--home", "a", "--path", "b"], "give one of the two"),
        (["stats", "--identiy", "x"], "--identiy"),
        (["export", "a.jsonl", "b.jsonl"], "b.jsonl"),
        (["export", "no/folder/a.jsonl"], "no folder 'no/folder'"),
        (["export", "runs"], "is a folder"),
        (["export", str(STORE)], "is the store itself"),
        (["import", str(STORE)], "is the store itself"),
        (["import", "none.jsonl"], "none.jsonl"),
        (["import", "runs"], "runs"),
    ],
)
def test_a_wrong_argument_ends_with_2_and_says_what_is_wrong(
    arguments: list[str], words: str
) -> None:
    assert words in refused(*arguments, name="cache")
    assert cells(command("cache", "stats").out, "scripted:")[1] == "6"


def test_an_exported_file_holds_no_key(
    fake: FakeOpenAI, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    url = fake.scenario(key=KEY, text=f"the key is {KEY}")
    of_server = ["llm=openai_compatible", "llm.model=fake", f"llm.base_url={url}"]
    of_server += ["llm.api_key_env=PLANTED_KEY", "embedder=hashing", "reference_rows=off"]
    ended = ran("dataset=toy", "method=vanilla", *of_server, "trace=full", "paths.home=paid")
    ended = command("cache", "export", "paid/shared.jsonl", "--home", "paid")
    assert ended.code == 0, ended.err
    shared = Path("paid/shared.jsonl").read_text()
    assert json.loads(shared.splitlines()[1])["text"] == "the key is <api key>"
    for path in home.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


def test_a_failed_export_leaves_the_old_file_and_no_part(home: Path) -> None:
    command("cache", "export", "shared.jsonl")
    lines = Path("shared.jsonl").read_text().splitlines()
    Path("bad.jsonl").write_text("\n".join([*lines[:3], "{"]))
    held = Path("shared.jsonl").read_bytes()
    refused("export", "shared.jsonl", "--path", "bad.jsonl", name="cache")
    assert Path("shared.jsonl").read_bytes() == held
    assert sorted(path.name for path in home.glob("*.jsonl*")) == ["bad.jsonl", "shared.jsonl"]
