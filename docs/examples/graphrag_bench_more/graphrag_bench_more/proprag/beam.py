"""PropRAG: beam search over paths of facts, then PageRank from entities on the paths."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.graph import Graph, nodes_of_types
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.arrays import FloatArray, IntArray, best_first
from graphrag_bench.columns import bool_csr, row_ids, sorted_csr
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.embedding.vector_index import VectorIndex, products
from graphrag_bench.values import Chunk, Node, Path, Question, Ranked

FactPath = tuple[int, ...]
"""A path of facts, as their positions in the array of searched facts."""


@operator("path.beam", batched=True, requires={"node.description"})
def beam(
    question: Sequence[Question],
    chunks: Sequence[Ranked[Chunk]],
    *,
    graph: Graph,
    node_index: VectorIndex,
    embedder: Embedder,
    types: tuple[str, ...] = (),
    width: PositiveInt = 4,
    max_facts: PositiveInt = 3,
    n_rescored: PositiveInt = 40,
    n_parallel: NonNegativeInt = 3,
) -> list[RankedPaths]:
    """Find paths of facts whose joined texts are most similar to the question, by beam search.

    Facts are the nodes of the given `types` in the given chunks. If `types` is empty, all nodes are
    facts. The beam starts with the `width` facts most similar to the question. Each round extends
    every path by one fact, until paths have `max_facts` distinct facts. The new fact names an
    entity of the last fact or a synonym of such an entity, or it is one of the `n_parallel` facts
    most similar to the question. If several paths have the same set of facts, only the first is
    kept. The extended paths are ranked by the similarity of their mean vector to the question. The
    best `n_rescored` paths are then scored again by the vector of their joined text. The best
    `width` of these paths form the next beam.
    The score is the cosine with the question (-1..1). Paths of all lengths are returned. Ties are
    broken by fewer facts, then by lower ids. The nodes of a path include the entities between its
    facts. If no entity links two successive facts, the path has no relationship between them.
    Source: PropRAG (Wang and Han 2025), beam search over proposition paths, and its code.
    """
    vectors = embedder.encode([one.text for one in question], kind="question")
    typed, described = nodes_of_types(graph, types), graph.descriptions
    assert described is not None
    searches = []
    for vector, inside in zip(vectors, chunks, strict=True):
        facts = np.unique(graph.chunk_node[inside.ids].indices).astype(np.int64)
        facts = facts if typed is None else facts[typed[facts]]
        searches.append(_Search(vector, facts, graph, node_index, width))
    for _ in range(1, max_facts):
        pairs = [(one, one.extensions(n_parallel, n_rescored)) for one in searches]
        extended = (one.facts[list(steps)] for one, some in pairs for steps in some)
        texts = [" ".join(described.take(rows)) for rows in extended]
        if not texts:
            break
        embedded = iter(embedder.encode(texts, kind="passage"))
        for one, some in pairs:
            one.keep(some, np.array([one.vector @ next(embedded) for _ in some], np.float64), width)
    return [RankedPaths(tuple(one.paths())) for one in searches]


class _Search:
    def __init__(
        self, vector: Vectors, facts: IntArray, graph: Graph, index: VectorIndex, width: int
    ) -> None:
        self.vector, self.facts, self.graph = vector, facts, graph
        self.rows = np.asarray(index.vectors[facts], np.float32)
        cosine = products(vector[None, :], index.vectors, facts[None, :])[0]
        self.scores = cosine.astype(np.float64)
        named = graph.adjacency[facts].astype(bool).astype(np.int64)
        rows = np.unique(named.indices)
        named = named[:, rows]
        joining = graph.relationships_at(rows)
        joining = joining[graph.synonym[joining]]
        ends = np.stack([graph.source[joining], graph.target[joining]])
        head, tail = np.searchsorted(rows, ends[:, np.isin(ends, rows).all(axis=0)])
        synonyms = bool_csr(head, tail, (len(rows), len(rows))).astype(np.int64)
        near = named + named @ (synonyms + synonyms.T)
        self.linked = sorted_csr((near @ named.T).astype(bool))
        self.beam_paths: list[FactPath] = []
        self.scored: dict[FactPath, float] = {}
        self.keep([(place,) for place in range(len(facts))], self.scores, width)

    def extensions(self, n_parallel: int, n_rescored: int) -> list[FactPath]:
        first = best_first(self.scores)[:n_parallel]
        seen: dict[frozenset[int], tuple[FactPath, float]] = {}
        for steps in self.beam_paths:
            near = np.setdiff1d(np.union1d(row_ids(self.linked, steps[-1]), first), steps)
            base = self.rows[list(steps)].sum(axis=0)
            others = self.rows[near]
            squares = base @ base + 2 * (others @ base) + (others * others).sum(axis=1)
            sums = self.scores[list(steps)].sum() + self.scores[near]
            means = sums / np.sqrt(np.maximum(squares, 1e-12))
            for place, mean in zip(near.tolist(), means.tolist(), strict=True):
                seen.setdefault(frozenset((*steps, place)), ((*steps, place), mean))
        candidates = sorted(seen.values())
        best = best_first(np.array([mean for _, mean in candidates]))[:n_rescored]
        return sorted(candidates[row][0] for row in best.tolist())

    def keep(self, candidates: Sequence[FactPath], scores: FloatArray, width: int) -> None:
        best = best_first(scores)[:width].tolist()
        self.beam_paths = [candidates[row] for row in best]
        self.scored |= {candidates[row]: float(scores[row]) for row in best}

    def paths(self) -> Iterator[Path]:
        ordered = sorted(self.scored, key=lambda steps: (len(steps), steps))
        best = best_first(np.array([self.scored[steps] for steps in ordered]))
        for steps in (ordered[row] for row in best.tolist()):
            facts = self.facts[list(steps)].tolist()
            nodes, rows = [facts[0]], list[int]()
            for last, fact in pairwise(facts):
                between = _entities_between(self.graph, last, fact)
                if between:
                    rows += self.graph.neighbours.rows_along((last, *between, fact))
                nodes += [*between, fact]
            yield Path(tuple(nodes), tuple(rows), self.scored[steps])


def _entities_between(graph: Graph, last: int, fact: int) -> tuple[int, ...]:
    entities, other = row_ids(graph.adjacency, last), row_ids(graph.adjacency, fact)
    shared = np.intersect1d(entities, other)
    if len(shared):
        return (int(shared[0]),)
    for entity in np.sort(entities).tolist():
        synonyms = np.intersect1d(row_ids(graph.adjacency, entity), other)
        if len(synonyms):
            return (entity, int(synonyms[0]))
    return ()


@operator("node.of_paths")
def of_paths(
    paths: RankedPaths,
    *,
    graph: Graph,
    types: tuple[str, ...] = (),
    n_paths: PositiveInt = 5,
    top_k: PositiveInt = 5,
) -> Ranked[Node]:
    """Rank the entities that are named by facts on the best paths or on paths with a single fact.

    Nodes of the given `types` are entities, and the other nodes of a path are facts. If `types` is
    empty, all nodes of a path are facts and all their neighbours are entities. The first `n_paths`
    paths form one group, and all paths with a single fact form a second group. In each group, the
    `top_k` entities with the highest sum of path scores are chosen. A path counts once for each of
    its facts that names the entity. Each chosen entity has the score of its best path in the group,
    divided by the highest such score in the group (0..1). An entity of both groups gets the higher
    score. Paths with a score of 0 or less are ignored.
    Source: PropRAG (Wang and Han 2025), seeds of the last walk, and its code.
    """
    typed = nodes_of_types(graph, types)
    scores: dict[int, float] = {}
    for group in (paths.paths[:n_paths], [path for path in paths.paths if len(path.nodes) == 1]):
        total, best = defaultdict[int, float](float), defaultdict[int, float](float)
        for path in (path for path in group if path.score > 0):
            for fact in (node for node in path.nodes if typed is None or not typed[node]):
                near = row_ids(graph.adjacency, fact)
                for entity in (near if typed is None else near[typed[near]]).tolist():
                    total[entity] += path.score
                    best[entity] = max(best[entity], path.score)
        sums = Ranked[Node].of(total)
        chosen = sums.ids[best_first(sums.scores, sums.ids)[:top_k]].tolist()
        largest = max((best[entity] for entity in chosen), default=1.0)
        scores |= {one: max(best[one] / largest, scores.get(one, 0.0)) for one in chosen}
    ranked = Ranked[Node].of(scores)
    return ranked.take(best_first(ranked.scores, ranked.ids))
