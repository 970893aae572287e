"""`graphrag-bench doctor`: a table of what passes and what to fix, before a run costs anything."""

from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from toy_runs import command

from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import check_settings
from graphrag_bench.run.model_check import examine, examine_texts

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


def examined(*words: str) -> dict[str, tuple[str, str]]:
    """The result and text of each check, as `part check`."""
    values = composed(words)
    checks = [*examine(check_settings(values)), *examine_texts(values)]
    return {f"{check.part} {check.name}": (check.result, check.text) for check in checks}


def of_server(url: str, *more: str) -> list[str]:
    return ["llm=openai_compatible", "llm.model=fake", f"llm.base_url={url}", *more]


def no_key(url: str, *more: str) -> list[str]:
    return of_server(url, "llm.api_key_env=null", HASHING, *more)


def embedding(url: str, *more: str) -> list[str]:
    own = ("model=fake", "api_key_env=null", f"base_url={url}", *more)
    return ["llm=scripted", "embedder=openai_compatible", *(f"embedder.{word}" for word in own)]


def test_a_server_that_does_all_that_is_asked_passes_everything(fake: FakeOpenAI) -> None:
    url = fake.scenario(key=KEY, texts=WARSAW, stated_window=8192)
    rows = examined(*of_server(url, "llm.api_key_env=PLANTED_KEY", HASHING))
    assert {result for result, _ in rows.values()} == {"pass"}
    said = {name: words for name, (_, words) in rows.items()}
    assert said["llm address"] == f"{url} answers"
    assert said["llm key"] == "PLANTED_KEY is set"
    assert said["llm model"] == "'fake' is one of 1 that the server lists"
    assert said["llm JSON reply"] == "'Warsaw'; held to the JSON schema by the server"
    assert said["llm window"].startswith("8192 tokens, as the server states")
    assert "tokens/s" in said["llm speed"]
    assert said["embedder vector"] == "256 numbers, length 1.000: hashing:256"


def test_no_server_is_told_with_the_address_and_the_rest_is_not_tried() -> None:
    words = no_key("http://127.0.0.1:9/v1")
    rows = examined(*words)
    result, text = rows["llm address"]
    assert result == "fix" and "http://127.0.0.1:9/v1" in text and "base_url" in text
    rest = {rows[f"llm {name}"][0] for name in ("key", "model", "JSON reply", "window", "speed")}
    assert rest == {"not tried"}
    assert rows["embedder vector"][0] == "pass"
    ended = command("doctor", *words)
    assert ended.code == 1 and "to fix: 1; not tried before that is done: 5" in ended.out


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
    own = ("llm.api_key_env=PLANTED_KEY", HASHING, "llm.retries=0")
    words = of_server(fake.scenario(**scenario), *own)
    ended, rows = command("doctor", *words), examined(*words)
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


THINKS = {"message": {"content": ""}, "reasoning": "hmm " * 60, "finish": "length"}
SERVED = {"models": ("qwen3:8b", "qwen3:14b", "llama3.2")}
NO_SCHEMA = {**WARSAW, '"city"': WARSAW["Marie Curie born"]}


@pytest.mark.parametrize(
    ("scenario", "settings", "check", "result", "text"),
    [
        ({}, ["llm.api_key_env=NOT_SET"], "key", "fix", "export NOT_SET="),
        ({}, ["llm.api_key_env=NOT_SET"], "address", "not tried", ""),
        (SERVED, ["llm.model=qwen3"], "model", "fix", "'qwen3:8b' or 'qwen3:14b'"),
        (SERVED, ["llm.model=qwen3"], "speed", "not tried", ""),
        ({"lists_models": False, "texts": WARSAW}, [], "model", "pass", "'fake' replies"),
        ({"text": "Warsaw, of course"}, [], "JSON reply", "fix", "Warsaw, of course"),
        ({"text": "Warsaw, of course"}, [], "window", "not tried", ""),
        (THINKS, [], "JSON reply", "fix", "on thinking"),
        ({"texts": WARSAW, "window": 500}, [], "window", "fix", "maximum context length is 500"),
        ({"texts": WARSAW, "silent_window": 500}, [], "window", "fix", "without saying so"),
        ({"texts": WARSAW, "stated_window": 4096}, ["llm.window=8192"], "window", "fix", "4096"),
        ({"texts": WARSAW}, ["llm.window=1000"], "window", "fix", "1000 tokens"),
        ({"texts": NO_SCHEMA, "refuse": ("json_schema",)}, [], "JSON reply", "pass", "no schema"),
        ({"texts": NO_SCHEMA, "refuse": ("json_schema", "json_object")}, [], "JSON reply", "pass",
         "no JSON mode"),
    ],
)  # fmt: skip
def test_each_check_passes_or_says_what_to_fix(
    fake: FakeOpenAI, scenario: dict[str, object], settings: list[str], check: str, result: str,
    text: str,
) -> None:  # fmt: skip
    rows = examined(*no_key(fake.scenario(**scenario), *settings))
    fixed = {name for name, (result, _) in rows.items() if result == "fix"}
    assert bool(fixed) == (result != "pass")
    assert rows[f"llm {check}"][0] == result
    assert text in rows[f"llm {check}"][1]


@pytest.mark.parametrize(
    ("dimension", "result", "text"),
    [(8, "pass", "8 numbers, length 1.000: openai:fake:8:unit"),
     (1536, "fix", "embedder.dimension=8")],
)  # fmt: skip
def test_an_embedding_passes_or_is_told_with_the_right_dimension(
    fake: FakeOpenAI, dimension: int, result: str, text: str
) -> None:
    rows = examined(*embedding(fake.scenario(dimension=8), f"dimension={dimension}"))
    assert rows["embedder vector"][0] == result and text in rows["embedder vector"][1]


@pytest.mark.real
def test_the_packaged_models_pass() -> None:
    rows = examined()
    assert "fix" not in {result for result, _ in rows.values()}
    assert rows["embedder vector"][1].startswith("384 numbers, length 1.000")
    assert rows["llm window"] == ("pass", "8192 tokens")
