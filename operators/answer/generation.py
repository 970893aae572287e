"""Operators that answer a question directly or by map-reduce, and the variables of prompts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, Field, NonNegativeInt, PositiveInt, create_model

from graphrag_bench.contract import operator
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.graphs.build_calls import failures
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import ChatModel, reply, reply_tokens
from graphrag_bench.llm.structured import ask_each, json_format
from graphrag_bench.prompts import REFUSAL, ContextBudget, Prompt
from graphrag_bench.question_plan import Dependencies
from graphrag_bench.text import n_fitting
from graphrag_bench.values import Answer, Context, Piece, Question, value
from operators.context.rows import HEADERS, with_block

READER_VARIABLES = frozenset(
    {"question", "pieces", "blocks", "dependencies", "form", "manner", "cue", "licence"}
)
"""The names of the variables that every answering prompt may use."""


def reader_values(
    question: Question,
    pieces: Sequence[Piece] | None = None,
    dependencies: Iterable[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Return the values of the variables that an answering prompt may use.

    `dependencies` are pairs of a sub-question and its answer. Each of the `blocks` holds
    consecutive pieces of one kind: their texts are its `rows`, and the CSV header of the kind is
    its `head`. `table` is true if the rows are numbered CSV rows with this header. `form`,
    `manner`, `cue` and `licence` describe the answer form. `licence` is empty if there is neither a
    context nor a dependency.
    """
    form, dependencies = question.answer_form, tuple(dependencies)
    licence = "" if pieces is None and not dependencies else form.licence
    blocks = []
    for kind, run in groupby(pieces or (), key=lambda piece: piece.kind):
        head, rows = HEADERS.get(kind, ""), [piece.text for piece in run]
        numbered = all(row.startswith(f"{place},") for place, row in enumerate(rows))
        blocks.append({"kind": kind, "head": head, "rows": rows, "table": bool(head) and numbered})
    shown = {"pieces": pieces or (), "blocks": blocks, "dependencies": dependencies}
    wanted = {"form": form.name, "manner": form.manner, "cue": form.cue, "licence": licence}
    return {"question": question.text, **shown, **wanted}


def answer_of(llm: ChatModel, chat: Chat, question: Question, max_tokens: int | None) -> Answer:
    """Send an answering prompt to the language model and return its reply as the answer.

    By default, `max_tokens` is the limit of the answer form, but at most the rest of the window.
    """
    if max_tokens is None:
        max_tokens = reply_tokens(llm, chat, question.answer_form.max_tokens)
    message = reply(llm, chat, max_tokens=max_tokens)
    return Answer(message.text.strip(), message.finish == "length")


@operator("answer.direct", calls=1, supplies=READER_VARIABLES)
def direct(
    question: Question,
    context: Context | None = None,
    dependencies: Dependencies | None = None,
    *,
    llm: ChatModel,
    prompt: Prompt,
    max_tokens: PositiveInt | None = None,
) -> Answer:
    """Answer the question with one prompt. If there is a context, the prompt contains it.

    For the variables of the prompt, see `reader_values`. For the token limit, see `answer_of`.
    Source: Zhou et al. (2025), Section 6.2, direct generation.
    """
    pieces = context.pieces if context else None
    pairs = dependencies.pairs if dependencies else ()
    chat = prompt.render(reader_values(question, pieces, pairs))
    return answer_of(llm, chat, question, max_tokens)


def _clip(score: object) -> int:
    try:
        return max(0, min(100, round(float(str(score)))))
    except (ValueError, OverflowError):
        return 0


Importance = Annotated[int, BeforeValidator(_clip)]
"""Importance of a statement, clipped to 0..100. A value that is not a number becomes 0."""


class Point(BaseModel):
    """A statement and its importance."""

    description: str
    score: Importance = 0


def _listed(value: object) -> object:
    return [value] if isinstance(value, Mapping) else value


class MapReply(BaseModel):
    """Reply to the map prompt."""

    points: Annotated[list[Point], BeforeValidator(_listed)]


MOST_POINTS = 5
"""The maximum number of statements per reply. This project chose the value."""


@lru_cache(maxsize=64)
def _reply_of(max_characters: int | None) -> type[MapReply]:
    longest = Field(json_schema_extra={"maxLength": max_characters} if max_characters else None)
    point = create_model("Point", __base__=Point, description=(str, longest))
    rows = Annotated[list[point], BeforeValidator(_listed)]  # type: ignore[valid-type]
    most = Field(json_schema_extra={"maxItems": MOST_POINTS})
    return create_model("Bounded", __base__=MapReply, points=(rows, most))


@value("points")
@dataclass(frozen=True)
class Points:
    """Extracted statements, best first, with importance scores (1..100) and ids of their chunks."""

    texts: tuple[str, ...]
    scores: tuple[int, ...]
    chunks: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.texts)


@operator(
    "points.map", calls=lambda settings: 2 * int(settings["max_groups"]),
    supplies={"question", "pieces", "max_characters"},
)  # fmt: skip
def map_points(
    question: Question,
    context: Context,
    *,
    llm: ChatModel,
    prompt: Prompt = Prompt("operators:answer/prompts/map.j2"),
    group: Literal["packed", "single"] = "packed",
    group_tokens: PositiveInt = 2500,
    order: Literal["given", "shuffled"] = "given",
    seed: NonNegativeInt = 0,
    max_groups: PositiveInt = 64,
    max_characters: PositiveInt | None = 300,
    max_tokens: PositiveInt = 512,
) -> tuple[Points, Context]:
    """Let the language model extract statements and importance scores from parts of the context.

    With `group="packed"`, consecutive pieces of the context (e.g. reports) are packed into groups
    of up to `group_tokens` tokens. With `group="single"`, each piece is a group. With
    `order="shuffled"`, the pieces are shuffled beforehand with `seed`, in the same way for every
    question. Only the first `max_groups` groups are sent to the model. The returned context
    contains their pieces. All other pieces are in its `cut`.
    The reply schema allows 5 statements per group and `max_characters` per statement, because a
    small model may otherwise repeat itself. If `max_characters` is None, the prompt asks for
    comprehensive descriptions, as in the paper. Statements with score 0 are dropped. Ties are
    broken by the order of the groups. An unreadable reply has no statements. If every group fails,
    the last failure is raised.
    Source: Edge et al. (2024), Section 3.1.6; Zhou et al. (2025), Section 6.2 and report, B.8.
    """
    pieces = context.pieces
    if order == "shuffled":
        permutation = np.random.default_rng(seed).permutation(len(pieces))
        pieces = tuple(pieces[row] for row in permutation.tolist())
    groups: list[list[Piece]] = []
    most, size = group_tokens if group == "packed" else 0, 0
    for piece in pieces:
        size += piece.n_tokens
        if not groups or size > most:
            groups.append([])
            size = piece.n_tokens
        groups[-1].append(piece)
    groups, rest = groups[:max_groups], groups[max_groups:]
    unread = tuple((p.kind, p.id) for part in rest for p in part)
    read = Context(tuple(p for part in groups for p in part), (*context.cut, *unread))
    values = {"question": question.text, "max_characters": max_characters}
    chats = [prompt.render({**values, "pieces": pieces}) for pieces in groups]
    reading = json_format(_reply_of(max_characters), "map points")
    results = ask_each(llm, chats, reading, max_tokens=max_tokens)
    failed = failures(results)
    if failed and len(failed) == len(results):
        raise failed[-1]
    points = [p for one in results if isinstance(one, MapReply) for p in one.points]
    best = sorted((p for p in points if p.score > 0), key=lambda point: -point.score)
    return Points(tuple(p.description for p in best), tuple(p.score for p in best)), read


@operator("context.points")
def points_context(
    points: Points,
    context: Context | None = None,
    *,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    budget: PositiveInt | None = None,
) -> Context:
    """Replace the context with the highest-ranked statements, as many as fit the budget.

    The lower of `budget` (in tokens) and the context budget applies. The `cut` of the old context
    is kept.
    Source: Edge et al. (2024), Section 3.1.6; Zhou et al. (2025), Section 6.2.
    """
    empty = Context((), context.cut if context else ())
    return with_block(empty, _pieces(points, tokenizer), context_budget.at_most(budget))


def _pieces(points: Points, tokenizer: Tokenizer) -> list[Piece]:
    chunks = points.chunks or [()] * len(points)
    texts = [f"[importance {s}] {t}" for s, t in zip(points.scores, points.texts, strict=True)]
    return [
        Piece("point", str(row), text, float(score), tokenizer.count(text), chunks=of_text)
        for row, (text, score, of_text) in enumerate(zip(texts, points.scores, chunks, strict=True))
    ]


@operator("answer.reduce", calls=1, supplies=READER_VARIABLES | {"points"})
def reduce(
    question: Question,
    points: Points,
    *,
    llm: ChatModel,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    prompt: Prompt = Prompt("operators:answer/prompts/reduce.j2"),
    max_tokens: PositiveInt | None = None,
) -> Answer:
    """Answer the question from the highest-ranked statements, as many as fit the budget.

    If there are no statements, the answer is `REFUSAL` and the model is not called.
    Deviation: If there are no statements, the authors' code answers with a sentence. Accuracy by
    substring can mistake this sentence for the answer "no".
    Source: Edge et al. (2024), Section 3.1.6; Zhou et al. (2025), Section 6.2.
    """
    if not len(points):
        return Answer(REFUSAL)
    rows = [
        {"analyst": number, "score": score, "text": text}
        for number, (text, score) in enumerate(zip(points.texts, points.scores, strict=True), 1)
    ]
    n_tokens = [tokenizer.count(text) for text in points.texts]
    most = context_budget.tokens
    n_rows = len(rows) if most is None else max(1, n_fitting(n_tokens, most))
    pieces = _pieces(points, tokenizer)[:n_rows]
    chat = prompt.render({**reader_values(question, pieces), "points": rows[:n_rows]})
    return answer_of(llm, chat, question, max_tokens)
