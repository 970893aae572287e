"""Nodes linked to the names in a question: by a dictionary of node names, then by vectors."""

from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.name_dictionary import bare_name, key_of
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import DECIMALS, Mentions, Node, Question, Ranked, unique
from operators.search import search_each

ByName = Literal["dictionary", "mentions"]
SingleWords = Literal["titles", "proper", "any", "none"]
Hits = list[tuple[int, float]]


def _vectors_last(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts; raises ValueError if `vectors`, which matches every name, is not last."""
    if "vectors" in parts[:-1]:
        raise ValueError("'vectors' must come last: it matches every name")
    return parts


Parts = Annotated[
    tuple[Literal["dictionary", "mentions", "vectors"], ...], AfterValidator(_vectors_last)
]


@operator("node.match", requires={"node.name"}, order="part by part, in the order of names")
def match(
    mentions: Mentions,
    question: Question,
    *,
    graph: Graph,
    chunk_table: ChunkTable,
    parts: tuple[ByName, ...] = ("dictionary", "mentions"),
    single_words: SingleWords = "titles",
) -> Ranked[Node]:
    """Return the nodes whose names occur in the question, without embeddings.

    Score: 1 for every node. `parts` are applied in their order. `dictionary` takes the longest node
    names in the question that do not overlap, from left to right. `mentions` looks up the mentions
    that are not part of a name found before. `single_words` selects the one-word names that match:
    titles of passages (`titles`), words with a capital or a digit (`proper`), all (`any`) or none;
    a mention of one word also matches if it is capitalised. Case, accents, a possessive `s` and a
    leading article are ignored; of equal names the first node counts.
    Source: this project; longest match in a dictionary of names.
    """
    rows, _ = _match_names(mentions, question, graph, chunk_table, parts, single_words)
    ids = unique(rows)
    return Ranked[Node](np.array(ids, np.int64), np.ones(len(ids)))


@operator(
    "node.link", table3="Link", batched=True, requires={"node.name"}, order="the order of the names"
)
def link(
    mentions: Sequence[Mentions],
    question: Sequence[Question],
    *,
    graph: Graph,
    chunk_table: ChunkTable,
    node_index: VectorIndex,
    embedder: Embedder,
    parts: Parts = ("dictionary", "mentions", "vectors"),
    single_words: SingleWords = "titles",
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
    dedupe: bool = False,
    score: Literal["cosine", "share"] = "cosine",
) -> list[Ranked[Node]]:
    """Return the nodes that the question names, by name first, then by vectors.

    `dictionary` and `mentions` work as in `node.match`, with score 1. `vectors` comes last and
    returns the most similar node of each remaining mention if its cosine, -1..1, is at least
    `min_score`. With `score="share"` every node has score 1. A node may occur twice unless
    `dedupe`.
    Source: Zhou et al. 2025, section 6.1, "Link" (`vectors` alone); `share` as fast-graphrag's
    released code; the other parts are this project's.
    """
    by_name = tuple(part for part in parts if part != "vectors")
    pairs = [
        _match_names(*one, graph, chunk_table, by_name, single_words)
        for one in zip(mentions, question, strict=True)
    ]
    rankings: list[Hits] = [[(row, 1.0) for row in rows] for rows, _ in pairs]
    rest = [(at, name) for at, (_, names) in enumerate(pairs) for name in names]
    if "vectors" in parts and rest:
        vectors = embedder.encode([name for _, name in rest], kind="question")
        (hits,) = search_each([vectors], node_index, 1)
        for (at, _), hit in zip(rest, hits, strict=True):
            if len(hit) and round(float(hit.scores[0]), DECIMALS) >= min_score:
                value = float(hit.scores[0]) if score == "cosine" else 1.0
                rankings[at].append((int(hit.ids[0]), value))
    return [_ranking(hits, dedupe) for hits in rankings]


def _ranking(hits: Hits, dedupe: bool) -> Ranked[Node]:
    if dedupe:
        first = dict(reversed(hits))
        hits = [(node, first[node]) for node in unique([node for node, _ in hits])]
    return Ranked[Node](
        np.array([node for node, _ in hits], np.int64), np.array([score for _, score in hits])
    )


def _match_names(
    mentions: Mentions,
    question: Question,
    graph: Graph,
    chunk_table: ChunkTable,
    parts: Sequence[ByName],
    single_words: SingleWords,
) -> tuple[list[int], list[str]]:
    row_of: dict[str, int] = {}
    rest = list(mentions.names)
    for part in parts:
        single = _single_words(single_words, question, chunk_table)
        if part == "dictionary":
            row_of |= graph.dictionary.matches(question.text, single)
        rest = [name for name in rest if not _inside(name, row_of)]
        if part == "mentions":
            also = None if single is None else single | _capitalised(question.text)
            rows = {name: _row(name, graph) for name in rest if _matches_alone(name, also)}
            rest = [name for name in rest if rows.get(name) is None]
            row_of |= {name: row for name, row in rows.items() if row is not None}
    return list(row_of.values()), rest


def _row(name: str, graph: Graph) -> int | None:
    row = graph.row_of.get(name)
    return graph.dictionary.row(name) if row is None else row


def _single_words(
    single_words: SingleWords, question: Question, chunk_table: ChunkTable
) -> frozenset[str] | None:
    if single_words == "any":
        return None
    if single_words == "proper":
        return _capitalised(question.text)
    return _titles(chunk_table) if single_words == "titles" else frozenset()


@lru_cache(maxsize=2)
def _titles(chunk_table: ChunkTable) -> frozenset[str]:
    return frozenset(key_of(bare_name(title)) for title in chunk_table.titles)


def _inside(name: str, keys: Iterable[str]) -> bool:
    return any(f" {key_of(bare_name(name))} " in f" {key_of(other)} " for other in keys)


def _matches_alone(name: str, single: Container[str] | None) -> bool:
    key = key_of(name)
    return " " in key or single is None or key in single


def _capitalised(text: str) -> frozenset[str]:
    marked = (word for word in text.split() if any(c.isupper() or c.isdigit() for c in word))
    return frozenset(key_of(bare_name(word)) for word in marked)
