"""Questions over a knowledge graph, as RoG prepared CWQ and WebQSP: a subgraph for each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import Gold
from graphrag_bench.data.records import files_of, json_line_objects, parquet_objects
from graphrag_bench.data.rows import FileRow, Rows, shaped
from graphrag_bench.data.subgraphs import Collector, SubgraphDocument
from graphrag_bench.values import Question


class _RogQuestion(FileRow):
    id: str
    question: str
    answer: list[str] = []
    q_entity: list[str] = []
    a_entity: list[str] = []
    graph: list[Any]


def rog(corpus: Path, questions: Path, limit: int | None = None) -> Rows:
    """Questions of CWQ or WebQSP with the triples around their entities, in RoG's format.

    Each row has id, question, answer, q_entity, a_entity and graph (lists of head, relation,
    tail). It becomes a question and a document of the same id, which is the question's scope; the
    triples are columns, and the document's text is made from them when asked for. `corpus` and
    `questions` are the same file: JSON lines, parquet, or the parquet shards of that name next to
    it or in `data/`. `limit` reads only the first rows.
    Source: RoG (Luo et al., ICLR 2024), the published files rmanluo/RoG-cwq and RoG-webqsp.
    """
    rows, collected = Rows(), Collector()
    for place, row in islice(_rows(questions), limit):
        found = [list(_given(names)) for names in (row.q_entity, row.a_entity, row.answer)]
        asked, wanted, answers = (tuple(dict.fromkeys(names)) for names in found)
        collected.add(row.id, row.graph, place)
        ends = {name for triple in row.graph for name in triple[::2]}
        gold = Gold(
            answers or wanted,
            in_graph=any(name in ends for name in wanted or answers),
            answer_entities=wanted,
        )
        rows.add_question(place, Question(row.id, row.question, row.id, asked), gold)
    rows.subgraphs = collected.subgraphs()
    for name, question in rows.questions.items():
        document = SubgraphDocument(name, rows.subgraphs)
        rows.add_document(rows.places["question", question.id], document)
    return rows


def _given(names: list[str]) -> Iterator[str]:
    return (name for name in names if name.strip())


def _rows(path: Path) -> Iterator[tuple[str, _RogQuestion]]:
    for file in files_of(path):
        read = parquet_objects if file.suffix == ".parquet" else json_line_objects
        for place, content in read(file):
            yield place, shaped(place, content, _RogQuestion)
