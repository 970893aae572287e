"""Readers of CWQ and WebQSP in RoG's format, in which each question has a subgraph."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from graphrag_bench.data.dataset import Dataset, Document, Gold, TrainingSet
from graphrag_bench.data.rows import FileRow, Rows, files_of, n_records, not_blank, records
from graphrag_bench.data.subgraphs import Subgraphs
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.values import Question


class _SubgraphDocument(Document):
    def __init__(self, id: str, subgraphs: Subgraphs) -> None:
        for name, value in (("id", id), ("title", ""), ("scope", id), ("_subgraphs", subgraphs)):
            object.__setattr__(self, name, value)

    @property
    def text(self) -> str:
        subgraphs: Subgraphs = self._subgraphs  # type: ignore[attr-defined]
        return subgraphs.text(self.id)


class _RogQuestion(FileRow):
    id: str
    question: str
    answer: list[str] = []
    q_entity: list[str] = []
    a_entity: list[str] = []
    graph: list[tuple[str, str, str]]


def rog(corpus: Path, questions: Path, limit: int | None = None) -> Rows:
    """Read CWQ or WebQSP in RoG's format. Each row becomes a question and a document.

    The document consists of the triples of the row. Its id and its scope are the id of the row.
    Source: RoG (Luo et al., ICLR 2024), rmanluo/RoG-cwq and rmanluo/RoG-webqsp.
    """
    rows = Rows()

    def read() -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
        for place, row in islice(records(questions, _RogQuestion), limit):
            starts, wanted, answers = map(not_blank, (row.q_entity, row.a_entity, row.answer))
            ends = {name for triple in row.graph for name in triple[::2]}
            in_graph = not ends.isdisjoint(wanted or answers)
            gold = Gold(answers or wanted, in_graph=in_graph, answer_entities=wanted)
            rows.add_question(place, Question(row.id, row.question, row.id, starts), gold)
            yield row.id, row.graph

    rows.subgraphs = Subgraphs.of(read())
    for name in rows.questions:
        rows.documents[name] = _SubgraphDocument(name, rows.subgraphs)
    return rows


def training_set(dataset: Dataset) -> TrainingSet:
    """Return training and validation questions. They must not contain questions of the run."""
    if (training := dataset.training) is None:
        wanted = dataset.card.files.get("training", "a file of training questions")
        how = "Set method.scorer=cosine to use an untrained scorer."
        raise UserError(f"Data set '{dataset.name}' has no training questions ({wanted}). {how}")
    validation, ids = dataset.validation, {question.id for question in dataset.questions}

    def read(path: Path, n_questions: int | None = None) -> Dataset:
        rows = rog(path, path, n_questions)
        for name in sorted(ids & rows.questions.keys()):
            of_run = f"the training question '{name}' is a question of the run"
            raise UserError(f"{rows.places[name]}: {of_run}.")
        return Dataset(
            f"{dataset.name}-training", tuple(rows.documents.values()),
            tuple(rows.questions.values()), rows.gold, dataset.card, subgraphs=rows.subgraphs,
        )  # fmt: skip

    files = [files_of(path) for path in (training, validation) if path is not None]
    return TrainingSet(
        digest([[file_digest(file) for file in each] for each in files]), partial(read, training),
        partial(n_records, training), None if validation is None else partial(read, validation),
    )  # fmt: skip
