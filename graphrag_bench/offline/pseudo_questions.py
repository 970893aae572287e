"""Chunks to pseudo-questions: by a language model, or without one by spaCy; and their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import BaseModel, PositiveInt

from graphrag_bench.columns import Texts, incidence
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.graph.pseudo_questions import PseudoQuestions
from graphrag_bench.llm.chat import LLM
from graphrag_bench.llm.structured import Listed, list_reading
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.nlp import Nlp, Sentence
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.asking import documents_of_chunks, records_of
from graphrag_bench.offline.indices import index_texts
from graphrag_bench.offline.parts import MOST_TOKENS, Extractor
from graphrag_bench.offline.tagging import named_entities, read_chunks
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name

ANSWERED = Prompt("graphrag_bench.offline:prompts/answered_questions.j2")
RAISED = Prompt("graphrag_bench.offline:prompts/raised_questions.j2")
Row = tuple[int, bool, str, tuple[str, ...]]
"""The chunk of a question, whether the chunk answers it, its text, and the names in it."""


class Questions(BaseModel):
    """What both prompts return."""

    questions: list[str]


@artifact("pseudo_questions.nlp")
def nlp_questions(*, chunk_table: ChunkTable, nlp: Nlp, progress: Progress) -> PseudoQuestions:
    """Without a language model: a chunk answers its sentences, and raises its names.

    A sentence that names something stands for the question it answers, after the title of its
    chunk; the title is one of its names. Each other name of the chunk, numbers and dates aside,
    raises the question "What is NAME?". Raises UserError when nothing is named.
    Source: ours, so that HopRAG's graph can be made without a language model.
    """
    rows: list[Row] = []
    for chunk, (title, sentences) in enumerate(read_chunks(chunk_table, nlp, progress)):
        rows += _told(chunk, title, sentences)
    return _made(rows)


def _told(chunk: int, title: str, sentences: Sequence[Sentence]) -> list[Row]:
    answered: list[Row] = []
    raised: dict[str, str] = {}
    for sentence in sentences:
        named = named_entities(sentence)
        raised.update({normalise_name(name): name for name in named if normalise_name(name)})
        if named or title:
            text = f"{title}: {sentence.text}" if title else sentence.text
            answered.append((chunk, True, text, (title, *named)))
    raised.pop(normalise_name(title), None)
    return [*answered, *((chunk, False, f"What is {name}?", (name,)) for name in raised.values())]


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    prompts = settings["answered_prompt"], settings["raised_prompt"]
    prompt = sum(template_tokens(one) for one in prompts) / 2 + sizes.chunk
    return prompt, min(settings["max_tokens"] or MOST_TOKENS, sizes.chunk)


@artifact("pseudo_questions.llm", calls=2, tokens=_tokens)
def llm_questions(
    *,
    chunk_table: ChunkTable,
    llm_build: LLM,
    nlp: Nlp,
    progress: Progress,
    answered_prompt: Prompt = ANSWERED,
    raised_prompt: Prompt = RAISED,
    max_tokens: PositiveInt | None = None,
) -> PseudoQuestions:
    """The questions that the build model says each chunk answers, and those that it raises.

    Two calls for each chunk. Names are the named entities of a question. A reply has `max_tokens`
    at most, by default 4,096 or what the model's window leaves; one that was cut gives its complete
    questions and is counted. A reply that cannot be read gives none; raises UserError when that
    happens to every chunk, or when no question is left.
    Source: HopRAG (Liu et al. 2025), incoming and outgoing pseudo-queries.
    """
    passages = chunk_table.passages
    items = documents_of_chunks(chunk_table)
    asked: list[tuple[int, bool, str]] = []
    extractor = Extractor(llm_build, max_tokens)
    for prompt, answered in ((answered_prompt, True), (raised_prompt, False)):
        purpose = "questions answered" if answered else "questions raised"
        chats = [prompt.render({"passage": passage}) for passage in passages]
        reading = list_reading(Questions, "questions", purpose)
        advice = "build.pseudo_questions=nlp reads them without a model."
        replies = records_of(extractor, chats, reading, items, progress, advice)
        for chunk, reply in enumerate(replies):
            texts = reply.value.questions if isinstance(reply, Listed) else []
            asked += [(chunk, answered, text.strip()) for text in texts if text.strip()]
    asked.sort(key=lambda row: row[0])  # in a chunk first what it answers, as they came
    read = nlp.sentences([text for _, _, text in asked])
    made = _made(
        (*row, tuple(name for one in sentences for name in named_entities(one)))
        for row, sentences in zip(asked, read, strict=True)
    )
    return replace(made, statistics=extractor.statistics)


@artifact("question_index")
def question_index(
    *, pseudo_questions: PseudoQuestions, embedder: Embedder, progress: Progress
) -> VectorIndex:
    """One vector for each pseudo-question, in their order."""
    return index_texts(list(pseudo_questions.texts), embedder, progress, "pseudo-questions")


def _made(given: Iterable[Row]) -> PseudoQuestions:
    rows = list(given)
    if not any(answered for _, answered, _, _ in rows):
        raise UserError(
            "There is no pseudo-question: no chunk names anything. Likely causes: the texts are in "
            "another language than the tagger's or the model's, or name nothing."
        )
    numbers: dict[str, int] = {}
    named = []
    for _, _, _, names in rows:
        keys = dict.fromkeys(filter(None, map(normalise_name, names)))
        named.append([numbers.setdefault(key, len(numbers)) for key in keys])
    return PseudoQuestions(
        Texts.of([text for _, _, text, _ in rows]),
        np.array([chunk for chunk, _, _, _ in rows], np.int64),
        np.array([answered for _, answered, _, _ in rows], bool),
        Texts.of(list(numbers)),
        incidence(named, len(numbers)),
    )
