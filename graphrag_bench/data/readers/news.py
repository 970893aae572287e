"""MultiHop-RAG: questions over news articles, with the facts that answer them."""

from __future__ import annotations

from pathlib import Path

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.records import records
from graphrag_bench.data.rows import FileRow, Rows
from graphrag_bench.values import Question


class _Article(FileRow):
    title: str
    body: str
    url: str = ""


class _Fact(FileRow):
    title: str = ""
    url: str = ""
    fact: str = ""


class _Query(FileRow):
    query: str
    answer: str
    question_type: str = ""
    evidence_list: list[_Fact] = []


def multihoprag(corpus: Path, questions: Path) -> Rows:
    """MultiHop-RAG: `corpus.json` (articles) and `MultiHopRAG.json` (queries); ids are row numbers.

    The evidence are the articles of the facts, by url or else by title, and the facts are spans. A
    null query has neither; its answer says that there is not enough information. Queries over n
    articles have n hops. Source: Tang and Yang 2024.
    """
    rows = Rows()
    by_name: dict[str, str] = {}
    for place, article in records(corpus, _Article):
        number = str(len(rows.documents))
        rows.add_document(place, Document(number, article.title, article.body))
        for name in (article.url, article.title):
            by_name.setdefault(name.strip(), number)
    by_name.pop("", None)
    for place, row in records(questions, _Query):
        found = [
            by_name.get(fact.url.strip())
            or by_name.get(fact.title.strip(), f"{fact.title} (article not in corpus)")
            for fact in row.evidence_list
        ]
        evidence = tuple(dict.fromkeys(found))
        spans = tuple(fact.fact.strip() for fact in row.evidence_list if fact.fact.strip())
        gold = Gold((row.answer,), evidence, row.question_type, len(evidence) or None, spans=spans)
        rows.add_question(place, Question(str(len(rows.questions)), row.query), gold)
    return rows
