"""NodeRAG's graph, in which entities, relationships, semantic units and more are nodes."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.evidence import WHOLE, Fragments
from graphrag_bench.algorithms.extraction import TextExtraction
from graphrag_bench.algorithms.graph import Graph, nodes_of_types
from graphrag_bench.algorithms.pagerank import walk_of_nodes
from graphrag_bench.arrays import BoolArray, IntArray, best_first
from graphrag_bench.columns import Texts, incidence, row_ids
from graphrag_bench.contract import Sizes, artifact, operator, template_tokens
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.build_calls import Extractor, text_budget
from graphrag_bench.graphs.communities import split_by_leiden
from graphrag_bench.graphs.sentences import central_texts, chunks_of, sentence_chunks, vectors_of
from graphrag_bench.graphs.text_graph import text_graph
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import decode, encode, normalise_name
from graphrag_bench.values import Mentions, Node, NodeScores, Ranked
from graphrag_bench_more.clustering import kmeans

ENTITY, RELATIONSHIP, UNIT = "entity", "relationship", "semantic unit"
ATTRIBUTE, ELEMENT, TITLE, TEXT = "attribute", "high-level element", "title", "text"
EMBEDDED = (UNIT, ATTRIBUTE, ELEMENT, TEXT)
"""The types of nodes that have vectors."""
ATTRIBUTES_OF = Prompt("graphrag_bench_more:noderag/prompts/attribute.j2")
ELEMENTS_OF = Prompt("graphrag_bench_more:noderag/prompts/high_level_element.j2")
PROVIDES = frozenset({"node.name", "node.type", "node.description", "relationship.weight"})
Describe = Callable[[Sequence[str], Sequence[Sequence[str]]], list[str]]
"""Function that returns a description of each name, given the names and the texts about each name.
"""
RELATIONSHIP_TOKENS = 60
PIVOTS, CLUSTER_SIZE, IN_TITLE = 10, 39, 3
"""Start nodes of betweenness, members of a cluster, and names in a title, as in NodeRAG's code."""
SEED = 0


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    template = max(map(template_tokens, (settings["attribute_prompt"], settings["element_prompt"])))
    return template + sizes.chunk, settings["element_tokens"] / 2


@artifact(
    "graph.heterogeneous",
    provides=PROVIDES,
    fixed={"llm_build": None, "attribute_prompt": ATTRIBUTES_OF, "element_prompt": ELEMENTS_OF},
)
@artifact("graph.heterogeneous_llm", provides=PROVIDES, calls=1, tokens=_tokens)
def heterogeneous(
    *,
    text_extraction: TextExtraction,
    chunk_table: ChunkTable,
    embedder: Embedder,
    llm_build: ChatModel | None,
    progress: Progress,
    attribute_tokens: PositiveInt = 150,
    element_tokens: PositiveInt = 150,
    neighbours: NonNegativeInt = 10,
    attribute_prompt: Prompt = ATTRIBUTES_OF,
    element_prompt: Prompt = ELEMENTS_OF,
) -> Graph:
    """Build a graph of seven types of described nodes, joined by edges without a name.

    An `entity` is a normalised name. A `relationship` is described in 60 tokens and joined to its
    two entities. A `semantic unit` is a distinct description of the extraction (a sentence if no
    language model is used) and is joined to its entities. An `attribute` describes an entity in
    `attribute_tokens`. The entity must be one of the `important_nodes` and have at least two units.
    If there is no such entity, the entity with the most units gets an attribute. A `high-level
    element` describes a Leiden community in `element_tokens`. It is joined to the units and
    attributes of the community. If the k-means clusters of these nodes would have more than 39
    members on average, it is joined only to those in its own cluster. Its `title` names the three
    best connected entities. A `text` is a chunk and is joined to its units. Units, attributes,
    elements and texts are also joined to the `neighbours` most similar nodes of these types. An
    edge weighs 1 / d, where d is the higher degree of its two nodes.

    Descriptions of attributes and elements are central sentences. In `heterogeneous_llm`, the build
    model writes each description in one call, from as much text as fits into the context window.
    Central sentences replace missing replies. The announced number of calls is a guess. Raises
    UserError if nothing was extracted or described, or if no reply about a type is usable.
    Source: NodeRAG (Xu et al. 2025), graph decomposition, augmentation, enrichment; its code.
    Deviation: Without a model, descriptions are extracted. The prompts are this project's.
    """
    describe = partial(_describe, llm_build, embedder, progress)
    nodes = _Nodes(len(chunk_table))
    _add_records(nodes, text_extraction)
    _add_attributes(nodes, partial(describe, ATTRIBUTE, attribute_prompt, attribute_tokens))
    elements = _add_elements(nodes, partial(describe, ELEMENT, element_prompt, element_tokens))
    _join_elements(nodes, elements, embedder, progress)
    texts = [
        nodes.add(TEXT, str(row), passage, (row,))
        for row, passage in enumerate(chunk_table.passages)
    ]
    for unit in nodes.of(UNIT):
        nodes.join(unit, [texts[chunk] for chunk in nodes.chunks[unit]])
    _join_similar(nodes, embedder, progress, neighbours)
    graph = nodes.graph()
    degree = graph.degree
    return replace(graph, weight=1.0 / np.maximum(degree[graph.source], degree[graph.target]))


def _describe(
    llm: ChatModel | None,
    embedder: Embedder,
    progress: Progress,
    kind: str,
    prompt: Prompt,
    most_tokens: int,
    names: Sequence[str],
    texts_of: Sequence[Sequence[str]],
) -> list[str]:
    written: list[str | None] = [None] * len(texts_of)
    if llm is not None:
        room = text_budget(llm, prompt, most_tokens)
        cut = [decode(encode("\n".join(texts))[:room]) for texts in texts_of]
        pairs = zip(names, cut, strict=True)
        chats = [prompt.render({"name": name, "texts": texts}) for name, texts in pairs]
        advice = "To build without a model, set build.graph=heterogeneous."
        extractor = Extractor(llm, most_tokens, progress)
        written = extractor.texts(chats, names, f"write {kind}s", advice)
    if None not in written:
        return [text for text in written if text is not None]
    central = central_texts([(texts, most_tokens) for texts in texts_of], embedder, progress)
    return [text or other for text, other in zip(written, central, strict=True)]


@dataclass
class _Nodes:
    n_chunks: int
    types: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    chunks: list[tuple[int, ...]] = field(default_factory=list)
    pairs: dict[tuple[int, int], None] = field(default_factory=dict)
    read: list[tuple[int, str, int]] = field(default_factory=list)

    def add(self, kind: str, name: str, text: str, chunks: Iterable[int]) -> int:
        """Add a node and return its row. The type precedes all names except those of entities."""
        self.types.append(kind)
        self.names.append(name if kind == ENTITY else f"{kind}: {name}")
        self.texts.append(text)
        self.chunks.append(tuple(sorted(set(chunks))))
        return len(self.names) - 1

    def join(self, node: int, others: Iterable[int]) -> None:
        for other in others:
            if node != other and (other, node) not in self.pairs:
                self.pairs[node, other] = None

    def of(self, *types: str) -> list[int]:
        return [row for row, kind in enumerate(self.types) if kind in types]

    def texts_of(self, rows: Sequence[int]) -> list[str]:
        return [self.texts[row] for row in rows]

    def _fragments(self) -> Iterator[tuple[int, str, int]]:
        yield from self.read
        units = ((self.texts[row], chunk) for row in self.of(UNIT) for chunk in self.chunks[row])
        known = sentence_chunks(units)
        chunks: dict[int, Sequence[int]] = {r: self.chunks[r] for r in self.of(UNIT, TEXT)}
        chunks |= {row: chunks_of(self.texts[row], known) for row in self.of(ATTRIBUTE, ELEMENT)}
        yield from ((row, WHOLE, chunk) for row, own in chunks.items() for chunk in own)

    def graph(self) -> Graph:
        source, target = np.array(list(self.pairs), np.int64).reshape(-1, 2).T
        node_chunk = incidence(self.chunks, self.n_chunks)
        edges = Graph.from_arrays(
            source, target, node_chunk, node_chunk[source],
            names=self.names, relations="joined to",
        )  # fmt: skip
        return replace(
            edges,
            types=Texts.of(self.types),
            descriptions=Texts.of(self.texts),
            node_fragments=Fragments.of(self._fragments(), len(self.names)),
            statistics={f"nodes: {kind}": n for kind, n in Counter(self.types).items()},
        )


def _add_records(nodes: _Nodes, extraction: TextExtraction) -> None:
    base = text_graph(extraction, keywords=False, most_tokens=RELATIONSHIP_TOKENS)
    assert base.facts is not None and base.fact_fragments is not None
    for row, name in enumerate(base.names):
        nodes.add(ENTITY, name, name, row_ids(base.node_chunk, row).tolist())
    for row, fact in enumerate(base.facts):
        ends = int(base.source[row]), int(base.target[row])
        text = ", ".join(filter(None, (base.names[ends[0]], fact, base.names[ends[1]])))
        chunks = row_ids(base.relationship_chunk, row).tolist()
        node = nodes.add(RELATIONSHIP, str(row), text, chunks)
        nodes.join(node, ends)
        nodes.read += [(node, *one) for one in base.fact_fragments.of_row(row)]
    units: dict[str, tuple[dict[int, None], dict[int, None]]] = {}
    for chunk, records in enumerate(extraction.rows):
        described = [
            *(((one.name,), one.description) for one in records.entities),
            *(((one.source, one.target), one.description) for one in records.relationships),
        ]
        for names, text in described:
            if text := " ".join(text.split()):
                named, in_chunks = units.setdefault(text, ({}, {}))
                rows = (base.row_of.get(normalise_name(name)) for name in names)
                named.update(dict.fromkeys(row for row in rows if row is not None))
                in_chunks[chunk] = None
    if not units:
        raise UserError(
            "The graph has no semantic unit: no record of the extraction has a description. "
            "Set build.text_extraction=nlp, which describes every entity by its sentence."
        )
    for number, (text, (named, in_chunks)) in enumerate(units.items()):
        nodes.join(nodes.add(UNIT, str(number), text, in_chunks), named)


def _add_attributes(nodes: _Nodes, describe: Describe) -> None:
    graph = nodes.graph()
    important = important_nodes(graph)
    is_unit = np.array([kind == UNIT for kind in nodes.types])
    near = {entity: row_ids(graph.adjacency, entity) for entity in nodes.of(ENTITY)}
    units = {entity: rows[is_unit[rows]].tolist() for entity, rows in near.items()}
    selected = [entity for entity, rows in units.items() if important[entity] and len(rows) > 1]
    selected = selected or [max(units, key=lambda entity: len(units[entity]))]
    names = [nodes.names[entity] for entity in selected]
    texts = describe(names, [nodes.texts_of(units[entity]) for entity in selected])
    for entity, text in zip(selected, texts, strict=True):
        attribute = nodes.add(ATTRIBUTE, nodes.names[entity], text, nodes.chunks[entity])
        nodes.join(attribute, [entity])


def important_nodes(graph: Graph) -> Any:
    """Return a mask of the nodes in the dense core or with high betweenness, bool (n_nodes,).

    The core is the k-core with k = ln(n) * sqrt(mean degree), rounded. Betweenness is computed from
    the 10 best connected nodes. It is high if it exceeds the mean times round(log10(n)).
    Source: NodeRAG (Xu et al. 2025), node importance; its code samples the start nodes.
    """
    n = graph.n_nodes
    k = round(math.log(n) * math.sqrt(float(graph.degree.mean())))
    core = np.array(graph.igraph.coreness()) >= max(k, 1)
    starts = best_first(graph.degree.astype(np.float64))[:PIVOTS].tolist()
    between = np.array(graph.igraph.betweenness(directed=False, sources=starts))
    return core | (between > between.mean() * round(math.log10(n)) + 1e-9)


def _add_elements(nodes: _Nodes, describe: Describe) -> Mapping[int, list[int]]:
    graph = nodes.graph()
    described = set(nodes.of(UNIT, ATTRIBUTE))
    communities = split_by_leiden(graph, SEED, max(graph.n_nodes, 1))
    titles, sources = [], []
    for number in range(len(communities)):
        members = row_ids(communities.nodes, number)
        named = members[[nodes.types[row] == ENTITY for row in members.tolist()]]
        if rows := [row for row in members.tolist() if len(named) and row in described]:
            first = Ranked[Node].top(graph.degree, IN_TITLE, among=named).ids.tolist()
            titles.append(", ".join(nodes.names[row] for row in first))
            sources.append(rows)
    texts = describe(titles, [nodes.texts_of(rows) for rows in sources])
    elements: dict[int, list[int]] = {}
    for number, (title, text, rows) in enumerate(zip(titles, texts, sources, strict=True)):
        chunks = [chunk for row in rows for chunk in nodes.chunks[row]]
        element = nodes.add(ELEMENT, str(number), text, chunks)
        nodes.join(nodes.add(TITLE, title, title, chunks), [element])
        elements[element] = rows
    return elements


def _join_elements(
    nodes: _Nodes, elements: Mapping[int, list[int]], embedder: Embedder, progress: Progress
) -> None:
    rows = [*elements, *(row for described in elements.values() for row in described)]
    n_clusters = math.ceil(math.sqrt(len(rows)))
    cluster = np.zeros(len(nodes.names), np.int64)
    if rows and len(rows) / n_clusters > CLUSTER_SIZE:
        vectors = vectors_of(nodes.texts_of(rows), embedder, progress, "embedding elements")
        cluster[rows] = kmeans(vectors, n_clusters, SEED)
    for element, described in elements.items():
        nodes.join(element, [row for row in described if cluster[row] == cluster[element]])


def _join_similar(nodes: _Nodes, embedder: Embedder, progress: Progress, neighbours: int) -> None:
    if not neighbours:
        return
    rows = nodes.of(*EMBEDDED)
    vectors = vectors_of(nodes.texts_of(rows), embedder, progress, "embedding nodes")
    for row, near in zip(rows, VectorIndex(vectors).search(vectors, neighbours + 1), strict=True):
        others: IntArray = np.array(rows, np.int64)[near.ids]
        nodes.join(row, others[others != row][:neighbours].tolist())


Quota = Annotated[int, Field(ge=0)]


@lru_cache(maxsize=2)
def _phrases(graph: Graph) -> list[str]:
    """Return the normalised description (or name) of each node, with a space at each end."""
    return [f" {normalise_name(text)} " for text in graph.descriptions or graph.names]


@operator("node.phrase", requires={"node.name"})
def phrase(mentions: Mentions, *, graph: Graph, types: tuple[str, ...] = ()) -> Ranked[Node]:
    """Find nodes whose text contains one of the question's names as consecutive whole words.

    The text is the description, or the name in graphs without descriptions. Case and punctuation
    are ignored. If `types` is not empty, only nodes of these types are searched. The score is 1.
    Ties are broken by lower id.
    Source: NodeRAG (Xu et al. 2025), exact matching of the dual search, and its code.
    """
    names = [f" {name} " for name in map(normalise_name, mentions.names) if name]
    typed = nodes_of_types(graph, types)
    rows = np.arange(graph.n_nodes) if typed is None else np.flatnonzero(typed)
    if not names:
        return Ranked.empty()
    texts = _phrases(graph)
    matching = [row for row in rows.tolist() if any(name in texts[row] for name in names)]
    return Ranked[Node](np.array(matching, np.int64), np.ones(len(matching)))


@operator("node.shallow")
def shallow(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    damping: Annotated[float, Field(ge=0, le=1)] = 0.5,
    n_steps: PositiveInt = 2,
    types: tuple[str, ...] = (),
    top_k: PositiveInt = 10,
) -> tuple[Ranked[Node], NodeScores]:
    """Rank nodes by a random walk of `n_steps` from the given nodes, and return all scores.

    The walk starts with equal probability at each given node. At each step, the fraction `damping`
    of a node's probability moves to its neighbours in proportion to edge weight, and the rest
    stays. Isolated nodes keep their probability. The score is the probability after the walk. Ties
    are broken by lower id. If `types` is not empty, only nodes of these types are ranked. Nodes
    with score 0 are not ranked.
    Source: NodeRAG (Xu et al. 2025), shallow personalised PageRank, and its code.
    """
    mass = np.zeros(graph.n_nodes)
    start = np.unique(nodes.ids)
    if len(start):
        mass[start] = 1.0 / len(start)
    walk = walk_of_nodes(graph)
    for _ in range(n_steps):
        moved = walk.transition @ mass
        moved[walk.isolated] = mass[walk.isolated]
        mass = damping * moved + (1.0 - damping) * mass
    typed = nodes_of_types(graph, types)
    reached = mass > 0 if typed is None else (mass > 0) & typed
    return Ranked[Node].top(mass, top_k, among=np.flatnonzero(reached)), NodeScores(mass)


@operator("node.quota", requires={"node.type"})
def quota(
    node_scores: NodeScores,
    *,
    graph: Graph,
    n_entities: Quota = 10,
    n_titles: Quota = 10,
    n_others: Quota = 20,
    n_relationships: Quota = 30,
) -> Ranked[Node]:
    """Choose the nodes for the prompt by score, with a quota for each type.

    The prompt gets the best `n_others` semantic units, attributes and high-level elements, and the
    best `n_relationships` relationships. Nodes with score 0 are not chosen. The attributes of the
    best `n_entities` entities and the elements of the best `n_titles` titles are added, whatever
    their scores. Ties are broken by lower id.
    Source: NodeRAG (Xu et al. 2025), code.
    """
    scores = node_scores.values

    def has_type(*types: str) -> BoolArray:
        mask = np.zeros(graph.n_nodes, bool)
        for kind in types:
            mask[graph.nodes_of_type.get(kind, [])] = True
        return mask

    def best(n: int, *types: str) -> IntArray:
        return Ranked[Node].top(scores, n, np.flatnonzero(has_type(*types) & (scores > 0))).ids

    selected = [best(n_others, UNIT, ATTRIBUTE, ELEMENT), best(n_relationships, RELATIONSHIP)]
    for n, kind, described_type in ((n_entities, ENTITY, ATTRIBUTE), (n_titles, TITLE, ELEMENT)):
        near = graph.adjacency[best(n, kind)].indices
        selected.append(near[has_type(described_type)[near]])
    return Ranked[Node].top(scores, None, np.unique(np.concatenate(selected)))
