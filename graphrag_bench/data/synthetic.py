"""A synthetic world as a data set, and the questions that a scorer may learn from.

Those are never questions of the run, whose gold nothing sees.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from graphrag_bench.data.dataset import Card, Dataset, Document, Gold
from graphrag_bench.data.rows import files_of
from graphrag_bench.data.subgraphs import rog
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.values import Question
from graphrag_bench.world.facts import World, WorldSettings
from graphrag_bench.world.making import make_world

OTHER_SEED = 1_000_003
"""What is added to a world's seed for its training questions."""


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
    """Training questions: their part of keys, and a reader of the first so many."""

    identity: str
    read: Callable[[int], Dataset]


def training_set(dataset: Dataset) -> TrainingSet:
    """Return the training questions of a data set.

    Of a synthetic world those of a world with the same settings and another seed, a half, a quarter
    or less of them where it has room for no more; otherwise those of the training file. Raises
    UserError for a set that has neither, and, when read, for a question that the run asks.
    """
    if dataset.world is not None:
        return _other_world(dataset, dataset.world.settings)
    if dataset.training is None:
        wanted = dataset.card.files.get("training", "a file of training questions")
        raise UserError(
            f"Data set '{dataset.name}' has no training questions ({wanted}); a trained scorer "
            "needs them, method.scorer=cosine does not."
        )
    path = dataset.training
    ids = {question.id for question in dataset.questions}

    def read(n_questions: int) -> Dataset:
        rows = rog(path, path, n_questions)
        for name in sorted(ids & rows.questions.keys()):
            raise UserError(f"{rows.places['question', name]}: '{name}' is a question of the run.")
        return Dataset(
            f"{dataset.name}-training", tuple(rows.documents.values()),
            tuple(rows.questions.values()), rows.gold, dataset.card, subgraphs=rows.subgraphs,
        )  # fmt: skip

    return TrainingSet(digest([file_digest(file) for file in files_of(path)]), read)


def _other_world(dataset: Dataset, settings: WorldSettings) -> TrainingSet:
    other = settings.model_copy(update={"seed": settings.seed + OTHER_SEED})

    def read(n_questions: int) -> Dataset:
        while True:
            try:
                world = make_world(other.model_copy(update={"n_questions": n_questions}))
            except UserError:  # the world is too small for so many different questions
                if n_questions == 1:
                    raise
                n_questions //= 2
            else:
                return world_dataset(dataset.card, world)

    return TrainingSet(f"{other.name} {read(other.n_questions).corpus_digest}", read)
