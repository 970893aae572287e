"""PathCoRAG: reasoning steps of a question, the nodes of each step, and the paths between them."""

import re
from collections.abc import Mapping
from itertools import chain, pairwise, repeat
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field, PositiveInt, model_validator

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths, ReasoningSteps, StepNodes
from graphrag_bench.arrays import DECIMALS, BoolArray, IntArray, best_first, unique
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Node, Path, Question, Ranked, Relationship
from methods.pathcorag.k_shortest_paths import Likeness, likely_pairs, shortest_paths
from operators.search import search_each


class StepsReply(BaseModel):
    """Reply with steps and their queries. A step may be the key of its queries."""

    reasoning_steps: list[str]
    extended_queries: list[list[str]]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, reply: Any) -> Any:
        if not isinstance(reply, Mapping):
            return reply
        fields = {_normal_key(str(key)): value for key, value in reply.items()}
        if "reasoning steps" not in fields:
            return reply
        steps, queries = _texts(fields["reasoning steps"]), fields.get("extended queries")
        keyed = queries if isinstance(queries, Mapping) else {}
        named = {_normal_key(str(key)): _texts(value) for key, value in keyed.items()}
        listed = list(map(_texts, queries)) if isinstance(queries, list) else list(named.values())
        listed += [[] for _ in steps]
        of_steps = [named.get(_normal_key(step), listed[row]) for row, step in enumerate(steps)]
        return {"reasoning_steps": steps, "extended_queries": of_steps}


def _normal_key(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"\w+", words.replace("_", " ").casefold()))


def _texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [text for item in items if item is not None and (text := str(item).strip())]


@operator("question.reasoning_steps.llm", calls=2, supplies={"question", "n_steps", "n_queries"})
def reasoning_steps_llm(
    question: Question,
    *,
    llm: ChatModel,
    prompt: Prompt = Prompt("methods:pathcorag/prompts/steps.j2"),
    n_steps: PositiveInt = 3,
    n_queries: PositiveInt = 3,
) -> ReasoningSteps:
    """Ask the language model for `n_steps` reasoning steps, each with `n_queries` search queries.

    Additional steps and queries are left out. A missing query is replaced by the text of the step.
    After two unreadable replies or no reply, the question is the only step. This is a fallback.
    Source: PathCoRAG, Section 4.1.
    """
    chat = prompt.render({"question": question.text, "n_steps": n_steps, "n_queries": n_queries})
    none = StepsReply(reasoning_steps=[], extended_queries=[])
    read = ask(llm, chat, StepsReply, max_tokens=800, purpose="reasoning steps", fallback=none)
    queries: dict[str, tuple[str, ...]] = {}
    padded = chain(read.extended_queries, repeat(list[str]()))
    for step, of_step in zip(read.reasoning_steps, padded, strict=False):
        queries.setdefault(step, (*of_step, *[step] * n_queries)[:n_queries])
    if not queries:
        return ReasoningSteps((question.text,), ((question.text,),))
    return ReasoningSteps(tuple(queries)[:n_steps], tuple(queries.values())[:n_steps])


@operator("question.reasoning_steps.nlp")
def reasoning_steps_nlp(
    question: Question, *, nlp: Nlp, n_steps: PositiveInt = 3, n_queries: PositiveInt = 3
) -> ReasoningSteps:
    """Make up to three reasoning steps from the words of the question, without a language model.

    The steps are the named entities, the remaining noun phrases, and the question itself. The
    queries of a step are its first `n_queries` names or phrases. Steps without queries are left
    out. At most `n_steps` steps are kept.
    Source: PathCoRAG, Section 4.1.
    Deviation: spaCy replaces the model. The steps are groups of words, without any reasoning.
    """
    (sentences,) = nlp.sentences([question.text])
    names = unique([name for sentence in sentences for name, _ in sentence.entities])
    phrases = unique([phrase for sentence in sentences for phrase in sentence.phrases])
    groups = [names, tuple(phrase for phrase in phrases if phrase not in names), (question.text,)]
    steps = [queries[:n_queries] for queries in groups if queries][:n_steps]
    return ReasoningSteps(tuple(", ".join(queries) for queries in steps), tuple(steps))


@operator("relationship.among", order="by the better-ranked end, then by id")
def among(nodes: Ranked[Node], *, graph: Graph) -> Ranked[Relationship]:
    """Rank the relationships between given nodes by the higher-ranked of their two nodes.

    The score is the score of that node. This project also uses the operator if no path is found.
    Source: PathCoRAG, Section 4.4.
    """
    ids, places = np.unique(nodes.ids, return_index=True)
    rows = graph.relationships_at(ids)
    rows = rows[np.isin(graph.source[rows], ids) & np.isin(graph.target[rows], ids)]
    ends = np.searchsorted(ids, [graph.source[rows], graph.target[rows]])
    first = places[ends].min(axis=0)
    order = np.lexsort((rows, first))
    return Ranked(rows[order], nodes.scores[first[order]])


@operator("node.by_step")
def by_step(
    reasoning_steps: ReasoningSteps,
    *,
    node_index: VectorIndex,
    embedder: Embedder,
    per_query: PositiveInt = 50,
    assign: Literal["all", "rank"] = "all",
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
) -> StepNodes:
    """Find the nodes most similar to each query of the reasoning steps, and assign them to steps.

    Each query finds `per_query` nodes. A node belongs to the step of its most similar query. Ties
    are broken by the order of the steps. Similarities are compared to six decimals. The score is
    the highest cosine of the node with a query of its step (-1..1). With `assign="rank"`, a node
    belongs to the step of the query in whose results it ranks highest. Its score then ignores
    queries that did not find the node. Results below `min_score` are dropped. The authors' code
    uses `rank` and `min_score`.
    Source: PathCoRAG, Section 4.2, Equations 3 and 4.
    """
    queries = reasoning_steps.queries
    texts = [query for of_step in queries for query in of_step]
    of = np.repeat(np.arange(len(queries)), [len(of_step) for of_step in queries])
    if not texts or not len(node_index):
        return StepNodes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
    vectors = embedder.encode(texts, kind="question")
    (hits,) = search_each([vectors], node_index, per_query)
    hits = [hit.take(hit.scores >= min_score) for hit in hits]
    nodes = np.unique(np.concatenate([hit.ids for hit in hits]))
    similarity = np.full((len(nodes), len(texts)), -np.inf)
    rank = similarity.copy()
    for column, hit in enumerate(hits):
        if assign == "all":
            similarity[:, column] = node_index.vectors[nodes] @ vectors[column]
        similarity[np.searchsorted(nodes, hit.ids), column] = hit.scores
        rank[np.searchsorted(nodes, hit.ids), column] = -np.arange(len(hit))
    best, by = np.full((2, len(nodes), len(reasoning_steps)), -np.inf)
    np.maximum.at(best.T, of, similarity.T)
    np.maximum.at(by.T, of, (rank if assign == "rank" else similarity).T)
    step = np.argmax(np.round(by, DECIMALS), axis=1)
    scores = best[np.arange(len(nodes)), step]
    order = best_first(scores, nodes)
    return StepNodes(nodes[order], step[order] + 1, scores[order], len(reasoning_steps))


@operator("path.k_shortest")
def k_shortest(
    question: Question,
    step_nodes: StepNodes,
    *,
    graph: Graph,
    relationship_index: VectorIndex,
    embedder: Embedder,
    k: PositiveInt = 4,
    max_path_edges: PositiveInt | None = 4,
    max_pairs_per_transition: PositiveInt | None = 2000,
    top_k: PositiveInt = 15,
    top_k_of: Literal["all", "transition"] = "all",
    counted: Literal["all", "sorted"] = "all",
    min_score: float | None = None,
) -> RankedPaths:
    """Rank the shortest paths between consecutive reasoning steps by similarity to the question.

    For each pair of a node of step i and a node of step i + 1, the `k` shortest loopless paths are
    ranked. They have at most `max_path_edges` relationships, in either direction. The score is the
    mean cosine of the question and the path's relationships (-1..1). With `counted="sorted"`,
    relationships count only if they lead from the alphabetically lower name (in capitals) to the
    higher name. If `min_score` is set, relationships count only if their cosine is higher. A path
    is dropped if none of its relationships count. Paths are sorted by score, then by fewer
    relationships, by transition (i.e. step i), and by the tuple of node ids. In total, `top_k`
    paths are kept. With `top_k_of="transition"`, this is the number per transition.
    Only the `max_pairs_per_transition` pairs with the highest product of node scores are searched.
    If more than `k` paths are equally short, the paths with the highest mean similarity are found.
    Remaining ties, and ties of paths with more than four relationships, are broken by the tuple of
    node ids. `build.relationship_index.text` chooses the text of a relationship, and the paper uses
    `description`. The options `sorted`, `min_score` and `transition` are from the authors' code.
    Source: PathCoRAG, Section 4.3, Equation 5 and Appendix B.
    Deviation: Paths of up to four relationships are found from both ends, with the same result.
    """
    steps = [step_nodes.of(step) for step in range(1, step_nodes.n_steps + 1)]
    transitions = [likely_pairs(*ends, max_pairs_per_transition) for ends in pairwise(steps)]
    if not any(map(len, transitions)):
        return RankedPaths()
    (vector,) = embedder.encode([question.text], kind="question")
    likeness = Likeness.of(graph, relationship_index.scores(vector).astype(np.float64))
    ranked: list[tuple[Any, ...]] = []
    for transition, pairs in enumerate(transitions, 1):
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        _, nodes = shortest_paths(graph, pairs, likeness, k=k, most=max_path_edges)
        counts, like = nodes[:, 1:] >= 0, likeness.of_hops(nodes)
        if min_score is not None:
            counts &= like > min_score
        if counted == "sorted":
            counts &= _to_higher_names(graph, nodes)
        rows = counts.any(axis=1)
        nodes, like, counts = nodes[rows], like[rows], counts[rows]
        scores = np.where(counts, like, 0.0).sum(axis=1) / counts.sum(axis=1)
        walks = [tuple(node for node in row if node >= 0) for row in nodes.tolist()]
        keys, lengths = (-np.round(scores, DECIMALS)).tolist(), map(len, walks)
        found = zip(keys, lengths, repeat(transition), walks, scores.tolist(), strict=False)
        ranked += sorted(found)[:top_k]
    best = sorted(ranked)[: top_k if top_k_of == "all" else None]
    return RankedPaths(tuple(
        Path(walk, likeness.rows_along(graph, walk), score, transition)
        for _, _, transition, walk, score in best
    ))  # fmt: skip


def _to_higher_names(graph: Graph, nodes: IntArray) -> BoolArray:
    """Mark hops to a name later in the alphabet, (n, k - 1), given the nodes of walks (n, k)."""
    ids, places = np.unique(nodes, return_inverse=True)
    capitals = [graph.names[node].upper() if node >= 0 else "" for node in ids.tolist()]
    _, order = np.unique(np.array(capitals, object), return_inverse=True)
    rank = order[places].reshape(nodes.shape)
    return np.asarray(rank[:, :-1] < rank[:, 1:])


@operator("path.members", order="by first appearance on the paths")
def members(
    paths: RankedPaths, *, order: Literal["given", "transition"] = "given"
) -> tuple[Ranked[Node], Ranked[Relationship]]:
    """Return the distinct nodes and relationships on the paths, in order of first appearance.

    With `order="transition"`, paths are first sorted by transition between reasoning steps, as in
    the prompt. The score of a node or relationship is the highest score of its paths.
    Source: PathCoRAG, Appendix C, tables of entities and relationships.
    """
    nodes, rows = dict[int, float](), dict[int, float]()
    for path in sorted(paths.paths, key=lambda one: one.transition if order == "transition" else 0):
        for best, members_of in ((nodes, path.nodes), (rows, path.relationships)):
            for one in members_of:
                best[one] = max(best.get(one, path.score), path.score)
    return Ranked.of(nodes), Ranked.of(rows)
