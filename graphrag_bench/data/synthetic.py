"""A synthetic world as a data set, and the questions that a scorer may learn from.

Those are never questions of the run, whose gold nothing sees.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from graphrag_bench.data.dataset import Card, Dataset, Document, Gold
from graphrag_bench.data.rows import files_of, n_records
from graphrag_bench.data.subgraphs import rog
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.values import Question
from graphrag_bench.world.facts import World, WorldSettings
from graphrag_bench.world.making import make_world

OTHER_SEED = 1_000_003
"""What is added to a world's seed for its training questions; twice of it for validation."""
MOST_TRAINING, MOST_VALIDATION = 300, 100
"""The most questions of a synthetic world of either kind."""


def synthetic(card: Card, files: Mapping[str, object], settings: Mapping[str, object]) -> Dataset:
    """Return the data set of a world with these settings, named after those that are not default.

    `files` names what only sets on disk have. Raises UserError for a setting that is unknown, out
    of range or of another type, and for a file: there is none to read.
    """
    for name, file in files.items():
        if file is not None:
            raise UserError(f"Data set '{card.name}' is made, not read: leave out dataset.{name}.")
    try:
        checked = WorldSettings.model_validate(dict(settings))
    except ValidationError as error:
        raise UserError("\n  ".join(_problem(dict(fault)) for fault in error.errors())) from None
    return world_dataset(card, make_world(checked))


def _problem(fault: Mapping[str, object]) -> str:
    place = fault["loc"]
    name = str(place[0]) if isinstance(place, tuple) else ""
    if fault["type"] == "extra_forbidden":
        known = ["name", *WorldSettings.model_fields]
        return f"There is no setting 'dataset.{name}'. {did_you_mean(name, known)}"
    return f"dataset.{name}={fault['input']!r}: {fault['msg']}."


def world_dataset(card: Card, world: World) -> Dataset:
    """Return passages as documents, and for each chain a question with its gold.

    Gold answers are the name and the alias; the evidence are the passages that state the chain's
    facts, and an id that no document has for each fact that was removed. Types are the hops.
    """
    gold = {}
    for chain in world.chains:
        answer, start = world.entities[chain.answer], world.entities[chain.start]
        type_ = "1 hop" if chain.hops == 1 else f"{chain.hops} hops"
        gold[chain.question] = Gold(
            (answer.name, answer.alias), world.evidence(chain), type_, chain.hops, (start.name,)
        )
    return Dataset(
        name=world.settings.name,
        documents=tuple(Document(row.id, row.title, row.text) for row in world.passages),
        questions=tuple(Question(chain.question, chain.text) for chain in world.chains),
        gold=gold,
        card=card,
        world=world,
    )


@dataclass(frozen=True)
class TrainingSet:
    """Training questions: their part of keys, a reader of the first so many, and their number.

    `read` gives all for None. `validation` reads the questions by which a model is chosen, and is
    None where the set has none.
    """

    identity: str
    read: Callable[[int | None], Dataset]
    size: Callable[[], int]
    validation: Callable[[], Dataset] | None = None


def training_set(dataset: Dataset) -> TrainingSet:
    """Return the training questions of a data set.

    Of a synthetic world those of a world with the same settings and another seed, a half, a quarter
    or less of 300 where it has room for no more; otherwise those of the training file. Validation
    questions are those of a third world, or of the validation file. Raises UserError for a set
    without training questions, and, when read, for a question that the run asks.
    """
    if dataset.world is not None:
        return _other_world(dataset, dataset.world.settings)
    if dataset.training is None:
        wanted = dataset.card.files.get("training", "a file of training questions")
        raise UserError(
            f"Data set '{dataset.name}' has no training questions ({wanted}); a trained scorer "
            "needs them, method.scorer=cosine does not."
        )
    training, validation = dataset.training, dataset.validation
    ids = {question.id for question in dataset.questions}

    def read(path: Path, n_questions: int | None = None) -> Dataset:
        rows = rog(path, path, n_questions)
        for name in sorted(ids & rows.questions.keys()):
            raise UserError(f"{rows.places['question', name]}: '{name}' is a question of the run.")
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


def _other_world(dataset: Dataset, settings: WorldSettings) -> TrainingSet:
    def world(place: int, n_questions: int) -> Dataset:
        seed = settings.seed + place * OTHER_SEED
        while True:
            sizes = {"seed": seed, "n_questions": n_questions}
            try:
                made = make_world(settings.model_copy(update=sizes))
            except UserError:  # the world is too small for so many different questions
                if n_questions == 1:
                    raise
                n_questions //= 2
            else:
                return world_dataset(dataset.card, made)

    def read(n_questions: int | None) -> Dataset:
        return world(1, min(n_questions or MOST_TRAINING, MOST_TRAINING))

    def validation() -> Dataset:
        return world(2, MOST_VALIDATION)

    one = world(1, settings.n_questions)
    identity = f"{one.name} {one.corpus_digest} {MOST_TRAINING} {MOST_VALIDATION}"
    return TrainingSet(identity, read, lambda: len(read(None).questions), validation)
