"""Compose the settings of a run with Hydra."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_module
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException

from graphrag_bench.config import sources
from graphrag_bench.config.words import quote
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.files import plain_value

PRIMARY = "run"
VERSION_BASE = "1.3"


def compose_settings(
    overrides: Sequence[str] = (), values: Mapping[str, Any] | None = None, name: str = PRIMARY
) -> dict[str, Any]:
    """Return the settings of a run with these overrides, based on the configuration file `name`.

    `values` maps settings to new values. A mapping for a group, e.g. `llm`, replaces the group.
    """
    whole = composition(overrides, name)
    settings = settings_of(whole, whole.hydra)
    if not values:
        return settings
    config = OmegaConf.create(settings)
    for path, value in plain_value(values).items():
        replaces = path in (*sources.GROUPS, *sources.ROLES) and isinstance(value, Mapping)
        OmegaConf.update(config, path, value, merge=not replaces)
    return resolve(config)


def composition(overrides: Sequence[str] = (), name: str = PRIMARY) -> DictConfig:
    """Return the configuration that Hydra composes. The settings of Hydra are under `hydra`."""
    for one in parse_overrides(overrides):
        if one.is_sweep_override():
            raise multiple_values_error(str(one.input_line))
    with _hydra():
        return compose(name, [*map(quote, overrides)], return_hydra_config=True)


def multiple_values_error(word: str) -> UserError:
    """Return the error for an override with several values in a command without a sweep."""
    name, _, value = word.partition("=")
    other = f", or write a list as {name}=[{value}] and a text as '{name}=\"{value}\"'"
    other = "" if name.lstrip("+") in sources.GROUPS else other
    sweep = "Sweep over them with `graphrag-bench run -m`"
    return UserError(f"'{word}' has several values. {sweep}{other}.")


@contextmanager
def _hydra() -> Iterator[ConfigLoader]:
    """Initialise Hydra temporarily, because other code in this process may use it too."""
    before = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        # with a config module, Hydra does not search all loaded modules for the caller
        with plain_errors(), initialize_config_module("hydra.conf", PRIMARY, VERSION_BASE):
            yield GlobalHydra.instance().config_loader()
    finally:
        GlobalHydra.instance().hydra = before


def cells(config: DictConfig, overrides: Sequence[str]) -> list[list[str]] | None:
    """Return the overrides of each cell, or None if a cell depends on results of earlier cells."""
    if config.hydra.runtime.choices["hydra/sweeper"] != "basic":
        return None
    params: Mapping[str, Any] = config.hydra.sweeper.get("params") or {}
    words = [*(f"{name}={value}" for name, value in params.items()), *overrides]
    several: dict[str, list[str]] = {}
    for word in parse_overrides(words):
        name = word.get_key_element()
        if not word.is_sweep_override():
            several[name] = [f"{name}={word.get_value_element_as_str()}"]
        elif word.is_discrete_sweep():
            several[name] = [f"{name}={value}" for value in word.sweep_string_iterator()]
            if not several[name]:
                hint = did_you_mean("", sources.names(name))
                raise UserError(f"'{word.input_line}' matches no choice. {hint}")
        else:
            raise UserError(f"'{word.input_line}': an interval needs hydra/sweeper=optuna.")
    return [list(cell) for cell in product(*several.values())]


def parse_overrides(overrides: Sequence[str]) -> list[Override]:
    """Parse overrides with Hydra's grammar. For example, `method=glob(*)` matches all methods."""
    with _hydra() as loader:
        parser = OverridesParser.create(config_loader=loader)
        return parser.parse_overrides([*map(quote, overrides)])


def value_of(text: str, name: str = "value") -> Any:
    """Parse a value with Hydra's grammar: a number, a list, true, null, or the text itself."""
    (override,) = parse_overrides([f"{name}={text}"])
    if override.is_sweep_override():
        raise multiple_values_error(f"{name}={text}")
    return override.value()


def settings_of(config: DictConfig, hydra: Any) -> dict[str, Any]:
    """Return the settings that Hydra composed. `hydra` is the node with Hydra's own settings."""
    plain: Any = OmegaConf.to_container(config)
    plain.pop("hydra", None)
    own, choices = plain["method"], hydra.runtime.choices
    if own.get("prompts") is None:
        own.pop("prompts", None)
    words = (str(choices[one]) for one in ("method", "profile", "fidelity", "pooling"))
    file = sources.profiled_method(*words)
    if own.get("name") != file.get("name"):
        raise UserError(f"method.name={own.get('name')}: choose a method with method=NAME.")
    paths = [text.lstrip("+~").partition("=")[0] for text in hydra.overrides.task]
    paths += [f"method.{key}" for key in own if own[key] != file.get(key)]
    given = [path for path in dict.fromkeys(paths) if path.startswith("method.")]
    return {**resolve(plain), "given": given, "row": choices.get("row")}


def method_values(method: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a method without its chunking, with interpolations resolved."""
    return dict(resolve({"method": sources.without_chunking(method)})["method"])


def resolve(settings: Any) -> dict[str, Any]:
    """Resolve interpolations (`${a}`) in settings. Unresolvable interpolations stay text."""
    config = OmegaConf.create(settings)
    while True:
        try:
            values: Any = OmegaConf.to_container(config, resolve=True)
            return dict(values)
        except InterpolationKeyError as error:
            parent: Any = OmegaConf.to_container(error.parent_node)
            text = str(parent[error.key]).replace("${", "\\${")
            OmegaConf.update(config, str(error.full_key), text)
        except OmegaConfBaseException as error:
            raise UserError(f"The configuration cannot be resolved: {error}") from None


def raw_method(method: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the unresolved content of a method's file, or None if the method has no file."""
    file, name = method.get(sources.FILE), str(method.get("name"))
    is_there = Path(file).is_file() if file else name in sources.names("method")
    return sources.method_file(str(file or name)) if is_there else None


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise the errors of Hydra as UserErrors that suggest similar valid names."""
    try:
        yield
    except MissingConfigException as error:
        file = error.missing_cfg_file or ""
        group, slash, name = (file.rpartition if file.startswith("hydra/") else file.partition)("/")
        if not slash:
            raise UserError(str(error).splitlines()[0]) from None
        raise sources.unknown_choice(group, name, error.options) from None
    except OverrideParseException as error:
        raise UserError(
            f"'{error.override}' cannot be parsed. If the value has brackets, commas, colons or "
            "quotes, write it in two kinds of quotes: 'NAME=\"VALUE\"'."
        ) from None
    except HydraException as error:
        if isinstance(error.__cause__, UserError):
            raise error.__cause__ from None
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, OmegaConfBaseException):
            cause = cause.__cause__
        parent, path = getattr(cause, "parent_node", None), getattr(cause, "full_key", None) or ""
        group, dot, name = path.rpartition(".")
        message = " ".join(f"{error} {cause or ''}".split())
        if (role := path.partition(".")[0]) in sources.ROLES and not parent:
            message = f"'{path}' needs a model: add llm@{role}=NAME."
        elif path and isinstance(parent, DictConfig):
            hint = did_you_mean(name, sorted(map(str, parent)), prefix=f"{group}{dot}")
            of = f" of method '{parent.get('name')}'" if group == "method" else ""
            message = f"There is no setting '{path}'{of}. {hint}"
        raise UserError(message) from None
    except (TypeError, ValueError) as error:  # a bad index or a long number
        if not str(error).startswith(("Index ", "Exceeds the limit")):
            raise
        raise UserError(f"{error}. Give the position of a step, e.g. method.retrieve.0.") from None
