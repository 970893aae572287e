"""Settings of a run from what Hydra composes, and its composition outside of its own command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from hydra import compose, initialize
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.errors import (
    ConfigCompositionException,
    HydraException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from graphrag_bench.config.profiles import KEYS, applied
from graphrag_bench.config.sources import FILE, ROLES, chunking_of, folders, method_file, names
from graphrag_bench.errors import UserError, did_you_mean, unknown

PRIMARY = "run"
VERSION_BASE = "1.3"
SOURCES = ("profile", "fidelity", "pooling")
"""The groups that change a method's file: see `config/profiles.py`."""

EXTRAS = {
    "hydra/sweeper=optuna": "tuning",
    "hydra/launcher=joblib": "joblib",
    "hydra/launcher=submitit_local": "submitit",
    "hydra/launcher=submitit_slurm": "submitit",
    "hydra/launcher=ray": "ray-sweeps",
}
"""Plug-ins of Hydra by the choices that they register, and the extras that install them."""


def composed(
    overrides: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    method: Mapping[str, Any] | None = None,
    name: str = PRIMARY,
) -> dict[str, Any]:
    """Return the settings that `graphrag-bench run` with these overrides would have.

    `values` are laid over them, nested as the settings are; a mapping for a group of models,
    chunking or pooling takes the place of its choice. `method` is the content of a method's file,
    in place of the choice; `name` that of the primary configuration. Raises UserError.
    """
    config = composition(overrides, name)
    if method is not None:
        choices = config.hydra.runtime.choices
        sources = [str(choices[name]) for name in SOURCES]
        content = applied(method, *sources[:2], pooling=sources[2])
        with open_dict(config):
            config.method = content
            if str(choices.chunking).startswith("of:"):
                config.chunking = chunking_of(content)
    with open_dict(config):
        for path, value in (values or {}).items():
            whole = path not in _MERGED and isinstance(value, Mapping)
            OmegaConf.update(config, path, value, merge=not whole, force_add=True)
    return settings_of(config, config.hydra, method)


_MERGED = ("method", "graph", "paths", "evaluation", "cache", "budget", "failures", "ray", "build")
"""Settings with settings of their own that are no choice of a group."""


def composition(overrides: Sequence[str] = (), name: str = PRIMARY) -> DictConfig:
    """Return what Hydra composes of overrides, its own node too; raises UserError."""
    with _hydra(), plain_errors():
        return compose(name, list(map(at_home, overrides)), return_hydra_config=True)


@contextmanager
def _hydra() -> Iterator[None]:
    """Set our Hydra up for a while, whatever program has initialised the process's own."""
    state = GlobalHydra.instance()
    before = state.hydra
    state.hydra = _ours(tuple(map(str, folders())))
    try:
        yield
    finally:
        state.hydra = before


@lru_cache(maxsize=8)
def _ours(_: tuple[str, ...]) -> Any:
    GlobalHydra.instance().clear()
    initialize(config_path=None, job_name=PRIMARY, version_base=VERSION_BASE)
    return GlobalHydra.instance().hydra


def is_grid(config: DictConfig) -> bool:
    """Return whether Hydra's basic sweeper makes a grid; no other tells its cells before."""
    return str(config.hydra.sweeper.get("_target_")).endswith("BasicSweeper")


def cells(config: DictConfig, overrides: Sequence[str]) -> list[list[str]]:
    """Return the overrides of every cell of a sweep, as Hydra's basic sweeper expands them.

    They are the sweeper's parameters in what Hydra composed and those of the command, which win;
    the last one changes first. Of another sweeper there is one cell, of the first of all values.
    Raises UserError for an interval, which is not a grid.
    """
    params: Any = OmegaConf.to_container(config.hydra.sweeper.get("params") or OmegaConf.create())
    texts = [f"{name}={value}" for name, value in params.items()]
    values: dict[str, list[str]] = {}
    for one in parsed([*texts, *overrides]):
        name = one.get_key_element()
        if not one.is_sweep_override():
            values[name] = [str(one.input_line)]
        elif one.is_discrete_sweep():
            values[name] = ["=".join((name, str(text))) for text in one.sweep_string_iterator()]
            if not values[name]:
                raise UserError(f"'{one.input_line}' fits none. {did_you_mean('', names(name))}")
        elif not is_grid(config) and isinstance(interval := one.value(), IntervalSweep):
            values[name] = [f"{name}={interval.start}"]
        else:
            raise UserError(f"'{one.input_line}' is an interval: it needs hydra/sweeper=optuna.")
    every = [list(cell) for cell in product(*values.values())]
    return every if is_grid(config) else every[:1]


def parsed(overrides: Sequence[str]) -> list[Override]:
    """Return overrides as Hydra's grammar reads them, globs over our choices; raises UserError."""
    with _hydra(), plain_errors():
        loader = GlobalHydra.instance().config_loader()
        words = list(map(at_home, overrides))
        return OverridesParser.create(config_loader=loader).parse_overrides(words)


def at_home(override: str) -> str:
    """Return an override whose value begins with `~/` with the home folder written out and quoted.

    Hydra's grammar has no such value, and not every shell writes it out.
    """
    name, _, value = override.partition("=")
    if not value.startswith("~/"):
        return override
    return f"{name}={json.dumps(str(Path(value).expanduser()), ensure_ascii=False)}"


def value_of(text: str, name: str = "value") -> Any:
    """Return the value of a text by Hydra's grammar: true, null, a number, a list, or the text.

    Raises UserError, which shows the setting `name`, for what cannot be read and for a sweep.
    """
    (found,) = parsed([f"{name}={text}"])
    if found.is_sweep_override():
        raise UserError(f"'{name}={text}' gives several values; a sweep over them needs -m.")
    return found.value()


def settings_of(
    config: DictConfig, hydra: Any, method: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the settings in what Hydra composed, for `check_settings`; `hydra` is its own node.

    `method` is the file that a method given as values was made of. Interpolations are resolved; one
    in the method that leads nowhere stays, for the check of the method. `given` are the paths of
    the method's settings that differ from its file, or were named by an override.
    """
    overrides = [text.lstrip("+~").partition("=")[0] for text in hydra.overrides.task]
    choices = hydra.runtime.choices
    plain: Any = OmegaConf.to_container(config)
    plain.pop("hydra", None)
    own = {key: value for key, value in plain["method"].items() if key not in KEYS}
    if isinstance(own.get("build"), dict):
        own["build"].pop("chunk_table", None)
    if own.get("prompts", "") is None:
        del own["prompts"]
    if method is None:
        file = applied(
            method_file(str(choices.method)), *(str(choices[name]) for name in SOURCES[:2]),
            pooling=str(choices.pooling),
        )  # fmt: skip
        if own.get("name") != file.get("name"):
            raise UserError(f"method.name={own.get('name')}: a method is chosen by method=NAME.")
        given = [*_different(own, file, "method"), *overrides]
    else:
        given = overrides
    resolved = _resolved({**plain, "method": own})
    return {
        **resolved,
        "given": [name for name in dict.fromkeys(given) if name.startswith("method.")],
    }


def method_of(name: str, profile: str, fidelity: str) -> dict[str, Any]:
    """Return the resolved settings of a method's file under a profile and a fidelity."""
    method: dict[str, Any] = _resolved({"method": applied(method_file(name), profile, fidelity)})
    return dict(method["method"])


def _different(own: Any, file: Any, path: str) -> Iterator[str]:
    if isinstance(own, dict) and isinstance(file, dict):
        for name, value in own.items():
            yield from _different(value, file.get(name), f"{path}.{name}")
    elif isinstance(own, list) and isinstance(file, list) and len(own) == len(file):
        for row, pair in enumerate(zip(own, file, strict=True)):
            yield from _different(*pair, f"{path}.{row}")
    elif own != file:
        yield path


def _resolved(plain: dict[str, Any]) -> dict[str, Any]:
    raw = {**plain, "method": _escaped(plain["method"], plain)}
    try:
        found: Any = OmegaConf.to_container(OmegaConf.create(raw), resolve=True)
    except OmegaConfBaseException as error:
        raise UserError(f"The configuration cannot be resolved: {error}") from None
    return dict(found)


def _escaped(value: Any, whole: Mapping[str, Any]) -> Any:
    """Return a value whose interpolations that lead nowhere are texts."""
    if isinstance(value, dict):
        return {name: _escaped(inner, whole) for name, inner in value.items()}
    if isinstance(value, list):
        return [_escaped(inner, whole) for inner in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\$\{([\w.]+)\}", lambda m: m[0] if _leads(whole, m[1]) else f"\\{m[0]}", value)


def _leads(values: Any, path: str) -> bool:
    for part in path.split("."):
        if not isinstance(values, Mapping) or part not in values:
            return False
        values = values[part]
    return True


def raw_method(method: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the file that a method was made of, with its interpolations; None without one."""
    if FILE in method:
        return method_file(str(method[FILE])) if Path(method[FILE]).is_file() else None
    name = str(method.get("name"))
    return method_file(name) if name in names("method") else None


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn Hydra's errors of composition into one message with the nearest names."""
    try:
        yield
    except MissingConfigException as error:
        group, within, name = (error.missing_cfg_file or "").partition("/")
        if group == "hydra":
            group, within, name = (error.missing_cfg_file or "").rpartition("/")
        if extra := EXTRAS.get(f"{group}={name}"):
            need = f"pip install 'graphrag-bench[{extra}]'"
            raise UserError(f"{group}={name} is a plug-in of Hydra: {need}.") from None
        if not within:
            raise UserError(str(error).splitlines()[0]) from None
        raise unknown(group, name, error.options or names(group)) from None
    except OverrideParseException as error:
        lines = str(error).splitlines()
        reason = lines[lines[0].startswith("Error parsing override") and len(lines) > 1]
        raise UserError(
            f"'{error.override}' cannot be read ({reason}). Inside the shell's quotes, a value "
            "with brackets, commas, colons or quotes needs double quotes: "
            "'NAME=\"VALUE\"'."
        ) from None
    except (ConfigCompositionException, HydraException) as error:
        raise UserError(_message(error)) from None
    except (TypeError, ValueError) as error:
        reasons = [text for start, text in _REASONS.items() if str(error).startswith(start)]
        if not reasons:
            raise
        raise UserError(f"{error}: {reasons[0]}.") from None


_REASONS = {
    "Index ": "a step is named by its row, e.g. method.retrieve.0",
    "Exceeds the limit": "no setting is that large",
}
"""What is wrong with a setting, by how an error begins that is none of Hydra's own."""


def _message(error: HydraException) -> str:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OmegaConfBaseException):
        cause = cause.__cause__
    path = str(getattr(cause, "full_key", None) or "")
    parent = getattr(cause, "parent_node", None)
    if isinstance(parent, ListConfig):
        return f"There is no setting '{path}': its list has 0 to {len(parent) - 1}."
    if (role := path.partition(".")[0]) in ROLES and not parent:
        return f"'{path}' is a setting of a model that is not chosen: add llm@{role}=NAME."
    if not path or not isinstance(parent, DictConfig):
        return " ".join(line.strip() for line in str(error or cause).splitlines() if line.strip())
    group, dot, name = path.rpartition(".")
    hint = did_you_mean(name, sorted(map(str, parent)), prefix=f"{group}{dot}")
    return f"There is no setting '{path}'. {hint}"
