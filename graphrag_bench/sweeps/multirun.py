"""Cells one by one, or by Hydra's multirun: its sweepers choose values, its launchers run cells."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphrag_bench.config.words import Word
from graphrag_bench.errors import caught
from graphrag_bench.locations import project_folder

_CHOSEN = "choices."
"""The prefix of a swept group's name: `method=a,b` may come with `method.top_k=1,2`."""


def launch(
    swept: Sequence[Word],
    words: Sequence[Word],
    folder: Path,
    job: Callable[[int, Mapping[str, str]], object],
) -> bool:
    """Whether Hydra's multirun, which gives the swept values to `job`, ended without an error.

    `job` gets the number of the cell, from 1, and the text of each swept value by name; what it
    returns goes to the sweeper. Hydra composes nothing of ours: it gets an empty configuration, the
    swept values, and those of all `words` that are its own settings. `folder` gets its record. It
    shows an error of a cell, or its own, on the terminal; an error ends its cell alone.
    """
    import hydra
    from hydra.core.hydra_config import HydraConfig

    def cell(_: Any) -> object:
        held = HydraConfig.get()
        task = [str(one).lstrip("+").partition("=") for one in held.overrides.task]
        return job(held.job.num + 1, {name.removeprefix(_CHOSEN): text for name, _, text in task})

    quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
    given = [f"+{_CHOSEN if word.is_choice else ''}{word}" for word in swept]
    places = ["hydra.output_subdir=null", f"hydra.sweep.dir='{quoted}'", "hydra.sweep.subdir=."]
    quiet = ["hydra/job_logging=disabled", "hydra/hydra_logging=disabled", *places]
    hydras = [str(word) for word in words if word.is_hydras]
    configs = str(project_folder("configs").resolve())
    main = hydra.main(version_base="1.3", config_path=configs)(cell)
    try:
        with _arguments([*given, *hydras, *quiet, "--multirun"]):
            main()
    except SystemExit:
        return False
    return True


def one_by_one(n_cells: int, job: Callable[[int], object]) -> bool:
    """Whether every cell, from 1, ended without an error of the program.

    What Hydra's basic sweeper and launcher do with a grid, without a configuration of Hydra's own
    for each cell, which takes it as long as a small run. An error ends its cell alone; the first
    one is shown on the terminal after the last cell.
    """
    failed = [one for number in range(1, n_cells + 1) if (one := _error_of(job, number))]
    if failed:
        traceback.print_exception(failed[0])
    return not failed


def _error_of(job: Callable[[int], object], number: int) -> Exception | None:
    found = caught(lambda: job(number))
    return found if isinstance(found, Exception) else None


@contextmanager
def _arguments(arguments: Sequence[str]) -> Iterator[None]:
    before = sys.argv
    sys.argv = [before[0], *arguments]
    try:
        yield
    finally:
        sys.argv = before
