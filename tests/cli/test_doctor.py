"""`graphrag-bench doctor`: a table of what passes and what to fix, before a run costs anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from toy_runs import Ended, command

pytestmark = pytest.mark.slow

KEY = "sk-planted-0123456789abcdef"
HASHING = "embedder=hashing"
WARSAW = {"Marie Curie born": '{"city": "Warsaw"}'}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def examined(*arguments: str) -> tuple[Ended, dict[str, tuple[str, str]]]:
    """How the command ended, and the result and words of each check, as `part check`."""
    ended = command("doctor", *arguments)
    rows: dict[str, tuple[str, str]] = {}
    name = ""
    for line in ended.out.splitlines():
        if line.startswith("│"):
            part, check, result, said = (cell.strip() for cell in line.strip("│").split("│"))
            name = f"{part} {check}" if part else name
            before = rows.get(name, ("", ""))
            rows[name] = (result or before[0], f"{before[1]} {said}".strip())
    return ended, rows


def of_server(url: str, *more: str) -> list[str]:
    return ["llm=openai_compatible", "llm.model=fake", f"llm.base_url={url}", *more]


def no_key(url: str, *more: str) -> list[str]:
    return of_server(url, "llm.api_key_env=null", HASHING, *more)


def embedding(url: str, *more: str) -> list[str]:
    names = ("model=fake", "api_key_env=null", f"base_url={url}")
    return [
        "llm=scripted",
        "embedder=openai_compatible",
        *(f"embedder.{name}" for name in names),
    ] + [*more]


def test_a_server_that_does_all_that_is_asked_passes_everything(fake: FakeOpenAI) -> None:
    url = fake.scenario(key=KEY, texts=WARSAW, stated_window=8192)
    ended, rows = examined(*of_server(url, "llm.api_key_env=PLANTED_KEY", HASHING))
    assert ended.code == 0, ended.out
    assert {result for result, _ in rows.values()} == {"pass"}
    said = {name: words for name, (_, words) in rows.items()}
    assert said["llm address"] == f"{url} answers"
    assert said["llm key"] == "PLANTED_KEY is set"
    assert said["llm model"] == "'fake' is one of 1 that the server lists"
    assert said["llm JSON reply"] == "'Warsaw'; held to the JSON schema by the server"
    assert said["llm window"].startswith("8192 tokens, as the server states")
    assert "tokens/s" in said["llm speed"]
    assert said["embedder vector"] == "256 numbers, length 1.000: hashing:256"


def test_three_calls_are_made_and_nothing_is_written(fake: FakeOpenAI, home: Path) -> None:
    url = fake.scenario(texts=WARSAW)
    assert command("doctor", *no_key(url)).code == 0
    assert fake.stats(url).requests == 3
    assert not list(home.iterdir())


def test_no_server_is_told_with_the_address_and_the_rest_is_not_tried() -> None:
    ended, rows = examined(*no_key("http://127.0.0.1:9/v1"))
    assert ended.code == 1
    result, said = rows["llm address"]
    assert result == "fix"
    assert "No server answers at http://127.0.0.1:9/v1" in said
    assert "base_url" in said
    assert {
        rows[f"llm {name}"][0] for name in ("key", "model", "JSON reply", "window", "speed")
    } == {"not tried"}
    assert rows["embedder vector"][0] == "pass"
    assert "to fix: 1; not tried before that is done: 5" in ended.out


def test_a_key_that_is_not_set_is_told_by_the_name_of_its_variable(fake: FakeOpenAI) -> None:
    ended, rows = examined(*of_server(fake.scenario(), "llm.api_key_env=NOT_SET", HASHING))
    assert ended.code == 1
    assert rows["llm key"][0] == "fix"
    assert "export NOT_SET=" in rows["llm key"][1]
    assert rows["llm address"][0] == "not tried"


@pytest.mark.parametrize(
    "scenario",
    [
        {"key": "another"},
        {"raw_status": 401, "raw_body": '{"error": {"message": "I saw {key}"}}'},
        {"raw_status": 403, "raw_body": "no entry for {key}"},
        {"raw_status": 500, "raw_body": "trouble with {key}"},
        {"raw_status": 200, "raw_body": '{"data": [{"id": "{key}"}]}'},
        {"raw_status": 200, "raw_body": "<html>{key}</html>"},
    ],
)
def test_a_planted_key_is_shown_nowhere(
    fake: FakeOpenAI, home: Path, scenario: dict[str, object]
) -> None:
    patience = ("llm.retries=0",)
    url = fake.scenario(**scenario)
    ended, rows = examined(*of_server(url, "llm.api_key_env=PLANTED_KEY", HASHING, *patience))
    assert ended.code == 1
    assert KEY not in ended.out + ended.err
    assert not list(home.iterdir())
    if "key" in scenario or scenario["raw_status"] in (401, 403):
        assert rows["llm address"][0] == "pass"
        assert rows["llm key"][0] == "fix"
        assert "refuses the key in PLANTED_KEY" in rows["llm key"][1]


def test_a_key_in_the_place_of_its_variable_is_refused_and_not_shown(home: Path) -> None:
    sweep = ["run", "-m", "method=bm25,vanilla", "answer=off"]
    for words in (["doctor"], ["run"], ["plan"], sweep):
        ended = command(*words, *of_server("http://x/v1", f"llm.api_key_env={KEY}", HASHING))
        assert ended.code == 2
        assert "NAME of the environment variable" in ended.err
        assert KEY not in ended.out + ended.err
    assert not list(home.iterdir())


def test_a_model_that_is_not_served_is_told_with_the_nearest_names(fake: FakeOpenAI) -> None:
    url = fake.scenario(models=("qwen3:8b", "qwen3:14b", "llama3.2"))
    ended, rows = examined(*no_key(url, "llm.model=qwen3"))
    assert ended.code == 1
    assert rows["llm model"][0] == "fix"
    assert "Did you mean 'qwen3:8b' or 'qwen3:14b'" in rows["llm model"][1]
    assert rows["llm JSON reply"][0] == "fix"
    assert rows["llm speed"][0] == "not tried"


def test_a_name_that_is_not_listed_but_replies_passes(fake: FakeOpenAI) -> None:
    url = fake.scenario(lists_models=False, texts=WARSAW)
    ended, rows = examined(*no_key(url))
    assert ended.code == 0, ended.out
    assert rows["llm model"] == ("pass", "'fake' replies; it is not in the server's list of 0")


@pytest.mark.parametrize(
    ("refuse", "words"),
    [
        (("json_schema",), "knows JSON but no schema"),
        (("json_schema", "json_object"), "knows no JSON mode"),
    ],
)
def test_a_server_without_json_schemas_passes_and_says_so(
    fake: FakeOpenAI, refuse: tuple[str, ...], words: str
) -> None:
    texts = {**WARSAW, '"city"': WARSAW["Marie Curie born"]}
    ended, rows = examined(*no_key(fake.scenario(refuse=refuse, texts=texts)))
    assert ended.code == 0, ended.out
    assert words in rows["llm JSON reply"][1]


def test_a_reply_that_is_no_json_is_to_be_fixed(fake: FakeOpenAI) -> None:
    ended, rows = examined(*no_key(fake.scenario(text="Warsaw, of course")))
    assert ended.code == 1
    assert rows["llm JSON reply"][0] == "fix"
    assert "Warsaw, of course" in rows["llm JSON reply"][1]
    assert rows["llm window"][0] == "not tried"


@pytest.mark.parametrize(
    ("scenario", "settings", "words"),
    [
        ({"window": 500}, (), "maximum context length is 500"),
        ({"silent_window": 500}, (), "cuts prompts to its window without saying so"),
        ({"stated_window": 4096}, ("llm.window=8192",), "the server states 4096"),
        ({}, ("llm.window=1000",), "1000 tokens. Answer prompts have about 2200 tokens"),
    ],
)
def test_a_window_that_is_too_small_is_to_be_fixed(
    fake: FakeOpenAI, scenario: dict[str, object], settings: tuple[str, ...], words: str
) -> None:
    ended, rows = examined(*no_key(fake.scenario(texts=WARSAW, **scenario), *settings))
    assert ended.code == 1
    assert rows["llm window"][0] == "fix"
    assert words in rows["llm window"][1]
    assert rows["llm speed"][0] == "pass"


def test_a_model_that_thinks_all_its_tokens_away_is_to_be_fixed(fake: FakeOpenAI) -> None:
    thinking = {"message": {"content": ""}, "reasoning": "hmm " * 60, "finish": "length"}
    ended, rows = examined(*no_key(fake.scenario(**thinking)))
    assert ended.code == 1
    assert "on thinking" in rows["llm JSON reply"][1]


def test_an_embedding_passes_with_its_dimension_and_length(fake: FakeOpenAI) -> None:
    ended, rows = examined(*embedding(fake.scenario(dimension=8), "embedder.dimension=8"))
    assert ended.code == 0, ended.out
    assert rows["embedder vector"][1].startswith("8 numbers, length 1.000: openai:fake:8:unit")


def test_a_wrong_dimension_is_told_with_the_right_one(fake: FakeOpenAI) -> None:
    ended, rows = examined(*embedding(fake.scenario(dimension=8), "embedder.dimension=1536"))
    assert ended.code == 1
    assert rows["embedder vector"][0] == "fix"
    assert "embedder.dimension=8" in rows["embedder vector"][1]


def test_an_embedding_server_that_is_not_there_is_told() -> None:
    ended, rows = examined(*embedding("http://127.0.0.1:9/v1", "embedder.dimension=8"))
    assert ended.code == 1
    assert "No server answers" in rows["embedder address"][1]
    assert rows["embedder vector"][0] == "not tried"


@pytest.mark.real
def test_the_packaged_models_pass() -> None:
    ended, rows = examined()
    assert ended.code == 0, ended.out
    assert rows["embedder vector"][1].startswith("384 numbers, length 1.000")
    assert rows["llm window"] == ("pass", "8192 tokens")
