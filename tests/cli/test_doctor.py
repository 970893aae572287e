import json

import pytest
from toy_runs import command

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import check_settings
from graphrag_bench.run.model_check import check_models

pytestmark = pytest.mark.slow

KEY = "sk-planted-0123456789abcdef"
WARSAW = {"In which city": '{"city": "Warsaw"}'}


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("PLANTED_KEY", KEY)


def examined(*words):
    """Each check by `part name`: whether it passed, and its text."""
    checks = check_models(check_settings(compose_settings(words)))
    return {f"{check.part} {check.name}": (check.passed, check.text) for check in checks}


def of_server(url, *more, key="PLANTED_KEY"):
    return ["llm=openai_compatible", "llm.model=fake", f"llm.base_url={url}", "llm.retries=0",
            f"llm.api_key_env={key}", "embedder=hashing", *more]  # fmt: skip


def test_an_unreachable_server_is_named_once():
    ended = command("doctor", *of_server("http://127.0.0.1:9/v1"), "--json")
    assert ended.code == 1
    (table,) = json.loads(ended.out)
    results = [(row["model"], row["result"]) for row in table["rows"]]
    assert results == [("llm", "fix"), ("embedder", "pass"), ("nlp", "pass")]
    assert "http://127.0.0.1:9/v1" in ended.out


def test_no_output_has_the_api_key(fake, home):
    for named, scenario in (
        (True, {"key": "another"}),
        (True, {"raw_status": 401, "raw_body": '{"error": {"message": "I saw {key}"}}'}),
        (False, {"raw_status": 200, "raw_body": '{"data": [{"id": "{key}"}]}'}),
    ):
        ended = command("doctor", *of_server(fake.scenario(**scenario)))
        assert ended.code == 1 and KEY not in ended.out + ended.err
        assert not list(home.iterdir())
        assert ("PLANTED_KEY" in ended.out) or not named


def test_a_key_instead_of_a_variable_name_is_refused_and_not_printed(home):
    for words in (["doctor"], ["run", "-m", "method=bm25,vanilla", "answer=off"]):
        ended = command(*words, *of_server("http://x/v1", key=KEY))
        assert ended.code == 2 and KEY not in ended.out + ended.err
    assert not list(home.iterdir())


THINKS = {"message": {"content": "", "reasoning_content": "hmm " * 60}, "finish": "length"}
NO_MODES = ("json_schema", "json_object")
LIKE = {**WARSAW, '"city"': WARSAW["In which city"]}


def test_a_check_passes_or_names_the_fix(fake):
    for scenario, setting, check, passes, text in (
        ({"key": KEY, "texts": WARSAW}, "", "JSON", True, "json_schema"),
        ({}, "llm.api_key_env=NOT_SET", "chat", False, "export NOT_SET="),
        ({"models": ("qwen3:8b",)}, "llm.model=qwen3", "chat", False, "llm.model"),
        (THINKS, "", "chat", False, "reasoning"),
        ({"window": 500}, "", "chat", False, "budget_context"),
        ({}, "llm.window=1000", "chat", False, "budget_context"),
        ({"text": "Warsaw, of course"}, "", "JSON", False, "Warsaw, of course"),
        ({"texts": LIKE, "refuse": NO_MODES[:1]}, "", "JSON", False, "llm.dialect"),
        ({"texts": LIKE, "refuse": NO_MODES}, "llm.dialect.schema_as=words", "JSON", True, "words"),
    ):
        rows = examined(*of_server(fake.scenario(**scenario), *setting.split()))
        assert all(passed for passed, _ in rows.values()) == passes, rows
        assert rows[f"llm {check}"][0] == passes and text in rows[f"llm {check}"][1]


def test_an_embedding_passes_or_names_the_right_dimension(fake):
    own = ("model=fake", "api_key_env=null", f"base_url={fake.scenario(dimension=8)}")
    words = ["llm=scripted", "embedder=openai_compatible", *(f"embedder.{word}" for word in own)]
    for dimension, good, text in ((8, True, "openai:fake:8:unit"), (1536, False, "dimension=8")):
        passed, shown = examined(*words, f"embedder.dimension={dimension}")["embedder vector"]
        assert passed == good and text in shown
