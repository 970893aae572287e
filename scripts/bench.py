"""Benchmarks that compare this project with a reference implementation.

A case of bench_*.py measures our rate and the rate of the reference in items per second. Both run
alternately, and the median over repeats is reported. p50 and p95 are our median and our slow tail.
A case fails if its results differ from the reference. Each case runs in its own process, whose peak
memory is `peak_mb`, and prints a Markdown table.
"""

import argparse
import gc
import importlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

Call = Callable[[], object]
Durations = Sequence[float]
Measurement = tuple[float, float, str, Mapping[str, float]]
"""Our rate, the rate of the reference, the unit of both, and additional columns."""
SUITES = {
    "ppr": "bench_graphs", "vdb": "bench_graphs", "embed": "bench_models", "llm": "bench_models",
    "endtoend": "bench_runs", "build": "bench_runs", "gpu": "bench_models",
}  # fmt: skip
"""The module of each suite."""


def seconds(call: Call) -> float:
    """Return the duration of a call in seconds; garbage is collected before the call."""
    gc.collect()
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def in_turns(ours: Call, reference: Call, n_repeats: int) -> tuple[Durations, Durations]:
    """Call both functions alternately, and return their durations in seconds."""
    mine, other = zip(*((seconds(ours), seconds(reference)) for _ in range(n_repeats)), strict=True)
    return mine, other


def rates(n_items: int, mine: Durations, other: Durations, unit: str, **more: float) -> Measurement:
    """Return the median rates of both in items per second, with our p50 and p95."""
    p50, p95 = n_items / np.percentile(mine, [50, 95])
    return p50, n_items / float(np.median(other)), unit, {"p50": p50, "p95": p95, **more}


def milliseconds(n: int, mine: Durations, other: Durations, **more: float) -> Measurement:
    """Return the median rates in questions per second, with our p50 and p95 in ms per call."""
    p50, p95 = 1000 * np.percentile(mine, [50, 95])
    return rates(n, mine, other, "questions/s", **{"p50": p50, "p95": p95, **more})


def main() -> None:
    """Measure one case in this process, or each case of a suite in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--only", help="measure only this case of the suite", metavar="CASE")
    options = parser.parse_args()
    here = Path(__file__).resolve().parent
    sys.path[:0] = [str(here), str(here.parent), str(here.parent / "tests")]
    from graphrag_bench.embedding.precision import has_cuda

    if options.suite == "gpu" and not has_cuda():
        print("no device")
        return
    cases = importlib.import_module(SUITES[options.suite]).SUITES[options.suite]
    if not options.only:
        for case in cases:
            subprocess.run([sys.executable, __file__, options.suite, "--only", case], check=True)
        return
    if options.only not in cases:
        parser.error(f"unknown case '{options.only}'; the cases are: {', '.join(cases)}")
    ours, reference, unit, more = cases[options.only]()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    columns = {"case": options.only, "ours": ours, "reference": reference,
               "ratio": ours / reference, "unit": unit, **more, "peak_mb": peak}  # fmt: skip
    cells = (one if isinstance(one, str) else f"{one:,.{3 if one < 100 else 0}f}"
             for one in columns.values())  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
