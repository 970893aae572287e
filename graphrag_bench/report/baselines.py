"""Which of several runs is the baseline that a run is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.report.corpora import differ

_ALIKE = ("llm", "embedder", "tokenizer", "budget_context", "profile", "fidelity", "llm_build",
          "limit", "reader_prompt")  # fmt: skip
"""What a run and its baseline should share, as far as there is such a run of the baseline."""
Run = Mapping[str, Any]


def baseline_of(run: Run, runs: Sequence[Run], baseline: str) -> Run | None:
    """The run of the method `baseline` on the same set and corpus that shares most with this one.

    Models, context budget and sources are what counts; the first of equals is taken. None without
    any, and when that is the run itself.
    """

    def shared(other: Run) -> int:
        return sum(run.get(name) == other.get(name) for name in _ALIKE)

    able = [
        one
        for one in runs
        if one["method"] == baseline and one["dataset"] == run["dataset"] and not differ(one, run)
    ]
    found = max(able, key=shared, default=None)
    return None if found is run else found
