"""Steps, as YAML gives them, over questions."""

from collections.abc import Sequence
from typing import Any

from graphrag_bench.pipeline.pipeline import build
from graphrag_bench.pipeline.steps import Execution, Outcome, run_steps
from graphrag_bench.values import Question, RetrievalState

START, CHUNKS = {"op": "tiny.start"}, {"op": "tiny.chunks"}


def outcomes(steps: Sequence[Any], *texts: str, world: Execution | None = None) -> list[Outcome]:
    """What steps, as YAML gives them, make of some questions."""
    pipeline, problems = build({"retrieve": steps})
    assert not problems
    states = [RetrievalState(Question(f"q{i}", text)) for i, text in enumerate(texts)]
    return run_steps(pipeline.retrieve, states, world or Execution({}))


def nodes(steps: Sequence[Any], text: str) -> list[int]:
    """The nodes that steps leave behind for one question."""
    (outcome,) = outcomes(steps, text)
    assert isinstance(outcome, RetrievalState), outcome
    return outcome.get("nodes").ids.tolist()
