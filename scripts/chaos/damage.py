"""Ways to damage one file: by its bytes, its JSON, its array, its database."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

Change = Callable[[Path, random.Random], None]
_PAGE = 4096


def _flip(path: Path, chance: random.Random) -> None:
    held = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 3))):
        held[chance.randrange(len(held))] ^= 1 << chance.randrange(8)
    path.write_bytes(held)


def _cut(path: Path, chance: random.Random) -> None:
    held = path.read_bytes()
    path.write_bytes(held[: chance.randrange(1, max(2, len(held)))])


def _append(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes() + chance.randbytes(chance.choice((1, 64, 5000))))


def _twice(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes() * 2)


def _noise(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(path.stat().st_size))


def _folder(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _beside(path: Path, chance: random.Random) -> None:
    """The bytes of another file of the same kind, from anywhere in the home."""
    home = next(parent for parent in path.parents if (parent / "cache").is_dir())
    others = [
        other
        for other in sorted(home.rglob(f"*{path.suffix}"))
        if other.is_file() and other.read_bytes() != path.read_bytes()
    ]
    if others:
        shutil.copyfile(chance.choice(others), path)
    else:
        path.write_bytes(b"")


BYTES: Mapping[str, Change] = {
    "flip": _flip,
    "cut": _cut,
    "empty": lambda path, chance: path.write_bytes(b"") and None,
    "append": _append,
    "twice": _twice,
    "noise": _noise,
    "remove": lambda path, chance: path.unlink(),
    "folder": _folder,
    "another": _beside,
}


def _lines(change: Callable[[list[str], random.Random], None]) -> Change:
    def of(path: Path, chance: random.Random) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        change(lines, chance)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    return of


def _drop_line(lines: list[str], chance: random.Random) -> None:
    lines.pop(chance.randrange(len(lines)))


def _swap_lines(lines: list[str], chance: random.Random) -> None:
    chance.shuffle(lines)


def _repeat_line(lines: list[str], chance: random.Random) -> None:
    lines.insert(0, chance.choice(lines))


def _values(change: Callable[[Any, random.Random], Any]) -> Change:
    """A change of one leaf of the JSON of a file, or of one of its lines."""

    def of(path: Path, chance: random.Random) -> None:
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines() if path.suffix == ".jsonl" else [text]
        at = chance.randrange(len(lines))
        held = json.loads(lines[at])
        leaves = list(_leaves(held))
        if leaves:
            place, key = chance.choice(leaves)
            place[key] = change(place[key], chance)
        lines[at] = json.dumps(held, ensure_ascii=False, sort_keys=True)
        path.write_bytes(("\n".join(lines) + "\n").encode("utf-8", "surrogatepass"))

    return of


def _leaves(held: Any) -> Sequence[tuple[Any, Any]]:
    keys = list(held) if isinstance(held, dict) else range(len(held))
    found: list[tuple[Any, Any]] = []
    for key in keys:
        inner = held[key]
        found += _leaves(inner) if isinstance(inner, dict | list) else [(held, key)]
    return found


def _number(value: Any, chance: random.Random) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + chance.choice((1, -1, 1000, 10**30))
    return f"{value}x"


def _kind(value: Any, chance: random.Random) -> Any:
    """A value of another kind."""
    return chance.choice((None, [], {}, "\ud800", -1, True, [[value]]))


JSON: Mapping[str, Change] = {
    "value": _values(_number),
    "kind": _values(_kind),
    "null": lambda path, chance: path.write_text("null\n") and None,
    "deep": lambda path, chance: path.write_text("[" * 99_999 + "]" * 99_999) and None,
    "not-utf-8": lambda path, chance: path.write_bytes(b'{"a": "\xff\xfe"}\n') and None,
}
LINES: Mapping[str, Change] = {
    "drop-line": _lines(_drop_line),
    "swap-lines": _lines(_swap_lines),
    "repeat-line": _lines(_repeat_line),
}


def _array(change: Callable[[Any, random.Random], Any]) -> Change:
    def of(path: Path, chance: random.Random) -> None:
        held = np.load(path, allow_pickle=False)
        np.save(path, change(held, chance), allow_pickle=True)

    return of


def _one(value: Callable[[Any], Any]) -> Callable[[Any, random.Random], Any]:
    def change(held: Any, chance: random.Random) -> Any:
        flat = held.reshape(-1).copy()
        if flat.size:
            flat[chance.randrange(flat.size)] = value(held)
        return flat.reshape(held.shape)

    return change


def _reversed(held: Any, chance: random.Random) -> Any:
    return held[::-1].copy()


def _beyond(held: Any) -> Any:
    return np.inf if held.dtype.kind == "f" else np.iinfo(held.dtype).max


ARRAY: Mapping[str, Change] = {
    "index-beyond": _array(_one(lambda held: True if held.dtype.kind == "b" else _beyond(held))),
    "index-below": _array(_one(lambda held: held.dtype.type(1) if held.dtype.kind in "bu" else -1)),
    "other-value": _array(_one(lambda held: held.reshape(-1)[0])),
    "reversed": _array(_reversed),
    "shorter": _array(lambda held, chance: held[:-1]),
    "longer": _array(lambda held, chance: np.concatenate([held, held[:1]])),
    "deeper": _array(lambda held, chance: held[None]),
    "other-type": _array(lambda held, chance: held.astype(np.float16)),
    "texts": _array(lambda held, chance: held.astype(str)),
    "pickled": _array(lambda held, chance: np.array([{"a": 1}], object)),
}


def _zero_page(path: Path, chance: random.Random) -> None:
    held = bytearray(path.read_bytes())
    at = chance.randrange(max(1, len(held) // _PAGE)) * _PAGE
    held[at : at + _PAGE] = bytes(len(held[at : at + _PAGE]))
    path.write_bytes(held)


def _foreign(path: Path, chance: random.Random) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE replies (a INTEGER)")
        other.commit()


def _sql(*statements: str) -> Change:
    """A change by SQL, as by another program that has the file open."""

    def of(path: Path, chance: random.Random) -> None:
        with closing(sqlite3.connect(path)) as other:
            for statement in statements:
                other.execute(statement)
            other.commit()

    return of


def _header(path: Path, chance: random.Random) -> None:
    held = bytearray(path.read_bytes())
    held[chance.randrange(100)] ^= 0xFF
    path.write_bytes(held)


_SOME = "WHERE rowid IN (SELECT rowid FROM replies ORDER BY key LIMIT 3)"
DATABASE: Mapping[str, Change] = {
    "zero-page": _zero_page,
    "foreign": _foreign,
    "header": _header,
    "half-write": lambda path, chance: (
        path.with_name(path.name + "-wal").write_bytes(chance.randbytes(5000)) and None
    ),
    "no-table": _sql("DROP TABLE replies"),
    "renamed-column": _sql("ALTER TABLE replies RENAME COLUMN text TO words"),
    "text-changed": _sql(f"UPDATE replies SET text = text || ' or so' {_SOME}"),
    "texts-swapped": _sql("UPDATE replies SET text = (SELECT text FROM replies ORDER BY key)"),
    "kind-changed": _sql(f"UPDATE replies SET prompt_tokens = 'many', usd = x'00' {_SOME}"),
    "huge-number": _sql(f"UPDATE replies SET prompt_tokens = 9e18 {_SOME}"),
    "verdict-odd": _sql(f"UPDATE replies SET verdict = 'perhaps' {_SOME}"),
}


_OF_A_NEW_STORE = ("another", "remove", "empty")


def ways(path: Path) -> dict[str, Change]:
    """The ways to damage a file, by name."""
    if path.suffix == ".sqlite":  # an empty store, or none, is a new one
        kept = {name: change for name, change in BYTES.items() if name not in _OF_A_NEW_STORE}
        return {**kept, **DATABASE}
    if path.suffix == ".json":
        return {**BYTES, **JSON}
    if path.suffix == ".jsonl":
        return {**BYTES, **JSON, **LINES}
    return {**BYTES, **(ARRAY if path.suffix == ".npy" else {})}


def damaged(path: Path, chance: random.Random) -> str:
    """Damage a file in one of its ways and return the name of the way; its bytes then differ."""
    before = path.read_bytes()
    name, change = chance.choice(sorted(ways(path).items()))
    change(path, chance)
    if path.is_file() and path.read_bytes() == before and name != "half-write":
        _flip(path, chance)
        return "flip"
    return name
