"""Youtu-GraphRAG's search: sub-questions with the types they involve, and nodes of these types."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, PositiveInt

from graphrag_bench.algorithms.communities import Communities
from graphrag_bench.algorithms.graph import Graph, attributes_of
from graphrag_bench.arrays import best_score_by_id, unique
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import artifact, operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.nlp import NUMERIC, Nlp
from graphrag_bench.embedding.vector_index import VectorIndex, index_texts
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Chunk, Community, Node, Query, Question, Ranked, value
from operators.search import most_similar

PROMPT = Prompt("graphrag_bench_more:youtugraphrag/prompts/typed_decomposition.j2")
MAX_QUESTIONS, MAX_TYPES, REPLY_TOKENS = 3, 30, 400
"""Maximum numbers of sub-questions, of relation or attribute names, and of reply tokens."""
_PLACES = ("gpe", "loc", "fac")
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("city town country state county province region village district municipality capital place "
     "location continent", _PLACES),
    ("river lake sea ocean mountain island", ("loc", "gpe")),
    ("company organization organisation band team club league label university school college "
     "party network studio publisher", ("org",)),
    ("film movie book novel song album series show play poem painting game", ("work of art",)),
    ("war battle event festival tournament", ("event",)),
    ("person actor actress director author writer singer player president king queen",
     ("person",)),
)  # fmt: skip
"""Nouns after "which" or "what", and the normalised entity labels of possible answers."""
_BETWEEN = r"(?:(?!(?:is|are|was|were|did|does|do|has|had)\b)\w+ ){0,2}?"
_TYPES_OF = (
    (re.compile(r"\b(?:who|whom|whose)\b", re.I), ("person", "org", "norp")),
    (re.compile(r"\bwhere\b", re.I), _PLACES),
    *(
        (re.compile(rf"\b(?:which|what) {_BETWEEN}(?:{words.replace(' ', '|')})\b", re.I), types)
        for words, types in _KINDS
    ),
)


@value("involved")
@dataclass(frozen=True)
class Involved:
    """Types of nodes, relations and attributes that a question involves, normalised."""

    nodes: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


class InvolvedTypes(BaseModel):
    """Types that a sub-question involves, as the model replies."""

    nodes: list[str] = []
    relations: list[str] = []
    attributes: list[str] = []


class TypedReply(BaseModel):
    """Reply to the decomposition prompt. The reply schema allows at most 6 questions."""

    sub_questions: list[Annotated[str, Field(json_schema_extra={"maxLength": 200})]] = Field(
        json_schema_extra={"maxItems": 6}
    )
    involved_types: InvolvedTypes = InvolvedTypes()


@operator("question.typed.nlp")
def typed_nlp(question: Question, *, nlp: Nlp) -> tuple[Query, Involved]:
    """Return the question as its only sub-question, and the entity types that it involves.

    A question involves the types that its question words stand for: "who" for a person or an
    organisation, "where" and "which city" for a place. It also involves the types of its named
    entities, except numbers and dates. If no question word stands for a type, the question involves
    no types. Youtu-GraphRAG asks a language model.
    Source: this project; Youtu-GraphRAG (Dong et al. 2025), schema-aware decomposition.
    """
    (sentences,) = nlp.sentences([question.text])
    named = [label for one in sentences for _, label in one.entities if label not in NUMERIC]
    wanted = [kind for words, types in _TYPES_OF if words.search(question.text) for kind in types]
    # the types of the names alone might exclude the answer
    return Query((question.text,)), Involved(_normal([*wanted, *named]) if wanted else ())


@operator(
    "question.typed.llm",
    calls=2,
    supplies={"question", "most", "node_types", "relation_types", "attribute_types"},
    order="the order of the reply",
)
def typed_llm(
    question: Question, *, graph: Graph, llm: ChatModel, prompt: Prompt = PROMPT
) -> tuple[Query, Involved]:
    """Ask the model for at most three sub-questions and the types that they involve.

    The prompt contains the schema of the graph: all types of nodes, and the 30 most frequent names
    of relationships and of attributes (ties: first). Duplicates and types that are not in the graph
    are dropped. If the reply has no sub-questions, the question itself is used. After two
    unreadable replies, or without a reply, the question is used without types, and a fallback is
    counted. The prompt is this project's.
    Source: Youtu-GraphRAG (Dong et al. 2025), schema-aware decomposition.
    """
    nodes, relations, attributes = schema_of_graph(graph)
    shown = {
        "node_types": nodes,
        "relation_types": relations[:MAX_TYPES],
        "attribute_types": attributes[:MAX_TYPES],
    }
    chat = prompt.render({**shown, "question": question.text, "most": MAX_QUESTIONS})
    nothing = TypedReply(sub_questions=[])
    reply = ask(
        llm, chat, TypedReply, max_tokens=REPLY_TOKENS, purpose="typed decomposition",
        fallback=nothing,
    )  # fmt: skip
    parts = unique([text.strip() for text in reply.sub_questions if text.strip()])[:MAX_QUESTIONS]
    types = reply.involved_types
    return Query(parts or (question.text,)), Involved(
        _known(types.nodes, nodes), _known(types.relations, relations),
        _known(types.attributes, attributes),
    )  # fmt: skip


@lru_cache(maxsize=4)
def schema_of_graph(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Return types of nodes and names of relationships and of attributes, most frequent first."""
    stored = graph.node_attributes
    columns = (graph.types or (), graph.relations, stored.names if stored is not None else ())
    counts = [Counter(filter(None, map(normalise_name, column))) for column in columns]
    # ties: first seen
    return tuple(tuple(name for name, _ in counter.most_common()) for counter in counts)


def _known(names: list[str], known: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in _normal(names) if name in known)


def _normal(names: Iterable[str]) -> tuple[str, ...]:
    return unique([name for name in map(normalise_name, names) if name])


@operator("node.involved", order="the order given")
def involved_nodes(
    nodes: Ranked[Node], involved: Involved, *, graph: Graph, top_k: PositiveInt = 20
) -> Ranked[Node]:
    """Keep the first `top_k` nodes that have an involved type or no type.

    The first `top_k` of all nodes are kept if the question involves no node type, if the graph has
    no types, or if no node remains. Nodes without a type are kept as in Youtu-GraphRAG's code.
    Source: Youtu-GraphRAG (Dong et al. 2025), typed filtering, and its code.
    """
    if graph.types is None or not involved.nodes:
        return nodes.head(top_k)
    admitted = _of_types(graph, involved.nodes)
    typed = nodes.take(admitted[nodes.ids])
    return (typed if len(typed) else nodes).head(top_k)


@lru_cache(maxsize=64)
def _of_types(graph: Graph, types: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return a mask of the nodes with one of the types or without a type, bool (n_nodes,)."""
    wanted = {"", *types}
    mask = np.zeros(graph.n_nodes, bool)
    for name, nodes in graph.nodes_of_type.items():
        mask[nodes] = normalise_name(name) in wanted
    return mask


@artifact("attribute_index")
def attribute_index(*, graph: Graph, embedder: Embedder, progress: Progress) -> VectorIndex:
    """Embed each attribute of a node as "node name: value", in order.

    In Youtu-GraphRAG, attributes are nodes. Raises UserError if the graph type has no attributes.
    Source: Youtu-GraphRAG (Dong et al. 2025).
    """
    return index_texts(attribute_texts(graph), embedder, progress, "attributes")


def attribute_texts(graph: Graph) -> list[str]:
    """Return "node name: value" for every attribute."""
    attributes, names = attributes_of(graph), list(graph.names)
    rows = zip(attributes.node.tolist(), attributes.names, attributes.values, strict=True)
    return [f"{names[node]} {name}: {value}" for node, name, value in rows]


@operator("chunk.by_attribute", batched=True, requires={"node.attributes"})
def chunks_by_attribute(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    attribute_index: VectorIndex,
    graph: Graph,
    embedder: Embedder,
    n_attributes: PositiveInt = 20,
) -> list[Ranked[Chunk]]:
    """Rank the chunks that state the attributes most similar to the question or a query.

    The score of a chunk is the highest cosine of an attribute that it states. Only the
    `n_attributes` most similar attributes count. Ties are broken by lower id.
    Source: Youtu-GraphRAG (Dong et al. 2025), chunks of attributes, and its code.
    """
    attributes = attributes_of(graph)
    nearest = most_similar(question, query, attribute_index, embedder, n_attributes)
    chosen: list[Ranked[Chunk]] = []
    for one in nearest:
        stating = [row_ids(attributes.chunk, row) for row in one.ids.tolist()]
        scores = np.repeat(one.scores, [len(chunks) for chunks in stating])
        rows = np.concatenate([np.zeros(0, np.int64), *stating])
        chosen.append(Ranked.best(*best_score_by_id(rows, scores)))
    return chosen


@operator("node.members")
def members(
    question: Question,
    ranked: Ranked[Community],
    query: Query | None = None,
    *,
    communities: Communities,
    node_index: VectorIndex,
    embedder: Embedder,
    top_k: PositiveInt = 20,
) -> Ranked[Node]:
    """Rank the members of the given communities by similarity to the question or a query.

    The score is the cosine (-1..1), or the highest cosine if a query has several texts. Ties are
    broken by lower id.
    Source: Youtu-GraphRAG (Dong et al. 2025), top-down filtering by communities.
    """
    inside = np.zeros(communities.nodes.shape[1], bool)
    inside[communities.nodes[ranked.ids].indices] = True
    (best,) = most_similar([question], [query], node_index, embedder, top_k, inside)
    return best
