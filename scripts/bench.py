"""Benchmarks by suite: what we do against a reference that does the same, measured in one run.

A suite is a file `bench_<suite>.py` next to this one with a mapping `CASES`: name to a function
that returns ours, the reference, their unit and a mapping of further columns (p50 and p95 over
repeats). Every case runs in a process of its own; `peak_mb` is the largest
memory of that process. stdout is a table in markdown.

  python scripts/bench.py embed                    all cases of the suite `embed`
  python scripts/bench.py embed --only names       one of them
  python scripts/bench.py embed --json FILE        the rows as JSON too
"""

import argparse
import importlib
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
Case = Callable[[], tuple[float, float, str, Mapping[str, float]]]
Row = dict[str, str | float]


def suites() -> list[str]:
    """The names of the suites."""
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def cases(suite: str) -> Mapping[str, Case]:
    """The cases of a suite by name."""
    cases: Mapping[str, Case] = importlib.import_module(f"bench_{suite}").CASES
    return cases


def row(suite: str, case: str) -> Row:
    """One case, measured in this process; `peak_mb` is the process's largest resident size."""
    ours, reference, unit, more = cases(suite)[case]()
    measured = {name: round(value, 4) for name, value in more.items()}
    return {
        "suite": suite,
        "case": case,
        "ours": round(ours, 4),
        "reference": round(reference, 4),
        "ratio": round(ours / reference, 4) if reference else 0.0,
        "unit": unit,
        **measured,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def measured(suite: str, case: str) -> Row:
    """One case, measured in a process of its own."""
    command = [sys.executable, __file__, suite, "--only", case, "--here"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{suite} {case} ended with exit code {done.returncode}; its error is above.")
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> int:
    """Measure the cases asked for, print them, and write them to a file."""
    sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests")]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", choices=suites(), help="what is measured")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--only", help="one case of the suite")
    parser.add_argument("--here", action="store_true", help="in this process, one row to stdout")
    options = parser.parse_args()
    names = [options.only] if options.only else list(cases(options.suite))
    if unknown := [name for name in names if name not in cases(options.suite)]:
        parser.error(f"no case '{unknown[0]}'; there are: {', '.join(cases(options.suite))}")
    if options.here:
        print(json.dumps(row(options.suite, names[0])))
        return 0
    rows = []
    for name in names:
        rows.append(measured(options.suite, name))
        if len(rows) == 1 or rows[-1].keys() != rows[-2].keys():
            print(
                *(f"| {' | '.join(line)} |" for line in (rows[0], ["---"] * len(rows[0]))), sep="\n"
            )
        print(f"| {' | '.join(map(str, rows[-1].values()))} |", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
