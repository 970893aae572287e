"""Readers of questions about long texts, such as books. The scope is the id of the text."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, AliasPath, Field

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.rows import (
    FileRow,
    OneOrSeveral,
    Rows,
    checked_row,
    choice_gold,
    json_by_id,
    not_blank,
    read_text,
    records,
    with_options,
)
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question

SUMMARISE = "What happens in this episode? Give a summary of the plot."
"""The question for every transcript of SummScreen, because SummScreen has no questions."""
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
    """Read QuALITY, where each line has an article and multiple-choice questions by one writer.

    Two lines may have the same article. The question types are `hard` and `easy`. The correct
    options of the test split are not published.
    Source: Pang et al. 2022, v1.0.1 (htmlstripped files).
    """
    rows = Rows()
    for place, row in records(questions, _QualitySet):
        article = Document(row.article_id, row.title, row.article, row.article_id)
        rows.documents.setdefault(row.article_id, article)
        for number, one in enumerate(row.questions, start=1):
            text = with_options(one.question, one.options)
            correct = None if one.gold_label is None else one.gold_label - 1
            gold = choice_gold(place, one.options, correct, _LEVELS[one.difficult])
            question = Question(f"{row.set_unique_id}-{number}", text, row.article_id)
            rows.add_question(f"{place}, question {number}", question, gold)
    return rows


class _Response(FileRow):
    response_text: str = ""


class _SqualityQuestion(FileRow):
    question_text: str
    question_number: int
    responses: list[_Response] = []


class _Story(FileRow):
    id: str = Field(validation_alias=AliasPath("metadata", "passage_id"))
    document: str
    questions: list[_SqualityQuestion]


def squality(corpus: Path, questions: Path) -> Rows:
    """Read SQuALITY, where each line has a story and five questions about it.

    Each question has up to four summaries as its answers. The first question asks about the plot
    and has the type `plot`. All other questions have the type `detail`.
    Source: Wang et al. 2022, v1.3 (txt files).
    """
    rows = Rows()
    for place, row in records(questions, _Story):
        rows.add_document(place, Document(row.id, "", row.document, row.id))
        for one in row.questions:
            answers = [response.response_text.strip() for response in one.responses]
            type_ = "plot" if one.question_number == 1 else "detail"
            question = Question(f"{row.id}-{one.question_number}", one.question_text, row.id)
            gold = Gold(tuple(filter(None, answers)), type=type_)
            rows.add_question(f"{place}, question {one.question_number}", question, gold)
    return rows


class _Transcript(FileRow):
    id: str
    input: str
    output: str | None = None


def summscreen(corpus: Path, questions: Path) -> Rows:
    """Read SummScreen in SCROLLS' format, where each line has a transcript and its recap.

    Deviation: SummScreen has no questions, so every transcript gets the question `SUMMARISE`.
    Source: Chen et al. 2022; Shaham et al. 2022 (SCROLLS, `summ_screen_fd`).
    """
    rows = Rows()
    for place, row in records(questions, _Transcript):
        rows.add_document(place, Document(row.id, "", row.input, row.id))
        gold = Gold(not_blank([(row.output or "").strip()]), type="summary")
        rows.add_question(place, Question(row.id, SUMMARISE, row.id), gold)
    return rows


class _LongBook(FileRow):
    id: str
    context: str
    input: str
    answer: OneOrSeveral
    options: list[str] = []


def infinitebench(corpus: Path, questions: Path) -> Rows:
    """Read En.QA or En.MC, the two book question sets of InfiniteBench.

    Rows with equal contexts belong to one book. The books are named `book-1`, `book-2`, and so on,
    in order of appearance. In En.MC, the answer is the text of the correct option.
    Source: Zhang et al. 2024.
    """
    rows, books = Rows(), dict[str, str]()
    for place, row in records(questions, _LongBook):
        book = books.setdefault(row.context, f"book-{len(books) + 1}")
        rows.documents.setdefault(book, Document(book, "", row.context, book))
        gold = Gold(tuple(dict.fromkeys(row.answer)))
        if row.options:
            if not row.answer or row.answer[0] not in row.options:
                raise UserError(f"{place}: the answer {row.answer} is not among the options.")
            gold = choice_gold(place, row.options, row.options.index(row.answer[0]))
        question = Question(row.id, with_options(row.input, row.options), book)
        rows.add_question(place, question, gold)
    return rows


class _Corpus(FileRow):
    corpus_name: str
    context: str


class _Benchmark(FileRow):
    id: str
    source: str
    question: str
    answer: str
    question_type: str = ""
    evidence: OneOrSeveral | None = None


def graphragbench(corpus: Path, questions: Path) -> Rows:
    """Read GraphRAG-Bench, which consists of texts and of questions about each text.

    Each text is a scope. The field `source` of a question names its text. The field `evidence`
    paraphrases the text, so it becomes `statements` and not `spans`. If a question id is repeated,
    the name of the text is appended to the id.
    Source: Xiang et al. 2025, `Datasets/Corpus` and `Datasets/Questions`.
    """
    rows = Rows()
    for place, text in records(corpus, _Corpus):
        name = text.corpus_name
        rows.add_document(place, Document(name, "", text.context, name))
    scopes = {name.casefold(): name for name in rows.documents}
    for place, row in records(questions, _Benchmark):
        scope = scopes.get(row.source.casefold())
        if scope is None:
            known = ", ".join([*rows.documents][:5])
            raise UserError(f"{place}: there is no text '{row.source}'. The texts are: {known}.")
        name = f"{row.id} ({row.source})" if row.id in rows.questions else row.id
        statements = tuple(text.strip() for text in row.evidence or () if text.strip())
        gold = Gold(not_blank([row.answer]), type=row.question_type, statements=statements)
        rows.add_question(place, Question(name, row.question, scope), gold)
    return rows


class _NovelQuestion(FileRow):
    question: str = Field(validation_alias="Question")
    options: dict[str, str | None] = Field({}, validation_alias="Options")
    complexity: str | None = Field(None, validation_alias=AliasChoices("Complexity", "Complex"))
    gold: str | None = Field(None, validation_alias="Gold")
    evidences: list[str] | None = Field(None, validation_alias="Evidences")


def novelqa(corpus: Path, questions: Path) -> Rows:
    """Read NovelQA: novels (`Books/**/*.txt`) and questions (`Data/**/*.json`).

    A questions file has the name of its novel, which becomes the scope. The file contains a list of
    questions with a field QID, or an object that maps QIDs to questions. The field `Complexity` is
    the type of the question. The evidence sentences become spans. The correct option (`Gold`) and
    the evidence are published only for some novels.
    Source: Wang et al. 2024.
    """
    rows = Rows()
    for book in sorted(corpus.rglob("*.txt")):
        rows.add_document(str(book), Document(book.stem, "", read_text(book), book.stem))
    for file in sorted(questions.rglob("*.json")):
        if file.stem not in rows.documents:
            raise UserError(f"{file}: no novel '{file.stem}.txt' below {corpus}.")
        for qid, content in json_by_id(file):
            place = f"{file}, {qid}"
            row = checked_row(place, content, _NovelQuestion)
            options = {name: text for name, text in row.options.items() if text}
            if row.gold and row.gold not in options:
                letters = ", ".join(options) or "none"
                raise UserError(f"{place}: Gold is '{row.gold}', but the options are {letters}.")
            correct = list(options).index(row.gold) if row.gold else None
            gold = choice_gold(place, list(options.values()), correct, row.complexity or "")
            gold = replace(gold, spans=tuple(row.evidences or ()))
            text = with_options(row.question, list(options.values()))
            rows.add_question(place, Question(f"{file.stem}/{qid}", text, file.stem), gold)
    return rows
