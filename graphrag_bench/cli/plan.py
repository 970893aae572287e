"""`graphrag-bench plan`: what a run or a sweep would do; touches no model."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hydra.types import RunMode

from graphrag_bench.cli.settings_words import settings_parser, with_folders
from graphrag_bench.config.compose import (
    PRIMARY,
    cells,
    composed,
    composition,
    is_grid,
    parsed,
)
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.describe import describe
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.long_texts import Measured
from graphrag_bench.experiment.session import Session, cell_of
from graphrag_bench.experiment.unused_settings import refuse_unused
from graphrag_bench.experiment.work_left import work_left

_ABOUT = """
Prints what a run with the same words would build, read, write and call; touches no model. Replace
`run` by `plan` in any command.

examples
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench plan experiment=zhou2025/table5
  graphrag-bench plan -m dataset=sample method=hipporag method.damping=0.1,0.5 answer=off
    every cell of the sweep, and the builds, calls, tokens and money of all, summed
"""


def main(arguments: Sequence[str]) -> int:
    """Print the plan of a run, or of each cell of a sweep, equal ones once; 1 where one fails."""
    parser = settings_parser("plan", _ABOUT, "[-m] [GROUP=NAME ...] [SETTING=VALUE ...]")
    parser.add_argument("words", nargs="*", metavar="WORD", help="groups and settings, as of a run")
    parser.option("--config-name", "NAME", "your own primary configuration", PRIMARY)
    parser.flag("--multirun", "plan a sweep: see run --help", "-m")
    given = parser.read(with_folders(arguments), alone=True)
    words = parsed(given.words)
    config = composition(
        [str(one.input_line) for one in words if not one.is_sweep_override()],
        given.config_name,
    )
    swept = given.multirun or config.hydra.mode == RunMode.MULTIRUN
    own = [str(one.input_line) for one in words if not one.is_hydra_override()]
    every = cells(config, own) if swept else [list(given.words)]
    measured: Measured = {}
    plans = Session()
    seen: dict[object, Experiment] = {}
    errors = 0
    for overrides in every:
        try:
            experiment = plans.experiment(composed(overrides, name=given.config_name), swept=swept)
        except UserError as error:
            if not swept:
                raise
            errors += 1
            sys.stdout.write(f"{' '.join(overrides)}\n  failed: {error}\n\n")
            continue
        if cell_of(experiment) not in seen:
            sys.stdout.write(describe(experiment, measured) + "\n\n")
        seen.setdefault(cell_of(experiment), experiment)
    if seen and not errors:
        refuse_unused([word for one in every for word in one], list(seen.values()))
    if swept and seen:
        rows = [one for cell in seen.values() for one in plans.with_references(cell)]
        sys.stdout.write(work_left(list({cell_of(one): one for one in rows}.values())))
        same = len(every) - errors - len(seen)
        failed = f", failed: {errors}" if errors else ""
        text = f"cells: {len(every)}, different runs: {len(seen)}, same: {same}{failed}\n"
        if not is_grid(config):
            n_trials = config.hydra.sweeper.get("n_trials")
            text = f"cells: {n_trials}, each as this one but for what the sweeper chooses\n"
        sys.stdout.write(text)
    return 1 if errors else 0
