"""Benchmarks by suite: ours against a reference that does the same, measured in one run.

bench_graphs.py, bench_models.py and bench_runs.py have the cases of the suites. A case returns
ours, the reference, their unit and further columns: rates are items a second at the median over
repeats in which both take turns; p50 and p95 are ours, p95 the slow end. Results that differ from
the reference are an error. Every case runs in a process of its own; `peak_mb` is its largest
memory. stdout is a table in Markdown.

  python scripts/bench.py embed                    all cases of the suite `embed`
  python scripts/bench.py embed --only names       one of them
  python scripts/bench.py embed --json FILE        the rows as JSON too
"""

import argparse
import gc
import importlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
Numbers = tuple[float, float, str, Mapping[str, float]]
"""Ours, the reference, their unit; further columns."""
Cases = Mapping[str, Callable[[], Numbers]]
SUITES = {
    "bench_graphs": ("ppr", "vdb"),
    "bench_models": ("embed", "llm"),
    "bench_runs": ("endtoend", "build"),
}
"""Suites by module: only that of the suite is imported, because `peak_mb` counts it."""
Row = dict[str, str | float]


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of a call; garbage is collected before."""
    gc.collect()
    began = clock()
    call()
    return clock() - began


def in_turns(
    ours: Callable[[], object], reference: Callable[[], object], n_repeats: int
) -> tuple[list[float], list[float]]:
    """Return the seconds of both over repeats that take turns."""
    pairs = [(seconds(ours), seconds(reference)) for _ in range(n_repeats)]
    return [mine for mine, _ in pairs], [other for _, other in pairs]


def rates(
    n_items: int, mine: Sequence[float], other: Sequence[float], unit: str, **more: float
) -> Numbers:
    """Return items a second of both at the median, with p50 and p95 of ours."""
    p50, p95 = (n_items / float(np.percentile(mine, part)) for part in (50, 95))
    return p50, n_items / float(np.median(other)), unit, {"p50": p50, "p95": p95, **more}


def milliseconds(
    n_questions: int, mine: Sequence[float], other: Sequence[float], **more: float
) -> Numbers:
    """Return questions a second of both at the median, with p50 and p95 of ours in ms a call."""
    ours, reference, unit, _ = rates(n_questions, mine, other, "questions/s")
    times = {f"p{part}": 1000 * float(np.percentile(mine, part)) for part in (50, 95)}
    return ours, reference, unit, {**times, **more}


def cases_of(suite: str) -> Cases:
    """Return the cases of a suite by name."""
    sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests")]
    (module,) = (module for module, names in SUITES.items() if suite in names)
    cases: Cases = importlib.import_module(module).SUITES[suite]
    return cases


def row(suite: str, case: str, numbers: Numbers) -> Row:
    """Return the row of a case that was measured in this process."""
    ours, reference, unit, more = numbers
    return {
        "suite": suite,
        "case": case,
        "ours": round(ours, 4),
        "reference": round(reference, 4),
        "ratio": round(ours / reference, 4) if reference else 0.0,
        "unit": unit,
        **{name: round(value, 4) for name, value in more.items()},
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def measured(suite: str, case: str) -> Row:
    """Return the row of a case, measured in a process of its own."""
    command = [sys.executable, __file__, suite, "--only", case, "--here"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{suite} {case} ended with exit code {done.returncode}; its error is above.")
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> int:
    """Measure the cases asked for, print them, and write them to a file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", choices=sorted(chain(*SUITES.values())), help="what is measured")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--only", help="one case of the suite")
    parser.add_argument("--here", action="store_true", help="in this process, one row to stdout")
    options = parser.parse_args()
    cases = cases_of(options.suite)
    names = [options.only] if options.only else list(cases)
    if unknown := [name for name in names if name not in cases]:
        parser.error(f"no case '{unknown[0]}'; there are: {', '.join(cases)}")
    if options.here:
        print(json.dumps(row(options.suite, names[0], cases[names[0]]())))
        return 0
    rows: list[Row] = []
    for name in names:
        rows.append(measured(options.suite, name))
        if len(rows) == 1 or rows[-1].keys() != rows[-2].keys():
            print(f"| {' | '.join(rows[-1])} |\n|{'---|' * len(rows[-1])}")
        print(f"| {' | '.join(map(str, rows[-1].values()))} |", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
