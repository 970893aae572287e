"""The identity of this machine's models: the content of their files, never their paths."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from graphrag_bench.fingerprint import digest, file_digest

_READ = (".json", ".txt", ".model", ".safetensors", ".bin", ".pt", ".py", ".jinja")
"""Weights, tokenizer, settings of pooling and normalisation, and code of a model's own."""
_OTHER_BACKENDS = ("onnx", "openvino", "tf", "flax", "coreml")
_OF_TRAINING = ("training_args.bin", "optimizer.pt", "scheduler.pt", "trainer_state.json")
_MOST_KEPT = 4096
_Stamp = tuple[int, int, int]


def named(model: str, revision: str) -> str:
    """`name@content` of a folder, `name@revision` of a model that is known by its name."""
    folder = Path(model).expanduser()
    return f"{folder.resolve().name}@{of_folder(folder)}" if folder.is_dir() else (
        f"{model}@{revision}"
    )  # fmt: skip


def of_folder(folder: Path) -> str:
    """A fingerprint of all files of a sentence-transformers folder that can change a vector.

    What loading passes over is left out: texts for readers, files of other backends and of
    training, and `.bin` weights where there are `.safetensors`.
    """
    rows = [(path.relative_to(folder).as_posix(), of_file(path)) for path in _files(folder)]
    return digest(rows)


def of_file(path: Path) -> str:
    """The fingerprint of a file, which is read once as long as its size and times stay the same.

    That holds for later processes too: fingerprints are kept in the user's cache.
    """
    held = path.stat()
    return _content(path.resolve(), (held.st_size, held.st_mtime_ns, held.st_ctime_ns))


def _files(folder: Path) -> Iterator[Path]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and _counts(path, folder)]
    safe = {path.parent for path in found if path.suffix == ".safetensors"}
    for path in found:
        if path.suffix not in (".bin", ".pt") or path.parent not in safe:
            yield path


def _counts(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    hidden = any(part.startswith(".") or part in _OTHER_BACKENDS for part in parts)
    return not hidden and path.suffix in _READ and path.name not in _OF_TRAINING


@lru_cache(maxsize=1024)
def _content(path: Path, stamp: _Stamp) -> str:
    """The fingerprint of a file with that size and those times of change."""
    held = _kept().get(str(path))
    if isinstance(held, list) and held[:3] == list(stamp) and isinstance(held[-1], str):
        return held[-1]
    content = file_digest(path)
    _keep(path, stamp, content)
    return content


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "graphrag-bench" / "weights.json"


def _kept() -> dict[str, object]:
    try:
        held = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, RuntimeError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _keep(path: Path, stamp: _Stamp, content: str) -> None:
    rows = {name: row for name, row in _kept().items() if Path(name).is_file()}
    rows.pop(str(path), None)
    rows = dict(list(rows.items())[-_MOST_KEPT:]) | {str(path): [*stamp, content]}
    with suppress(OSError, RuntimeError):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.{os.getpid()}.new")
        new.write_text(json.dumps(rows), encoding="utf-8")
        new.replace(file)
