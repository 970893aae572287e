"""Context budgets: the settings of packing steps, and the contexts of runs."""

from pathlib import Path

import pytest
from toy_runs import TOY, metrics, records, run_error, run_folder, table_of, write_set

from graphrag_bench.config.compose import compose_settings, method_values
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import method_file, names, with_profile
from graphrag_bench.pipeline.pipeline import Pipeline, build
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.run.budgets import LEAST, ContextWindow, context_blocks, holds_corpus, packers
from graphrag_bench.run.experiment import Experiment

pytestmark = pytest.mark.slow

QUIET = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(autouse=True)
def _plugins(home: Path) -> None:
    load_plugins()


def pipeline_of(name: str, profile: str = "default") -> Pipeline:
    return build(method_values(with_profile(method_file(name), profile, "default")))[0]


def prepared(name: str, *words: str) -> Experiment:
    """Prepare a method on the toy set, with a reader whose window has 8,192 tokens."""
    base = ["dataset=toy", "embedder=hashing", f"method={name}"]
    return Experiment.prepare(compose_settings([*base, *words]))


def served(name: str, window: int | None, *words: str) -> Experiment:
    """Prepare a method with a reader of this window behind an API."""
    reader = "llm=openai_compatible", "llm.model=m", f"llm.window={window or 'null'}"
    return prepared(name, *reader, *words)


def blocks_of(name: str, setting: str, *words: str) -> list[object]:
    """Return a setting of every block of a method, after the budget is applied."""
    return [op.settings.get(setting) for op in packers(prepared(name, *words).method.pipeline)]


def test_blocks_that_fill_the_budget_take_all_rows() -> None:
    native = ("budget_context=native", "method.top_k=4")
    assert [blocks_of("vanilla", "top_k", *words) for words in ((), native)] == [[None], [4]]
    assert blocks_of("llightrag", "top_k") == ["auto", "auto", None]
    assert blocks_of("llightrag", "top_k", "profile=upstream")[:2] == [None, None]


def test_fixed_tokens_of_a_block_scale_with_the_budget() -> None:
    """3,000 of 16,000 are 375 of 2,000."""
    words = ("profile=upstream", "budget_context=2000")
    assert blocks_of("fastgraphrag", "share", *words) == [500, 375, 1125]
    assert blocks_of("vanilla", "share", *words) == [1.0]


def test_point_budget_applies_to_native_budgets_only() -> None:
    points = "method.point_budget=300"
    assert blocks_of("pankrag", "budget", points).count(300) == 0
    assert blocks_of("pankrag", "budget", points, "budget_context=native").count(300) == 1
    assert [ContextBudget(n).at_most(300).tokens for n in (1000, 200, None)] == [300, 200, 300]


@pytest.mark.parametrize("profile", ["default", "paper", "zhou2025", "upstream"])
def test_fixed_tokens_of_blocks_fit_the_budget_of_the_method(profile: str) -> None:
    """Otherwise the last block, PathRAG's paths, is cut entirely."""
    unpacked = set()
    for name in names("method"):
        raw = method_values(with_profile(method_file(name), profile, "default"))
        steps = packers(build(raw)[0])
        unpacked |= set() if steps else {name}
        shares = [op.settings.get("share") for op in steps if "context" in op.operator.returns]
        own = [share for share in shares if isinstance(share, int) and share > 1]
        assert not own or sum(own) <= raw["budget"], name
    assert unpacked == {"zeroshot", "dalk"}


def lists(pipeline: Pipeline) -> dict[str, int | None]:
    return {op.operator.name: op.settings.get("top_k") for op in pipeline.operators()}


@pytest.mark.parametrize(
    ("name", "filling", "listing"),
    [("vanilla", "chunk", "chunk.vdb"), ("raptor", "node", "node.vdb"), ("rerank", "chunk", ""),
     ("graphrag_er", "", "")],
)  # fmt: skip
def test_lists_are_lengthened_to_fill_the_budget_unless_a_model_reads_them(
    name: str, filling: str, listing: str
) -> None:
    plain = pipeline_of(name)
    experiment = prepared(name, "budget_context=1000")
    budget = experiment.context_budget
    assert budget == ContextBudget(1000, "equal", filling)  # type: ignore[arg-type]
    longer = lists(experiment.method.pipeline)
    changed = {one: n for one, n in longer.items() if n not in (None, lists(plain)[one])}
    assert changed == ({listing: 20} if listing else {})


def test_window_limits_groups_and_the_budget_of_a_profile() -> None:
    for window, most in ((None, 12000), (8192, 6100)):
        ops = served("ggraphrag", window, "profile=upstream").method.pipeline.operators()
        assert {op.settings.get("group_tokens") for op in ops} == {None, most}
    whole, cut = (served("fastgraphrag", n, "profile=upstream") for n in (None, 8192))
    assert [one.context_budget.tokens for one in (whole, cut)] == [16000, 6100]
    both = prepared("lgraphrag", "regime=published", "budget_context=1000", "method.budget=90")
    assert both.context_budget.tokens == 90
    blocks = context_blocks(cut.method.pipeline, cut.context_budget, cut.window.median_chunk)
    assert [block.n_tokens for block in blocks] == [1525, 1144, 3431]


@pytest.mark.parametrize(
    ("name", "budget", "held"),
    [("bm25", "2400", True), ("bm25", "100", False), ("bm25", "native", False)],
)
def test_corpus_that_fits_into_the_context_is_found(name: str, budget: str, held: bool) -> None:
    """The toy set has 8 documents of about 26 tokens."""
    experiment = prepared(name, f"budget_context={budget}")
    method, limit = experiment.method, experiment.context_budget
    assert holds_corpus(experiment.dataset, method.pipeline, limit) is held


def test_key_contains_the_budget() -> None:
    keys = {prepared("vanilla", *words).key for words in ([], ["budget_context=1000"],
            ["regime=published", "budget_context=1000"], ["budget_context=native"])}  # fmt: skip
    assert len(keys) == 4
    assert prepared("vanilla", f"budget_context={LEAST}").key == prepared("vanilla").key
    assert prepared("zeroshot").key == prepared("zeroshot", "budget_context=native").key


@pytest.mark.parametrize(
    ("words", "budget", "n_passages"),
    [
        ([], LEAST, 8),  # all of the toy set, though the file says 4
        (["budget_context=native"], None, 4),
        (["regime=published"], None, 4),
        (["method.top_k=4"], LEAST, 4),  # a number that is given stays, that of the file too
        (["method.generate.0.top_k=3"], LEAST, 3),
        # as published a number of tokens is a cap: two passages of about 27 fit into 60
        (["regime=published", "budget_context=60"], 60, 2),
        (["method.budget=60"], None, 2),
    ],
)
def test_equal_budgets_are_filled_and_native_ones_keep_k(
    words: list[str], budget: int | None, n_passages: int
) -> None:
    folder = run_folder(*QUIET, "method=vanilla", *words)
    assert metrics(folder)["budget_context"] == budget
    assert max(len(row["context"]["pieces"]) for row in records(folder)) == n_passages  # type: ignore[index]
    assert ("context budgets: native" in table_of(folder)) == (budget is None)


def test_published_regime_caps_the_window_at_that_of_the_source() -> None:
    for own, *windows in ((None, None, 8096), (4096, 4096, 4096), (128_000, 128_000, 8096)):
        runs = (served("vanilla", own, "profile=zhou2025", f"regime={regime}")
                for regime in ("house", "published"))  # fmt: skip
        assert [run.window.tokens for run in runs] == windows


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["method=zeroshot", "budget_context=60"], "zeroshot"),
        (["method=kgp", "method.budget=500", "budget_context=60"], "method.budget=500"),
        (["method=vanilla", "budget_context=nativ"], "native"),
    ],
)
def test_conflicting_budgets_are_refused(words: list[str], part: str) -> None:
    assert part in run_error(*QUIET, *words)


LONG = "Ada Marsh wrote to Otto Brandt about the bridge at Norvik, and he answered. "


@pytest.fixture
def books(tmp_path: Path) -> list[str]:
    """Settings of a set of three texts of about 5,400 tokens, chunked by tokens."""
    rows = [{"id": f"b{n}", "title": f"Book {n}", "text": LONG * 300} for n in range(3)]
    folder = write_set(tmp_path / "books", rows, [{"id": "q", "text": "Who?", "evidence": ["b0"]}])
    data = ["dataset=jsonl", f"dataset.root={folder}", "chunking=token"]
    return [*(word for word in QUIET if not word.startswith(("dataset", "llm."))), *data]


def kinds(folder: Path) -> list[str]:
    """Return the kinds of the pieces in the context of the only question."""
    (row,) = records(folder)
    return [piece["kind"] for piece in row["context"]["pieces"]]  # type: ignore[index]


def test_auto_fits_four_chunks_within_the_window() -> None:
    """4 x 1,260 / 0.33 = 15,273; (8,192 - 1,112) / 1.15 = 6,156."""
    large, small = (1260, 1260), (120, 130)
    assert ContextWindow(*large, 128_000, 1100).auto == 15_300
    assert ContextWindow(*large, 8192, 1112, 1.15).auto == 6100
    assert ContextWindow(*large, None, 1112, 1.15).auto == 6100
    assert ContextWindow(*small, 128_000, 1112).auto == 2400
    assert ContextWindow(*small, 2048, 1112).auto == 900


def test_prompt_without_room_for_a_chunk_is_refused(books: list[str]) -> None:
    assert "budget_context=3200" in run_error(*books, "method=llightrag", "llm.window=4096")
    folder = run_folder(*books, "method=llightrag", "llm.window=4096", "budget_context=1000")
    assert "chunk" not in kinds(folder)
    assert metrics(folder)["usage"]["contexts_without_chunks"] == 1
    words = [*books, "answer=on", "method=vanilla", "llm.window=4096", "budget_context=5000"]
    message = run_error(*words)
    assert "5000" in message and "4,096" in message


def test_chunk_size_follows_the_chunking(books: list[str]) -> None:
    for size, least, most in ((1200, 1000, 1300), (300, 250, 350)):
        words = [*books, "method=vanilla", "llm.window=128000", f"chunking.size={size}"]
        assert least < Experiment.prepare(compose_settings(words)).window.median_chunk < most
