"""Benchmarks by suite: this project against a reference that does the same, in one process.

The modules bench_*.py have the cases. A case returns our rate, the reference's rate, their unit and
further columns. Rates are median items a second over repeats
in which both take turns; p50 and p95 are ours, p95 is the slow end. Results that differ from the
reference are errors. Each case runs in its own process, with `peak_mb` as its peak memory. Output:
a Markdown table for each case.

  python scripts/bench.py embed                    all cases of the suite `embed`
  python scripts/bench.py embed --only names       one case
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

Measurement = tuple[float, float, str, Mapping[str, float]]
"""Our rate, the reference's, their unit; further columns."""
SUITES = {
    "ppr": "bench_graphs", "vdb": "bench_graphs", "embed": "bench_models", "llm": "bench_models",
    "endtoend": "bench_runs", "build": "bench_runs", "gpu": "bench_gpu",
}  # fmt: skip
"""The module of each suite."""


def seconds(call: Callable[[], object]) -> float:
    """Return the seconds of a call; garbage is collected before."""
    gc.collect()
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def in_turns(
    ours: Callable[[], object], reference: Callable[[], object], n_repeats: int
) -> tuple[list[float], list[float]]:
    """Return the seconds of both functions, called in turns."""
    pairs = [(seconds(ours), seconds(reference)) for _ in range(n_repeats)]
    return [mine for mine, _ in pairs], [other for _, other in pairs]


def rates(
    n_items: int, mine: Sequence[float], other: Sequence[float], unit: str, **more: float
) -> Measurement:
    """Return the median rates of both in items a second, with p50 and p95 of ours."""
    p50, p95 = (n_items / float(np.percentile(mine, part)) for part in (50, 95))
    return p50, n_items / float(np.median(other)), unit, {"p50": p50, "p95": p95, **more}


def milliseconds(
    n_questions: int, mine: Sequence[float], other: Sequence[float], **more: float
) -> Measurement:
    """Return the median rates of both in questions a second, with our p50 and p95 in ms a call."""
    ours, reference, unit, _ = rates(n_questions, mine, other, "questions/s")
    times = {f"p{part}": 1000 * float(np.percentile(mine, part)) for part in (50, 95)}
    return ours, reference, unit, {**times, **more}


def main() -> None:
    """Measure one case in this process, or each case of a suite in its own process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--only", help="one case of the suite", metavar="CASE")
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
        parser.error(f"no case '{options.only}'; there are: {', '.join(cases)}")
    ours, reference, unit, more = cases[options.only]()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    columns = {"case": options.only, "ours": ours, "reference": reference,
               "ratio": ours / reference, "unit": unit, **more, "peak_mb": peak}  # fmt: skip
    cells = (
        one if isinstance(one, str) else f"{one:,.{3 if one < 100 else 0}f}"
        for one in columns.values()
    )
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
