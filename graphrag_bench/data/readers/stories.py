"""Sets whose questions belong to one long text each: QuALITY, SQuALITY, SummScreen, InfiniteBench.

The text is a document, and its id the scope of its questions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.readers.options import choice_gold, with_options
from graphrag_bench.data.records import records
from graphrag_bench.data.rows import FileRow, OneOrSeveral, Rows
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question

SUMMARISE = "What happens in this episode? Give a summary of the plot."
"""The question that every transcript of SummScreen is asked; the set itself has none."""


_LEVELS = {None: "", 0: "easy", 1: "hard"}


class _QualityQuestion(FileRow):
    question: str
    options: list[str]
    gold_label: int | None = None
    difficult: Literal[0, 1] | None = None


class _QualitySet(FileRow):
    article_id: str
    set_unique_id: str
    title: str = ""
    article: str
    questions: list[_QualityQuestion]


def quality(corpus: Path, questions: Path) -> Rows:
    """QuALITY's lines: an article with a set of multiple-choice questions by one writer.

    Two lines have the same article. Types are `hard` and `easy`; labels count from 1, and those of
    the test split are not published. Source: Pang et al. 2022, v1.0.1 (htmlstripped files).
    """
    rows = Rows()
    for place, row in records(questions, _QualitySet):
        if row.article_id not in rows.documents:
            document = Document(row.article_id, row.title, row.article, row.article_id)
            rows.add_document(f"{place}, article", document)
        for number, asked in enumerate(row.questions, start=1):
            text = with_options(asked.question, asked.options)
            correct = None if asked.gold_label is None else asked.gold_label - 1
            gold = choice_gold(place, asked.options, correct, _LEVELS[asked.difficult])
            name = f"{row.set_unique_id}-{number}"
            rows.add_question(f"{place}, question {number}",
                              Question(name, text, row.article_id), gold)  # fmt: skip
    return rows


class _Metadata(FileRow):
    passage_id: str


class _Response(FileRow):
    response_text: str = ""


class _SqualityQuestion(FileRow):
    question_text: str
    question_number: int
    responses: list[_Response] = []


class _Story(FileRow):
    metadata: _Metadata
    document: str
    questions: list[_SqualityQuestion]


def squality(corpus: Path, questions: Path) -> Rows:
    """SQuALITY's lines: a story with five questions, each with up to four reference summaries.

    The references are the answers; the first question, about the plot, has the type `plot`, others
    `detail`. Source: Wang et al. 2022, v1.3 (txt files).
    """
    rows = Rows()
    for place, row in records(questions, _Story):
        story = row.metadata.passage_id
        rows.add_document(place, Document(story, "", row.document, story))
        for asked in row.questions:
            answers = tuple(r.response_text.strip() for r in asked.responses)
            gold = Gold(
                tuple(text for text in answers if text),
                type="plot" if asked.question_number == 1 else "detail",
            )
            name = f"{story}-{asked.question_number}"
            rows.add_question(f"{place}, question {asked.question_number}",
                              Question(name, asked.question_text, story), gold)  # fmt: skip
    return rows


class _Transcript(FileRow):
    id: str
    input: str
    output: str | None = None


def summscreen(corpus: Path, questions: Path) -> Rows:
    """SummScreen in SCROLLS' lines (id, pid, input, output): a transcript and its recap.

    Every transcript is asked one question, in words of this project. Source: Chen et al. 2022;
    Shaham et al. 2022 (SCROLLS, `summ_screen_fd`).
    """
    rows = Rows()
    for place, row in records(questions, _Transcript):
        rows.add_document(place, Document(row.id, "", row.input, row.id))
        recap = (row.output or "").strip()
        gold = Gold((recap,) if recap else (), type="summary")
        rows.add_question(place, Question(row.id, SUMMARISE, row.id), gold)
    return rows


class _LongBook(FileRow):
    id: str
    context: str
    input: str
    answer: OneOrSeveral
    options: list[str] = []


def infinitebench(corpus: Path, questions: Path) -> Rows:
    """InfiniteBench's En.QA or En.MC: lines of id, context, input, answer and options.

    Equal contexts are one book, `book-1` and so on in order of appearance. The right option of
    En.MC is given as its text. Source: Zhang et al. 2024.
    """
    rows = Rows()
    books: dict[str, str] = {}
    for place, row in records(questions, _LongBook):
        if row.context not in books:
            book = books[row.context] = f"book-{len(books) + 1}"
            rows.add_document(f"{place}, context", Document(book, "", row.context, book))
        book = books[row.context]
        gold, text = Gold(tuple(dict.fromkeys(row.answer))), row.input
        if row.options:
            right = [row.options.index(text) for text in row.answer[:1] if text in row.options]
            if not right:
                raise UserError(f"{place}: the answer {row.answer} is none of the options.")
            gold = choice_gold(place, row.options, right[0])
            text = with_options(row.input, row.options)
        rows.add_question(place, Question(row.id, text, book), gold)
    return rows
