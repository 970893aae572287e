"""Create models from settings, and find window, dimension and tokenizer in the files of a model."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest, stored_digest
from graphrag_bench.registry import signature_of

_CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.pth"
_NO_BOUND = 1_000_000
"""If `model_max_length` in the files of a model is above this value, there is no limit."""
_READ = (".json", ".txt", ".model", ".safetensors", ".bin", ".pt", ".py", ".jinja")
"""Suffixes of the files in the digest of a model folder: weights, tokenizer, settings and code."""
_OFFSET_BY_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")
"""Model types whose position numbers begin after the id of the padding token."""


def dimension_in_files(folder: Path) -> int | None:
    """Read the vector dimension from the files of a model. If it is missing, return None."""
    pooled = _json(folder / "1_Pooling/config.json").get("word_embedding_dimension")
    return finite(pooled) or finite(_json(folder / _CONFIG).get("hidden_size"))


def window_in_files(folder: Path) -> int | None:
    """Read the smallest window (with special tokens) from the files. If missing, return None."""
    stated = [n_positions(folder)]
    for part in _parts(folder):
        stated.append(_json(part / "tokenizer_config.json").get("model_max_length"))
        stated += [_json(of).get("max_seq_length") for of in part.glob("sentence_*_config.json")]
    return min((size for size in map(finite, stated) if size is not None), default=None)


def n_positions(folder: Path) -> int | None:
    """Read the number of position embeddings from a model's files. If missing, return None."""
    for part in _parts(folder):
        config = _json(part / _CONFIG)
        if (stated := finite(config.get("max_position_embeddings"))) is not None:
            padding = config.get("pad_token_id") or 0
            return stated - (padding + 1 if config.get("model_type") in _OFFSET_BY_PADDING else 0)
    return None


def tokenizer_file(folder: Path) -> Path | None:
    """Return the path of `tokenizer.json` of a model. If it does not exist, return None."""
    files = (part / TOKENIZER for part in _parts(folder))
    return next((file for file in files if file.is_file()), None)


def cached_folder(name: str, revision: str) -> Path:
    """Return the folder of a hub model in the local cache. It may not exist."""
    from huggingface_hub import try_to_load_from_cache

    path = None
    with suppress(ValueError):  # not a valid name
        path = try_to_load_from_cache(name, _CONFIG, revision=revision or None)
    return Path(path).parent if isinstance(path, str) else Path(name)


def hub_file(setting: str, name: str, file: str, revision: str = "") -> Path:
    """Return the path of a file of a hub model. The file is downloaded if it is not cached."""
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(name, file, revision=revision or None))
    except (OSError, ValueError) as error:  # base classes of the hub's errors
        why = f"is neither a folder nor a model on the hub with a file {file}"
        raise UserError(f"{setting}: '{name}' {why}: {first_line(error)}") from None


@dataclass(frozen=True)
class Checkpoint:
    """Published weights of a model, in a folder or on the Hugging Face hub."""

    model: str
    revision: str = ""

    @property
    def identity(self) -> str:
        """Name and digest of the model folder, or name and revision of a model on the hub."""
        if not self.model:
            raise UserError("To use published weights, set graph.checkpoint=FOLDER_OR_NAME.")
        folder = Path(self.model).expanduser()
        if not folder.is_dir():
            return f"{self.model}@{self.revision}"
        files = [self.file(_CONFIG), self.file(WEIGHTS)]
        return f"{folder.resolve().name}@{digest([stored_digest(path) for path in files])}"

    @property
    def config(self) -> Mapping[str, Any]:
        """Content of the file `config.json`. Raises UserError if it is not a JSON object."""
        if config := _json(path := self.file(_CONFIG)):
            return dict(config)
        raise UserError(f"{path}: expected a JSON object.")

    def file(self, name: str) -> Path:
        """Return the path of a file of the model, which is downloaded if necessary."""
        if not (folder := Path(self.model).expanduser()).is_dir():
            return hub_file("graph.checkpoint", self.model, name, self.revision)
        if not (path := folder / name).is_file():
            raise UserError(f"graph.checkpoint: '{folder}' has no file {name}.")
        return path


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or the class name if there is no message."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def finite(stated: Any) -> int | None:
    """Return the window that a file states. If it is missing or unlimited, return None."""
    return int(stated) if isinstance(stated, int | float) and 0 < stated < _NO_BOUND else None


def _parts(folder: Path) -> Iterator[Path]:
    yield folder
    modules = _json(folder / "modules.json", list)
    if modules and (first := modules[0].get("path")):
        yield folder / str(first)


def _json(path: Path, kind: type[Any] = dict) -> Any:
    """Read a JSON file. If it is missing or has a content of another type, return `kind()`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except ValueError as error:
        raise UserError(f"{path}: expected JSON ({error}).") from error
    return content if isinstance(content, kind) else kind()


def model_name(model: str, revision: str) -> str:
    """Return `name@digest` for a model folder, or `name@revision` for a hub model."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return f"{model}@{revision}"
    inside = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    read = [path for path in inside if path.suffix in _READ and not path.as_posix().startswith(".")]
    content = digest([(path.as_posix(), stored_digest(folder / path)) for path in read])
    return f"{folder.resolve().name}@{content}"


def make_model(group: str, config: Mapping[str, Any]) -> Any:
    """Create a model of the class `_target_`. Raises UserError if a setting is wrong."""
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

    target = str(config.get("_target_", ""))
    module_name, _, name = target.rpartition(".")
    try:
        maker = getattr(import_module(module_name), name)
    except (ImportError, AttributeError, ValueError):
        raise UserError(f"{group}._target_: '{target}' cannot be imported.") from None
    settings = {key: value for key, value in config.items() if key != "_target_"}
    try:
        takes = signature_of(maker).parameters
    except NameError:  # the type is only imported for type checkers
        takes = signature_of(maker, evaluate=False).parameters
    for key, value in settings.items():
        if key not in takes:
            raise UserError(f"There is no setting '{group}.{key}'. {did_you_mean(key, takes)}")
        if (hint := takes[key].annotation) is Parameter.empty or isinstance(hint, str):
            continue
        try:
            adapter = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
            adapter.validate_python(value, strict=True)
        except (PydanticUserError, NameError):  # pydantic does not know the type
            continue
        except ValidationError as error:
            reasons = " or ".join(dict.fromkeys(str(fault["msg"]) for fault in error.errors()))
            raise UserError(f"{group}.{key}={value!r}: {reasons}.") from None
    try:
        return maker(**settings)
    except (TypeError, ValueError) as error:
        raise UserError(f"{group}: {error}") from None
