"""HiRAG: layers of summaries above the entities of the texts, and the bridge between them."""

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
from graphrag_bench.columns import Texts, row_ids
from graphrag_bench.contract import artifact, operator
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.graphs.asking import Extractor, room_for
from graphrag_bench.graphs.knowledge_graph import with_rows
from graphrag_bench.graphs.sentences import (
    central_texts,
    chunks_of,
    cut,
    sentence_chunks,
    split_sentences,
    vectors_of,
)
from graphrag_bench.graphs.text_graph import TKG_ATTRIBUTES, text_graph
from graphrag_bench.indices.vectors import named_text
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ListReply, list_reading
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import names_nothing, normalise_name
from graphrag_bench.values import (
    Community,
    IntArray,
    Node,
    Path,
    Ranked,
    Relationship,
    Subgraph,
    best_first,
    unique,
)
from operators.relationship.of_graph import by_degree_and_weight, degrees_of_ends
from operators.subgraph.paths import way_to_nearest

Clustering = Literal["kmeans", "gmm"]
SUMMARISE = Prompt("methods:hirag/prompts/layer_entities.j2")
STEP = "summarise entities"
SUMMARISES = "summarises"
MAX_LAYERS, MOST_SPARSE, LEAST_CHANGE, FIRST_SPARSITY = 50, 0.98, 0.05, 0.01
"""When layers end, and what the sparsity of the first is compared with; as in the release."""
CLUSTER_SIZE, SUMMARY_TOKENS = 10, 150
"""Entities of a cluster of k-means, and tokens of the central sentences that describe it."""
MIXTURE = partial(Mixture, 2, 0.1, 0, patience=10, most_swept=None)
"""Two dimensions, and the least posterior of a member; as in the release."""
SEED = 224
_FEW = 2
"""So few nodes are not clustered."""
_IN_NAME = 3
_MOST_CLUSTERS = 49
_SURE = 1024
"""Tokens that a prompt leaves for its reply where no setting ends replies."""


class SummaryEntity(BaseModel):
    """An entity as the model writes it."""

    name: str = Field(min_length=1)
    type: str = ""
    description: str = Field(min_length=1)


class SummaryEntities(BaseModel):
    """What the model writes of a cluster."""

    entities: list[SummaryEntity] = Field(min_length=1)


def _calls(settings: Mapping[str, Any], sizes: Sizes) -> int:
    return min(_MOST_CLUSTERS, sizes.n_chunks) * 6 // 5 or 1


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    text = sizes.chunk * max(sizes.n_chunks / _MOST_CLUSTERS, 1.0)
    return template_tokens(settings["summary_prompt"]) + text, _SURE / 2


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
    """The textual knowledge graph with layers of entities that summarise clusters of others.

    The entities of a layer are clustered by the vectors of their names and descriptions, into 49
    clusters at most: by balanced k-means of about 10 (`kmeans`), or by one Gaussian mixture after
    a `reduction` (`gmm`). Each cluster of two or more gives an entity of the next layer, joined to
    its members by "summarises", weight 1. It is named after the three most connected members, and
    described by the central sentences of all, 150 tokens at most. It has no chunk of its own; its
    type is `layer N`. An entity alone in its cluster is clustered again with the next layer. A
    name that a node has already is that node. Layers end when clusters are as sparse as 0.98, or
    changed their sparsity by the share 0.05 at most (`cluster_sparsity`), or two entities are
    left. Raises UserError when nothing was extracted.

    In `layered_llm` the build model writes the entities of a cluster, one or more, each joined to
    all members: one call for each cluster, from as much of what its entities say as fits the
    window. Where no reply could be read the entity of `layered` stands in its place, which is
    counted; raises UserError when that happens to all of a layer. How many clusters there are is
    not known before: the announced calls are a guess.
    Source: HiRAG (Huang et al. 2025), hierarchical index; its release: a mixture after UMAP in two
    dimensions, 0.98, 0.05, 0.1; the prompt is ours.
    Deviation: k-means, because PCA, which stands in for UMAP (an extra), leaves no gaps for a
    mixture; `layered` extracts what a model writes there. The release draws entities of a large
    cluster at random until 60,000 tokens are left; its model also writes which member a new entity
    is related to.
    """
    base, rng = text_graph(text_extraction, keywords=False), np.random.default_rng(SEED)

    def cluster(vectors: Vectors) -> Clusters:
        if clustering == "gmm":
            return mixture_layer(vectors, mixture=MIXTURE(reduction=reduction), rng=rng)
        most = max(CLUSTER_SIZE, -(-len(vectors) // _MOST_CLUSTERS))
        return balanced_clusters(vectors, most, rng)

    summarise: Summarise = partial(_central, embedder, progress)
    if llm_build is not None:
        summarise = partial(_written, llm_build, progress, summary_prompt, summarise)
    embed = partial(vectors_of, embedder=embedder, progress=progress, label="embedding entities")
    return grow(base, summarise, embed, cluster)


@dataclass
class Layers:
    """Entities as they come, layer upon layer, and the pairs of a summary and what it summarises.

    `heads` is the name of an entity's most connected member, its own where it has none; `joins` is
    how many others it is joined to, of a summary those below it.
    """

    names: list[str]
    types: list[str]
    texts: list[str]
    heads: list[str]
    joins: list[int]
    row_of: dict[str, int]
    pairs: dict[tuple[int, int], None] = field(default_factory=dict)

    @classmethod
    def above(cls, base: Graph) -> "Layers":
        """The entities of a graph, with nothing above them yet."""
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
        """The row of an entity above some others, that of a node of its name where there is one."""
        row = self.row_of.setdefault(entity.name, len(self.names))
        if row == len(self.names):
            self.names.append(entity.name)
            self.types.append(entity.type)
            self.texts.append(entity.description)
            self.heads.append(self.first_names(family)[0])
            self.joins.append(len(family))
        self.pairs.update({(row, member): None for member in family if member != row})
        return row

    def first_names(self, family: Sequence[int]) -> list[str]:
        """The first names of the three most connected members, each once; ties to the first."""
        order = best_first(np.array([self.joins[row] for row in family], np.float64)).tolist()
        names = dict.fromkeys(self.heads[family[place]] for place in order)
        return list(names)[:_IN_NAME]

    def node_text(self, row: int) -> str:
        """Name and description of an entity, as an index of descriptions has it."""
        return named_text(self.names[row], self.texts[row])


Summarise = Callable[[Layers, Sequence[Sequence[int]], str], list[list[EntityRecord]]]
"""The entities that summarise each family of rows of a layer, whose type is given."""


def grow(
    base: Graph,
    summarise: Summarise,
    embed: Callable[[Sequence[str]], Vectors],
    cluster: Callable[[Vectors], Clusters],
) -> Graph:
    """The graph with its layers; `cluster` groups the rows of vectors that `embed` gives."""
    layers = Layers.above(base)
    pool: IntArray = np.arange(base.n_nodes)
    n_layers, before = 0, FIRST_SPARSITY
    while n_layers < MAX_LAYERS and len(pool) > _FEW:
        clusters = cluster(embed([layers.node_text(row) for row in pool.tolist()]))
        sparsity = cluster_sparsity([len(rows) for rows in clusters], len(pool))
        families = [pool[rows].tolist() for rows in clusters if len(rows) > 1]
        still = abs(sparsity - before) <= LEAST_CHANGE * before
        if sparsity >= MOST_SPARSE or still or not families:
            break
        n_layers, before = n_layers + 1, sparsity
        summaries = summarise(layers, families, f"layer {n_layers}")
        pairs = zip(families, summaries, strict=True)
        fresh = [layers.summarise(family, one) for family, entities in pairs for one in entities]
        alone = [int(pool[rows[0]]) for rows in clusters if len(rows) == 1]
        pool = np.unique(np.array([*alone, *fresh], np.int64))
    return _joined(base, layers, {"layers": n_layers, "sparsity": round(before, 6)})


def cluster_sparsity(sizes: Sequence[int], n: int) -> float:
    """The share of ordered pairs of n > 1 entities that are in no cluster together, at most 1.

    A pair in two clusters counts twice, so that overlapping ones may bring it below 0.
    Source: HiRAG (Huang et al. 2025), cluster sparsity; its release.
    """
    return 1.0 - sum(size * (size - 1) for size in sizes) / (n * (n - 1))


def _central(
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
    texts = central_texts(sentences, SUMMARY_TOKENS, embedder, progress)
    names = [", ".join(layers.first_names(family)) for family in families]
    return [[EntityRecord(name, kind, text)] for name, text in zip(names, texts, strict=True)]


def _written(
    llm: ChatModel,
    progress: Progress,
    prompt: Prompt,
    central: Summarise,
    layers: Layers,
    families: Sequence[Sequence[int]],
    kind: str,
) -> list[list[EntityRecord]]:
    room = room_for(llm, prompt, _SURE)
    chats = [
        prompt.render({"entities": cut("\n".join(layers.node_text(row) for row in family), room)})
        for family in families
    ]
    replies = Extractor(llm, None, progress).ask(
        chats,
        list_reading(SummaryEntities, "entities", STEP),
        [", ".join(layers.first_names(family)) for family in families],
        "build.graph=layered takes central sentences.",
    )
    written = [
        [
            EntityRecord(normalise_name(one.name) or one.name, one.type or kind, one.description)
            for one in reply.value.entities
            if not names_nothing(one.name)
        ]
        if isinstance(reply, ListReply)
        else None
        for reply in replies
    ]
    if lacking := [row for row, one in enumerate(written) if one is None]:
        progress.say(f"{STEP}: {len(lacking)} of {len(replies)} replies were not of use")
        stand_ins = central(layers, [families[row] for row in lacking], kind)
        written = [one if one is not None else stand_ins.pop(0) for one in written]
    return [one or [] for one in written]


def _joined(base: Graph, layers: Layers, statistics: Mapping[str, float]) -> Graph:
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
        with_rows(base, ends[:, 0], ends[:, 1], np.ones(n_pairs), SUMMARISES),
        names=Texts.of(layers.names),
        types=Texts.of(layers.types),
        descriptions=Texts.of(layers.texts),
        facts=Texts.of([*base.facts, *[""] * n_pairs]),
        node_chunk=vstack([base.node_chunk, no_chunk]).tocsr(),
        node_fragments=Fragments.of([*base.node_fragments, *above], len(layers.names)),
        statistics={**base.statistics, **statistics, "summary entities": n_new},
    )


@operator("node.key", order="community by community")
def key(
    candidates: Ranked[Node],
    ranked_communities: Ranked[Community],
    *,
    communities: Communities,
    per_community: PositiveInt = 10,
) -> Ranked[Node]:
    """The first `per_community` of the candidates that each community holds, each node once.

    The communities in their order, those of each in theirs; scores as given.
    Source: HiRAG (Huang et al. 2025), key entities; its release (`top_m`).
    Deviation: the release puts them into a Python set, whose order depends on the process.
    """
    score = dict(candidates.items())
    chosen: list[int] = []
    for community in ranked_communities.ids.tolist():
        inside = np.isin(candidates.ids, row_ids(communities.nodes, community))
        chosen += candidates.ids[inside][:per_community].tolist()
    return Ranked.of({node: score[node] for node in unique(chosen)})


@operator("relationship.bridge", order="the degree of both ends, then weight")
def bridge(
    key_nodes: Ranked[Node], *, graph: Graph, max_hops: PositiveInt | None = None
) -> tuple[Ranked[Relationship], Subgraph]:
    """The relationships among the nodes on the way through the key nodes, and that way.

    The way leads from each node to the next by the fewest hops, ties through lower ids, and starts
    anew where the next is more than `max_hops` away (None: not to be reached); a path may be one
    node alone. Score: the sum of the degrees of both ends; ties by higher weight, then by lower id.
    Every node costs one breadth-first search at most.
    Source: HiRAG (Huang et al. 2025), reasoning path and bridge; its release.
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
