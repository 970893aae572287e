"""LinearRAG: a graph of entities, sentences and chunks, and activation that spreads along it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import DECIMALS, FloatArray
from graphrag_bench.columns import Columns, Texts, count_csr, row_ids, sorted_csr
from graphrag_bench.contract import artifact, operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.embedding.vector_index import VectorIndex, index_texts
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import ChunkScores, Node, NodeScores, Question, Ranked


@dataclass(frozen=True, eq=False)
class TriGraph(Columns):
    """LinearRAG's Tri-Graph, which links entities to sentences and to chunks.

    `names` (n_entities,) are normalised and unique, in order of first mention. `sentences`
    (n_sentences,) are distinct, and each names an entity. `entity_sentence` is a bool CSR matrix
    (n_entities, n_sentences). `entity_chunk` is an int64 CSR matrix (n_entities, n_chunks) that
    counts the mentions of each entity in each chunk.
    """

    names: Texts
    sentences: Texts
    entity_sentence: Any
    entity_chunk: Any

    @cached_property
    def sentence_entity(self) -> Any:
        """The entities in each sentence, sorted by id: bool CSR (n_sentences, n_entities)."""
        return sorted_csr(self.entity_sentence.T)

    @cached_property
    def mention_weight(self) -> Any:
        """ln(1 + m) for each entity with m mentions in a chunk, CSR (n_chunks, n_entities)."""
        return self.entity_chunk.T.tocsr().astype(np.float64).log1p()


@artifact("tri_graph")
def tri_graph(*, chunk_table: ChunkTable, nlp: Nlp, progress: Progress) -> TriGraph:
    """Build LinearRAG's Tri-Graph, which links named entities to their sentences and chunks.

    spaCy finds the entities in titles and texts. Ordinals and counts are not entities, as in
    LinearRAG's code. Sentences without an entity are left out. Raises UserError if no entity is
    found.
    Source: LinearRAG (Zhuang et al. 2025), Tri-Graph, and its code.
    """
    names, lines = dict[str, int](), dict[str, int]()
    in_sentence, in_chunk = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    texts = chunk_table.passages
    with progress.task("reading sentences", len(texts)) as advance:
        for row, sentences in enumerate(nlp.sentences(texts)):
            for sentence in sentences:
                every = sentence.entities
                entities = (text for text, kind in every if kind not in ("ORDINAL", "CARDINAL"))
                normal = filter(None, map(normalise_name, entities))
                named = [names.setdefault(name, len(names)) for name in normal]
                in_chunk.update((entity, row) for entity in named)
                text = " ".join(sentence.text.split())
                if named and text:
                    at = lines.setdefault(text, len(lines))
                    in_sentence.update((entity, at) for entity in named)
            advance(1)
    if not names:
        raise UserError(
            "The graph has no entities, because the tagger found no names in the texts. Check that "
            "the texts are in the language of the tagger's model."
        )
    return TriGraph(
        Texts.of(list(names)),
        Texts.of(list(lines)),
        count_csr(in_sentence, (len(names), len(lines))).astype(bool),
        count_csr(in_chunk, (len(names), len(chunk_table))),
    )


@artifact("graph.entities", provides={"node.name", "relationship.weight"})
def entities(*, tri_graph: TriGraph) -> Graph:
    """Build a graph without relationships, whose nodes are the entities of LinearRAG's Tri-Graph.

    Source: LinearRAG (Zhuang et al. 2025).
    """
    inside = tri_graph.entity_chunk.astype(bool)
    return Graph.from_arrays([], [], inside, names=list(tri_graph.names))


@artifact("sentence_index")
def sentence_index(*, tri_graph: TriGraph, embedder: Embedder, progress: Progress) -> VectorIndex:
    """Embed the sentences of LinearRAG's Tri-Graph, in the order of the Tri-Graph."""
    return index_texts(list(tri_graph.sentences), embedder, progress, "sentences")


@operator("node.activate", batched=True)
def activate(
    nodes: Sequence[Ranked[Node]],
    question: Sequence[Question],
    *,
    graph: Graph,
    tri_graph: TriGraph,
    sentence_index: VectorIndex,
    embedder: Embedder,
    rounds: NonNegativeInt = 2,
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5,
    sentences_per_node: PositiveInt = 1,
) -> list[tuple[Ranked[Node], NodeScores]]:
    """Spread activation from the given nodes along sentences, and return the active nodes.

    In each round, every active node selects sentences that name it, namely the `sentences_per_node`
    sentences most similar to the question. Sentences selected in earlier rounds are excluded. The
    node passes its score times the cosine of sentence and question to every entity in these
    sentences. In the first round, its score is its start score. In later rounds, it is the highest
    score that the node received in the previous round. Scores below `threshold` are neither passed
    on nor received.
    Nodes are ranked by the sum of their start score and all received scores. If a node is given
    twice, its best start score counts. Negative start scores count as 0. The activation of a node
    is the maximum of its start score and its received scores, where a score received in round r is
    divided by 1 + r. Only nodes with a positive sum are returned. Raises UserError if the graph
    does not belong to the sentences. Two rounds equal `max_iterations=3` in the authors' code.
    Source: LinearRAG (Zhuang et al. 2025), semantic propagation, and its code.
    Deviation: The result does not depend on the order of the nodes. Sentences are marked as
    selected at the end of a round, and the highest of several received scores is passed on. The
    authors' code goes node by node and keeps the last score.
    """
    if len(tri_graph.names) != graph.n_nodes:
        raise UserError("node.activate needs a Tri-Graph. Set build.graph=entities.")
    vectors = embedder.encode([one.text for one in question], kind="question")
    results = []
    for seeds, vector in zip(nodes, vectors, strict=True):
        cosine = np.asarray(np.round(sentence_index.scores(vector), DECIMALS), np.float64)
        now, visited = np.zeros(graph.n_nodes), np.zeros(len(cosine), bool)
        np.maximum.at(now, seeds.ids, seeds.scores)
        weights, active = now.copy(), now.copy()
        for done in range(1, rounds + 1):
            passing, now, used = now, np.zeros(graph.n_nodes), list[int]()
            for node in np.flatnonzero((passing > 0) & (passing >= threshold)).tolist():
                sentences = row_ids(tri_graph.entity_sentence, node)
                among = sentences[~visited[sentences]]
                best = Ranked[Any].top(cosine, sentences_per_node, among=among).ids.tolist()
                used += best
                for sentence in best:
                    score = passing[node] * cosine[sentence]
                    if score > 0 and score >= threshold:
                        named = row_ids(tri_graph.sentence_entity, sentence)
                        weights[named] += score
                        now[named] = np.maximum(now[named], score)
            visited[used] = True
            active = np.maximum(active, now / (done + 1))
        ranked = Ranked[Node].top(weights, None, among=np.flatnonzero(weights > 0))
        rows = np.flatnonzero(active)
        results.append((ranked, NodeScores.sparse(rows, active[rows], graph.n_nodes)))
    return results


@operator("chunk.activated", batched=True)
def activated(
    chunk_scores: Sequence[ChunkScores],
    node_scores: Sequence[NodeScores],
    *,
    tri_graph: TriGraph,
    ratio: NonNegativeFloat = 1.5,
) -> list[ChunkScores]:
    """Add a bonus to the scores of chunks that mention active nodes.

    The new score of a chunk is `ratio * s + ln(1 + sum of a * ln(1 + m))`. Here s is the score of
    the chunk. The sum is over all nodes, a is the activation of a node, and m is the number of its
    mentions in the chunk. Negative activations count as 0. The default is from the authors' code.
    Source: LinearRAG (Zhuang et al. 2025), passage scores.
    """

    def read(chunks: ChunkScores, nodes: NodeScores) -> FloatArray:
        bonus = np.log1p(tri_graph.mention_weight @ np.maximum(nodes.values, 0.0))
        return np.asarray(ratio * chunks.values + bonus, np.float64)

    pairs = zip(chunk_scores, node_scores, strict=True)
    return [ChunkScores.later(partial(read, *pair), len(pair[0])) for pair in pairs]
