"""What passages answer and what they raise, with planned replies and by named entities."""

import json

import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.pseudo_questions import PseudoQuestions
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.models.nlp import Sentence
from graphrag_bench.offline.pseudo_questions import llm_questions, nlp_questions
from graphrag_bench.progress import Progress

QUIET = Progress(quiet=True)
NAMES = ("Ada Marsh", "Norvik", "1901")
NONSENSE = "I would rather not."


class Listed:
    """A tagger that knows two names and a date; a sentence ends at a dot."""

    identity = "listed"

    def sentences(self, texts):
        for text in texts:
            parts = [f"{part.strip()}." for part in text.split(".") if part.strip()]
            yield [Sentence(part, tuple(self._entities(part)), (), ()) for part in parts]

    def entities(self, text):
        return [name for name, _ in self._entities(text)]

    def _entities(self, text):
        for name in NAMES:
            if name in text:
                yield name, "DATE" if name.isdigit() else "PERSON"


def table(*chunks: tuple[str, str]) -> ChunkTable:
    return ChunkTable.of([(f"d{row}", *chunk) for row, chunk in enumerate(chunks)])


def rows(made: PseudoQuestions) -> list[tuple[int, bool, str, list[str]]]:
    """Chunk, whether it answers, text and names of every question."""
    held = [made.names.take(made.question_name[row].indices) for row in range(len(made))]
    columns = zip(made.chunk.tolist(), made.answered.tolist(), made.texts, held, strict=True)
    return list(columns)


def test_a_passage_answers_its_sentences_and_raises_its_other_names():
    chunks = table(
        ("Norvik", "Ada Marsh founded Norvik. It stands. That was in 1901."),
        ("", "Ada Marsh sang. Nobody heard."),
    )
    assert rows(nlp_questions(chunk_table=chunks, nlp=Listed(), progress=QUIET)) == [
        (0, True, "Norvik: Ada Marsh founded Norvik.", ["norvik", "ada marsh"]),
        (0, True, "Norvik: It stands.", ["norvik"]),
        (0, True, "Norvik: That was in 1901.", ["norvik"]),
        (0, False, "What is Ada Marsh?", ["ada marsh"]),
        (1, True, "Ada Marsh sang.", ["ada marsh"]),
        (1, False, "What is Ada Marsh?", ["ada marsh"]),
    ]


def test_texts_that_name_nothing_are_refused():
    with pytest.raises(UserError, match="no pseudo-question"):
        nlp_questions(chunk_table=table(("", "Nobody heard.")), nlp=Listed(), progress=QUIET)


def said(*questions: str) -> str:
    return json.dumps({"questions": questions})


def asked(*replies: str, chunks: ChunkTable) -> list[tuple[int, bool, str, list[str]]]:
    left = list(replies)
    model = Scripted(answer=lambda chat: left.pop(0) if left else NONSENSE)
    made = llm_questions(chunk_table=chunks, llm_build=model, nlp=Listed(), progress=QUIET)
    return rows(made)


def test_the_model_is_asked_for_what_a_passage_answers_and_for_what_it_raises():
    chunks = table(("", "Ada Marsh founded Norvik."))
    found = asked(
        said("Who founded Norvik?", " "), said("Where was Ada Marsh born?"), chunks=chunks
    )
    assert found == [
        (0, True, "Who founded Norvik?", ["norvik"]),
        (0, False, "Where was Ada Marsh born?", ["ada marsh"]),
    ]


def test_a_passage_without_a_readable_reply_has_no_question_and_all_without_one_are_refused():
    chunks = table(("", "Ada Marsh sang."), ("", "Norvik stands."))
    answered = [NONSENSE, said("Where does Norvik stand?"), NONSENSE]
    raised = [said("Who is Ada Marsh?"), said("Who founded Norvik?")]
    assert [row[:2] for row in asked(*answered, *raised, chunks=chunks)] == [
        (0, False),
        (1, True),
        (1, False),
    ]
    with pytest.raises(UserError, match="questions answered"):
        asked(chunks=chunks)
