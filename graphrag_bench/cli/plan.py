"""`graphrag-bench plan`: what a run would do; touches no model."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from graphrag_bench.cli.settings_words import settings_parser
from graphrag_bench.config.words import given_names
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.experiment.describe import describe
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.long_texts import Measured
from graphrag_bench.experiment.pooling import left_out
from graphrag_bench.experiment.unused_settings import refuse_idle
from graphrag_bench.sweeps.cells import (
    Cell,
    Preparing,
    cell_of,
    checked_alone,
    composed_cells,
    split_cells,
)
from graphrag_bench.sweeps.shared_work import left_to_do
from graphrag_bench.sweeps.tuning import is_tuning

_ABOUT = """
Prints what a run with the same words would build, read, write and call; touches no model. Replace
`run` by `plan` in any command.

examples
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench plan -m dataset=sample method=hipporag method.damping=0.1,0.5 answer=off
    every cell of the sweep, the total builds and calls, and what sharing saves
"""


def main(arguments: Sequence[str]) -> int:
    """Print the plan of one run, or of every cell of a sweep; equal cells once."""
    usage = "[-m] [GROUP=NAME ...] [SETTING=VALUE ...]"
    parser = settings_parser("plan", _ABOUT, usage)
    parser.add_argument("words", nargs="*", metavar="WORD", help="groups and settings, as of a run")
    parser.flag("--multirun", "plan a sweep: see run --help", "-m")
    given = parser.read(arguments, alone=True)
    multirun, words = given.multirun, checked_words(given.words)
    if multirun and is_tuning(words):
        raise UserError("A sweeper chooses these cells as it goes: plan one of them, without -m.")
    preparing = Preparing()
    every = composed_cells(split_cells(words)) if multirun else [checked_alone(words, preparing)]
    seen: dict[Cell, Experiment] = {}
    without: dict[Cell, str] = {}
    for values in every:
        experiment = preparing.experiment(values, swept=multirun)
        seen.setdefault(cell_of(experiment), experiment)
        if multirun and (reason := left_out(values)):
            without[cell_of(experiment)] = reason
    if multirun:
        refuse_idle(given_names(words), list(seen.values()))
    measured: Measured = {}
    for name, experiment in seen.items():
        sys.stdout.write(describe(experiment, measured) + "\n\n")
        if name in without:
            sys.stdout.write(f"no pooling: {without[name]}\n\n")
    if multirun:
        sys.stdout.write("".join(f"{line}\n" for line in _sharing(seen, preparing)))
        same = len(every) - len(seen)
        sys.stdout.write(f"cells: {len(every)}, different runs: {len(seen)}, same: {same}\n")
    return 0


def _sharing(seen: dict[Cell, Experiment], preparing: Preparing) -> Iterator[str]:
    references: dict[Cell, Experiment] = {}
    sources: set[str] = set()
    for experiment in seen.values():
        source = experiment.settings.model_dump_json(exclude={"method", "build", "pooling"})
        if source not in sources:
            sources.add(source)
            found = preparing.with_references(experiment)[1:]
            references |= {cell_of(one): one for one in found}
    added = {name: one for name, one in references.items() if name not in seen}
    runs = [*seen.values(), *added.values()]
    titles = ", ".join(dict.fromkeys(one.method.title for one in added.values()))
    yield f"{'left to do':<36} {'one by one':>10} {'shared':>10} {'saved':>10}"
    for name, first, second in left_to_do(runs):
        yield f"  {name:<34} {first:>10,} {second:>10,} {first - second:>10,}"
    if added:
        yield f"  with {len(added)} reference rows: {titles} (reference_rows=off leaves them out)"
    yield ""
