"""Command-line settings: checked group names, and composition through Hydra with our errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrag_bench.errors import UserError, nearest, unknown
from graphrag_bench.experiment.groups import GROUPS, names, resolve
from graphrag_bench.experiment.settings import RunSettings, explained
from graphrag_bench.locations import project_folder

HELP = """usage: graphrag-bench {command} [-m] [GROUP=NAME ...] [SETTING=VALUE ...]

groups (choose by name; with -m a comma or glob(*) sweeps)
{groups}

settings (by path; -m sweeps them too)
{settings}

  method.NAME=VALUE            a parameter of the method: {parameters}
  method.retrieve.0.NAME=VALUE a setting of one step; `graphrag-bench plan` shows the steps
  llm.NAME=VALUE               a setting of the model, e.g. llm.model_path=weights.gguf
"""


def help_text(command: str) -> str:
    """What `--help` of a Hydra command prints."""
    groups = "\n".join(f"  {g + '=':<12} {', '.join(names(g))}" for g in GROUPS)
    rows = "\n".join(
        f"  {name + '=' + default:<34} {meaning}" for name, default, meaning in explained()
        if name not in GROUPS
    )  # fmt: skip
    return HELP.format(
        command=command, groups=groups, settings=rows, parameters="top_k, damping, ..."
    )


def prepared(arguments: Sequence[str]) -> list[str]:
    """The overrides for Hydra: groups checked, every other setting as one that may be new.

    Raises UserError for what is no `NAME=VALUE`, and for an unknown group or choice.
    """
    overrides = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        name = name.lstrip("+~")
        if not equals:
            raise UserError(f"'{argument}' is no setting; settings are NAME=VALUE.")
        if name.startswith("hydra"):
            overrides.append(argument)
        elif name in GROUPS:
            _check_choices(name, value)
            target = "llm@llm_build" if name == "llm_build" else name
            add = "+" if name == "llm_build" else ""
            overrides.append(f"{add}{target}={value}")
        else:
            known = [*RunSettings.model_fields]
            if name.partition(".")[0] not in known:
                close = nearest(name.partition(".")[0], known) or sorted(known)
                raise UserError(f"There is no setting '{name}'. Nearest: {', '.join(close)}.")
            overrides.append(f"++{name}={value}")
    return overrides


def _check_choices(group: str, value: str) -> None:
    if value.startswith(("glob(", "choice(", "[")):
        return
    for choice in value.split(","):
        if choice.strip() not in names(group):
            raise unknown(group, choice.strip(), names(group))


def composed(overrides: Sequence[str]) -> dict[str, Any]:
    """The resolved settings of prepared overrides; raises UserError for what Hydra refuses."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(project_folder("configs")), version_base="1.3"):
            config = compose("run", overrides=list(overrides))
    except (HydraException, OmegaConfBaseException) as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise UserError(f"{' '.join(overrides)}: {reason}") from None
    return resolve(config, OmegaConf, OmegaConfBaseException)
