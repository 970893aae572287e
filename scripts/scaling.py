"""The cost of the LLM-free default by the number of chunks: table, fitted exponents, plot.

Reads what `python scripts/bench.py scale --json FILE` measured, writes the tables of
docs/scaling.md between their markers, and draws docs/img/scaling.svg.

Usage: python scripts/scaling.py FILE
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from scripts.markdown import table, with_part

ROOT = Path(__file__).resolve().parent.parent
PAGE, PLOT = ROOT / "docs" / "scaling.md", ROOT / "docs" / "img" / "scaling.svg"
SIZES = {"1k": 10**3, "10k": 10**4, "100k": 10**5}
STEPS = {
    "chunk_table": "cut and store chunks",
    "chunk_index": "embed chunks",
    "graph": "read names, merge them, join",
    "build": "everything",
}
QUERY = {"question_p50_ms": "a question alone", "question_block_ms": "a question of a block of 100"}
LARGE_SIZES = (10**4, 10**6, 10**8)
DIMENSION, FLOAT_BYTES = 384, 4
Rows = Mapping[int, Mapping[str, float]]


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The slope of a straight line through the logarithms: 1 is linear."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def measured(rows: Rows) -> list[str]:
    """The table of seconds, memory and exponents by step, and of milliseconds by question."""
    sizes = sorted(rows)
    heads = ("", *(f"{size:,} chunks" for size in sizes), "exponent")
    lines = []
    for steps, unit in ((STEPS, "s"), (QUERY, "ms")):
        for step, name in steps.items():
            values = [rows[size][step] for size in sizes]
            cells = [f"{value:.1f} {unit}" for value in values]
            lines.append([name, *cells, f"{exponent(sizes, values):.2f}"])
    built = {f"{step}_mb": name for step, name in STEPS.items() if step != "build"}
    for column, name in {**built, "questions_mb": "questions"}.items():
        cells = [f"{rows[size][column]:,.0f} MB" for size in sizes]
        lines.append([f"peak memory: {name}", *cells, ""])
    for column, name, form in (
        ("nodes", "nodes", ",.0f"),
        ("recall@5", "evidence recall@5", ".3f"),
    ):
        lines.append([name, *(format(rows[size][column], form) for size in sizes), ""])
    return table(heads, lines)


def extrapolated(rows: Rows) -> list[str]:
    """What larger corpora would take by the constants of the largest one measured."""
    largest = max(rows)
    row = rows[largest]
    each = {step: row[step] / largest for step in STEPS}
    lines = [
        (f"{size:,}", clock(size * each["chunk_index"]), clock(size * each["graph"]),
         volume(size * DIMENSION * FLOAT_BYTES), f"{row['nodes'] / largest * size:,.0f}")
        for size in LARGE_SIZES
    ]  # fmt: skip
    return table(("chunks", "embed", "names and graph", "vectors", "nodes"), lines)


def clock(seconds: float) -> str:
    """Seconds in the unit in which they are read: seconds, minutes, hours or days."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def volume(n_bytes: float) -> str:
    """Bytes as MB, GB or TB."""
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes / 1e6:.0f} MB"


def draw(rows: Rows) -> None:
    """Seconds of each step and milliseconds of a question, log-log, with their exponents."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "scaling"
    from matplotlib import pyplot

    sizes = sorted(rows)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axes, what, unit in ((left, STEPS, "seconds to build"),
                             (right, QUERY, "milliseconds a question")):  # fmt: skip
        for mark, (step, name) in zip("os^D", what.items(), strict=False):
            values = [rows[size][step] for size in sizes]
            label = f"{name}: n^{exponent(sizes, values):.2f}"
            axes.loglog(sizes, values, marker=mark, label=label)
        axes.set(xlabel="chunks", ylabel=unit)
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=8)
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> int:
    """Write tables and plot; the exit code is 0."""
    cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    rows: Rows = {SIZES[row["case"]]: row for row in cases}
    page = PAGE.read_text(encoding="utf-8")
    for name, lines in (("measured", measured(rows)), ("larger", extrapolated(rows))):
        page = with_part(page, name, "scaling.py", lines)
    PAGE.write_text(page, encoding="utf-8")
    draw(rows)
    for path in (PAGE, PLOT):
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
