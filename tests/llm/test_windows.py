"""Prices and context windows, of the provider's list, the server or the settings."""

from pathlib import Path

from fake_openai import FakeOpenAI

from graphrag_bench.llm.openai_compatible import OPENAI, OpenAICompatible
from graphrag_bench.llm.settings import provider_facts

SILENT = "http://127.0.0.1:9/v1"


def test_windows_and_prices_are_those_of_the_providers_list() -> None:
    for model, address, window, prompt_price in (
        ("gpt-4o", OPENAI, 128_000, 2.5),
        ("claude-3-5-haiku-20241022", "https://api.anthropic.com", 200_000, 0.8),
        ("a-model-of-ours", OPENAI, None, None),
        ("gpt-4o", "http://localhost:8000/v1", None, None),
        ("gpt-4o", "https://x.y/v1", None, None),
    ):
        stated, prices = provider_facts(model, address)
        assert (stated, prices and round(prices.prompt, 9)) == (window, prompt_price)


def test_a_window_of_the_server_is_stored_for_later(fake: FakeOpenAI, tmp_path: Path) -> None:
    stored = tmp_path / "cache" / "windows.json"

    def window(url: str, **settings: int) -> int | None:
        model = OpenAICompatible("m", url, None, **settings)
        model.server.windows_file = stored
        return model.attached().window

    assert window(fake.scenario()) is None
    for n, stated in enumerate(("max_model_len", "context_length", "n_ctx"), 4096):
        row = {"meta": {"n_ctx": n}} if stated == "n_ctx" else {stated: n}
        url = fake.scenario(listed=[{"id": "other", "max_model_len": 9}, {"id": "m", **row}])
        assert (window(url), window(url, window=100), window(SILENT)) == (n, 100, n)
    assert OpenAICompatible("m", SILENT, None).window is None
