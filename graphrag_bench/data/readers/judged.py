"""Readers of data sets with graded relevance judgements: BEIR's layout and ir_datasets."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.rows import FileRow, Rows, read_text, records, warn
from graphrag_bench.errors import UserError, extra_needed, unknown
from graphrag_bench.values import Question

QRELS, TEST = "qrels", "test"
COLUMNS = ("query-id", "corpus-id", "score")
Judgements = Iterable[tuple[str, str, str, int]]
"""The place, the question id, the document id and the score of each judgement."""


class _Query(FileRow):
    id: str = Field(alias="_id")
    text: str


class _Passage(_Query):
    title: str | None = None
    text: str | None  # type: ignore[assignment]


class _Judgement(FileRow):
    query: str = Field(alias="query-id")
    document: str = Field(alias="corpus-id")
    score: int


def beir(corpus: Path, queries: Path, split: str) -> Rows:
    """Read a data set in BEIR's layout. Queries that are judged in `split` become questions."""
    folder = corpus.parent / QRELS
    files = {file.name.removesuffix(".gz"): file for file in sorted(folder.glob("[!.]*"))}
    splits: dict[str, Path] = {}
    for ending in (".jsonl", ".tsv"):  # the second is preferred
        splits |= {
            name.removesuffix(ending): files[name] for name in files if name.endswith(ending)
        }
    if not splits:
        raise UserError(f"No file '{folder / split}.tsv'.")
    if split not in splits:
        raise unknown(f"dataset.split in '{folder}':", split, splits)
    if ".tsv" in (judged := splits[split]).suffixes:
        first = read_text(judged).partition("\n")[0].strip("\r")
        if not {*COLUMNS} <= {one.strip('"') for one in first.split("\t")}:
            header = "query-id, corpus-id and score, separated by tabs"
            raise UserError(f"{judged}, line 1: expected a header: {header}, not {first!r:.60}.")
    rows = Rows()
    for place, passage in records(corpus, _Passage):
        rows.add_document(place, Document(passage.id, passage.title or "", passage.text or ""))
    asked = ((place, Question(row.id, row.text)) for place, row in records(queries, _Query))
    found = records(judged, _Judgement)
    scored = ((place, row.query, row.document, row.score) for place, row in found)
    return _add_judged(rows, asked, scored, str(judged))


def ir_datasets(name: str) -> Rows:
    """Download and read a data set of the package ir_datasets, e.g. `beir/scifact/test`."""
    with extra_needed("ir"):
        import ir_datasets as library
    try:
        source: Any = library.load(name)
    except KeyError:
        raise unknown("dataset.name of ir_datasets", name, library.registry) from None
    for part in ("docs", "queries", "qrels"):
        if not getattr(source, f"has_{part}")():
            raise UserError(f"dataset.name={name}: the set has no {part} in ir_datasets.")
    rows = Rows()
    try:
        for document in source.docs_iter():
            title, text = getattr(document, "title", ""), getattr(document, "text", None)
            text = document.default_text() if text is None else text
            rows.add_document(name, Document(document.doc_id, title or "", text))
        asked = [(name, Question(q.query_id, q.default_text())) for q in source.queries_iter()]
        scored = [(name, row.query_id, row.doc_id, row.relevance) for row in source.qrels_iter()]
    except OSError as error:
        raise UserError(f"dataset.name={name}: ir_datasets cannot read it ({error}).") from None
    return _add_judged(rows, asked, scored, name)


def _add_judged(
    rows: Rows, queries: Iterable[tuple[str, Question]], judgements: Judgements, source: str
) -> Rows:
    """Add the judged questions. Their evidence is all documents with a score of at least 1."""
    scores: dict[str, dict[str, int]] = {}
    for place, query, document, score in judgements:
        if scores.setdefault(query, {}).setdefault(document, score) != score:
            raise UserError(f"{place}: query '{query}' has two scores for '{document}'.")
    unasked = 0
    for place, question in queries:
        if question.id not in scores:
            unasked += 1
            continue
        relevant = {name: one for name, one in scores[question.id].items() if one > 0}
        gold = Gold(evidence=tuple(relevant), grades=tuple(relevant.values()))
        rows.add_question(place, question, gold)
        rows.absent |= relevant.keys() - rows.documents.keys()
    if not rows.questions:
        raise UserError(f"{source} has no judgement for any query of the data set.")
    evidence = [gold.evidence for gold in rows.gold.values()]
    counts = {
        "queries without judgements (not asked)": unasked,
        "judged queries that do not exist (left out)": len(scores.keys() - rows.questions.keys()),
        "questions without a relevant document (no retrieval score)": evidence.count(()),
        "relevant documents that the corpus lacks (not found)":
            sum(name in rows.absent for names in evidence for name in names),
    }  # fmt: skip
    if notes := [f"{what}: {n:,}" for what, n in counts.items() if n]:
        warn(f"{source}: {'; '.join(notes)}.")
    return rows
