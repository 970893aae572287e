"""Prices and context windows, of the provider's list, the server or the settings."""

from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI

from graphrag_bench.llm.openai_compatible import OPENAI, OpenAICompatible
from graphrag_bench.llm.settings import provider_facts


@pytest.mark.parametrize(
    ("model", "address", "window", "prompt_price"),
    [
        ("gpt-4o", OPENAI, 128_000, 2.5),
        ("gpt-4o-mini-2024-07-18", OPENAI, 128_000, 0.15),
        ("claude-3-5-haiku-20241022", "https://api.anthropic.com", 200_000, 0.8),
        ("a-model-of-ours", OPENAI, None, None),
        ("gpt-4o", "http://localhost:8000/v1", None, None),
        ("gpt-4o", "https://x.y/v1", None, None),
    ],
)
def test_windows_and_prices_are_those_of_the_providers_list(
    model: str, address: str, window: int | None, prompt_price: float | None
) -> None:
    stated, prices = provider_facts(model, address)
    assert stated == window
    assert (prices and prices.prompt) == (prompt_price and pytest.approx(prompt_price))


@pytest.mark.parametrize(
    "stated", [{"max_model_len": 4096}, {"context_length": 4096}, {"meta": {"n_ctx": 4096}}]
)
def test_a_window_of_the_server_is_stored_for_later(
    fake: FakeOpenAI, stated: dict[str, Any], tmp_path: Path
) -> None:
    url = fake.scenario(listed=[{"id": "other", "max_model_len": 9}, {"id": "m", **stated}])
    model = OpenAICompatible("m", url, None)
    model.server.windows_file = tmp_path / "cache" / "windows.json"
    assert model.window == model.attached().window == 4096
    assert OpenAICompatible("m", url, None, window=100).window == 100
    silent = OpenAICompatible("m", "http://127.0.0.1:9/v1", None)
    silent.server.windows_file = model.server.windows_file
    assert silent.window == 4096


def test_the_window_is_unknown_without_a_statement(fake: FakeOpenAI) -> None:
    assert OpenAICompatible("m", fake.scenario(), None).window is None
    assert OpenAICompatible("m", "http://127.0.0.1:9/v1", None).window is None
