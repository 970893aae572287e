"""What runs cost: a table by step, and after how many questions an index has paid for itself."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.report.comparisons import baseline_of
from graphrag_bench.report.rendering import MISSING, Table
from graphrag_bench.report.rows import TOKENS, in_table_order, total_of

Run = Mapping[str, Any]
UNKNOWN, NEVER, ALWAYS = "unknown", "never", "from the first"
_UNRECORDED = ("openie_file", "planted")
"""Extractions whose calls are in no ledger of ours."""


@dataclass(frozen=True)
class Price:
    """What the index costs once, None when unknown, and what each question costs."""

    index: float | None
    question: float


def cost_table(runs: Sequence[Run]) -> Table:
    """Return a row for each run and step that called a model: at most, paid and cached."""
    heads = ("method", "step", "calls at most", "tokens at most", "paid calls", "paid tokens",
             "paid USD", "cached calls", "cached tokens", "cut", "retries")  # fmt: skip
    rows = []
    notes = ["from the ledgers of all calls so far; tokens: prompt + completion"]
    for run in in_table_order(runs):
        for step, cost in run["cost"]["steps"].items():
            paid, cached = cost["paid"], cost["cached"]
            expected = run["estimate"].get(step)
            rows.append((
                str(run["title"]), step,
                f"{expected['calls']:,}" if expected else MISSING,
                _prompt_and_completion(expected) if expected else MISSING,
                f"{paid['calls']:,}", _prompt_and_completion(paid), f"{paid['usd']:.4f}",
                f"{cached['calls']:,}", _prompt_and_completion(cached),
                str(cost["truncated"]), str(paid["retries"]),
            ))  # fmt: skip
        if repeats := run.get("repeats"):
            paid, cached = repeats["cost"]["paid"], repeats["cost"]["cached"]
            notes.append(
                f"{run['title']}: its {repeats['n'] - 1} further repeat(s) paid {paid['calls']:,} "
                f"calls, {_prompt_and_completion(paid)} tokens, {paid['usd']:.4f} USD; "
                f"{cached['calls']:,} were cached"
            )
    about = (("cut", "replies that reached max_tokens"),)
    caption = "what the runs have cost"
    return Table(caption, heads, tuple(rows), tuple(notes), texts=heads[:2], about=about)


def _prompt_and_completion(part: Mapping[str, Any]) -> str:
    return f"{part['prompt_tokens']:,} + {part['completion_tokens']:,}"


def break_even_table(runs: Sequence[Run], baseline: str) -> Table | None:
    """Return a row for each answered run and its baseline; None when there is none to compare with.

    Reference rows and imported runs have no row.
    """
    named = in_table_order(runs)
    rows = []
    for run in named:
        other = baseline_of(run, named, baseline)
        if other is None or run["role"]:
            continue
        if any(one.get("imported") or not one["answered"] for one in (run, other)):
            continue
        tokens, usd = _prices(run)
        other_tokens, other_usd = _prices(other)
        priced = usd.question or usd.index or other_usd.question
        rows.append((
            str(run["title"]), str(other["title"]),
            UNKNOWN if tokens.index is None else f"{tokens.index:,.0f}",
            UNKNOWN if usd.index is None else f"{usd.index:.4f}",
            f"{tokens.question:,.0f}", f"{usd.question:.6f}",
            break_even(tokens, other_tokens),
            break_even(usd, other_usd) if priced else MISSING,
        ))  # fmt: skip
    if not rows:
        return None
    heads = ("method", "against", "index tokens", "index USD", "tokens a question",
             "USD a question", "break-even (tokens)", "break-even (USD)")  # fmt: skip
    notes = (
        "break-even: the number of questions from which index and questions together cost less "
        "than the baseline's; unknown: the graph was read from a file or built elsewhere",
        "LLM calls alone, cached replies at their price when paid; no embedding, no processor time",
    )
    return Table("index cost and break-even", heads, tuple(rows), notes, texts=heads[:2])


def break_even(price: Price, baseline: Price) -> str:
    """Return the number of questions from which the method is the cheaper one.

    The least whole n with index + n * question < the baseline's index + n * question. A method
    whose questions cost no less never breaks even when its index is no cheaper, known or not; it
    costs less `up to` some n when its index is cheaper. An unknown index is never taken as 0.
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


def _prices(run: Run) -> tuple[Price, Price]:
    def price(index: float, question: float) -> Price:
        if not _is_index_known(run):
            return Price(None, question)
        if run["settings"].get("graph.per") == "partition":
            return Price(0.0, question + index / max(run["n"], 1))
        return Price(index, question)

    stages = run["cost"].get("stages", {})
    build = [stages["build"]] if "build" in stages else []
    online = [cost for name, cost in stages.items() if name not in ("build", "embedding")]
    n_tokens = sum(total_of(cost, *TOKENS) for cost in online)
    usd_a_token = sum(total_of(cost, "usd") for cost in online) / n_tokens if n_tokens else 0.0
    question = float(run["usage"]["tokens_per_question"])
    index_tokens = sum(total_of(cost, *TOKENS) for cost in build)
    index_usd = sum(total_of(cost, "usd") for cost in build)
    return price(index_tokens, question), price(index_usd, usd_a_token * question)


def _is_index_known(run: Run) -> bool:
    unrecorded = any(
        row["stage"] == "build" and row["calls"] and name not in run["cost"]["steps"]
        for name, row in run["estimate"].items()
    )
    imported = run["settings"].get("graph.import_from") is not None
    return not (unrecorded or imported or run["extraction"] in _UNRECORDED)
