"""`graphrag-bench cache`: replies that were paid for, counted, shared and taken over."""

import json
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from toy_runs import TOY, asked, command, refused, run_folder

from graphrag_bench.llm.cache import export_rows

STORE = Path("cache/replies.sqlite")
pytestmark = pytest.mark.usefixtures("copied")

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]
BUILT = [VANILLA]
KEY = "sk-planted-0123456789abcdef"


def test_stats_count_the_replies_of_each_model_by_verdict() -> None:
    ((model, counts),) = json.loads(command("cache", "stats", "--json").out).items()
    assert model.startswith("scripted:") and counts["usd"] == 0
    assert (counts["valid"], counts.get("failed", 0)) == (6, 0)


def test_an_exported_file_is_a_store_for_the_next_home() -> None:
    name = "shared.jsonl.gz"
    assert command("cache", "export", name).out.split()[0] == "6"
    assert command("cache", "import", name, "--home", "other").out.split()[0] == "6"
    asked.clear()
    run_folder(*VANILLA, "paths.home=other")
    assert not asked


@pytest.mark.parametrize(
    ("arguments", "name"),
    [("stats --home none", "none"), ("stats --home a --path b", "--path"),
     (f"export {STORE}", str(STORE)), (f"import {STORE}", str(STORE))],
)  # fmt: skip
def test_a_wrong_argument_is_named(arguments: str, name: str) -> None:
    before = STORE.read_bytes()
    assert name in refused(*arguments.split(), name="cache")
    assert STORE.read_bytes() == before


def test_an_exported_file_holds_no_key(
    fake: FakeOpenAI, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    url = fake.scenario(key=KEY, text=f"the key is {KEY}")
    of_server = ["llm=openai_compatible", "llm.model=fake", f"llm.base_url={url}"]
    of_server += ["llm.api_key_env=PLANTED_KEY", "embedder=hashing", "reference_rows=off"]
    run_folder("dataset=toy", "method=vanilla", *of_server, "paths.home=paid")
    assert export_rows(Path("paid", STORE), Path("paid/shared.jsonl")) == 6
    for path in home.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path
