"""A setting that is given and changes no step and no artifact is an error that names it."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, command, refused

BM25, VANILLA, HIPPORAG = ([*TOY, f"method={name}"] for name in ("bm25", "vanilla", "hipporag"))
LGRAPHRAG = [*TOY, "method=lgraphrag"]
TRIPLES = '{"subject": "Ada Marsh", "predicate": "founded", "object": "Norvik"}\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([*VANILLA, "chunking.size=600"], "'size'"),
        ([*VANILLA, "build.extraction=nlp"], "build.extraction"),
        ([*BM25, "embedder.dimension=64"], "embedder.dimension"),
        ([*VANILLA, "nlp.model=other"], "llm, embedder"),
        ([*HIPPORAG, "llm@llm_build=scripted"], "llm_build"),
        ([*HIPPORAG, "llm@llm_build=scripted", "llm_build.seed=1"], "llm_build.seed"),
        ([*HIPPORAG, "build.graph.edge_drop_seed=3"], "build.graph.edge_drop=0.1"),
        ([*HIPPORAG, "+method.profiles.paper.top_k=3", "profile=paper"], "method.profiles.paper"),
        ([*LGRAPHRAG, "pooling=off", "pooling.search=bfs"], "pooling=rerank"),
        ([*VANILLA, "dev_share=0.3"], "split=dev"),
        ([*VANILLA, "cache.mode=off", "cache.path=elsewhere"], "cache.path"),
    ],
)
def test_a_setting_that_nothing_reads_is_refused_by_name(given: list[str], named: str) -> None:
    assert named in refused(*given)
    assert named in refused(*given, name="plan")


@pytest.mark.parametrize(
    "given",
    [
        [*HIPPORAG, "method.damping=0.5"],  # as it is anyway
        [*HIPPORAG, "method.damping=0.3", "method.retrieve.0.dedupe=true"],
        [*HIPPORAG, "build.graph.synonymy=add", "build.graph.edge_drop=0", "seed=0"],
        [*HIPPORAG, "build.graph.edge_drop=0.1", "build.graph.edge_drop_seed=3"],
        [*HIPPORAG, "llm@llm_build=scripted", "build.extraction=llm"],
        [*HIPPORAG, "llm.tokenizer=cl100k", "embedder.dimension=64"],
        [*VANILLA, "chunking=token", "chunking.size=1200"],
        [*LGRAPHRAG, "pooling=rerank", "pooling.search=bfs", "pooling.linking=[vectors]"],
        [*VANILLA, "split=dev", "dev_share=0.3"],
        # how much is done, and how; and what holds for a whole comparison
        [*BM25, "limit=2", "workers=1", "budget.tokens=9", "cache.journal=auto", "trace=full"],
        [
            *BM25,
            "reference_rows=off",
            "failures.limit=0.5",
            "evaluation.cuts=[1,2]",
            "paths.home=elsewhere",
        ],
        [*BM25, "profile=zhou2025", "fidelity=paper", "shard=1/2", "answer=off", "graph.per=all"],
        [*BM25, "method.title=mine", "embedder=hashing"],
    ],
)
def test_a_setting_that_is_read_or_says_how_is_taken(given: list[str]) -> None:
    planned = command("plan", *given)
    assert planned.code == 0, planned.err


def test_an_imported_graph_is_refused_where_no_graph_is_built(home: Path) -> None:
    (home / "triples.jsonl").write_text(TRIPLES)
    said = refused(*BM25, "graph.import_from=triples.jsonl", name="plan")
    assert "graph.import_from" in said
    assert command("plan", *HIPPORAG, "graph.import_from=triples.jsonl").code == 0


def test_several_idle_settings_are_named_at_once() -> None:
    said = refused(*BM25, "embedder.dimension=64", "llm@llm_build=scripted")
    assert "embedder.dimension" in said
    assert "llm_build" in said


def test_of_a_sweep_one_cell_that_reads_a_setting_is_enough() -> None:
    sweep = ["-m", *TOY, "method=bm25,vanilla", "reference_rows=off"]
    assert command("plan", *sweep, "embedder.dimension=64").code == 0
    assert "build.extraction" in refused(*sweep, "build.extraction=nlp", name="plan")
    assert "nlp.model" in refused(*sweep, "nlp.model=other")


def test_ask_refuses_them_too() -> None:
    said = refused(
        *BM25, "embedder.dimension=64", "Who founded the Norvik Observatory?", name="ask"
    )
    assert "embedder.dimension" in said
