"""`budget_context=auto`: from the chunks of the corpus and the window of the reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_runs import TOY, metrics, plan_of, records, refusal, run_folder, table_of

from graphrag_bench.config.compose import composed
from graphrag_bench.llm.windows import window_of
from graphrag_bench.run.budgets import ChunkSize, Room
from graphrag_bench.run.experiment import Experiment

LONG = "Ada Marsh wrote to Otto Brandt about the bridge at Norvik, and he answered. "


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three texts of about 5,400 tokens each, cut by tokens as the papers cut them."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "books"
    folder.mkdir()
    rows = [{"id": f"b{n}", "title": f"Book {n}", "text": LONG * 300} for n in range(3)]
    questions = [{"id": "q", "text": "Who wrote to Otto Brandt?", "answers": ["Ada Marsh"],
                  "evidence": ["b0"]}]  # fmt: skip
    for name, held in (("corpus", rows), ("questions", questions)):
        text = "".join(f"{json.dumps(row)}\n" for row in held)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return [
        "dataset=jsonl", f"dataset.root={folder}", "chunking=token", "embedder=hashing",
        "llm=scripted", "answer=off", "reference_rows=off",
        *[word for word in TOY if word.startswith("nlp")],
    ]  # fmt: skip


def kinds(folder: Path) -> list[str]:
    """The kinds of the pieces in the context of the only question."""
    (row,) = records(folder)
    return [piece["kind"] for piece in row["context"]["pieces"]]  # type: ignore[index]


def test_auto_has_room_for_four_whole_chunks_in_a_third_of_the_context() -> None:
    """4 x 1,260 / 0.33 = 15,273."""
    assert Room(ChunkSize(1260, 1260), 128_000, 1100).auto == 15_300


def test_auto_is_never_less_than_2400_and_never_more_than_the_window_leaves() -> None:
    """(8,192 - 1,112) / 1.15 = 6,156."""
    assert Room(ChunkSize(120, 130), 128_000, 1112).auto == 2400
    assert Room(ChunkSize(1260, 1260), 8192, 1112, 1.15).auto == 6100
    assert Room(ChunkSize(1260, 1260), None, 1112, 1.15).auto == 6100
    assert Room(ChunkSize(120, 130), 2048, 1112).auto == 900


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("gpt-4o-mini", 128_000),
        ("meta-llama/Meta-Llama-3-8B-Instruct", 8192),
        ("meta-llama/Llama-3.1-8B-Instruct", 131_072),
        ("Qwen/Qwen2.5-32B-Instruct", 32_768),
        ("SmolLM2-135M-Instruct.Q4_1.gguf@ab", 8192),
        ("a-model-of-ours", None),
    ],
)
def test_the_window_of_a_model_is_known_by_its_name(name: str, window: int | None) -> None:
    assert window_of(name) == window


def test_four_chunks_of_1200_tokens_reach_the_prompt_of_every_method(books: list[str]) -> None:
    """VanillaRAG packed one of them, LGraphRAG none, when 2,000 and 2,400 tokens were the bound."""
    plain = run_folder(*books, "method=vanilla", "profile=zhou2025", "llm.window=8192")
    assert kinds(plain) == ["chunk"] * 4
    filled = run_folder(*books, "method=vanilla", "llm.window=128000")
    assert len(kinds(filled)) >= 4
    tables = run_folder(*books, "method=llightrag", "llm.window=128000")
    assert kinds(tables).count("chunk") >= 4


def test_a_prompt_that_can_hold_no_chunk_is_refused_with_the_budget_that_would_do(
    books: list[str],
) -> None:
    said = refusal(*books, "method=llightrag", "llm.window=4096")
    assert "none fits" in said
    assert "budget_context=3200 would do with a reader of a larger window" in said
    assert "! " in plan_of(*books, "method=llightrag", "llm.window=4096")
    folder = run_folder(*books, "method=llightrag", "llm.window=4096", "budget_context=1000")
    assert "chunk" not in kinds(folder)
    assert metrics(folder)["usage"]["contexts_without_chunks"] == 1
    assert "cut every retrieved chunk from 1 of 1 contexts" in table_of(folder)


def test_the_chunk_size_that_a_run_has_stored_is_read_by_later_ones(books: list[str]) -> None:
    settings = [*books, "method=vanilla", "llm.window=128000"]
    first = Experiment.prepare(composed(settings)).room.chunk
    run_folder(*settings)
    (stored,) = Path("cache", "chunk_sizes").glob("*.json")
    assert ChunkSize(**json.loads(stored.read_text())) == first and first.typical > 1000
    stored.write_text('{"typical": 7, "long": 9}')
    assert Experiment.prepare(composed(settings)).room.chunk == ChunkSize(7, 9)
    smaller = Experiment.prepare(composed([*settings, "chunking.size=300"])).room.chunk
    assert 250 < smaller.typical < 350
    stored.write_text("{")
    assert Experiment.prepare(composed(settings)).room.chunk == first


def test_a_budget_beyond_the_readers_window_is_refused(books: list[str]) -> None:
    answering = [word for word in books if word != "answer=off"]
    said = refusal(*answering, "method=vanilla", "llm.window=4096", "budget_context=5000")
    assert "does not fit the reader's window of 4,096 tokens" in said


def test_a_budget_of_a_profile_is_cut_to_the_readers_window(books: list[str]) -> None:
    said = plan_of(*books, "method=llightrag", "profile=upstream", "llm.window=8192")
    assert "the method's own 30,000 tokens, within the reader's window of 8,192" in said
