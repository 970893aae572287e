"""`graphrag-bench plan`: what a run would do; touches no model."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphrag_bench.cli.cells import cell_of, cells
from graphrag_bench.cli.overrides import composed, help_text, prepared
from graphrag_bench.experiment.describe import describe
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.matching import matched
from graphrag_bench.experiment.pooling import left_out


def main(arguments: Sequence[str]) -> int:
    """Print the plan of one run, or of every cell of a sweep; equal cells once."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(help_text("plan"))
        return 0
    multirun = bool({"-m", "--multirun"} & set(arguments))
    overrides = prepared([word for word in arguments if word not in ("-m", "--multirun")])
    all_cells = cells(overrides) if multirun else [composed(overrides)]
    seen = set()
    for values in all_cells:
        values = matched(values, measure=False, swept=multirun)
        experiment = Experiment.prepare(values, swept=multirun)
        if cell_of(experiment) not in seen:
            seen.add(cell_of(experiment))
            sys.stdout.write(describe(experiment) + "\n\n")
        if multirun and (reason := left_out(values)):
            sys.stdout.write(f"no pooling: {reason}\n\n")
    if multirun:
        same = len(all_cells) - len(seen)
        sys.stdout.write(f"cells: {len(all_cells)}, different runs: {len(seen)}, same: {same}\n")
    return 0
