"""The experiment behind a stored run, made once more from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.incomplete import read_incomplete
from graphrag_bench.runs.stored import StoredRun


def again(
    run: StoredRun,
    home: Path,
    shared: str | None = None,
    changed: Mapping[str, Any] | None = None,
) -> Experiment:
    """The experiment of a stored run as the code of today would make it; nothing is run.

    Its home is the one that the run's folder stands in, else `home`; `shared` is a second folder of
    artifacts, which a run does not write down. `changed` settings take the place of its own.
    Raises UserError when its settings are not valid any more.
    """
    path = run.folder.path.resolve()
    if len(path.parents) > 3 and path.parents[2].name == "runs":
        home = path.parents[3]
    values = {
        **run.config,
        "paths": {"home": str(home), "shared_artifacts": shared},
        **(changed or {}),
    }
    try:
        made = Experiment.prepare(values, run.dataset)
    except UserError as error:
        raise UserError(
            f"The settings of {run.folder.path} are not valid with the code of today: {error}"
        ) from error
    return replace(made, incomplete=read_incomplete(run.folder))
