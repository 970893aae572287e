"""Questions that a scorer may learn from: never those of the run, whose gold nothing sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.kgqa import rog
from graphrag_bench.data.records import files_of
from graphrag_bench.data.synthetic import world_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.world.making import make_world

OTHER_SEED = 1_000_003
"""What is added to a world's seed for its training questions."""


@dataclass(frozen=True)
class TrainingSet:
    """Training questions: their part of keys, and a reader of the first so many."""

    identity: str
    read: Callable[[int], Dataset]


def training_set(dataset: Dataset) -> TrainingSet:
    """The training questions of a data set.

    Of a synthetic world those of a world with the same settings and another seed, a half, a quarter
    or less of them where it has room for no more; otherwise those of the training file. Raises
    UserError for a set that has neither, and, when read, for a question that the run asks.
    """
    if dataset.world is not None:
        return _other_world(dataset)
    if dataset.training is None:
        wanted = dataset.card.files.get("training", "a file of training questions")
        raise UserError(
            f"Data set '{dataset.name}' has no training questions ({wanted}); a trained scorer "
            "needs them, method.scorer=cosine does not."
        )
    path = dataset.training
    asked = {question.id for question in dataset.questions}

    def read(n_questions: int) -> Dataset:
        rows = rog(path, path, n_questions)
        for name in sorted(asked & rows.questions.keys()):
            raise UserError(f"{rows.places['question', name]}: '{name}' is a question of the run.")
        documents, questions = tuple(rows.documents.values()), tuple(rows.questions.values())
        name = f"{dataset.name}-training"
        return Dataset(name, documents, questions, rows.gold, dataset.card, None, None, None,
                       rows.subgraphs)  # fmt: skip

    return TrainingSet(digest([file_digest(file) for file in files_of(path)]), read)


def _other_world(dataset: Dataset) -> TrainingSet:
    assert dataset.world is not None
    settings = dataset.world.settings
    other = settings.model_copy(update={"seed": settings.seed + OTHER_SEED})

    def read(n_questions: int) -> Dataset:
        wanted = n_questions
        while True:
            try:
                made = make_world(other.model_copy(update={"n_questions": wanted}))
            except UserError:  # the world is too small for so many different questions
                if wanted == 1:
                    raise
                wanted //= 2
            else:
                return world_dataset(dataset.card, made)

    return TrainingSet(f"{other.name} {read(other.n_questions).corpus_digest}", read)
