"""Hydra's view of our configuration: folders of files, and the choices that stand inside them.

A choice of a group is a file in one of the folders, the user's before ours. Beside the files there
are a choice for each card of a data set, profile and table of a paper, and three that follow from
others in the defaults list of `configs/run.yaml`:

- `settings`: every setting of a run with its default (`RunSettings`)
- `source/METHOD:PROFILE:FIDELITY:POOLING`: what sources change in the file of a method
- `chunking/of:METHOD:PROFILE:FIDELITY:DATASET`: the chunking of a method, or of a paper's data set
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import Container, OmegaConf

from graphrag_bench.config.profiles import KEYS, applied
from graphrag_bench.config.settings import Fidelity, Profile, defaults
from graphrag_bench.data.card import card_names
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.locations import project_folder
from graphrag_bench.plain_yaml import read_yaml

GROUPS = (
    "dataset", "method", "profile", "fidelity", "llm", "embedder", "chunking", "pooling",
    "experiment", "row",
)  # fmt: skip
ROLES = ("llm_build", "llm_judge")
"""Other language models of a run: `llm@llm_build=NAME`."""
FILE = "file"
"""The key of a user's method that holds the path of its file."""
GLOBAL = ("profile", "fidelity", "experiment", "row")
"""Groups whose choices state settings at their paths."""
OPEN = (
    "convert", "retrieve", "generate", "build",
    "dataset", "llm", "embedder", "nlp", "cross_encoder", "chunking", "pooling",
)  # fmt: skip
"""Keys of a method and of the settings below which one need not be in a file to be set: operators,
builders, models and synthetic data sets check their own."""
PROVIDER = "graphrag-bench"
_PLACES = ("./", "../", "/", "~")
"""How a choice begins that is the path of a file: `method=./mine.yaml`."""
_OF_PAPERS = ("dataset", "llm", "embedder", "row", "experiment")
"""Groups that have choices of papers."""
_own: list[Path] = []
_FIXED = {"profile": get_args(Profile), "fidelity": get_args(Fidelity)}


def search_in(folders: Iterable[str | Path]) -> None:
    """Look for choices in these folders too, before ours; those that are no folders are left out.

    They count in every later composition of the process.
    """
    for folder in folders:
        path = Path(str(folder).removeprefix("file://")).expanduser().resolve()
        if path.is_dir() and path not in _own:
            _own.append(path)


def folders() -> list[Path]:
    """Return the folders of configurations: `./configs`, those of `search_in`, then ours."""
    every = [Path.cwd() / "configs", *_own, project_folder("configs")]
    return list(dict.fromkeys(path.resolve() for path in every if path.is_dir()))


def names(group: str, within: Sequence[Path] | None = None) -> list[str]:
    """Return the choices of a group, sorted; those that follow from others left out."""
    files = {
        path.relative_to(folder / group).with_suffix("").as_posix()
        for folder in (folders() if within is None else within)
        for path in (folder / group).rglob("*.yaml")
    }
    cards = card_names() if group == "dataset" else []
    of_papers = papers().names(group) if group in _OF_PAPERS else []
    return sorted({*files, *cards, *_FIXED.get(group, ()), *of_papers})


def papers() -> ModuleType:
    """Return the module of the papers' choices, which only some compositions need."""
    from graphrag_bench.papers import choices

    return choices


def built_in(group: str) -> list[str]:
    """Return our own choices of a group, sorted."""
    return names(group, [project_folder("configs")])


def file_of(group: str, name: str, within: Sequence[Path] | None = None) -> Path | None:
    """Return the file of a choice in the first folder that has it, or the one at a path."""
    if name.startswith(_PLACES):
        path = Path(f"{name.removesuffix('.yaml')}.yaml").expanduser()
        return path.resolve() if path.is_file() else None
    every = [f / group / f"{name}.yaml" for f in (folders() if within is None else within)]
    return next((path for path in every if path.is_file()), None)


def read(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; raises UserError, with file and line, without one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {error}.") from None
    content = copy.deepcopy(_parsed(text, str(path)))
    if not isinstance(content, dict):
        raise UserError(f"{path}: a mapping was expected, NAME: VALUE on every line.")
    return content


@lru_cache(maxsize=512)
def _parsed(text: str, path: str) -> Any:
    return read_yaml(text, path) or {}


def method_file(name: str, within: Sequence[Path] | None = None) -> dict[str, Any]:
    """Return the content of a method's file, laid over those of its `defaults`.

    A user's file has its path under `file`. Raises UserError for an unknown name, with the nearest,
    and for a method that is based on itself.
    """
    return _method(name, tuple(folders() if within is None else within), ())


def _method(name: str, within: Sequence[Path], above: tuple[str, ...]) -> dict[str, Any]:
    if name in above:
        raise UserError(f"The method '{name}' is based on itself: {' <- '.join((*above, name))}.")
    path = file_of("method", name, within)
    if path is None:
        raise unknown("method", name, names("method", within))
    content = _own_method(path)
    bases = content.pop("defaults", ["_self_"])
    layers = [
        content if base == "_self_" else _method(base, within, (*above, name))
        for base in (bases if "_self_" in bases else [*bases, "_self_"])
        if isinstance(base, str)
    ]
    if len(layers) == 1:
        return content
    merged: Any = OmegaConf.to_container(OmegaConf.merge(*layers))
    return dict(merged)


def _own_method(path: Path) -> dict[str, Any]:
    content = read(path)
    if path.is_relative_to(project_folder("configs").resolve()):
        return content
    if FILE in content:
        raise UserError(f"{path}: '{FILE}' is not a parameter's name; choose another.")
    if content.get("name") in built_in("method"):
        raise UserError(f"{path} has the name of our method '{content['name']}'; give it its own.")
    return {**content, FILE: str(path)}


def without_chunks(method: Mapping[str, Any]) -> dict[str, Any]:
    """Return a method without the chunking that it asks for, which is a choice of its own."""
    build = method.get("build")
    if not isinstance(build, Mapping):
        return dict(method)
    return {**method, "build": {key: build[key] for key in build if key != "chunk_table"}}


def chunking_of(method: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chunking that a method's file asks for as `build.chunk_table`; `auto` without."""
    chunks = (method.get("build") or {}).get("chunk_table", "auto")
    return chunks if isinstance(chunks, dict) else {"variant": chunks}


class Choices(ConfigSource):
    """Serve the folders in the path, the first that has a choice first, and what files hold inside.

    The path names the folders, so that a launcher's workers find the same.
    """

    @staticmethod
    def scheme() -> str:
        """Return the scheme of the search path."""
        return "choices"

    def available(self) -> bool:
        """Return whether there is anything to serve."""
        return True

    def is_group(self, config_path: str) -> bool:
        """Return whether the path is a group in one of the folders, or served from inside."""
        group = config_path.strip("/")
        if group in (*GROUPS, "source") or any((f / group).is_dir() for f in self._folders):
            return True
        above, _, paper = group.partition("/")
        return above == "experiment" and paper in papers().paper_names()

    def is_config(self, config_path: str) -> bool:
        """Return whether the path is a file of one of the folders, or a choice from inside."""
        group, _, name = _parts(config_path)
        if group == "source":
            return file_of("method", name.partition(":")[0], self._folders) is not None
        return self._file(config_path) is not None or self._inside(config_path) is not None

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Return the choices and groups below a path, sorted."""
        group = config_path.strip("/")
        entries = [path for folder in self._folders for path in (folder / group).glob("*")]
        groups = {path.name for path in entries if path.is_dir()} | set(() if group else GROUPS)
        choices = {path.stem for path in entries if path.suffix == ".yaml"}
        if group in GROUPS:
            choices |= set(names(group, self._folders))
        every = {ObjectType.GROUP: groups, ObjectType.CONFIG: choices}
        return sorted(every[results_filter] if results_filter in every else groups | choices)

    def load_config(self, config_path: str) -> ConfigResult:
        """Return a choice with the package that its content goes to."""
        group, _, name = _parts(config_path)
        file, package = self._file(config_path), None
        if file is None:
            content = self._inside(config_path)
        elif group == "method":
            whole = without_chunks(_own_method(file))
            content = {key: value for key, value in whole.items() if key not in KEYS}
        else:
            content, package = read(file), _package(file)
        if content is None:
            raise ConfigLoadError(f"There is no {config_path}.")
        if package is None and name and group in GLOBAL:
            package = "_global_"
        config = OmegaConf.create(content)
        if group in OPEN and name:
            OmegaConf.set_struct(config, False)
        for key in OPEN:
            if isinstance(node := config.get(key), Container):
                OmegaConf.set_struct(node, False)
        return ConfigResult(self.provider, self.full_path(), config, {"package": package})

    @property
    def _folders(self) -> Sequence[Path]:
        return [Path(folder) for folder in self.path.split(os.pathsep)]

    def _file(self, config_path: str) -> Path | None:
        group, _, name = _parts(config_path)
        return file_of(group, name, self._folders) if name else file_of("", group, self._folders)

    def _inside(self, config_path: str) -> dict[str, Any] | None:
        group, _, name = _parts(config_path)
        if group == "settings" and not name:
            return defaults()
        if group == "source":
            method, profile, fidelity, pooling = name.split(":")
            file = method_file(method, self._folders)
            return without_chunks(applied(file, profile, fidelity, pooling=pooling))
        if group == "chunking" and name.startswith("of:"):
            method, profile, fidelity, dataset = name.split(":")[1:]
            if "." in dataset and (own := papers().chunking(dataset)):
                return dict(own)
            return chunking_of(applied(method_file(method, self._folders), profile, fidelity))
        if name in _FIXED.get(group, ()):
            return {group: name}
        if group == "dataset" and name in card_names():
            return {"name": name}
        of_paper = group in _OF_PAPERS and ("." in name or "/" in name)
        inside: dict[str, Any] | None = papers().content(group, name) if of_paper else None
        return inside


class OurSearchPath(SearchPathPlugin):
    """Put our folders, and those of the user, before what Hydra itself is configured by."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Prepend one element that serves all folders."""
        path = os.pathsep.join(map(str, folders()))
        search_path.prepend(PROVIDER, f"{Choices.scheme()}://{path}")


def _parts(config_path: str) -> tuple[str, str, str]:
    return config_path.strip("/").removesuffix(".yaml").partition("/")


def _package(file: Path) -> str | None:
    found = re.match(r"(?:\s*#.*\n|\s*\n)*?\s*#\s*@package\s+(\S+)", file.read_text("utf-8"))
    return found[1] if found else None


for plugin in (Choices, OurSearchPath):
    Plugins.instance().register(plugin)
