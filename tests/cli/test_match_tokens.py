"""`match_tokens`: a baseline with the budget that another method's contexts came to."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
from toy_runs import TOY, asked, command, metrics, ran, records, refused

import graphrag_bench as gb
from graphrag_bench.experiment.match_tokens import _with_budget

pytestmark = pytest.mark.slow

QUIET = [*TOY, "reference_rows=off", "answer=off"]
VANILLA = [*QUIET, "method=vanilla"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    asked.clear()
    return tmp_path


def tokens(folder: Path) -> list[int]:
    """The context tokens of every question."""
    rows: list[dict] = records(folder)  # type: ignore[assignment]
    return [sum(piece["tokens"] for piece in row["context"]["pieces"]) for row in rows]


def test_the_budget_is_the_mean_of_the_other_methods_contexts() -> None:
    other = ran(*QUIET, "method=llightrag").folder
    mean = round(fmean(tokens(other)))
    ended = ran(*VANILLA, "match_tokens=llightrag")
    assert f"| VanillaRAG (tokens of LLightRAG: {mean:,}) | 6 | 0 |" in (
        ended.folder / "table.md"
    ).read_text()  # fmt: skip
    assert metrics(ended.folder)["settings"]["method.generate.0.budget"] == mean  # type: ignore[index]
    assert max(tokens(ended.folder)) <= mean
    assert ended.folder != ran(*VANILLA).folder


def test_as_many_chunks_as_fit_are_packed_whatever_the_method_would_read() -> None:
    """Toy has eight chunks of 23 to 29 tokens: LightRAG's tables have room for several."""
    mean = round(fmean(tokens(ran(*QUIET, "method=llightrag").folder)))
    few = ["method.top_k=1", "method.n_retrieved=1"]
    folder = ran(*VANILLA, *few, "match_tokens=llightrag").folder
    for n_tokens, row in zip(tokens(folder), records(folder), strict=True):
        left = mean - n_tokens
        n_packed = len(row["context"]["pieces"])  # type: ignore[index]
        assert n_packed > 1
        assert left < 30 or n_packed == 8


def test_a_method_that_has_not_run_is_run_first_and_without_a_model() -> None:
    ended = ran(*VANILLA, "match_tokens=hipporag")
    assert "match_tokens: running hipporag first" in ended.err
    assert ended.methods == ["vanilla"]
    assert len(list(Path("runs/toy/hipporag").iterdir())) == 1
    assert "running hipporag" not in ran(*VANILLA, "match_tokens=hipporag").err
    assert asked == []


def test_other_questions_are_measured_by_themselves() -> None:
    two = ran(*VANILLA, "limit=2", "match_tokens=llightrag").folder
    mean = round(fmean(tokens(next(Path("runs/toy/llightrag").iterdir()))))
    assert metrics(two)["settings"]["method.generate.0.budget"] == mean  # type: ignore[index]
    ended = ran(*VANILLA, "limit=3", "match_tokens=llightrag")
    assert "running llightrag first" in ended.err


def test_a_sweep_gives_it_to_the_methods_that_can_take_it() -> None:
    ended = ran("-m", *QUIET, "method=llightrag,vanilla,bm25", "match_tokens=llightrag")
    assert ended.methods == ["llightrag", "vanilla", "bm25"]
    table = (ended.folder / "table.md").read_text()
    assert "| LLightRAG |" in table
    assert "| VanillaRAG (tokens of LLightRAG: " in table
    assert "| BM25 (tokens of LLightRAG: " in table
    said = refused("-m", *QUIET, "method=llightrag,zeroshot", "match_tokens=vanilla")
    assert "made by context.nodes, context.relationships, context.chunks" in said


def test_what_cannot_be_matched_is_refused_with_what_can() -> None:
    assert "Did you mean 'llightrag'" in refused(*VANILLA, "match_tokens=llightrg")
    assert "that is the method itself" in refused(*VANILLA, "match_tokens=vanilla")
    assert "'zeroshot' packs no context" in refused(*VANILLA, "match_tokens=zeroshot")
    said = refused(*QUIET, "method=raptor", "match_tokens=vanilla")
    assert "made by context.nodes" in said
    assert "vanilla" in said.rpartition(":")[2]
    said = refused("method=vanilla", *TOY, "match_tokens=bm25", "Who?", name="ask")
    assert "use it with run" in said


def test_a_plan_and_a_shard_ask_for_the_run_to_be_made_first() -> None:
    for name, more in (("plan", ()), ("run", ("shard=1/2",))):
        said = refused(*VANILLA, "match_tokens=bm25", *more, name=name)
        assert "run it first: the same settings with method=bm25 answer=off" in said
    ran(*QUIET, "method=bm25", "budget_context=native")
    planned = command("plan", *VANILLA, "match_tokens=bm25")
    assert planned.code == 0, planned.err


def test_the_reference_rows_of_a_matched_run_are_unchanged() -> None:
    table = (ran(*TOY, "method=vanilla", "match_tokens=bm25").folder / "table.md").read_text()
    assert "| closed-book |" in table
    assert "| oracle |" in table


def test_python_knows_it_too() -> None:
    settings = {"llm": {"_target_": "toy_runs.reader"}, "embedder": "hashing", "answer": "off"}
    run = gb.method("vanilla", **settings).run("toy", match_tokens="bm25")
    assert str(run.metrics["title"]).startswith("VanillaRAG (tokens of BM25: ")


def test_only_lists_that_the_packer_reads_are_made_longer() -> None:
    """505 tokens are 11 chunks of 50: the arms of a branch and the rounds of a repeat stay."""
    method = {
        "retrieve": [
            {"op": "chunk.vdb", "top_k": 2},
            {"op": "chunk.bm25", "top_k": 30},
            {"op": "chunk.fromrel"},
            {"op": "node.ppr"},
            {"branch": {"one": [{"op": "chunk.vdb", "top_k": 2}]}},
            {"switch": "mentions", "cases": {"empty": [{"op": "chunk.vdb"}]}},
        ],
        "generate": [{"op": "context.chunks", "top_k": 4, "share": 0.5}],
    }
    changed = _with_budget(method, 505)
    assert [step.get("top_k") for step in changed["retrieve"][:4]] == [11, 30, None, None]
    assert changed["retrieve"][4] == {"branch": {"one": [{"op": "chunk.vdb", "top_k": 2}]}}
    assert changed["retrieve"][5]["cases"]["empty"][0]["top_k"] == 11
    assert changed["generate"] == [
        {"op": "context.chunks", "top_k": 505, "share": 1.0, "budget": 505}
    ]
    assert method["generate"][0]["top_k"] == 4
