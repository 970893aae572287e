"""HippoRAG 2: rank facts by similarity to the whole question, and let a model filter the facts."""

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Query, Question, Ranked, Relationship
from operators.search import scaled_similarity, vectors_of


@operator("relationship.link", batched=True, requires={"node.name", "relationship.name"})
def link(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    graph: Graph,
    relationship_index: VectorIndex,
    embedder: Embedder,
    top_k: PositiveInt = 5,
) -> list[Ranked[Relationship]]:
    """Rank facts by the cosine similarity of their vectors to the question.

    Facts are all relationships except synonymy edges. Their cosines are scaled to 0..1. If all
    cosines are equal, they become 1. If the step uses a query, facts are compared with the query.
    Source: HippoRAG 2 (Gutierrez et al. 2025), Section 3.3, query to triple, top 5.
    """
    facts = ~np.asarray(graph.synonym, bool)
    among = np.flatnonzero(facts)
    rankings: list[Ranked[Relationship]] = []
    for vectors in vectors_of(question, query, embedder):
        scores = scaled_similarity(vectors, relationship_index, "min_max", facts)
        rankings.append(Ranked.top(scores, top_k, among=among if len(vectors) else ()))
    return rankings


@operator("relationship.filter.none", order="the order given")
def filter_none(relationships: Ranked[Relationship]) -> Ranked[Relationship]:
    """Keep all relationships: the ablation of HippoRAG 2 that has no filter.

    Source: HippoRAG 2 (Gutierrez et al. 2025), Table 5.
    """
    return relationships


class Useful(BaseModel):
    """A reply of the model to the filter prompt."""

    useful: list[int]


@operator(
    "relationship.filter.llm", requires={"node.name", "relationship.name"}, calls=2,
    supplies={"question", "triples"}, order="the order given",
)  # fmt: skip
def filter_llm(
    question: Question,
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    llm: ChatModel,
    prompt: Prompt = Prompt("methods:hipporag2/prompts/filter_triples.j2"),
) -> Ranked[Relationship]:
    """Keep the relationships that the language model finds useful for the question.

    The model replies with the numbers of the useful relationships, or with an empty list. Unknown
    numbers are ignored. If no relationships are given, the model is not called. After two
    unreadable replies or no reply, all relationships are kept, which counts as a fallback.
    Source: HippoRAG 2 (Gutierrez et al. 2025), Section 3.3, recognition memory.
    Deviation: This project's prompt asks for numbers. In the authors' code, the prompt is tuned by
    DSPy. The model writes the triples to keep, and the code matches them by edit distance.
    """
    if not len(relationships):
        return relationships
    triples = [", ".join(graph.triple(row)) for row in relationships.ids.tolist()]
    every = Useful(useful=list(range(1, len(triples) + 1)))
    chat = prompt.render({"question": question.text, "triples": triples})
    reply = ask(llm, chat, Useful, max_tokens=64, purpose="triple filter", fallback=every)
    return relationships.take(np.isin(every.useful, reply.useful))
