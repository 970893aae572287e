"""Operators that find the nodes mentioned in a question, by name or by vector similarity."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.name_dictionary import bare_name, key_of
from graphrag_bench.arrays import DECIMALS
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import Mentions, Node, Question, Ranked
from operators.search import search_each

ByName = Literal["dictionary", "mentions"]
SingleWords = Literal["titles", "proper", "any", "none"]


def _vectors_last(parts: tuple[str, ...]) -> tuple[str, ...]:
    if "vectors" in parts[:-1]:
        raise ValueError("'vectors' must come last, because this part matches every name")
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
    """Return the nodes whose names occur in the question, found without embeddings.

    Every node has the score 1. The matchers in `parts` are applied in order. `dictionary` reads the
    question from left to right and finds the longest node names that do not overlap. `mentions`
    looks up the extracted mentions, except mentions inside a name already found. `single_words`
    selects which one-word names can match: titles of passages (`titles`), words that have a capital
    letter or a digit in the question (`proper`), all words (`any`) or none (`none`). A one-word
    mention also matches if it is `proper`. Matching ignores case, accents, a possessive `s` and a
    leading article. Of several nodes with the same name, the first is returned.
    Source: this project.
    """
    rows, _ = _match_names(mentions, question, graph, chunk_table, parts, single_words)
    return Ranked[Node].of(dict.fromkeys(rows, 1.0))


@operator("node.link", table3="Link", batched=True, requires={"node.name"}, order="by mention")
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
    """Return the nodes that the question mentions, matched first by name and then by vector.

    The parts `dictionary` and `mentions` match names as in `node.match` and give the score 1. The
    part `vectors`, which must come last, returns the node with the most similar vector for each
    remaining mention, unless the cosine is below `min_score`. The score of this node is the cosine
    (-1..1). With `score="share"`, as in fast-graphrag, it is 1. If `dedupe` is false, the same node
    can be returned twice. Zhou et al. use only `vectors`.
    Source: Zhou et al. (2025), Section 6.1, "Link".
    """
    by_name = tuple(part for part in parts if part != "vectors")
    rankings, rest = [], list[tuple[int, str]]()
    for at, pair in enumerate(zip(mentions, question, strict=True)):
        rows, names = _match_names(*pair, graph, chunk_table, by_name, single_words)
        rankings.append([(row, 1.0) for row in rows])
        rest += ((at, name) for name in names)
    if "vectors" in parts and rest:
        vectors = embedder.encode([name for _, name in rest], kind="question")
        (hits,) = search_each([vectors], node_index, 1)
        for (at, _), hit in zip(rest, hits, strict=True):
            if len(hit) and round(float(hit.scores[0]), DECIMALS) >= min_score:
                value = float(hit.scores[0]) if score == "cosine" else 1.0
                rankings[at].append((int(hit.ids[0]), value))
    columns = (np.array(pairs, float).reshape(-1, 2).T for pairs in rankings)
    ranked = [Ranked[Node](ids.astype(np.int64), scores) for ids, scores in columns]
    return [one.distinct() for one in ranked] if dedupe else ranked


def _match_names(
    mentions: Mentions,
    question: Question,
    graph: Graph,
    chunk_table: ChunkTable,
    parts: Sequence[ByName],
    single_words: SingleWords,
) -> tuple[list[int], list[str]]:
    single: frozenset[str] | None = None if single_words == "any" else frozenset()
    if single_words == "proper":
        single = _capitalised(question.text)
    elif single_words == "titles" and parts:
        single = _titles(chunk_table)
    row_of: dict[str, int] = {}
    rest = list(mentions.names)
    for part in parts:
        if part == "dictionary":
            row_of |= graph.dictionary.matches(question.text, single)
        taken = [f" {key_of(name)} " for name in row_of]
        rest = [n for n in rest if not any(f" {key_of(bare_name(n))} " in one for one in taken)]
        if part == "mentions":
            also = None if single is None else single | _capitalised(question.text)
            for name in rest:
                row = graph.row_of.get(name)
                row = graph.dictionary.row(name) if row is None else row
                key = key_of(name)
                if row is not None and (" " in key or also is None or key in also):
                    row_of[name] = row
            rest = [name for name in rest if name not in row_of]
    return list(row_of.values()), rest


@lru_cache(maxsize=2)
def _titles(chunk_table: ChunkTable) -> frozenset[str]:
    return frozenset(key_of(bare_name(title)) for title in chunk_table.titles)


def _capitalised(text: str) -> frozenset[str]:
    marked = (word for word in text.split() if any(c.isupper() or c.isdigit() for c in word))
    return frozenset(key_of(bare_name(word)) for word in marked)
