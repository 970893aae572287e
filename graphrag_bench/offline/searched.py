"""Where the vectors of an index of texts are searched: settings of every builder that embeds one.

`index` is that of the run where an index has none of its own. An index that only takes over that
of another artifact (`node_index.name`) is searched where that one is, and has no such settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isqrt
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.contract import Builder, Setting
from graphrag_bench.fingerprint import code
from graphrag_bench.models.lance_rows import is_installed
from graphrag_bench.models.nearest import Lists
from graphrag_bench.models.vector_index import Database, VectorIndex
from graphrag_bench.progress import Progress

PROBES = 20
SEARCHED = {
    "index": Setting("index", Database, "faiss"),
    "approximate_from": Setting("approximate_from", PositiveInt | None, None),
    "lists": Setting("lists", PositiveInt | None, None),
    "probes": Setting("probes", PositiveInt, PROBES),
}
"""The database; from how many rows on it searches approximately (None: never); then how many lists
it has (None: the root of the number of rows), and how many it looks into at least."""


def embeds(builder: Builder) -> bool:
    """Whether a builder makes an index of texts, so that it has these settings."""
    return builder.produces is VectorIndex and "embedder" in builder.needs


def effective(checked: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are read: faiss has the database alone, exact search no lists."""
    if checked["index"] == "faiss":
        return {"index": "faiss"}
    exact = checked["approximate_from"] is None
    names = ("index", "approximate_from") if exact else tuple(SEARCHED)
    return {name: checked[name] for name in names}


def in_key(searched: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of these settings, and of their code, is in an artifact's key: nothing for faiss."""
    if searched.get("index", "faiss") == "faiss":
        return {}
    return {**searched, "index_code": code(searched_in)}


def misuse(given: Mapping[str, Any], index: str, stored_as: str) -> str:
    """Why these settings cannot be together, and what can; "" where they can."""
    unread = [name for name in SEARCHED if name in given and name != "index"]
    if index == "faiss":
        return f"{unread[0]} is of index=lancedb; faiss searches exactly." if unread else ""
    if stored_as == "float16":
        return (
            f"index={index} takes stored_as=float32: its scores of float16 rows have no stated "
            "bound of error, without which a search cannot be known to be exact."
        )
    if unread and given.get("approximate_from") is None:
        return f"{unread[0]} is of approximate search; add approximate_from=1000000."
    if not is_installed():
        return f"index={index} needs the extra: pip install 'graphrag-bench[{index}]'."
    return ""


def searched_in(made: VectorIndex, searched: Mapping[str, Any], progress: Progress) -> VectorIndex:
    """The index that will be saved in its database, with its lists said and in its statistics."""
    if searched["index"] == "faiss":
        return made
    start = searched["approximate_from"]
    if start is None or len(made) < start:
        return replace(made, database=searched["index"])
    n_lists = min(searched["lists"] or isqrt(len(made)), len(made))
    lists = Lists(n_lists, min(searched["probes"], n_lists))
    what = made.statistics.get("what", "texts")
    progress.say(
        f"{what}: {len(made):,} vectors in {lists.number:,} lists, searched approximately "
        f"in {lists.probes:,} of them"
    )
    statistics = {**made.statistics, "lists": lists.number, "probes": lists.probes}
    return replace(made, statistics=statistics, database=searched["index"], lists=lists)
