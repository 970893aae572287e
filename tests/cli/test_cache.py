"""`graphrag-bench cache`: replies that were paid for, counted, shared and taken over."""

import json
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from toy_runs import TOY, asked, command, refused, run_folder

from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import VERDICTS, cache_stats, export_rows

STORE = Path("cache/replies.sqlite")
pytestmark = pytest.mark.usefixtures("copied")

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]
BUILT = [VANILLA]
KEY = "sk-planted-0123456789abcdef"


def test_stats_count_the_replies_of_each_model_by_verdict() -> None:
    ((model, counts),) = json.loads(command("cache", "stats", "--json").out).items()
    assert model.startswith("scripted:") and counts["usd"] == 0
    assert (counts["valid"], counts.get("failed", 0)) == (6, 0)
    assert model in command("cache", "stats").out


def n_replies(store: Path) -> int:
    """The replies of the one model in a store."""
    (counts,) = cache_stats(store).values()
    return sum(counts[verdict] for verdict in VERDICTS)


@pytest.mark.parametrize("name", ["shared.jsonl", "shared.jsonl.gz"])
def test_an_exported_file_is_a_store_for_the_next_home(home: Path, name: str) -> None:
    exported = command("cache", "export", name)
    assert exported.out == f"6 rows from {STORE} to {name}\n"
    assert n_replies(Path(name)) == 6
    imported = command("cache", "import", name, "--home", "other")
    assert imported.out == f"6 rows from {name} to other/{STORE}\n"
    asked.clear()
    run_folder(*VANILLA, "paths.home=other")
    assert not asked


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stats", "--home", "none"], "none/cache/replies.sqlite"),
        (["stats", "--home", "a", "--path", "b"], "--path"),
        (["export", str(STORE)], str(STORE)),
        (["import", str(STORE)], str(STORE)),
        (["import", "none.jsonl"], "none.jsonl"),
    ],
)
def test_a_wrong_argument_ends_with_2_and_says_what_is_wrong(
    arguments: list[str], words: str
) -> None:
    assert words in refused(*arguments, name="cache")
    assert n_replies(STORE) == 6


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


def test_a_failed_export_leaves_the_old_file_and_no_part(home: Path) -> None:
    shared, bad = Path("shared.jsonl"), Path("bad.jsonl")
    export_rows(STORE, shared)
    before = shared.read_bytes()
    bad.write_text("\n".join([*before.decode().splitlines()[:3], "{"]))
    with pytest.raises(UserError):
        export_rows(bad, shared)
    assert shared.read_bytes() == before
    assert sorted(path.name for path in home.glob("*.jsonl*")) == ["bad.jsonl", "shared.jsonl"]
