"""The words of the commands that judge: runs, options, and settings of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import Parser, command_parser
from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import RunSettings, check_settings
from graphrag_bench.config.words import is_setting
from graphrag_bench.errors import UserError, nearest
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.runs.stored import StoredRun, find_run

TAKEN = ("llm_judge", "embedder", "cache", "budget", "failures", "paths")
"""The settings of a run that judging takes."""


def parser(command: str) -> Parser:
    """A parser of options and words, with `--home`."""
    made = command_parser(command)
    made.add_argument("words", nargs="*")
    made.add_argument("--home", default=None)
    return made


def divided(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The runs, and the settings; a folder that is there is a run, whatever it is called.

    Raises UserError for a setting that judging does not take.
    """
    runs = [word for word in words if not is_setting(word) or Path(word).is_dir()]
    settings = [word for word in words if word not in runs]
    for word in settings:
        name = word.lstrip("+~").partition("=")[0]
        if name.partition(".")[0] not in TAKEN:
            close = ", ".join(nearest(name.partition(".")[0], TAKEN) or TAKEN)
            raise UserError(f"Judging takes no setting '{name}'. Nearest: {close}.")
    return runs, settings


def judged_runs(
    names: Sequence[str], settings: Sequence[str], home: str | None
) -> tuple[list[StoredRun], RunSettings]:
    """The runs, each once, and the checked settings with the home that they lie in.

    The home is `--home`, else `paths.home`, else that of the first run. Raises UserError for what
    is no run.
    """
    found = check_settings(composed(checked_words(settings)))
    given = home or (found.paths.home if any("paths.home=" in word for word in settings) else None)
    runs = [find_run(name, given or ".") for name in names]
    distinct = list({run.folder.path.resolve(): run for run in runs}.values())
    own = given or str(distinct[0].folder.path.resolve().parents[3])
    return distinct, found.model_copy(
        update={"paths": found.paths.model_copy(update={"home": own})}
    )
