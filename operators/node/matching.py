"""Nodes whose names a question has, by a dictionary of all names; vectors for what is left."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.name_dictionary import NameDictionary, bare, key_of
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.values import DECIMALS, Mentions, Node, Question, Ranked, unique

Part = Literal["dictionary", "mentions"]
SingleWords = Literal["titles", "any", "none"]


@operator("node.match", requires={"node.name"}, unordered="part by part, in the order of names")
def match(
    mentions: Mentions,
    question: Question,
    *,
    graph: Graph,
    chunk_table: ChunkTable,
    parts: tuple[Part, ...] = ("dictionary", "mentions"),
    single_words: SingleWords = "titles",
) -> tuple[Ranked[Node], Mentions]:
    """The nodes that the question names, each once with score 1, and the mentions of no node.

    `dictionary` reads the question word by word and takes the longest node name that begins at a
    word and does not overlap the one before; names of one word count where they are the title of a
    passage (`titles`), always or never. `mentions` looks each mention up; one whose words are part
    of a name that was found before is passed over, and one of a single word without a capital in
    the question, as a common noun has none, counts as `single_words` says. The parts come in the
    order given, one that is not given is left out. Case, accents, a possessive `s` and a leading
    article make no difference; of nodes that are alike in this the first counts. Nothing is
    embedded.
    Source: ours; names as entries of a dictionary, the longest match first.
    """
    dictionary = _dictionary(graph)
    allowed = {"titles": _titles(chunk_table), "any": None, "none": frozenset[str]()}[single_words]
    found: dict[str, int] = {}
    left = mentions.names
    for part in parts:
        left = tuple(name for name in left if not _inside(name, found))
        if part == "dictionary":
            found |= dictionary.matches(question.text, allowed)
            left = tuple(name for name in left if not _inside(name, found))
            continue
        single = None if allowed is None else allowed | _capitalised(question.text)
        rows = {name: dictionary.row(name) for name in left if _counts(name, single)}
        left = tuple(name for name in left if rows.get(name) is None)
        found |= {key_of(name): row for name, row in rows.items() if row is not None}
    ids = unique(list(found.values()))
    return Ranked[Node](np.array(ids, np.int64), np.ones(len(ids))), Mentions(left)


@lru_cache(maxsize=2)
def _dictionary(graph: Graph) -> NameDictionary:
    return NameDictionary.of(graph.names)


@lru_cache(maxsize=2)
def _titles(chunk_table: ChunkTable) -> frozenset[str]:
    """The titles of all passages, as names are looked up."""
    return frozenset(key_of(bare(title)) for title in chunk_table.titles)


def _inside(name: str, found: Iterable[str]) -> bool:
    """Whether a name is one of the keys found or some whole words of one."""
    return any(f" {key_of(bare(name))} " in f" {key} " for key in found)


def _counts(name: str, single: Container[str] | None) -> bool:
    key = key_of(name)
    return " " in key or single is None or key in single


def _capitalised(text: str) -> frozenset[str]:
    """The words of a text that are written with a capital letter or a digit."""
    marked = (word for word in text.split() if any(c.isupper() or c.isdigit() for c in word))
    return frozenset(key_of(bare(word)) for word in marked)


@operator("node.unmatched.none", unordered="the order of the given nodes")
def unmatched_none(nodes: Ranked[Node]) -> Ranked[Node]:
    """The given nodes: a name that no node has starts nothing.

    Source: ours.
    """
    return nodes


@operator("node.unmatched.vectors", unordered="the given nodes, then the order of the names")
def unmatched_vectors(
    nodes: Ranked[Node],
    mentions: Mentions,
    *,
    node_index: VectorIndex,
    embedder: Embedder,
    min_score: Annotated[float, Field(ge=-1, le=1)] = 0.8,
) -> Ranked[Node]:
    """The given nodes, then the most similar node of each name, where it is similar enough.

    Score: that of the given nodes; the cosine of the others, -1..1. Names whose best node is below
    `min_score`, or is among the nodes before, give none.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.3, for names that no node has; the threshold
    is that of its synonymy edges.
    """
    scores = dict(zip(nodes.ids.tolist(), nodes.scores.tolist(), strict=True))
    names = list(mentions.names)
    vectors = embedder.encode(names, kind="question") if names else np.zeros((0, 1), np.float32)
    for hit in node_index.search(vectors, 1) if names else ():
        if len(hit) and round(float(hit.scores[0]), DECIMALS) >= min_score:
            scores.setdefault(int(hit.ids[0]), float(hit.scores[0]))
    return Ranked[Node](np.array(list(scores), np.int64), np.array(list(scores.values())))
