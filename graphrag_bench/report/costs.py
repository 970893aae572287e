"""What runs have cost, step by step, and the number of questions after which an index pays off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.comparisons import baseline_of
from graphrag_bench.report.rendering import MISSING, Table

_HEADS = ("method", "against", "index tokens", "index USD", "tokens a question", "USD a question",
          "pays (tokens)", "pays (USD)")  # fmt: skip
_MADE_ELSEWHERE = ("openie_file", "planted")
"""Extractions whose making no ledger of ours has seen."""
UNKNOWN, NEVER, ALWAYS = "unknown", "never", "from the first"
Run = Mapping[str, Any]


@dataclass(frozen=True)
class Price:
    """What the index costs once, None when unknown, and what each question costs."""

    index: float | None
    question: float


def cost_table(runs: Sequence[Run]) -> Table:
    """A row for each run and step that called a model: expected, paid and cached side by side."""
    heads = ("method", "step", "expected calls", "expected tokens", "paid calls", "paid tokens",
             "paid USD", "cached calls", "cached tokens", "cut", "retries")  # fmt: skip
    rows = []
    for run in arranged(runs):
        for step, held in run["cost"]["steps"].items():
            paid, cached = held["paid"], held["cached"]
            expected = run["estimate"].get(step)
            cells = [str(run["title"]), step]
            cells += [f"{expected['calls']:,}", _pair(expected)] if expected else [MISSING] * 2
            cells += [f"{paid['calls']:,}", _pair(paid), f"{paid['usd']:.4f}"]
            cells += [f"{cached['calls']:,}", _pair(cached)]
            rows.append((*cells, str(held["truncated"]), str(paid["retries"])))
    notes = (
        "from the ledgers of all calls so far; tokens: prompt + completion",
        *[_of_repeats(run) for run in arranged(runs) if run.get("repeats")],
    )
    return Table("what the runs have cost", heads, tuple(rows), notes,
                 texts=("method", "step"),
                 about=(("cut", "replies that reached max_tokens"),))  # fmt: skip


def _of_repeats(run: Mapping[str, Any]) -> str:
    held = run["repeats"]
    paid, cached = held["cost"]["paid"], held["cost"]["cached"]
    return (
        f"{run['title']}: its {held['n'] - 1} further repeat(s) paid {paid['calls']:,} "
        f"calls, {_pair(paid)} tokens, {paid['usd']:.4f} USD; {cached['calls']:,} were cached"
    )


def _pair(part: Mapping[str, Any]) -> str:
    return f"{part['prompt_tokens']:,} + {part['completion_tokens']:,}"


def paying_table(runs: Sequence[Run], baseline: str) -> Table | None:
    """A row for each answered run and its baseline; None when there is none to compare with.

    Runs are what `metrics.json` holds.
    """
    named = arranged(runs)
    rows = []
    for run in named:
        other = baseline_of(run, named, baseline)
        imported = other is not None and (run.get("imported") or other.get("imported"))
        if other is None or imported or run["role"] or not (run["answered"] and other["answered"]):
            continue
        tokens, usd = _tokens(run), _usd(run)
        priced = usd.question or usd.index or _usd(other).question
        rows.append((
            str(run["title"]), str(other["title"]),
            UNKNOWN if tokens.index is None else f"{tokens.index:,.0f}",
            UNKNOWN if usd.index is None else f"{usd.index:.4f}",
            f"{tokens.question:,.0f}", f"{usd.question:.6f}",
            pays_after(tokens, _tokens(other)),
            pays_after(usd, _usd(other)) if priced else MISSING,
        ))  # fmt: skip
    if not rows:
        return None
    notes = (
        "pays: the number of questions after which index and questions together cost less than the "
        "baseline's; never: a question costs no less, and the index comes on top; unknown: the "
        "graph was read from a file, or built elsewhere, and what that cost is not known",
        "LLM calls alone, paid and cached at their price when paid; embedding and processor time "
        "not counted, nor what the answers are worth: see the differences",
    )
    return Table("what an index costs, and when it pays", _HEADS, tuple(rows), notes,
                 texts=("method", "against"))  # fmt: skip


def pays_after(price: Price, baseline: Price) -> str:
    """The number of questions from which the method is the cheaper one, or why there is none.

    The least whole n with index + n * question < the baseline's index + n * question. A method that
    costs no less by the question never pays when its index is no cheaper, known or not; it costs
    less up to some n when its index is cheaper. An unknown index is never taken as 0.
    """
    saving = baseline.question - price.question
    if price.index is None or baseline.index is None:
        return NEVER if saving <= 0 and baseline.index == 0 else UNKNOWN
    extra = price.index - baseline.index
    if saving == 0:
        return ALWAYS if extra < 0 else NEVER
    even = round(extra / saving, 6)
    if saving < 0:
        return f"up to {math.ceil(even) - 1:,}" if even > 1 else NEVER
    return ALWAYS if even < 1 else f"{math.floor(even) + 1:,}"


def spent(run: Run) -> tuple[float, float]:
    """Tokens and US dollars of all calls of a run, building included; cached ones as when paid."""
    held = run["cost"]["steps"].values()
    n_tokens = sum(sum(_of(step, "prompt_tokens", "completion_tokens")) for step in held)
    return n_tokens, sum(sum(_of(step, "usd")) for step in held)


def _tokens(run: Run) -> Price:
    held = run["cost"].get("stages", {}).get("build")
    build = sum(_of(held, "prompt_tokens", "completion_tokens")) if held else 0.0
    return _price(run, build, float(run["usage"]["tokens_per_question"]))


def _usd(run: Run) -> Price:
    stages = run["cost"].get("stages", {})
    build = sum(_of(stages["build"], "usd")) if "build" in stages else 0.0
    online = [held for name, held in stages.items() if name not in ("build", "embedding")]
    n_tokens = sum(sum(_of(held, "prompt_tokens", "completion_tokens")) for held in online)
    rate = sum(sum(_of(held, "usd")) for held in online) / n_tokens if n_tokens else 0.0
    return _price(run, build, rate * float(run["usage"]["tokens_per_question"]))


def _of(held: Mapping[str, Mapping[str, float]], *names: str) -> list[float]:
    return [float(held[part][name]) for part in ("paid", "cached") for name in names]


def _price(run: Run, build: float, question: float) -> Price:
    if not _known(run):
        return Price(None, question)
    if run["settings"].get("graph.per") == "partition":
        return Price(0.0, question + build / max(run["n"], 1))
    return Price(build, question)


def _known(run: Run) -> bool:
    steps = run["cost"]["steps"]
    unseen = [
        name
        for name, row in run["estimate"].items()
        if row["stage"] == "build" and row["calls"] and name not in steps
    ]
    imported = run["settings"].get("graph.import_from") is not None
    return not (unseen or imported or run["extraction"] in _MADE_ELSEWHERE)
