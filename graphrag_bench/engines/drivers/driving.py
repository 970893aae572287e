"""What drivers share: calls as JSON lines on pipes, settings, our chunks' names, and tokens.

Drivers run in the engine's own environment: they import the standard library, this file and the
engine, and nothing of this project.
"""

from __future__ import annotations

import asyncio
import dataclasses
import difflib
import hashlib
import json
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO

_KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_", "PYTHON", "OMP_", "OPENBLAS_", "MKL_", "CUDA_")
_NAMES = "our_chunks.json"
_LONGEST_ERROR = 500
Row = Mapping[str, str]


class Opened(NamedTuple):
    """What the call `open` gives: an index's folder and mode, and where models answer.

    `mode` is `equal` or `as_released`; `settings` are the user's, by the engine's own names.
    """

    folder: str
    mode: str
    base_url: str
    key: str
    llm_model: str
    embedding_model: str
    embedding_dimension: int
    embedding_max_tokens: int
    settings: Mapping[str, Any]

    @property
    def equal(self) -> bool:
        """Whether it takes our chunks, k and budget."""
        return self.mode == "equal"


class Driver(Protocol):
    """An engine behind the calls `hello`, `open`, `build`, `graph`, `ask` and `close`."""

    def hello(self) -> dict[str, Any]:
        """The engine, its version, and Python's."""
        ...

    def open(self, given: Opened) -> Any:
        """Open an index; the settings in use, and what could not be made equal."""
        ...


def serve(driver: Driver) -> None:
    """Answer calls from standard input until it ends; what the engine prints goes to the log.

    Variables of the environment that could change what an engine does are removed first: released
    engines read settings, addresses and keys from them.
    """
    for name in list(os.environ):
        if not name.startswith(_KEPT):
            del os.environ[name]
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asyncio.run(_serve(driver, replies))


async def _serve(driver: Driver, replies: TextIO) -> None:
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        try:
            found = called(driver, asked["call"], asked["arguments"])
            outcome = {"result": await found if asyncio.iscoroutine(found) else found}
        except Exception as error:  # noqa: BLE001 (the boundary of the process)
            traceback.print_exc()
            said = (str(error) or type(error).__name__)[:_LONGEST_ERROR]
            outcome = {"error": {"type": type(error).__name__, "message": said}}
        replies.write(json.dumps({"id": asked["id"], **outcome}) + "\n")
        replies.flush()
        if asked["call"] == "close":
            return


def called(driver: Driver, call: str, arguments: Mapping[str, Any]) -> Any:
    """What a call of the driver returns, which may have to be awaited."""
    if call == "open":
        return driver.open(Opened(**arguments))
    return getattr(driver, call)(**arguments)


def greeting(package: str) -> dict[str, str]:
    """What `hello` returns for an engine that is installed as a package."""
    python = sys.version.partition(" ")[0]
    return {"engine": package, "version": version(package), "python": python}


def divided(settings: Mapping[str, Any], *groups: Iterable[str]) -> tuple[dict[str, Any], ...]:
    """The settings of each group of names, the first that has a name; raises ValueError.

    What belongs to none is an error with the nearest name.
    """
    known = [frozenset(group) for group in groups]
    found: tuple[dict[str, Any], ...] = tuple({} for _ in known)
    for name, value in settings.items():
        place = next((at for at, group in enumerate(known) if name in group), None)
        if place is None:
            near = difflib.get_close_matches(name, sorted(set().union(*known)), n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ValueError(f"there is no setting {name}.{hint}")
        found[place][name] = value
    return found


def plain_fields(of: Any, *but: str) -> list[str]:
    """The names of a dataclass's fields that are numbers, texts and switches, but for some."""
    kinds = (bool, int, float, str)
    return [
        one.name
        for one in dataclasses.fields(of)
        if one.init and isinstance(one.default, kinds) and one.name not in but
    ]


def released_texts(documents: Sequence[Row]) -> list[str]:
    """The documents with their titles, each distinct text once."""
    texts = (f"{row['title']}\n{row['text']}".strip() for row in documents)
    return list(dict.fromkeys(text for text in texts if text))


def by_document(chunks: Sequence[Row]) -> list[list[Row]]:
    """Our chunks in the documents that they are of; a document whose text was there is left out."""
    held: dict[str, list[Row]] = {}
    for row in chunks:
        if row["text"].strip():
            held.setdefault(row["document"], []).append(row)
    distinct = {tuple(row["text"] for row in rows): rows for rows in reversed(held.values())}
    return [rows for rows in reversed(distinct.values())]


def shared_out(budget: int, usual: Mapping[str, int]) -> dict[str, int]:
    """A budget in tokens, shared out as the usual tokens are."""
    whole = sum(usual.values())
    return {name: budget * part // whole for name, part in usual.items()}


class ChunkNames:
    """Which chunks of ours the chunks of an engine are, by the engine's keys.

    Kept in the index. In `as_released` there are none, and a chunk is named by its text.
    """

    def __init__(self, folder: Path) -> None:
        """Read what the index has."""
        self._path = folder / _NAMES
        there = self._path.is_file()
        self._held: dict[str, list[str]] = json.loads(self._path.read_text()) if there else {}

    def keep(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Keep pairs of an engine's key and a name of ours."""
        for key, name in pairs:
            self._held.setdefault(key, []).append(name)
        self._path.write_text(json.dumps(self._held))

    def one(self, key: str) -> str | None:
        """Our chunk; None where it is none, or where several have its text."""
        names = self._held.get(key, ())
        return names[0] if len(names) == 1 else None

    def all(self, keys: Iterable[str], texts: Mapping[str, str]) -> list[str]:
        """Our chunks of several keys; by their text where the engine made its own."""
        found: dict[str, None] = {}
        for key in keys:
            named = self._held.get(key) or ([by_text(texts[key])] if key in texts else [])
            found |= dict.fromkeys(named)
        return list(found)


def by_text(text: str) -> str:
    """The name of a chunk by its text, as LightRAG and nano-graphrag make one."""
    return "chunk-" + hashlib.md5(text.strip().encode()).hexdigest()


def stored_texts(folder: Path) -> dict[str, str]:
    """The chunks by key, of the file that LightRAG and nano-graphrag write; {} without one."""
    path = folder / "kv_store_text_chunks.json"
    held = json.loads(path.read_text()) if path.is_file() else {}
    return {key: one["content"] for key, one in held.items()}


def stored_graph(folder: Path, names: ChunkNames, quotes: str = "") -> dict[str, Any]:
    """Nodes and relationships of the file that LightRAG and nano-graphrag write.

    `quotes` are marks that the engine writes around texts. Without a file there are none.
    """
    import networkx

    path = folder / "graph_chunk_entity_relation.graphml"
    graph = networkx.read_graphml(path) if path.is_file() else networkx.Graph()
    texts = stored_texts(folder)

    def plain(text: object) -> str:
        return str(text or "").strip(quotes)

    def held(row: Mapping[str, Any]) -> dict[str, Any]:
        keys = str(row.get("source_id") or "").split("<SEP>")
        return {"description": plain(row.get("description")), "chunks": names.all(keys, texts)}

    nodes = [
        {"name": plain(name), "type": plain(row.get("entity_type")), **held(row)}
        for name, row in graph.nodes(data=True)
    ]
    relationships = [
        {"source": plain(one), "target": plain(other),
         "weight": float(row.get("weight") or 1), **held(row)}
        for one, other, row in graph.edges(data=True)
    ]  # fmt: skip
    return {"nodes": nodes, "relationships": relationships}


class Ranks:
    """The tokens of GPT-4o, which tiktoken would download: the same ranks from a package.

    Marks such as `<|endoftext|>` are text like any other.
    """

    name = "o200k_base"

    def __init__(self) -> None:
        """Load the ranks."""
        import bpe_openai

        self._held = bpe_openai.get_encoding(self.name)

    def __deepcopy__(self, _: object) -> Ranks:
        """The ranks themselves: engines copy their settings, and ranks cannot be copied."""
        return self

    def encode(self, text: str, **_: Any) -> list[int]:
        """The tokens of a text."""
        return list(self._held.encode_ordinary(text))

    encode_ordinary = encode

    def encode_batch(self, texts: Sequence[str], **_: Any) -> list[list[int]]:
        """The tokens of several texts."""
        return [self.encode(text) for text in texts]

    def decode(self, tokens: Sequence[int], **_: Any) -> str:
        """The text of tokens."""
        return str(self._held.decode(list(tokens)))

    def decode_batch(self, batch: Sequence[Sequence[int]], **_: Any) -> list[str]:
        """The texts of several lists of tokens."""
        return [self.decode(tokens) for tokens in batch]


def ranks_in_place() -> Ranks:
    """The ranks, which tiktoken gives from now on for every model and name."""
    import tiktoken

    ranks = Ranks()
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_, **__: ranks
    return ranks
