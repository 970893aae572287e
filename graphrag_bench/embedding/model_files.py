"""Models made from their settings, and the files that they are read from.

What files state (window, dimension, tokenizer), and the identity of a model: the content of its
files, never their paths.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest, stored_digest

_CONFIG, _TOKENIZER_CONFIG, _MODULES = "config.json", "tokenizer_config.json", "modules.json"
TOKENIZER, WEIGHTS = "tokenizer.json", "model.pth"
_NO_BOUND = 1_000_000
"""A `model_max_length` above this says that none was set."""
_READ = (".json", ".txt", ".model", ".safetensors", ".bin", ".pt", ".py", ".jinja")
"""Weights, tokenizer, settings of pooling and normalisation, and code of a model's own."""
_OFFSET_BY_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")
"""Models whose positions begin after that of the padding token."""


def stated_dimension(folder: Path) -> int | None:
    """The length of a vector as the model's own files state it; None where they do not."""
    for name, key in (("1_Pooling/config.json", "word_embedding_dimension"),
                      (_CONFIG, "hidden_size")):  # fmt: skip
        stated = _json(folder / name).get(key)
        if isinstance(stated, int):
            return stated
    return None


def stated_window(folder: Path) -> int | None:
    """The tokens that the model reads of a text, special ones included; None where none is stated.

    The smallest of `max_seq_length`, `model_max_length` and the model's positions.
    """
    stated = [positions(folder)]
    for part in _parts(folder):
        stated += [
            _json(path).get("max_seq_length") for path in part.glob("sentence_*_config.json")
        ]
        stated.append(_json(part / _TOKENIZER_CONFIG).get("model_max_length"))
    return min((size for size in map(bound, stated) if size is not None), default=None)


def positions(folder: Path) -> int | None:
    """How many tokens the model has positions for; None where that is not stated."""
    for part in _parts(folder):
        config = _json(part / _CONFIG)
        if (stated := bound(config.get("max_position_embeddings"))) is not None:
            padding = config.get("pad_token_id") or 0
            return stated - (padding + 1 if config.get("model_type") in _OFFSET_BY_PADDING else 0)
    return None


def tokenizer_file(folder: Path) -> Path | None:
    """The `tokenizer.json` of the model; None where there is none."""
    files = (part / TOKENIZER for part in _parts(folder))
    return next((file for file in files if file.is_file()), None)


def cached_folder(name: str, revision: str) -> Path | None:
    """The folder of a hub model's files in the local cache; None where they are not in it."""
    from huggingface_hub import try_to_load_from_cache

    try:
        path = try_to_load_from_cache(name, _CONFIG, revision=revision or None)
    except ValueError:  # no name that the hub could have
        return None
    return Path(path).parent if isinstance(path, str) else None


def hub_file(setting: str, name: str, file: str, revision: str = "") -> Path:
    """Return a file of a model of the hub, fetched if need be; raises UserError without it."""
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(name, file, revision=revision or None))
    except (OSError, ValueError) as error:  # the hub's own errors are of these
        raise UserError(
            f"{setting}: '{name}' is no folder here with a file {file}, and the model hub gave "
            f"none: {first_line(error)}"
        ) from None


@dataclass(frozen=True)
class Checkpoint:
    """Weights of a model by its folder or its name on the model hub, with a revision for that."""

    model: str
    revision: str = ""

    @property
    def identity(self) -> str:
        """Name with the content of a folder's files, or with the revision; loads no weights."""
        if not self.model:
            raise UserError("Released weights need graph.checkpoint=FOLDER_OR_NAME.")
        folder = Path(self.model).expanduser()
        if not folder.is_dir():
            return f"{self.model}@{self.revision}"
        files = [self.file(_CONFIG), self.file(WEIGHTS)]
        return f"{folder.resolve().name}@{digest([stored_digest(path) for path in files])}"

    @property
    def config(self) -> Mapping[str, Any]:
        """What `config.json` says; raises UserError where it is no JSON object."""
        path = self.file(_CONFIG)
        if not isinstance(config := read_json(path), dict):
            raise UserError(f"{path}: this file holds no object of settings.")
        return config

    def file(self, name: str) -> Path:
        """Return one of its files, fetched if need be; raises UserError without it."""
        folder = Path(self.model).expanduser()
        if not folder.is_dir():
            return hub_file("graph.checkpoint", self.model, name, self.revision)
        if not (folder / name).is_file():
            raise UserError(f"graph.checkpoint: '{folder}' has no file {name}.")
        return folder / name


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its kind where it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def bound(stated: Any) -> int | None:
    """A stated number of tokens; None for what is none, and for one beyond all bounds."""
    return int(stated) if isinstance(stated, int | float) and 0 < stated < _NO_BOUND else None


def _parts(folder: Path) -> Iterator[Path]:
    yield folder
    modules = read_json(folder / _MODULES)
    first = modules[0].get("path") if isinstance(modules, list) and modules else None
    if first:
        yield folder / str(first)


def _json(path: Path) -> dict[str, Any]:
    content = read_json(path)
    return content if isinstance(content, dict) else {}


def read_json(path: Path) -> Any:
    """Return the content of a model's JSON file, None without one; raises UserError for another."""
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no JSON, or no UTF-8
        raise UserError(f"{path}: this file of the model is not JSON ({error}).") from error


def named(model: str, revision: str) -> str:
    """Return `name@content` of a folder, `name@revision` of a model that is known by its name."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return f"{model}@{revision}"
    return f"{folder.resolve().name}@{of_folder(folder)}"


def of_folder(folder: Path) -> str:
    """Return a fingerprint of the files of a sentence-transformers folder that loading may read."""
    inside = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    read = [path for path in inside if path.suffix in _READ and not path.as_posix().startswith(".")]
    return digest([(path.as_posix(), stored_digest(folder / path)) for path in read])


def make(group: str, config: Mapping[str, Any]) -> Any:
    """The object that `_target_` names, made with the other settings of the group.

    Raises UserError for a target that cannot be imported, for a setting it does not take or
    misses, and for one whose value is not of the type that its signature states.
    """
    target = str(config.get("_target_", ""))
    module_name, _, name = target.rpartition(".")
    try:
        maker = getattr(import_module(module_name), name)
    except (ImportError, AttributeError, ValueError):
        raise UserError(f"{group}._target_: there is no '{target}' to import.") from None
    settings = {key: value for key, value in config.items() if key != "_target_"}
    takes = _parameters(maker)
    for key, value in settings.items():
        if key not in takes:
            hint = did_you_mean(key, takes)
            raise UserError(f"There is no setting '{group}.{key}'. {hint}")
        _check_type(f"{group}.{key}", value, takes[key].annotation)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for key, parameter in takes.items():
        needed = parameter.default is parameter.empty and parameter.kind not in variadic
        if needed and key not in settings:
            raise UserError(f"{group} needs the setting '{group}.{key}' ({target}).")
    try:
        return maker(**settings)
    except (TypeError, ValueError) as error:
        raise UserError(f"{group}: {error}") from None


def _parameters(maker: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(maker, eval_str=True).parameters
    except NameError:
        bare = inspect.signature(maker).parameters.values()
        return {one.name: one.replace(annotation=Any) for one in bare}


def _check_type(name: str, value: Any, hint: Any) -> None:
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

    if hint is inspect.Parameter.empty:
        return
    try:
        adapter = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except PydanticUserError:
        return
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        reasons = dict.fromkeys(str(fault["msg"]) for fault in error.errors())
        raise UserError(f"{name}={value!r}: {' or '.join(reasons)}.") from None
