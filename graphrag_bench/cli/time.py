"""`graphrag-bench time`: seconds of a stored run, measured serially and uncached."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.analysis.timing.hardware import cores, load
from graphrag_bench.analysis.timing.serial import Timing, is_busy, measure, prepare_timing
from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.describe import estimate_lines
from graphrag_bench.report.rendering import Table, show
from graphrag_bench.runs.folder import SERIAL
from graphrag_bench.runs.stored import StoredRun, find_run

_ABOUT = """
Measures the time per question: the first n finished questions of a stored run are asked again, one
at a time and one call at a time, with no reply from the cache, after a warm-up. Median (p50) and
95th percentile (p95) of the seconds per question, and per step, are printed and written to
timing_serial.json in the run's folder, with the hardware. Tables print these seconds and no others:
those of a run itself were measured with many questions under way and replies from the cache.

Nothing is built, and the stored answers do not change. The number of calls and their expected cost
are printed first; a priced model is paid again. The run's budget, or the one given here, applies to
the timing alone.

examples
  graphrag-bench time runs/sample/hipporag/f5e4d3c2b1a0
  graphrag-bench time f5e4d3 n=50 warm_up=3 budget.usd=0.50
"""
_LEAST = {"n": 1, "warm_up": 0}
_FIGURES = ("p50", "p95", "mean", "least", "most")


def main(arguments: Sequence[str]) -> int:
    """Say what it will cost, measure, and print the seconds."""
    asked = _read(arguments)
    counts, budget = _settings(vars(asked))
    home = Path(asked.home)
    run = find_run(asked.run, home)
    timing = prepare_timing(run, counts["n"], counts["warm_up"], budget, home, shared=asked.shared)
    _refuse_what_is_too_dear(timing)
    _announce(run, timing)
    before = load()
    if is_busy(before) and not asked.busy:
        raise UserError(
            f"The machine is busy: a load average of {before} on {cores()} core(s). Seconds would "
            "say little; wait until it is idle, or add --busy to measure all the same, marked so."
        )
    found = measure(timing)
    show(_table(run, found))
    sys.stdout.write(f"written: {run.folder.path / SERIAL}\n")
    return 0


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    usage = "RUN [n=20] [warm_up=1] [budget.usd=X] [budget.tokens=X] [OPTIONS]"
    parser = command_parser("time", _ABOUT, usage)
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.settings(
        [
            ("n", "20", "20", "questions that are timed"),
            ("warm_up", "1", "1", "questions asked before them and not counted"),
            ("budget.usd", "X", None, "stop before it costs more US dollars"),
            ("budget.tokens", "X", None, "stop before it takes more tokens"),
        ]
    )
    parser.option("--n", "20", "the same as n=20", "20")
    parser.flag(
        "--busy",
        "time although others keep the machine busy (load average above half of its cores), "
        "which is refused otherwise; the figures are marked",
    )
    parser.home()
    parser.shared()
    return parser.read(arguments)


def _settings(given: Mapping[str, str | None]) -> tuple[dict[str, int], dict[str, Any]]:
    """The counts and the budget; raises UserError for another value."""
    counts = {name: _whole(name, given[name] or "", least) for name, least in _LEAST.items()}
    budget = dict[str, Any]()
    if (tokens := given["budget.tokens"]) is not None:
        budget["tokens"] = _whole("budget.tokens", tokens, 1)
    if (usd := given["budget.usd"]) is not None:
        budget["usd"] = _number(usd)
        if not budget["usd"] > 0:
            raise UserError(f"budget.usd={usd}: US dollars above 0 were expected.")
    return counts, budget


def _whole(name: str, text: str, least: int) -> int:
    number = _number(text)
    if number != number or number % 1 or number < least:
        raise UserError(f"{name}={text}: a whole number from {least} on was expected.")
    return int(number)


def _number(text: str) -> float:
    """The finite number that a text is; not-a-number for any other."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _refuse_what_is_too_dear(timing: Timing) -> None:
    """Raise UserError when the estimate alone is above the budget."""
    rows, budget = timing.expected(), timing.experiment.settings.budget
    usd = sum(row.usd for row in rows)
    tokens = sum(row.prompt_tokens + row.completion_tokens for row in rows)
    n = len(timing.questions)
    if budget.usd is not None and usd > budget.usd:
        raise UserError(
            f"{n} questions would cost about {usd:.4f} USD, more than budget.usd={budget.usd:g}: "
            "take fewer (n=5) or a larger budget."
        )
    if budget.tokens is not None and tokens > budget.tokens:
        raise UserError(
            f"{n} questions would take about {tokens:,} tokens, more than "
            f"budget.tokens={budget.tokens}: take fewer (n=5) or a larger budget."
        )


def _announce(run: StoredRun, timing: Timing) -> None:
    rows = timing.expected()
    n, warm_up = len(timing.questions), len(timing.warm_up)
    calls, usd = sum(row.calls for row in rows), sum(row.usd for row in rows)
    sys.stdout.write(
        f"{run.metrics['title']} on {run.metrics['dataset']}: {n} questions and {warm_up} for "
        f"warm-up, one at a time; about {calls:,} LLM calls, {usd:.4f} USD, none from the cache\n"
    )
    for line in estimate_lines(rows):
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _table(run: StoredRun, found: Mapping[str, Any]) -> Table:
    """The seconds per question and per step."""
    heads = ("of", "n", *_FIGURES)
    rows = [_row("a question", found["seconds"])]
    rows += [_row(f"  {name}", held) for name, held in found["steps"].items()]
    machine = found["hardware"]
    notes = [
        found["how"],
        found["percentiles"],
        f"{machine['processor']}, {machine['cores_allowed']} of {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB; load average {found['load_before']} before",
    ]
    if found["busy"]:
        notes.append("! the machine was busy: the seconds are marked, and hold for that load only")
    if found["failed"]:
        notes.append(f"! {found['failed']} questions failed and are left out")
    caption = f"{run.metrics['title']} on {run.metrics['dataset']}: seconds"
    return Table(caption, heads, tuple(rows), tuple(notes), texts=("of",))


def _row(name: str, held: Mapping[str, Any]) -> tuple[str, ...]:
    return (name, str(held["n"]), *(f"{held[part]:.3f}" for part in _FIGURES))
