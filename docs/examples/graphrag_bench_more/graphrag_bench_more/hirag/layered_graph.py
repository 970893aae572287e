"""HiRAG's graph, with layers of summary entities above the extracted entities, and its search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field, PositiveInt

from graphrag_bench.algorithms.clustering import (
    Clusters,
    Mixture,
    Reduction,
    balanced_clusters,
    mixture_layer,
)
from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.evidence import WHOLE, Fragments
from graphrag_bench.algorithms.extraction import EntityRecord, TextExtraction
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import IntArray, best_first, unique
from graphrag_bench.columns import Texts, row_ids
from graphrag_bench.contract import Sizes, artifact, operator, template_tokens
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.graphs.build_calls import Extractor, text_budget
from graphrag_bench.graphs.knowledge_graph import add_relationships
from graphrag_bench.graphs.sentences import (
    central_texts,
    chunks_of,
    first_tokens,
    sentence_chunks,
    split_sentences,
    vectors_of,
)
from graphrag_bench.graphs.text_graph import TKG_ATTRIBUTES, text_graph
from graphrag_bench.indices.vectors import named_text
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ListReply, list_format
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import is_placeholder_name, normalise_name
from graphrag_bench.values import Community, Node, Path, Ranked, Relationship, Subgraph
from operators.relationship.of_graph import by_degree_and_weight, degrees_of_ends
from operators.subgraph.of_graph import way_to_nearest

Clustering = Literal["kmeans", "gmm"]
SUMMARISE = Prompt("graphrag_bench_more:hirag/prompts/layer_entities.j2")
STEP = "summarise entities"
SUMMARISES = "summarises"
MAX_LAYERS, MOST_SPARSE, LEAST_CHANGE, FIRST_SPARSITY = 50, 0.98, 0.05, 0.01
"""Stopping rule for adding layers, and sparsity assumed before layer 1, as in HiRAG's code."""
CLUSTER_SIZE, SUMMARY_TOKENS = 10, 150
"""Entities per k-means cluster, and maximum tokens of an extractive description."""
MIXTURE = partial(Mixture, 2, 0.1, 0, patience=10, max_swept_rows=None)
"""Gaussian mixture in two dimensions with posterior threshold 0.1, as in HiRAG's code."""
SEED = 224
_MIN_NODES = 2
"""A layer with at most this number of nodes is not clustered."""
_IN_NAME = 3
_MOST_CLUSTERS = 49
_REPLY_TOKENS = 1024
"""Number of tokens reserved for a reply, whose length is not limited."""


class SummaryEntity(BaseModel):
    """A summary entity written by the model."""

    name: str = Field(min_length=1)
    type: str = ""
    description: str = Field(min_length=1)


class SummaryEntities(BaseModel):
    """Reply to the summary prompt."""

    entities: list[SummaryEntity] = Field(min_length=1)


def _calls(settings: Mapping[str, Any], sizes: Sizes) -> int:
    return min(_MOST_CLUSTERS, sizes.n_chunks) * 6 // 5 or 1


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    text = sizes.chunk * max(sizes.n_chunks / _MOST_CLUSTERS, 1.0)
    return template_tokens(settings["summary_prompt"]) + text, _REPLY_TOKENS / 2


@artifact(
    "graph.layered", provides=TKG_ATTRIBUTES, fixed={"llm_build": None, "summary_prompt": SUMMARISE}
)
@artifact("graph.layered_llm", provides=TKG_ATTRIBUTES, calls=_calls, tokens=_tokens)
def layered(
    *,
    text_extraction: TextExtraction,
    embedder: Embedder,
    llm_build: ChatModel | None,
    progress: Progress,
    clustering: Clustering = "kmeans",
    reduction: Reduction = "pca",
    summary_prompt: Prompt = SUMMARISE,
) -> Graph:
    """Build the textual knowledge graph, with layers of entities that summarise lower layers.

    The entities of a layer are divided into at most 49 clusters by the vectors of their names and
    descriptions. `clustering="kmeans"` makes balanced clusters of about 10 entities.
    `clustering="gmm"` uses a Gaussian mixture after a `reduction`. Each cluster of two or more
    entities gets a summary entity in the next layer, linked to all members by "summarises" with
    weight 1. Summary entities are named after the three best connected members and described by
    central sentences of all members, at most 150 tokens. They have no chunk, and their type is
    `layer N`. An entity that is alone in its cluster joins the next layer. A summary entity with
    the name of an existing node is merged into this node. Layers are added until `cluster_sparsity`
    is at least 0.98 or changes by at most 5 %, or until two entities are left. Raises UserError if
    nothing was extracted.

    In `layered_llm`, the build model writes one or more summary entities for each cluster. The
    prompt contains as much text of the members as fits into the context window. If a reply is
    unreadable, the extractive entity is used, and the reply is counted. Raises UserError if a layer
    has no readable reply. The announced number of calls is a guess.
    Source: HiRAG (Huang et al. 2025), hierarchical index, and its code.
    Deviation: `layered` is extractive, and the prompt is this project's. k-means is the default,
    because a mixture finds few clusters after PCA. HiRAG's code samples 60,000 tokens of a large
    cluster, and its model also states which members a new entity is related to.
    """
    base, rng = text_graph(text_extraction, keywords=False), np.random.default_rng(SEED)

    def cluster(vectors: Vectors) -> Clusters:
        if clustering == "gmm":
            return mixture_layer(vectors, mixture=MIXTURE(reduction=reduction), rng=rng)
        most = max(CLUSTER_SIZE, -(-len(vectors) // _MOST_CLUSTERS))
        return balanced_clusters(vectors, most, rng)

    summarise: Summarise = partial(_extractive, embedder, progress)
    if llm_build is not None:
        summarise = partial(_by_model, llm_build, progress, summary_prompt, summarise)
    embed = partial(vectors_of, embedder=embedder, progress=progress, label="embedding entities")
    return grow(base, summarise, embed, cluster)


@dataclass
class Layers:
    """Growing lists of the entities of all layers, and pairs of a summary and its member.

    The head of an extracted entity is its name, and its degree is its number of neighbours. A
    summary has the head of its best connected member, and its degree is its number of members.
    """

    names: list[str]
    types: list[str]
    texts: list[str]
    heads: list[str]
    degrees: list[int]
    row_of: dict[str, int]
    pairs: dict[tuple[int, int], None] = field(default_factory=dict)

    @classmethod
    def above(cls, base: Graph) -> "Layers":
        """Return the entities of a graph as the lowest layer."""
        assert base.types is not None and base.descriptions is not None
        names = list(base.names)
        return cls(
            names,
            list(base.types),
            list(base.descriptions),
            list(names),
            base.degree.tolist(),
            {name: row for row, name in enumerate(names)},
        )

    def summarise(self, family: Sequence[int], entity: EntityRecord) -> int:
        """Link an entity to its members, and return its row. Add the entity if its name is new."""
        row = self.row_of.setdefault(entity.name, len(self.names))
        if row == len(self.names):
            self.names.append(entity.name)
            self.types.append(entity.type)
            self.texts.append(entity.description)
            self.heads.append(self.first_names(family)[0])
            self.degrees.append(len(family))
        self.pairs.update({(row, member): None for member in family if member != row})
        return row

    def first_names(self, family: Sequence[int]) -> list[str]:
        """Return up to three distinct heads, best connected members first (ties: by order)."""
        order = best_first(np.array([self.degrees[row] for row in family], np.float64)).tolist()
        names = dict.fromkeys(self.heads[family[place]] for place in order)
        return list(names)[:_IN_NAME]

    def node_text(self, row: int) -> str:
        """Return an entity's text in an index of descriptions: its name and its description."""
        return named_text(self.names[row], self.texts[row])


Summarise = Callable[[Layers, Sequence[Sequence[int]], str], list[list[EntityRecord]]]
"""Function that summarises each cluster of rows by entities. The text is their default type."""


def grow(
    base: Graph,
    summarise: Summarise,
    embed: Callable[[Sequence[str]], Vectors],
    cluster: Callable[[Vectors], Clusters],
) -> Graph:
    """Add layers of summary entities to a graph; `cluster` groups the vectors from `embed`."""
    layers = Layers.above(base)
    pool: IntArray = np.arange(base.n_nodes)
    n_layers, before = 0, FIRST_SPARSITY
    while n_layers < MAX_LAYERS and len(pool) > _MIN_NODES:
        clusters = cluster(embed([layers.node_text(row) for row in pool.tolist()]))
        sparsity = cluster_sparsity([len(rows) for rows in clusters], len(pool))
        families = [pool[rows].tolist() for rows in clusters if len(rows) > 1]
        has_converged = abs(sparsity - before) <= LEAST_CHANGE * before
        if sparsity >= MOST_SPARSE or has_converged or not families:
            break
        n_layers, before = n_layers + 1, sparsity
        summaries = summarise(layers, families, f"layer {n_layers}")
        pairs = zip(families, summaries, strict=True)
        added = [layers.summarise(family, one) for family, entities in pairs for one in entities]
        singles = [int(pool[rows[0]]) for rows in clusters if len(rows) == 1]
        pool = np.unique(np.array([*singles, *added], np.int64))
    return _with_layers(base, layers, {"layers": n_layers, "sparsity": round(before, 6)})


def cluster_sparsity(sizes: Sequence[int], n: int) -> float:
    """Return 1 minus the fraction of ordered pairs of n > 1 entities that share a cluster.

    A pair counts once for each cluster that it shares, so overlaps can make the result negative.

    >>> cluster_sparsity([3, 3], 6)
    0.6

    Source: HiRAG (Huang et al. 2025), cluster sparsity, and its code.
    """
    return 1.0 - sum(size * (size - 1) for size in sizes) / (n * (n - 1))


def _extractive(
    embedder: Embedder,
    progress: Progress,
    layers: Layers,
    families: Sequence[Sequence[int]],
    kind: str,
) -> list[list[EntityRecord]]:
    sentences = [
        [one for row in family for one in split_sentences(layers.texts[row] or layers.names[row])]
        for family in families
    ]
    texts = central_texts([(family, SUMMARY_TOKENS) for family in sentences], embedder, progress)
    names = [", ".join(layers.first_names(family)) for family in families]
    return [[EntityRecord(name, kind, text)] for name, text in zip(names, texts, strict=True)]


def _by_model(
    llm: ChatModel,
    progress: Progress,
    prompt: Prompt,
    central: Summarise,
    layers: Layers,
    families: Sequence[Sequence[int]],
    kind: str,
) -> list[list[EntityRecord]]:
    room = text_budget(llm, prompt, _REPLY_TOKENS)
    chats = [
        prompt.render(
            {"entities": first_tokens("\n".join(layers.node_text(row) for row in family), room)}
        )
        for family in families
    ]
    replies = Extractor(llm, None, progress).ask(
        chats,
        list_format(SummaryEntities, "entities", STEP),
        [", ".join(layers.first_names(family)) for family in families],
        "build.graph=layered takes central sentences.",
    )
    written = [
        [
            EntityRecord(normalise_name(one.name) or one.name, one.type or kind, one.description)
            for one in reply.value.entities
            if not is_placeholder_name(one.name)
        ]
        if isinstance(reply, ListReply)
        else None
        for reply in replies
    ]
    if lacking := [row for row, one in enumerate(written) if one is None]:
        progress.say(f"{STEP}: {len(lacking)} of {len(replies)} replies were unusable")
        stand_ins = central(layers, [families[row] for row in lacking], kind)
        written = [one if one is not None else stand_ins.pop(0) for one in written]
    return [one or [] for one in written]


def _with_layers(base: Graph, layers: Layers, statistics: Mapping[str, float]) -> Graph:
    from scipy.sparse import csr_matrix, vstack

    assert base.facts is not None and base.node_fragments is not None
    known = sentence_chunks(base.node_fragments.pairs())
    above = [
        (row, WHOLE, chunk)
        for row in range(base.n_nodes, len(layers.names))
        for chunk in chunks_of(layers.texts[row], known)
    ]
    n_new, n_pairs = len(layers.names) - base.n_nodes, len(layers.pairs)
    ends = np.array(list(layers.pairs), np.int64).reshape(-1, 2)
    no_chunk = csr_matrix((n_new, base.n_chunks), dtype=bool)
    return replace(
        add_relationships(base, ends[:, 0], ends[:, 1], np.ones(n_pairs), SUMMARISES),
        names=Texts.of(layers.names),
        types=Texts.of(layers.types),
        descriptions=Texts.of(layers.texts),
        facts=Texts.of([*base.facts, *[""] * n_pairs]),
        node_chunk=vstack([base.node_chunk, no_chunk]).tocsr(),
        node_fragments=Fragments.of([*base.node_fragments, *above], len(layers.names)),
        statistics={**base.statistics, **statistics, "summary entities": n_new},
    )


@operator("node.key", order="community by community")
def key_nodes(
    candidates: Ranked[Node],
    ranked_communities: Ranked[Community],
    *,
    communities: Communities,
    per_community: PositiveInt = 10,
) -> Ranked[Node]:
    """Return the first `per_community` candidates of each community, each node once.

    Communities and candidates keep their order, and nodes keep their scores.
    Source: HiRAG (Huang et al. 2025), key entities, and its code (`top_m`).
    Deviation: HiRAG's code stores key entities in a Python set, whose order varies.
    """
    score = dict(candidates.items())
    nodes: list[int] = []
    for community in ranked_communities.ids.tolist():
        inside = np.isin(candidates.ids, row_ids(communities.nodes, community))
        nodes += candidates.ids[inside][:per_community].tolist()
    return Ranked.of({node: score[node] for node in unique(nodes)})


@operator("relationship.bridge", order="by the degrees of both ends, then by weight")
def bridge(
    key_nodes: Ranked[Node], *, graph: Graph, max_hops: PositiveInt | None = None
) -> tuple[Ranked[Relationship], Subgraph]:
    """Connect the key nodes by a path, and rank all relationships among the nodes on this path.

    A shortest path connects each key node with the next (ties: lower ids). If the next key node is
    unreachable or more than `max_hops` hops away (None: no limit), a new path starts there. The
    score of a relationship is the degree of its source plus the degree of its target. Ties are
    broken by higher weight, then by lower id. Each key node needs at most one breadth-first search.
    Source: HiRAG (Huang et al. 2025), reasoning path and bridge, and its code.
    """
    most = graph.n_nodes if max_hops is None else max_hops
    walks: list[list[int]] = []
    for node in unique(key_nodes.ids.tolist()):
        onward = way_to_nearest(graph, walks[-1][-1], [node], most) if walks else []
        if onward:
            walks[-1] += onward
        else:
            walks.append([node])
    paths = [Path(tuple(walk), graph.neighbours.rows_along(walk)) for walk in walks]
    along = np.unique(np.array([node for path in paths for node in path.nodes], np.int64))
    rows = graph.relationships_at(along)
    rows = rows[np.isin(graph.source[rows], along) & np.isin(graph.target[rows], along)]
    order = by_degree_and_weight(graph, rows, rows)
    hops = unique([row for path in paths for row in path.relationships])
    way = Subgraph(unique([node for path in paths for node in path.nodes]), hops, tuple(paths))
    return Ranked(rows[order], degrees_of_ends(graph, rows[order]).astype(np.float64)), way
