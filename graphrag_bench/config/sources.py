"""The choices of each group of settings (`method=NAME`), as a configuration source of Hydra.

A choice is a YAML file in a config folder. The user's folders are searched first. Cards of data
sets, profiles and tables of papers are choices too. `configs/run.yaml` uses three computed choices:

- `settings`: every setting of a run with its default (`RunSettings`)
- `source/METHOD:PROFILE:FIDELITY:POOLING`: a method's file with the changes of its profile
- `chunking/of:METHOD:PROFILE:FIDELITY:DATASET`: the chunking of a method, or of a paper's data set

A method's file may list the parameters that its sources (papers, authors' code) state, as in

    profiles: {zhou2025: {damping: 0.1}, upstream: {build.graph.synonymy: add, khop: unstated}}
    fidelity: {conversion: llm, build.extraction: llm}
    pooled: {form: paths}

Each mapping changes the file under a condition: `zhou2025` with `profile=zhou2025`, `fidelity` with
`fidelity=paper`, and `pooled` with path pooling. Settings of the user override these changes.
`unstated` means that the source states no value, so the value in the file is kept.
"""

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
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from graphrag_bench.config.settings import Fidelity, Profile, default_settings
from graphrag_bench.data.dataset import COLLECTIONS, card_names
from graphrag_bench.errors import UserError, did_you_mean, unknown
from graphrag_bench.files import plain_value, project_folder, read_yaml

GROUPS = (
    "dataset", "method", "profile", "fidelity", "llm", "embedder", "chunking", "pooling",
    "experiment", "row",
)  # fmt: skip
ROLES = ("llm_build", "llm_judge")
"""Models that build artifacts or judge answers. Example: `llm@llm_build=NAME`."""
FILE = "file"
"""Key in the settings of a user's method. Its value is the path of the method's file."""
KEYS = ("profiles", "fidelity", "pooled")
"""Keys of a method's file with the changes for profiles, `fidelity=paper` and path pooling."""
_POINTS = {"max_characters": None, "max_tokens": 2048}
"""Defaults of `points.map` under a profile. No source limits the length of the points."""
_GLOBAL = ("profile", "fidelity", "experiment", "row")
"""Groups whose files contain full paths of settings."""
_OF_PAPERS = ("dataset", "llm", "embedder", "row", "experiment")
_CLOSED = ("", "hydra", "method", "source")
"""Groups in which a new name needs a `+`. In other groups, pydantic models check names."""
_FIXED = {"profile": get_args(Profile), "fidelity": get_args(Fidelity)}
_EXTRAS = {
    "joblib": "joblib", "submitit_local": "submitit", "submitit_slurm": "submitit",
    "ray": "ray-sweeps", "ray_aws": "ray-sweeps", "optuna": "tuning",
}  # fmt: skip
"""The pip extra of this package that installs each plug-in of Hydra."""
IN_PLUGIN = (
    "drift", "drift_nlp", "gfmrag", "hirag", "ketrag", "noderag", "proprag", "youtugraphrag",
    "youtugraphrag_agent",
)  # fmt: skip
"""Methods of the plug-in package docs/examples/graphrag_bench_more."""
_own: list[Path] = []


def add_folders(folders: Iterable[str | Path]) -> None:
    """Add config folders, which are searched before the built-in folder. Skip missing folders."""
    for folder in folders:
        path = Path(str(folder).removeprefix("file://")).expanduser().resolve()
        if path.is_dir() and path not in _own:
            _own.append(path)


def folders() -> list[Path]:
    """Return the config folders: `./configs`, the added folders, then the built-in folder."""
    every = [(Path.cwd() / "configs").resolve(), *_own, project_folder("configs").resolve()]
    return list(dict.fromkeys([path for path in every if path.is_dir()]))


def names(group: str, within: Sequence[Path] | None = None) -> list[str]:
    """Return the choices of a group, sorted. `within` replaces the config folders."""
    every = {
        path.relative_to(folder / group).with_suffix("").as_posix()
        for folder in (folders() if within is None else within)
        for path in (folder / group).rglob("*.yaml")
    }
    every.update(card_names() if group == "dataset" else (), _FIXED.get(group, ()))
    return sorted(every.union(papers().names(group) if group in _OF_PAPERS else ()))


def built_in_names(group: str) -> list[str]:
    """Return the built-in choices of a group, sorted."""
    return names(group, [project_folder("configs")])


def papers() -> ModuleType:
    """Import the module with the choices that papers define. It is imported late, for speed."""
    from graphrag_bench.papers import choices

    return choices


def file_of(group: str, name: str) -> Path | None:
    """Return the YAML file of a choice, searched in all config folders. `name` may be a path."""
    if name.startswith(("./", "../", "/", "~")):
        path = Path(f"{name.removesuffix('.yaml')}.yaml").expanduser()
        return path.resolve() if path.is_file() else None
    for folder in folders():
        if (path := folder / group / f"{name}.yaml").is_file():
            return path
    return None


def unknown_choice(group: str, name: str, valid: Iterable[str] | None = None) -> UserError:
    """Return the error for an unknown choice, which suggests similar choices or a package."""
    if group.startswith("hydra/") and (extra := _EXTRAS.get(name)):
        install = f"needs another package. Install it: pip install 'graphrag-bench[{extra}]'."
    elif group == "method" and name in IN_PLUGIN:
        install = (
            "is in a plug-in of the repository. Install it (pip install ./docs/examples/"
            "graphrag_bench_more) or set plugins=[./docs/examples/graphrag_bench_more/"
            "graphrag_bench_more]."
        )
    else:
        own = [f"./{name}"] if file_of(group, f"./{name}") else None
        return unknown(group, name, own or valid or names(group))
    return UserError(f"{group}={name} {install}")


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file. Raises UserError with the file and the line."""
    try:
        content = copy.deepcopy(_parsed(path.read_text(encoding="utf-8"), str(path)))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {error}.") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} must be a mapping, with NAME: VALUE on every line.")
    return content


@lru_cache(maxsize=512)
def _parsed(text: str, path: str) -> Any:
    return plain_value(read_yaml(text, path) or {})


def method_file(name: str, above: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a method's file, merged over its `defaults`. Methods in `above` are based on it."""
    if name in above:
        raise UserError(f"The method '{name}' is based on itself: {' <- '.join((*above, name))}.")
    if (path := file_of("method", name)) is None:
        raise unknown_choice("method", name)
    content = _method(path)
    bases = content.pop("defaults", ["_self_"])
    layers = [
        content if base == "_self_" else method_file(base, (*above, name))
        for base in (bases if "_self_" in bases else [*bases, "_self_"])
        if isinstance(base, str)
    ]
    merged: Any = OmegaConf.to_container(OmegaConf.merge(*layers)) if layers[1:] else content
    return dict(merged)


def _method(path: Path) -> dict[str, Any]:
    content = read_mapping(path)
    if path.is_relative_to(project_folder("configs").resolve()):
        return content
    if FILE in content:
        raise UserError(f"{path}: a parameter cannot be named '{FILE}'. Choose another name.")
    if content.get("name") in built_in_names("method"):
        raise UserError(f"{path}: '{content['name']}' is a built-in method. Choose another name.")
    return {**content, FILE: str(path)}


def with_profile(
    method: Mapping[str, Any], profile: str, fidelity: str, pooling: object = None
) -> dict[str, Any]:
    """Return a method's file, changed by profile, fidelity and `pooling` (a name or a mapping)."""
    mode = pooling.get("mode") if isinstance(pooling, Mapping) else pooling
    profiles = method.get("profiles") or {}
    sources = [profiles.get(profile) if isinstance(profiles, Mapping) else profiles]
    sources += [method.get("fidelity")] if fidelity == "paper" else []
    sources += [method.get("pooled")] if mode not in (None, False, "off", "null") else []
    changes: dict[str, Any] = {}
    title = f"method '{method.get('name')}'"
    for values in sources:
        if not isinstance(values, Mapping | None):
            raise UserError(f"{title}: {values!r} is not a mapping of settings.")
        changes |= values or {}
    config = copy.deepcopy({key: value for key, value in method.items() if key not in KEYS})
    for path in sorted(changes, key=lambda path: path.count(".")):
        if changes[path] != "unstated":  # a variant comes first, because it replaces its settings
            *above, last = path.split(".")
            node = config
            for name in above:
                inner = node.get(name)
                node[name] = inner if isinstance(inner, dict) else {"variant": inner}
                node = node[name]
            if last not in node and above[:1] != ["build"]:
                hint = did_you_mean(last, sorted(node))
                raise UserError(f"{title} has no '{path}' to change. {hint}")
            node[last] = changes[path]
    if profile != "default":
        _add_defaults(config)
    return config


def _add_defaults(node: object) -> None:
    if isinstance(node, dict):
        if node.get("op") == "points.map":
            node.update({**_POINTS, **node})
        node = list(node.values())
    for one in node if isinstance(node, list) else ():
        _add_defaults(one)


def without_chunking(method: Mapping[str, Any]) -> dict[str, Any]:
    """Return a method without `build.chunk_table`, which the setting `chunking` replaces."""
    if not isinstance(build := method.get("build"), Mapping):
        return dict(method)
    return {**method, "build": {key: build[key] for key in build if key != "chunk_table"}}


def chunking_of(method: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chunking of a method (`build.chunk_table`). The default variant is `auto`."""
    chunks = (method.get("build") or {}).get("chunk_table", "auto")
    return chunks if isinstance(chunks, dict) else {"variant": chunks}


def profiled_method(name: str, profile: str, fidelity: str, pooling: str) -> dict[str, Any]:
    """Return a method's file, changed by profile, fidelity and pooling, without its chunking."""
    return without_chunking(with_profile(method_file(name), profile, fidelity, pooling))


class _Choices(ConfigSource):
    """Hydra's configuration source. Its path tells worker processes the config folders."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        add_folders(self.path.split(os.pathsep))  # a worker searches the folders of the command

    @staticmethod
    def scheme() -> str:
        return "choices"

    def available(self) -> bool:
        return True

    def is_group(self, config_path: str) -> bool:
        group = config_path.strip("/")
        return group in (*GROUPS, "source") or any((one / group).is_dir() for one in folders())

    def is_config(self, config_path: str) -> bool:
        return _content(*_parts(config_path)) is not None

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        group = config_path.strip("/")
        entries = [path for folder in folders() for path in (folder / group).glob("*")]
        groups = {path.name for path in entries if path.is_dir()}.union(() if group else GROUPS)
        choices = {path.stem for path in entries if path.suffix == ".yaml"}
        choices.update(names(group) if group in GROUPS else ())
        every = {ObjectType.GROUP: groups, ObjectType.CONFIG: choices, None: groups | choices}
        return sorted(every[results_filter])

    def load_config(self, config_path: str) -> ConfigResult:
        group, name = _parts(config_path)
        content, file = _content(group, name) or {}, file_of(group, name)
        header = re.search(r"^# *@package +(\S+)", file.read_text("utf-8") if file else "", re.M)
        package = header[1] if header else "_global_" if group in _GLOBAL else None
        config = OmegaConf.create(content)
        if group not in _CLOSED:
            OmegaConf.set_struct(config, False)
        for key in content.keys() - {"hydra", "method"}:
            if isinstance(content[key], dict | list):
                OmegaConf.set_struct(config[key], False)
        return ConfigResult(self.provider, self.full_path(), config, {"package": package})


def _parts(config_path: str) -> tuple[str, str]:
    group, slash, name = config_path.strip("/").removesuffix(".yaml").partition("/")
    return (group, name) if slash else ("", group)


def _content(group: str, name: str) -> dict[str, Any] | None:
    if (file := file_of(group, name)) is not None:
        if group == "method":
            method = without_chunking(_method(file))
            return {key: value for key, value in method.items() if key not in KEYS}
        content = read_mapping(file)
        for key in ("root", "openie", "questions") if group == "dataset" else ():
            if content.get(key) and (path := file.parent / str(content[key])).exists():
                content[key] = str(path)  # a path relative to the file
        return content
    if (group, name) == ("", "settings"):
        return default_settings()
    if group == "source":
        if len(words := name.split(":")) < 4:
            raise UserError(f"source@method={name}: choose a method with method=NAME.")
        return profiled_method(*words)
    if group == "chunking" and name.startswith("of:"):
        _, base, profile, fidelity, dataset = name.split(":")
        own = papers().chunking(dataset) if "." in dataset else None
        return dict(own or chunking_of(with_profile(method_file(base), profile, fidelity)))
    if name in _FIXED.get(group, ()):
        return {group: name}
    if group == "dataset" and name in card_names():
        return {"name": name, **({"card": name} if name in COLLECTIONS else {})}
    of_paper = group in _OF_PAPERS and ("." in name or "/" in name)
    inside: dict[str, Any] | None = papers().content(group, name) if of_paper else None
    return inside


class _SearchPath(SearchPathPlugin):
    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        path = os.pathsep.join(map(str, folders()))
        search_path.prepend("graphrag-bench", f"{_Choices.scheme()}://{path}")


for plugin in (_Choices, _SearchPath):
    Plugins.instance().register(plugin)
