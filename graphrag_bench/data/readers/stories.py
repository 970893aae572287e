"""Readers of questions about long texts, such as books. The scope is the id of the text."""

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, AliasPath, Field

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.rows import FileRow, OneOrSeveral, Rows, read_text, records, records_by_id
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question

SUMMARISE = "What happens in this episode? Give a summary of the plot."


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

    Two lines may have the same article. Source: Pang et al. 2022, v1.0.1 (htmlstripped files).
    """
    rows = Rows()
    for place, row in records(questions, _QualitySet):
        article = Document(row.article_id, row.title, row.article, row.article_id)
        rows.documents.setdefault(row.article_id, article)
        for number, one in enumerate(row.questions, start=1):
            correct = None if one.gold_label is None else one.gold_label - 1
            level = {None: "", 0: "easy", 1: "hard"}[one.difficult]
            options = tuple(one.options)
            gold = Gold(type=level, options=options, correct=correct)
            question = Question(f"{row.set_unique_id}-{number}", one.question, row.article_id)
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
    """Read SQuALITY. Each line has one story and five questions.

    Source: Wang et al. 2022, v1.3 (txt files).
    """
    rows = Rows()
    for place, row in records(questions, _Story):
        rows.add_document(place, Document(row.id, "", row.document, row.id))
        for one in row.questions:
            answers = filter(None, (response.response_text.strip() for response in one.responses))
            gold = Gold(tuple(answers), type="plot" if one.question_number == 1 else "detail")
            question = Question(f"{row.id}-{one.question_number}", one.question_text, row.id)
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
        gold = Gold(tuple(filter(None, [(row.output or "").strip()])), type="summary")
        rows.add_question(place, Question(row.id, SUMMARISE, row.id), gold)
    return rows


class _LongBook(FileRow):
    id: str
    context: str
    input: str
    answer: OneOrSeveral
    options: list[str] = []


def infinitebench(corpus: Path, questions: Path) -> Rows:
    """Read En.QA or En.MC, the two book question sets of InfiniteBench. Source: Zhang et al. 2024.

    In En.MC, the answer is the text of the correct option.
    """
    rows, books = Rows(), dict[str, str]()
    for place, row in records(questions, _LongBook):
        book = books.setdefault(row.context, f"book-{len(books) + 1}")
        rows.documents.setdefault(book, Document(book, "", row.context, book))
        gold = Gold(tuple(dict.fromkeys(row.answer)))
        if row.options:
            if not row.answer or row.answer[0] not in row.options:
                raise UserError(f"{place}: the answer {row.answer} is not among the options.")
            correct = row.options.index(row.answer[0])
            gold = Gold(options=tuple(row.options), correct=correct)
        rows.add_question(place, Question(row.id, row.input, book), gold)
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

    The field `evidence` paraphrases the text, so it becomes `statements` and not `spans`.
    Source: Xiang et al. 2025, `Datasets/Corpus` and `Datasets/Questions`.
    """
    rows = Rows()
    for place, text in records(corpus, _Corpus):
        rows.add_document(place, Document(text.corpus_name, "", text.context, text.corpus_name))
    scopes = {name.casefold(): name for name in rows.documents}
    for place, row in records(questions, _Benchmark):
        if (scope := scopes.get(row.source.casefold())) is None:
            known = ", ".join([*rows.documents][:5])
            raise UserError(f"{place}: there is no text '{row.source}'. The texts are: {known}.")
        name = f"{row.id} ({row.source})" if row.id in rows.questions else row.id
        statements = tuple(filter(None, map(str.strip, row.evidence or ())))
        answers = tuple(filter(str.strip, [row.answer]))
        gold = Gold(answers, type=row.question_type, statements=statements)
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

    A questions file has the name of its novel. It contains a list of questions, or an
    object {QID: question}.
    `Gold` and the evidence are published only for some novels. Source: Wang et al. 2024.
    """
    rows = Rows()
    for book in sorted(corpus.rglob("*.txt")):
        rows.add_document(str(book), Document(book.stem, "", read_text(book), book.stem))
    for file in sorted(questions.rglob("*.json")):
        if file.stem not in rows.documents:
            raise UserError(f"{file}: no novel '{file.stem}.txt' below {corpus}.")
        for qid, place, row in records_by_id(file, _NovelQuestion):
            options = {name: text for name, text in row.options.items() if text}
            if row.gold and row.gold not in options:
                letters = ", ".join(options) or "none"
                raise UserError(f"{place}: Gold is '{row.gold}', but the options are {letters}.")
            gold = Gold(
                type=row.complexity or "", spans=tuple(row.evidences or ()),
                options=tuple(options.values()),
                correct=list(options).index(row.gold) if row.gold else None,
            )  # fmt: skip
            question = Question(f"{file.stem}/{qid}", row.question, file.stem)
            rows.add_question(place, question, gold)
    return rows
