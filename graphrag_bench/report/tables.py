"""One table over several runs: for the terminal by rich, and as markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.selection import INFLATED, mark

MISSING = "–"
_ANSWERS = ("accuracy", "f1", "exact_match")
_LISTED = {"hit@1": "Hit@1 [95 %]", "list_f1": "list F1 [95 %]", "hit@1_in_graph": "Hit@1 in graph"}
"""Columns that a table has when a run has the metric."""


@dataclass(frozen=True)
class Table:
    """A caption, column heads, rows of cells, and notes under the table.

    `texts` are the heads of columns set flush left; the others hold numbers.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    texts: tuple[str, ...] = ("method",)


def run_table(runs: Sequence[Mapping[str, Any]], *, seconds: bool = False) -> Table:
    """A row for each run: evidence first, answers with their intervals, then what went wrong.

    The floor comes first and the ceiling last. `context` is the mean tokens of a context, `cut` the
    share of questions with evidence that was retrieved and then cut from it by the budget.
    `faults` and `fallbacks` are shares of the LLM calls; a mean is marked with `!` while questions
    have failed. Without `seconds` the table holds only what the configuration determines. Runs are
    what `metrics.json` holds.
    """
    ordered = arranged(runs)
    cuts = _cuts(ordered)
    answered = any(run["answered"] for run in ordered)
    heads = ["method", "n", "failed", *[f"evidence@{k}" for k in cuts]]
    if any("evidence_cut" in run["metrics"] for run in ordered):
        heads.append("cut")
    if any(run["usage"]["context_tokens_per_question"] for run in ordered):
        heads.append("context")
    if answered:
        heads += ["answered", "accuracy [95 %]", "F1 [95 %]", "EM"]
        heads += [head for name, head in _LISTED.items() if _any_has(ordered, name)]
        heads.append("tokens")
    if any(run["rates"] for run in ordered):
        heads += ["faults", "fallbacks"]
    if seconds:
        heads.append("s")
    rows = tuple(_row(run, cuts, heads) for run in ordered)
    return Table(_caption(ordered), tuple(heads), rows, _notes(ordered))


def cost_table(runs: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each run and step that called a model: expected, paid and cached side by side."""
    heads = ("method", "step", "expected calls", "tokens", "paid calls", "tokens", "USD", "s",
             "cached calls", "tokens", "cut", "retries")  # fmt: skip
    rows = []
    for run in arranged(runs):
        for step, held in run["cost"]["steps"].items():
            paid, cached = held["paid"], held["cached"]
            expected = run["estimate"].get(step)
            cells = [str(run["title"]), step]
            cells += [f"{expected['calls']:,}", _tokens(expected)] if expected else [MISSING] * 2
            cells += [f"{paid['calls']:,}", _tokens(paid), f"{paid['usd']:.4f}"]
            cells += [f"{paid['seconds']:.1f}", f"{cached['calls']:,}", _tokens(cached)]
            rows.append((*cells, str(held["truncated"]), str(paid["retries"])))
    notes = (
        "from the ledgers of all calls so far; tokens: prompt + completion; cut: replies that "
        "reached max_tokens",
    )
    return Table("what the runs have cost", heads, tuple(rows), notes)


def _tokens(part: Mapping[str, Any]) -> str:
    return f"{part['prompt_tokens']:,} + {part['completion_tokens']:,}"


def _cuts(runs: Sequence[Mapping[str, Any]]) -> list[int]:
    found = {
        int(name.rpartition("@")[2])
        for run in runs
        for name in run["metrics"]
        if name.startswith("evidence_recall@")
    }
    return sorted(found)


def _row(run: Mapping[str, Any], cuts: Sequence[int], heads: Sequence[str]) -> tuple[str, ...]:
    metrics = run["metrics"]
    mark = "!" if run["failed"] else ""
    n = str(run["n"]) if run["n"] == run["selected"] else f"{run['n']} of {run['selected']}"
    cells = [str(run["title"]), n, str(run["failed"])]
    for k in cuts:
        held = metrics.get(f"evidence_recall@{k}")
        cells.append(f"{held['mean']:.3f}{mark}" if held else MISSING)
    if "cut" in heads:
        held = metrics.get("evidence_cut")
        cells.append(f"{held['mean']:.3f}{mark}" if held else MISSING)
    if "context" in heads:
        n_tokens = run["usage"]["context_tokens_per_question"]
        cells.append(f"{n_tokens:.0f}" if n_tokens else MISSING)
    if "answered" in heads:
        scored = metrics.get("accuracy", {}).get("n", 0)
        cells.append(f"{run['answered']} ({scored})")
        cells += [_with_interval(metrics.get(name), mark) for name in _ANSWERS[:2]]
        exact = metrics.get("exact_match")
        cells.append(f"{exact['mean']:.3f}{mark}" if exact else MISSING)
        listed = [name for name, head in _LISTED.items() if head in heads]
        cells += [_with_interval(metrics.get(name), mark) for name in listed]
        tokens = run["usage"]["tokens_per_question"]
        cells.append(f"{tokens:.0f}" if run["answered"] else MISSING)
    if "faults" in heads:
        cells += _shares(run["rates"])
    if "s" in heads:
        cells.append(f"{run['usage']['seconds_per_question']:.2f}")
    return tuple(cells)


def _any_has(runs: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(name in run["metrics"] for run in runs)


def _shares(rates: Mapping[str, Mapping[str, float]]) -> tuple[str, str]:
    """The shares of all calls that ended without a usable reply, and that a fallback replaced."""
    calls = sum(rate["calls"] for rate in rates.values())
    if not calls:
        return MISSING, MISSING
    bad = sum((rate["failed"] + rate["unreadable"]) * rate["calls"] for rate in rates.values())
    fallen = sum(rate["fallbacks"] * rate["calls"] for rate in rates.values())
    return f"{bad / calls:.1%}", f"{fallen / calls:.1%}"


def _with_interval(held: Mapping[str, Any] | None, mark: str) -> str:
    if not held:
        return MISSING
    return f"{held['mean']:.3f}{mark} [{held['low']:.2f}, {held['high']:.2f}]"


def _caption(runs: Sequence[Mapping[str, Any]]) -> str:
    sets = sorted({run["dataset"] for run in runs})
    limits = sorted({str(run["limit"] or "all") for run in runs})
    parts = sorted({str(run.get("split", "all")) for run in runs})
    split = "" if parts == ["all"] else f", split: {', '.join(parts)}"
    return f"{', '.join(sets)} (limit: {', '.join(limits)}{split})"


def _notes(runs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    def said(name: str) -> str:
        return ", ".join(sorted({str(run[name]) for run in runs if run[name]})) or "none"

    notes = [
        f"answers by {said('llm')}; build model {said('llm_build')}; embedder {said('embedder')}",
        f"profile {said('profile')}, fidelity {said('fidelity')}; "
        f"extraction: {_extractions(runs)}; commit {said('commit')}; "
        f"contexts counted in tokens of {said('tokenizer')}",
        "closed-book is the reader's floor, oracle (gold passages as context) its ceiling; "
        "answered (of them with gold answers); intervals are 95 % bootstrap; faults and fallbacks: "
        "shares of the LLM calls; context: its mean tokens; cut: share of questions with evidence "
        "that the budget cut from it",
    ]
    if any(mark(run) for run in runs):
        notes.append(INFLATED)
    if any(run["cost"]["mixed"] for run in runs):
        notes.append("! more than one model or build has served one step: see cost.models")
    if any(run["failed"] for run in runs):
        notes.append("! some questions failed: means are over the rest; run again to retry them")
        notes += [f"{run['title']}: {error}" for run in runs for error in run["errors"][:2]]
    return tuple(notes)


def _extractions(runs: Sequence[Mapping[str, Any]]) -> str:
    """How entities were read, with what the extraction counted."""
    said: dict[str, None] = {}
    for run in runs:
        counted = ", ".join(f"{k} {v}" for k, v in sorted(run["extraction_statistics"].items()))
        if run["extraction"]:
            said[f"{run['extraction']} ({counted})" if counted else run["extraction"]] = None
    return "; ".join(sorted(said)) or "none"


def markdown(table: Table) -> str:
    """The table as GitHub markdown; cell texts are escaped."""
    lines = [f"**{_escaped(table.caption)}**", ""]
    lines.append("| " + " | ".join(map(_escaped, table.heads)) + " |")
    lines.append("|" + "---|" * len(table.heads))
    lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in table.rows]
    lines += ["", *[f"{_escaped(note)}  " for note in table.notes]]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    text = _plain(text)
    for sign in ("\\", "|", "<", ">", "`"):
        text = text.replace(sign, "\\" + sign)
    return text


def _plain(text: str) -> str:
    """The text on one line, without what would move the cursor or colour a terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def show(table: Table) -> None:
    """Print the table to the terminal."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=180)
    drawn = RichTable(title=Text(_plain(table.caption)), title_justify="left")
    for head in table.heads:
        drawn.add_column(Text(_plain(head)), justify="left" if head in table.texts else "right")
    for row in table.rows:
        drawn.add_row(*[Text(_plain(cell)) for cell in row])
    console.print(drawn)
    for note in table.notes:
        console.print(Text(_plain(note), style="dim"))
