"""The words of the commands that judge: runs, options, and settings of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import Parser, command_parser
from graphrag_bench.cli.settings_words import is_setting, refuse_but
from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import RunSettings, check_settings
from graphrag_bench.config.sources import names
from graphrag_bench.runs.stored import StoredRun, find_run

TAKEN = ("llm_judge", "cache", "budget", "failures")
"""The settings of a run that judging takes."""
RETRY = "ask again where a reply could not be read"
_RUN_OR = "a folder of a run or the beginning of its key; or a setting of the judge"


def judging_parser(command: str, about: str, usage: str, taken: str) -> Parser:
    """A parser of runs and of settings of the judge; `taken` names the other settings in words."""
    made = command_parser(command, about, usage)
    made.add_argument("words", nargs="+", metavar="RUN", help=_RUN_OR)
    made.home(None, "the folder that holds runs/; default: that of the first run")
    judges = f"{', '.join(names('llm'))}; no default: a judge has to be chosen"
    as_of_run = "as of a run; budget.usd=1 stops before it is passed"
    made.rows("settings", [("llm@llm_judge=", judges), (taken, as_of_run)])
    return made


def runs_and_settings(
    command: str, words: Sequence[str], taken: Sequence[str] = TAKEN
) -> tuple[list[str], list[str]]:
    """The runs, and the settings; a folder that is there is a run, whatever it is called.

    Raises UserError for a setting that the command does not take.
    """
    runs = [word for word in words if not is_setting(word) or Path(word).is_dir()]
    settings = [word for word in words if word not in runs]
    refuse_but(command, settings, taken)
    return runs, settings


def judged_runs(
    given: Sequence[str], settings: Sequence[str], home: str | None
) -> tuple[list[StoredRun], RunSettings]:
    """The runs, each once, and the checked settings with their home.

    The home is `home`, else that of the first run. Raises UserError for what is not a run.
    """
    found = check_settings(composed(settings))
    runs = [find_run(name, home or ".") for name in given]
    distinct = list({run.folder.path.resolve(): run for run in runs}.values())
    own = home or str(distinct[0].folder.path.resolve().parents[3])
    return distinct, found.model_copy(
        update={"paths": found.paths.model_copy(update={"home": own})}
    )
