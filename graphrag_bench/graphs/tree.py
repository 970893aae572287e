"""Builder of a tree of summaries. Each layer summarises clusters of the layer below."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.clustering import (
    Clusters,
    Mixture,
    Reduction,
    balanced_clusters,
    mixture_clusters,
)
from graphrag_bench.algorithms.evidence import WHOLE, Fragments
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import IntArray
from graphrag_bench.columns import Texts, bool_csr
from graphrag_bench.contract import Sizes, artifact, template_tokens
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.graphs import sentences
from graphrag_bench.graphs.build_calls import Extractor, text_budget
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens, words

SummariseRows = Callable[[Sequence[Sequence[int]]], list[str]]
"""Function that returns a summary of each cluster, given the rows of the cluster's members."""
TREE_ATTRIBUTES = frozenset({"node.type", "node.description"})
SUMMARY = Prompt("graphrag_bench.graphs:prompts/tree_summary.j2")
REDUCTION_DIMENSION, MAX_LAYERS, MAX_CLUSTER_TOKENS, SUMMARY_TOKENS = 10, 5, 3500, 100
"""Clusters of more than `MAX_CLUSTER_TOKENS` tokens are clustered again. Source: RAPTOR's code."""
CLUSTER_SIZE = 10
"""Average number of nodes in a cluster of balanced k-means. This project chose the number."""
_ADVICE = "The model or its context window may be too small. To use no model, set build.graph=tree."
LEAF, SUMMARY_NODE = "chunk", "summary"
"""Prefixes of node names. `chunk 12` is a leaf, and `summary 2.0` is a summary of layer 2."""


def _calls(settings: Mapping[str, Any], sizes: Sizes) -> int:
    return max(round(sizes.n_chunks / (_children(settings, sizes) - 1)), 1)


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    template = template_tokens(settings["summary_prompt"])
    return template + _children(settings, sizes) * sizes.chunk, SUMMARY_TOKENS


def _children(settings: Mapping[str, Any], sizes: Sizes) -> float:
    of_mixtures = min(max(MAX_CLUSTER_TOKENS / max(sizes.chunk, 1.0) / 2, 3.0), 10.0)
    return CLUSTER_SIZE if settings["clustering"] == "kmeans" else of_mixtures


@artifact(
    "graph.tree", provides=TREE_ATTRIBUTES, fixed={"llm_build": None, "summary_prompt": SUMMARY}
)
@artifact("graph.tree_llm", provides=TREE_ATTRIBUTES, calls=_calls, tokens=_tokens)
def tree(
    *,
    chunk_table: ChunkTable,
    chunk_index: VectorIndex,
    embedder: Embedder,
    llm_build: ChatModel | None,
    progress: Progress,
    clustering: Literal["gmm", "kmeans"] = "gmm",
    reduction: Reduction = "pca",
    threshold: Annotated[float, Field(ge=0, lt=1)] = 0.1,
    min_cluster_size: PositiveInt = 2,
    bic_patience: PositiveInt | None = 10,
    bic_rows: PositiveInt | None = 5000,
    summary_prompt: Prompt = SUMMARY,
    seed: NonNegativeInt = 224,
) -> Graph:
    """Build a tree of summaries, extracted (`tree`) or written by the build model (`tree_llm`).

    The leaves are the chunks. The nodes of a layer are clustered by balanced k-means (`kmeans`), or
    by Gaussian mixtures of vectors that `reduction` reduces to 10 dimensions (`gmm`). The summary
    of a cluster is the parent of its nodes in the next layer. A node joins each component whose
    posterior is above `threshold`. Mixtures of 1, 2, ... components are fitted until `bic_patience`
    successive mixtures have not lowered the BIC. More than `bic_rows` nodes get a fixed number of
    components. None turns off either limit. A cluster of fewer than `min_cluster_size` nodes gets
    no parent, and its nodes are clustered again in the next layer. The tree ends after 5 layers of
    summaries, or when 11 or fewer nodes have no parent. A summary has at most 100 tokens.
    `tree_llm` makes one call per cluster. Texts that do not fit the context window are cut to equal
    lengths. If a call fails or the reply shares too few words with the chunks, the first words of
    each text are used. Both cases are counted. Raises UserError if all replies of a layer fail.
    Source: RAPTOR (Sarthi et al. 2024), section 3, and code; Zhou et al. 2025, sections 4 and 7.1.
    Deviation: RAPTOR reduces vectors by UMAP (`reduction="umap"`), summarises with a language model
    (`tree_llm`), and tries every number of components (`bic_patience=None`, `bic_rows=None`). Zhou
    et al. give a parent only to clusters of more than two nodes (`min_cluster_size=3`). The code of
    both papers gives a parent to all clusters (`min_cluster_size=1`).
    """
    rng = np.random.default_rng(seed)
    mixture = Mixture(
        REDUCTION_DIMENSION, threshold, MAX_CLUSTER_TOKENS, reduction, bic_patience, bic_rows
    )

    def cluster(vectors: Vectors, n_tokens: IntArray) -> Clusters:
        if clustering == "kmeans":
            return balanced_clusters(vectors, CLUSTER_SIZE, rng)
        return mixture_clusters(vectors, n_tokens, mixture, rng)

    label = "embedding summaries"
    embed = partial(sentences.vectors_of, embedder=embedder, progress=progress, label=label)
    texts, vectors = list(chunk_table.passages), np.asarray(chunk_index.vectors, np.float32)
    if llm_build is not None:
        summarise = _by_model(llm_build, summary_prompt, progress, texts)
        return _grow(texts, vectors, cluster, summarise, embed, min_cluster_size)
    # Deviation: the title is put before sentences that do not name it, to give them a subject
    split = [
        [one if title in one else f"{title}: {one}" for one in sentences.split_sentences(text)]
        for title, text in zip(chunk_table.titles, chunk_table.texts, strict=True)
    ]
    summarise = _extract(split, embedder, progress)
    graph = _grow(texts, vectors, cluster, summarise, embed, min_cluster_size)
    return replace(graph, node_fragments=_fragments(graph, split))


def _grow(
    leaves: Sequence[str], vectors: Vectors, cluster: Callable[[Vectors, IntArray], Clusters],
    summarise: SummariseRows, embed: Callable[[Sequence[str]], Vectors], min_cluster_size: int,
) -> Graph:  # fmt: skip
    n, texts = len(leaves), list(leaves)
    names, types = [f"{LEAF} {row}" for row in range(n)], ["layer 0"] * n
    pool = np.arange(n)
    children: list[list[int]] = []
    for layer in range(1, MAX_LAYERS + 1):
        if len(pool) <= REDUCTION_DIMENSION + 1:
            break
        n_tokens = np.array([count_tokens(texts[row]) for row in pool], np.int64)
        clusters = (pool[part].tolist() for part in cluster(vectors[pool], n_tokens))
        families = [family for family in clusters if len(family) >= min_cluster_size]
        if not families:
            break
        summaries = summarise(families)
        fresh = np.arange(len(texts), len(texts) + len(summaries))
        pool = np.append(np.setdiff1d(pool, np.concatenate(families)), fresh)
        vectors = np.concatenate([vectors, embed(summaries)])
        texts += summaries
        names += [f"{SUMMARY_NODE} {layer}.{number}" for number in range(len(summaries))]
        types += [f"layer {layer}"] * len(summaries)
        children += families
    source = np.repeat(np.arange(n, len(texts)), [len(family) for family in children])
    target = [child for family in children for child in family]
    chunks = bool_csr(np.arange(n), np.arange(n), (len(texts), n))
    graph = Graph.from_arrays(source, target, chunks, names=names, relations="summarises")
    return replace(graph, types=Texts.of(types), descriptions=Texts.of(texts))


def _extract(split: Sequence[list[str]], embedder: Embedder, progress: Progress) -> SummariseRows:
    texts_of = list(split)

    def summaries(families: Sequence[Sequence[int]]) -> list[str]:
        groups = ([text for child in family for text in texts_of[child]] for family in families)
        pairs = [(texts, SUMMARY_TOKENS) for texts in groups]
        chosen = sentences.central_sentences(pairs, embedder, progress)
        texts_of.extend(chosen)
        return [sentences.joined(texts, SUMMARY_TOKENS) for texts in chosen]

    return summaries


def _fragments(graph: Graph, split: Sequence[Sequence[str]]) -> Fragments:
    known = sentences.sentence_chunks((one, row) for row, some in enumerate(split) for one in some)
    summaries = list(graph.descriptions or ())[len(split) :]
    chunks_of = [[row] for row in range(len(split))]
    chunks_of += [sentences.chunks_of(text, known) for text in summaries]
    pairs = ((row, WHOLE, chunk) for row, chunks in enumerate(chunks_of) for chunk in chunks)
    return Fragments.of(pairs, graph.n_nodes)


def layer_of(name: str) -> int | None:
    """Return the layer (0 for leaves) of the tree node with this name, or None for another name."""
    kind, _, place = name.partition(" ")
    number = "0" if kind == LEAF and place.isdecimal() else place.partition(".")[0]
    return int(number) if kind in (LEAF, SUMMARY_NODE) and number.isdecimal() else None


def _by_model(
    llm: ChatModel, prompt: Prompt, progress: Progress, leaves: Sequence[str]
) -> SummariseRows:
    every = [" ".join(text.split()) for text in leaves]
    room = text_budget(llm, prompt, SUMMARY_TOKENS)
    known = frozenset(stem for text in leaves for stem in _stems(text))

    def is_summary(text: str) -> bool:
        stems = _stems(text)
        return bool(stems) and sum(map(known.__contains__, stems)) >= len(stems) / 3

    def summaries(families: Sequence[Sequence[int]]) -> list[str]:
        clusters = [[every[row] for row in family] for family in families]
        chats = []
        for texts in clusters:
            if sum(count_tokens(text) + 1 for text in texts) > room:
                most = max(room // len(texts) - 1, 1)
                texts = [sentences.first_tokens(text, most) for text in texts]
            chats.append(prompt.render({"texts": "\n\n".join(texts)}))
        items = [f"cluster of {family[0]}" for family in families]
        extractor = Extractor(llm, SUMMARY_TOKENS, progress)
        replies = extractor.texts(chats, items, "summarise clusters", _ADVICE, is_summary)
        written = []
        for reply, texts in zip(replies, clusters, strict=True):
            most = SUMMARY_TOKENS // len(texts) or 1
            written.append(reply or " ".join(sentences.first_tokens(one, most) for one in texts))
        every.extend(" ".join(text.split()) for text in written)
        return written

    return summaries


def _stems(text: str) -> list[str]:
    """Return the content words of a text, cut to six letters, and Korean words to one letter."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return [
        word[: 1 if "\uac00" <= word[0] <= "\ud7af" else 6]
        for word in words(text)
        if not word.isascii()
        or (len(word) > 3 and not word.isdigit() and word not in ENGLISH_STOP_WORDS)
    ]
