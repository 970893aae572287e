"""Settings without effect are errors."""

from pathlib import Path

import pytest
from toy_runs import TOY, command_error

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.errors import UserError
from graphrag_bench.run.command import refuse_unused
from graphrag_bench.run.experiment import Experiment


def check(home: Path, methods: str, words: str) -> None:
    """Check the overrides of a command over these methods."""
    (home / "own.graphml").write_text("<graphml><graph><node id='ada'/></graph></graphml>")
    given = words.split()
    every = [compose_settings([*TOY, f"method={name}", *given]) for name in methods.split(",")]
    refuse_unused(given, [Experiment.prepare(values, swept=True) for values in every])


@pytest.mark.parametrize(
    ("methods", "words", "named"),
    [
        ("bm25,vanilla", "build.extraction=nlp", ["build.extraction"]),
        ("bm25", "embedder.dimension=64 llm@llm_build=scripted", ["embedder.dim", "llm_build"]),
        ("vanilla,bm25", "nlp.model=other", ["llm, embedder"]),
        ("hipporag", "llm@llm_build=scripted llm_build.seed=1", ["llm_build.seed"]),
        ("lgraphrag", "pooling=off pooling.search=bfs", ["pooling=rerank"]),
        ("vanilla", "dev_share=0.3", ["split=dev"]),
        ("bm25", "graph.import_from=own.graphml", ["graph.import_from"]),
    ],
)
def test_unused_setting_is_refused(home: Path, methods: str, words: str, named: list[str]) -> None:
    with pytest.raises(UserError) as refusal:
        check(home, methods, words)
    assert [name for name in named if name not in str(refusal.value)] == []


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ("hipporag", "method.damping=0.3 method.retrieve.0.dedupe=true build.graph.synonymy=add "
         "llm@llm_build=scripted build.extraction=llm llm.tokenizer=cl100k"),
        ("hipporag", "graph.import_from=own.graphml"),
        ("lgraphrag", "pooling=rerank pooling.search=bfs pooling.linking=[vectors]"),
        ("vanilla", "chunking=token chunking.size=1200 split=dev dev_share=0.3"),
        ("bm25,vanilla", "embedder.dimension=64"),  # one that reads it is enough
        # how much is done, and how; and what holds for a whole comparison
        ("bm25", "limit=2 workers=1 budget.tokens=9 trace=off reference_rows=off shard=1/2 "
         "failures.limit=0.5 evaluation.cuts=[1,2] paths.home=elsewhere answer=off "
         "profile=zhou2025 fidelity=paper graph.per=all method.title=mine embedder=bge"),
    ],
)  # fmt: skip
def test_used_setting_is_accepted(home: Path, methods: str, words: str) -> None:
    check(home, methods, words)


def test_commands_refuse_unused_settings() -> None:
    words = [*TOY, "method=bm25", "embedder.dimension=64"]
    for name, more in (("run", []), ("ask", ["Who was it?"])):
        assert "embedder.dimension" in command_error(*words, *more, name=name)
