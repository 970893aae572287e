"""Reports of plan and run on texts longer than the window of the embedder."""

import pytest
from fake_openai import FakeOpenAI
from toy_runs import TOY, metrics, plan_of, run_command

ALONE = ["method=vanilla", "reference_rows=off", "limit=2"]
LONGER = "chunks are longer than the window of 15 tokens"


pytestmark = pytest.mark.usefixtures("home")


def served(url: str, *more: str) -> list[str]:
    """Return the settings of an embedder behind an API with a window of 15 tokens."""
    own = ("model=fake", "dimension=8", f"base_url={url}", "api_key_env=null", "window=15",
           "tokenizer=cl100k")  # fmt: skip
    words = [word for word in TOY if not word.startswith("embedder")]
    return [*words, "embedder=openai_compatible", *(f"embedder.{one}" for one in own), *more]


def test_long_texts_are_reported_by_plan_run_and_metrics(fake: FakeOpenAI) -> None:
    words = served(fake.scenario(), *ALONE)
    assert "overlapping windows" in plan_of(*words) and LONGER not in plan_of(*words)
    ended = run_command(*words)
    assert LONGER in ended.err.splitlines()[0] and LONGER in plan_of(*words)
    assert "longer texts are cut" in plan_of(*words, "embedder.long_texts=cut")
    (row,) = metrics(ended.folder)["long_texts"]
    assert row["what"] == "chunks" and row["n_long"] and row["long_texts"] == "windows"
    again = run_command(*words)
    assert metrics(again.folder)["long_texts"] == [row] and LONGER not in again.err
