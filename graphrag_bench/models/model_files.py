"""What the files of a sentence-transformers model state: its window, dimension and tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.plain_json import read_json

_CONFIG, _TOKENIZER_CONFIG, _MODULES = "config.json", "tokenizer_config.json", "modules.json"
_TOKENIZER = "tokenizer.json"
_NO_BOUND = 1_000_000
"""A `model_max_length` above this says that none was set."""
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
    return min((found for one in stated if (found := bound(one)) is not None), default=None)


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
    found = [part / _TOKENIZER for part in _parts(folder) if (part / _TOKENIZER).is_file()]
    return found[0] if found else None


def cached_folder(name: str, revision: str) -> Path | None:
    """The folder of a hub model's files in the local cache; None where they are not in it."""
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(name, _CONFIG, revision=revision or None)
    except ValueError:  # no name that the hub could have
        return None
    return Path(found).parent if isinstance(found, str) else None


def bound(stated: Any) -> int | None:
    """A stated number of tokens; None for what is none, and for one beyond all bounds."""
    return int(stated) if isinstance(stated, int | float) and 0 < stated < _NO_BOUND else None


def _parts(folder: Path) -> Iterator[Path]:
    yield folder
    modules = _read(folder / _MODULES)
    first = modules[0].get("path") if isinstance(modules, list) and modules else None
    if first:
        yield folder / str(first)


def _json(path: Path) -> dict[str, Any]:
    held = _read(path)
    return held if isinstance(held, dict) else {}


def _read(path: Path) -> Any:
    if not path.is_file():
        return None
    try:
        return read_json(path.read_text(encoding="utf-8"), str(path))
    except ValueError as error:  # no JSON, or no UTF-8
        raise UserError(f"{path}: this file of the model is not JSON ({error}).") from error
