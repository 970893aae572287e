"""Questions over a knowledge graph, as RoG prepared CWQ and WebQSP: a subgraph for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import Gold
from graphrag_bench.data.rows import Row, Rows, shaped
from graphrag_bench.data.subgraphs import Collector, SubgraphDocument
from graphrag_bench.errors import UserError
from graphrag_bench.values import Question

_BATCH = 64
"""Rows of a parquet file that are held as Python objects at a time."""


class _RogQuestion(Row):
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
    triples are columns, and the document's text is made of them when asked for. `corpus` and
    `questions` are the same file: JSON lines, parquet, or the parquet shards of that name beside
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
    """The names that are not blank."""
    return (name for name in names if name.strip())


def _rows(path: Path) -> Iterator[tuple[str, _RogQuestion]]:
    """Place and row of every question of a file, or of the shards that stand in its place."""
    for file in rog_files(path):
        read = _parquet if file.suffix == ".parquet" else _json_lines
        for place, content in read(file):
            yield place, shaped(place, content, _RogQuestion)


def rog_files(path: Path) -> list[Path]:
    """The file, or the parquet files of that name (`test-00000-of-00002-...`), sorted.

    Raises UserError when there is none.
    """
    if path.is_file():
        return [path]
    for folder in (path.parent, path.parent / "data"):
        whole, shards = folder / f"{path.stem}.parquet", folder.glob(f"{path.stem}-*.parquet")
        if found := [whole] if whole.is_file() else sorted(shards):
            return found
    there = sorted(item.name for item in path.parent.glob("*"))[:8]
    raise UserError(
        f"There is no file '{path}', and no {path.stem}*.parquet beside it or in data/. "
        f"The folder holds: {', '.join(there) or 'nothing'}."
    )


def _json_lines(path: Path) -> Iterator[tuple[str, object]]:
    """The objects of a file of any size, one line at a time."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            place = f"{path}, line {number}"
            if not line.strip():
                continue
            try:
                yield place, json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as error:
                raise UserError(f"{place}: not UTF-8 (byte {error.start} of the line).") from None
            except json.JSONDecodeError as error:
                raise UserError(f"{place}: not JSON ({error.msg}).") from None


def _parquet(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The rows of a parquet file; raises UserError without pyarrow, and for another file."""
    try:
        parquet = import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise UserError(
            "Parquet needs pyarrow: pip install 'graphrag-bench[interchange]'."
        ) from None
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not parquet ({str(error)[:200]}).") from None
