"""Training questions for trained scorers. They must not be among the questions of the run."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.readers.rog import rog
from graphrag_bench.data.rows import files_of, n_records
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest, file_digest


@dataclass(frozen=True)
class TrainingSet:
    """Training questions for a scorer. The files are read only when they are needed.

    `identity`, a digest of the files, is part of the keys of trained artifacts. `read(n)` returns
    the first n questions, or all if n is None, and `size()` their number. `validation()` returns
    the questions for model selection. It is None if there are none.
    """

    identity: str
    read: Callable[[int | None], Dataset]
    size: Callable[[], int]
    validation: Callable[[], Dataset] | None = None


def training_set(dataset: Dataset) -> TrainingSet:
    """Return the training questions of a data set, and its validation questions if it has any.

    Raises UserError if there is no training file. `read` and `validation` raise UserError if a
    training question is also a question of the run.
    """
    if dataset.training is None:
        wanted = dataset.card.files.get("training", "a file of training questions")
        raise UserError(
            f"Data set '{dataset.name}' has no training questions ({wanted}), which a trained "
            "scorer needs. Set method.scorer=cosine to use an untrained scorer."
        )
    training, validation = dataset.training, dataset.validation
    ids = {question.id for question in dataset.questions}

    def read(path: Path, n_questions: int | None = None) -> Dataset:
        rows = rog(path, path, n_questions)
        for name in sorted(ids & rows.questions.keys()):
            place = rows.places[name]
            raise UserError(f"{place}: the training question '{name}' is a question of the run.")
        return Dataset(
            f"{dataset.name}-training", tuple(rows.documents.values()),
            tuple(rows.questions.values()), rows.gold, dataset.card, subgraphs=rows.subgraphs,
        )  # fmt: skip

    files = [files_of(path) for path in (training, validation) if path is not None]
    return TrainingSet(
        digest([[file_digest(file) for file in each] for each in files]),
        partial(read, training),
        partial(n_records, training),
        None if validation is None else partial(read, validation),
    )
