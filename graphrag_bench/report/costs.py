"""What runs have cost, step by step: expected, paid and cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.rendering import MISSING, Table


def cost_table(runs: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each run and step that called a model: expected, paid and cached side by side."""
    heads = ("method", "step", "expected calls", "expected tokens", "paid calls", "paid tokens",
             "paid USD", "cached calls", "cached tokens", "cut", "retries")  # fmt: skip
    rows = []
    for run in arranged(runs):
        for step, held in run["cost"]["steps"].items():
            paid, cached = held["paid"], held["cached"]
            expected = run["estimate"].get(step)
            cells = [str(run["title"]), step]
            cells += [f"{expected['calls']:,}", _tokens(expected)] if expected else [MISSING] * 2
            cells += [f"{paid['calls']:,}", _tokens(paid), f"{paid['usd']:.4f}"]
            cells += [f"{cached['calls']:,}", _tokens(cached)]
            rows.append((*cells, str(held["truncated"]), str(paid["retries"])))
    notes = (
        "from the ledgers of all calls so far; tokens: prompt + completion",
        *[_repeats(run) for run in arranged(runs) if run.get("repeats")],
    )
    return Table("what the runs have cost", heads, tuple(rows), notes,
                 texts=("method", "step"), folds=True,
                 about=(("cut", "replies that reached max_tokens"),))  # fmt: skip


def _repeats(run: Mapping[str, Any]) -> str:
    """What the repeats after the first have cost, which is not in the rows."""
    held = run["repeats"]
    paid, cached = held["cost"]["paid"], held["cost"]["cached"]
    return (
        f"{run['title']}: its {held['n'] - 1} further repeat(s) paid {paid['calls']:,} "
        f"calls, {_tokens(paid)} tokens, {paid['usd']:.4f} USD; {cached['calls']:,} were cached"
    )


def _tokens(part: Mapping[str, Any]) -> str:
    return f"{part['prompt_tokens']:,} + {part['completion_tokens']:,}"
