"""PankRAG: plan sub-questions, rephrase them, and use their answers to rerank the evidence."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, get_origin

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    WithJsonSchema,
    create_model,
    model_validator,
)

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import DECIMALS, FloatArray, best_first
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder, Vectors
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.llm.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.question_plan import (
    FINAL,
    Dependencies,
    Plan,
    QuestionKind,
    SubQuestion,
    SubQuestionKind,
    checked_plan,
    kind_of,
)
from graphrag_bench.values import Chunk, Community, Node, Question, Ranked
from operators.answer.generation import Points
from operators.community.of_graph import rating_fraction, with_report

_ID = r"\d+\s*[-.]\s*\d+"
_BRACKETED = re.compile(
    rf"<\s*A?\s*{_ID}\s*>|\[\s*A\s*{_ID}\s*\]|\{{\s*A\s*{_ID}\s*\}}|\(\s*A\s*{_ID}\s*\)",
    re.IGNORECASE,
)
"""A placeholder for an earlier answer. The letter A is optional only inside `<...>`."""
_OTHER_NAMES = {
    "hop_id": ("id", "hop"),
    "sub_query": ("query", "question"),
    "sequence_id": ("id",),
    "hop": ("hops",),
    "final_query": ("final", "query", "sub_query"),
}


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _flag(value: Any) -> bool:
    return _text(value).lower() not in ("false", "no", "0", "none", "null", "")


def _items(value: Any) -> list[Any]:
    if _text(value).lower() in ("none", "null", ""):
        return []
    return [one for one in (value if isinstance(value, list) else [value]) if one is not None]


_READERS: Mapping[Any, Callable[[Any], Any]] = {
    str: _text, bool: _flag, list: _items,
    UnionType: lambda value: None if value is None else _flag(value),
}  # fmt: skip
# The limits are only in the JSON schema that the server gets. A longer value is still read.
HopId = Annotated[str, BeforeValidator(_text), Field(json_schema_extra={"maxLength": 8})]
HopIds = Annotated[list[HopId], Field(json_schema_extra={"maxItems": 5})]
ShortText = Annotated[str, Field(json_schema_extra={"maxLength": 200})]
LongText = Annotated[str, Field(json_schema_extra={"maxLength": 400})]


class _Lenient(BaseModel):
    """Reply with alternative field names. A reply that is not an object is used as field `BARE`."""

    BARE: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        given = value if isinstance(value, Mapping) else {cls.BARE: value}
        fields = {}
        for name, field in cls.model_fields.items():
            values = map(given.get, (name, *_OTHER_NAMES.get(name, ())))
            read = _READERS[get_origin(field.annotation) or field.annotation]
            fields[name] = read(next((one for one in values if one is not None), None))
        return fields


class HopReply(_Lenient):
    """A sub-question in a reply."""

    BARE = "sub_query"
    hop_id: HopId
    sub_query: ShortText
    if_abstract: bool
    dependencies: HopIds


class SequenceReply(_Lenient):
    """A sequence of sub-questions in a reply."""

    BARE = "hop"
    sequence_id: HopId
    hop: list[HopReply]


class FinalReply(_Lenient):
    """The final question in a reply."""

    BARE = "final_query"
    final_query: LongText
    if_abstract: Annotated[bool | None, WithJsonSchema({"type": "boolean"})]
    dependencies: HopIds


class PathReply(_Lenient):
    """The sequences of a plan, and its final question. `null` and `none` mean no sequences."""

    BARE = "sequences"
    sequences: list[SequenceReply]
    final_query: Annotated[list[FinalReply], Field(json_schema_extra={"maxItems": 1})]


class PlanReply(BaseModel):
    """Reply to the planning prompt. The fields of `path` may also be at the top level."""

    query: Annotated[LongText, BeforeValidator(_text)] = ""
    path: PathReply

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        flat = isinstance(value, Mapping) and {"sequences", "final_query"} & {*value}
        return {"path": value, **value} if flat else value


@lru_cache(maxsize=64)
def bounded_reply(max_sequences: int, max_hops: int) -> type[PlanReply]:
    """Return a reply type whose JSON schema limits the sequences of a plan, and their lengths."""
    hops: Any = (list[HopReply], Field(json_schema_extra={"maxItems": max_hops}))
    sequence = create_model("Sequence", __base__=SequenceReply, hop=hops)
    limit = Field(json_schema_extra={"maxItems": max_sequences})
    path = create_model("Path", __base__=PathReply, sequences=(list[sequence], limit))  # type: ignore[valid-type]
    return create_model("Plan", __base__=PlanReply, path=(path, ...))


def plan_of(
    reply: PlanReply, original: str, *, kind: QuestionKind = "specific", rewritten: bool = False
) -> Plan:
    """Convert a reply of the model to a normalised plan, by the rules in the method's README.

    The text of the final question is `original`, or the text in the reply if `rewritten`. Its kind
    is the kind in the reply, or else `kind`. `Plan.fixes` lists all changes.
    Source: PankRAG (2025), Section 2.2.
    """
    hops, fixes = dict[str, SubQuestion](), list[str]()
    for place, sequence in enumerate(reply.path.sequences, 1):
        digits = re.search(r"\d+", sequence.sequence_id)
        prefix = int(digits[0]) if digits else place
        for row, hop in enumerate(sequence.hop, 1):
            if not hop.sub_query:
                fixes.append(f"sub-question {hop.hop_id or row} has no text")
                continue
            name = new = _id(hop.hop_id, f"{prefix}-{row}")
            if name in hops:
                new = next(f"{name}.{n}" for n in count(2) if f"{name}.{n}" not in hops)
                fixes.append(f"two sub-questions are called {name}: the later one is {new}")
            of_hop: QuestionKind = "abstract" if hop.if_abstract else "specific"
            hops[new] = SubQuestion(new, hop.sub_query, of_hop, _ids(hop.dependencies))
    for one in list(hops.values()):
        named = dict.fromkeys(name for _, name in placeholders(one.text) if name in hops)
        added = [name for name in named if name not in (*one.dependencies, one.id)]
        fixes += [f"{one.id} speaks of {name} and depends on it now" for name in added]
        hops[one.id] = replace(one, dependencies=(*one.dependencies, *added))
    closing = reply.path.final_query[0] if reply.path.final_query else None
    text = (closing.final_query if closing and rewritten else "") or original
    if closing and closing.if_abstract is not None:
        kind = "abstract" if closing.if_abstract else "specific"
    final = SubQuestion(FINAL, text, kind, _ids(closing.dependencies) if closing else ())
    return checked_plan(list(hops.values()), final, fixes)


def placeholders(text: str) -> list[tuple[str, str]]:
    """Return each placeholder of a text that stands for answers, with its sub-question ids."""
    return [(match, _id(match, "")) for match in _BRACKETED.findall(text)]


def _id(text: str, default: str) -> str:
    numbers = re.findall(r"\d+", (re.search(_ID, text) or [""])[0])
    return "-".join(str(int(number)) for number in numbers) or default


def _ids(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(_id(text, text.strip()) for text in texts)


PLAN_TOKENS, REPHRASE_TOKENS = 2200, 128
MOST_WORDS = 30
"""If there is no reply, a placeholder is replaced by at most this many words of its answer."""


@operator(
    "question.plan", calls=lambda settings: 2 if settings["planning"] == "on" else 0,
    supplies={"question"},
)  # fmt: skip
def plan(
    question: Question,
    *,
    llm: ChatModel,
    prompt: Prompt = Prompt("methods:pankrag/prompts/plan.j2"),
    planning: Literal["on", "off"] = "on",
    final_text: Literal["original", "plan"] = "original",
    max_sequences: PositiveInt = 4,
    max_hops: PositiveInt = 4,
) -> Plan:
    """Ask the language model for a plan of sub-questions that depend on each other.

    The plan is normalised. With `planning="off"`, the plan has only a final question of the same
    kind (specific or abstract) as the question. The same plan is the fallback after two unreadable
    replies or no reply. The final question is the question itself. With `final_text="plan"`, it is
    in the words of the model. The reply schema limits a plan to `max_sequences` sequences of
    `max_hops` sub-questions. Without the limit, a small model might never end its plan, and a plan
    that is truncated at 2,200 tokens is unreadable.
    Source: PankRAG (2025), Section 2.2, globally aware planning, and ablation "-Pank".
    """
    nothing = PlanReply(path=PathReply.model_validate({}))
    kind = kind_of(question)
    if planning == "off":
        return plan_of(nothing, question.text, kind=kind)
    chat = prompt.render({"question": question.text})
    schema = bounded_reply(max_sequences, max_hops)
    read = ask(llm, chat, schema, max_tokens=PLAN_TOKENS, purpose="plan", fallback=nothing)
    result = plan_of(read, question.text, kind=kind, rewritten=final_text == "plan")
    if read is nothing:
        result = replace(result, fallback="no readable plan: one search for the question itself")
    return result


@operator(
    "question.rephrase", calls=lambda settings: 0 if settings["when"] == "never" else 1,
    supplies={"question", "dependencies"},
)  # fmt: skip
def rephrase(
    question: Question,
    dependencies: Dependencies,
    question_kind: SubQuestionKind,
    *,
    llm: ChatModel,
    prompt: Prompt = Prompt("methods:pankrag/prompts/rephrase.j2"),
    when: Literal["placeholders_only", "always", "never"] = "placeholders_only",
) -> Question:
    """Rewrite a sub-question to be self-contained, given the answers that it depends on.

    With `when="placeholders_only"`, questions with a placeholder such as `<A1-1>` are rewritten.
    With `when="always"`, every sub-question is rewritten. A final question is still rewritten only
    if it has a placeholder. A sub-question without dependencies is never rewritten. If the reply is
    missing or empty, each placeholder is replaced by the first sentence of its answer, up to 30
    words. This counts as a fallback.
    Source: PankRAG (2025), Section 2.2, top-down phase.
    """
    needed = bool(placeholders(question.text)) or (when == "always" and not question_kind.final)
    if when == "never" or not needed or not len(dependencies):
        return question
    chat = prompt.render({"question": question.text, "dependencies": dependencies.pairs})
    try:
        text = reply(llm, chat, max_tokens=REPHRASE_TOKENS).text.strip()
    except CallFailed:
        text = ""
    if not text:
        llm.meter.fallbacks += 1
        text = question.text
        answers = dict(zip(dependencies.ids, dependencies.answers, strict=True))
        for placeholder, name in placeholders(text):
            if name in answers:
                sentence = re.split(r"(?<=[.!?])\s+", answers[name].strip())[0]
                first = " ".join(sentence.split()[:MOST_WORDS]).rstrip(".")
                text = text.replace(placeholder, first)
    return replace(question, text=text)


Weight = Annotated[float, Field(ge=0, le=1)]


@operator("community.leaf_or_theme")
def leaf_or_theme(
    question: Question,
    *,
    communities: Communities,
    reports: Reports,
    community_index: VectorIndex,
    embedder: Embedder,
    level: NonNegativeInt = 2,
    levels: Literal["chosen", "all"] = "chosen",
    top_k: PositiveInt | None = 512,
) -> Ranked[Community]:
    """Choose communities, coarse or fine, depending on which reports fit the question better.

    The choice starts at the coarsest level. A community is replaced by its children if the report
    of a descendant, down to `level`, is more similar to the question than the report of the
    community. The similarity is the cosine, to six decimals. Chosen communities do not overlap.
    With `levels="all"`, all communities down to `level` are chosen. Scores are as in
    `community.layer`. Communities are left out if they have no report or a rating below 0.
    Source: PankRAG (2025), Section 2.3, leaf-level and high-level summaries.
    Deviation: The paper gives no criterion for the choice. This project compares similarities.
    """
    among = with_report(communities, reports, level)
    among = among[reports.ratings[among] >= 0]
    if levels == "chosen" and len(among):
        (vector,) = embedder.encode([question.text], kind="question")
        similarity, below = np.full((2, len(communities)), -np.inf)
        similarity[among] = np.round(community_index.scores(vector)[among], DECIMALS)
        children = [(row, up) for row, up in enumerate(communities.parent.tolist()) if up >= 0]
        for row, up in reversed(children):
            below[up] = max(below[up], similarity[row], below[row])
        divided = below > similarity
        reached = np.ones(len(communities), bool)
        for row, up in children:
            reached[row] = reached[up] and divided[up]
        among = among[(reached & ~divided)[among]]
    counts = np.asarray(communities.chunks.sum(axis=1), np.float64).ravel()
    return Ranked.top(counts + rating_fraction(reports), top_k, among=among)


@operator("chunk.dependency_rerank", order="by score, ties as given")
def rerank_chunks(
    chunks: Ranked[Chunk],
    nodes: Ranked[Node],
    dependencies: Dependencies | None = None,
    *,
    graph: Graph,
    chunk_index: VectorIndex,
    embedder: Embedder,
    rerank: Literal["on", "off"] = "on",
    alpha: Weight = 0.6,
) -> Ranked[Chunk]:
    """Rerank chunks by relevance and by similarity to the answers of earlier sub-questions.

    The score of a chunk is `alpha * R + (1 - alpha) * M`. R is the highest score (0..1) of a given
    node in the chunk. M is the mean cosine between the chunk and the answers. A negative mean
    counts as 0. If there are no answers or `rerank="off"`, the score is R. Ties are broken by the
    given order. R, the mean and the lower bound 0 are choices of this project.
    Source: PankRAG (2025), Section 2.3.1, Equations 4 and 5.
    """
    inside = graph.node_chunk[nodes.ids][:, chunks.ids].toarray()
    r = np.asarray((inside * np.clip(nodes.scores, 0, 1)[:, None]).max(axis=0, initial=0.0))
    if rerank == "on" and dependencies and len(chunks):
        similarity = mean_similarity(chunk_index.vectors[chunks.ids], dependencies, embedder)
        r = alpha * r + (1 - alpha) * similarity
    order = best_first(r)
    return Ranked(chunks.ids[order], r[order])


@operator("point.dependency_rerank")
def rerank_points(
    points: Points,
    dependencies: Dependencies | None = None,
    *,
    embedder: Embedder,
    rerank: Literal["on", "off"] = "on",
    alpha: Weight = 0.75,
) -> Points:
    """Rerank statements by relevance and by similarity to the answers of earlier sub-questions.

    Statements are sorted by the score of `chunk.dependency_rerank`, with R as the statement's score
    / 100. The statements keep their own scores. Ties are broken by the given order.
    Source: PankRAG (2025), Section 2.3.1, Equations 4 and 5.
    """
    r = np.array(points.scores, np.float64) / 100
    if rerank == "on" and dependencies and len(points):
        vectors = embedder.encode(points.texts, kind="passage")
        r = alpha * r + (1 - alpha) * mean_similarity(vectors, dependencies, embedder)
    order = best_first(r).tolist()
    return Points(
        tuple(points.texts[row] for row in order),
        tuple(points.scores[row] for row in order),
        tuple(points.chunks[row] for row in order) if points.chunks else (),
    )


def mean_similarity(candidates: Vectors, answers: Dependencies, embedder: Embedder) -> FloatArray:
    """Return for each candidate (n, d) the mean cosine with the answers, at least 0, as (n,)."""
    vectors = np.asarray(embedder.encode(answers.answers, kind="passage"), np.float64)
    means = (np.asarray(candidates, np.float64) @ vectors.T).mean(axis=1)
    return np.asarray(np.maximum(means, 0))
