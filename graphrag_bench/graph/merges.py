"""Merges of names: which name was taken for which, by which rule, in which document."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from graphrag_bench.graph.name_dictionary import key_of

FILE = "merges.jsonl"


@dataclass(frozen=True)
class Merge:
    """`alias` was taken for `name`, both normalised, by what `document` says.

    It holds in that document, or `everywhere`; the document is "" where all say so together.
    """

    alias: str
    name: str
    rule: str
    document: str
    everywhere: bool


def save_merges(folder: Path, merges: Iterable[Merge]) -> None:
    """Write a JSON line for each merge; no file where there is none."""
    lines = [json.dumps(asdict(merge), ensure_ascii=False) for merge in merges]
    if lines:
        (folder / FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def load_merges(folder: Path) -> tuple[Merge, ...]:
    """The merges that `save_merges` wrote, in its order."""
    path = folder / FILE
    if not path.is_file():
        return ()
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(Merge(**json.loads(line)) for line in lines)


def unambiguous(merges: Iterable[Merge], names: Iterable[str]) -> dict[str, int]:
    """The node of each alias that every merge takes for the same one, in order of first mention.

    `names` are those of the nodes. An alias that is a node's name as well, because another
    document has it for something else, has none.
    """
    row_of: dict[str, int] = {}
    for row, name in enumerate(names):
        row_of.setdefault(key_of(name), row)
    found: dict[str, list[int | None]] = {}
    for merge in merges:
        node, nodes = row_of.get(key_of(merge.name)), found.setdefault(key_of(merge.alias), [])
        if node not in nodes:
            nodes.append(node)
    return {
        alias: nodes[0]
        for alias, nodes in found.items()
        if alias not in row_of and len(nodes) == 1 and nodes[0] is not None
    }
