"""Make data sets and training questions from synthetic worlds."""

from collections.abc import Mapping
from functools import partial

from pydantic import ValidationError

from graphrag_bench.data.dataset import Card, Dataset, Gold, TrainingSet
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.values import Question
from graphrag_bench.world.facts import World, WorldSettings
from graphrag_bench.world.generator import make_world

OTHER_SEED = 1_000_003
"""Added to a world's seed for training questions, and added twice for validation questions."""
MOST_TRAINING, MOST_VALIDATION = 300, 100


def from_settings(card: Card, settings: Mapping[str, object]) -> Dataset:
    """Return the data set of a synthetic world. Raises UserError for invalid settings."""
    try:
        return world_dataset(card, make_world(WorldSettings.model_validate(dict(settings))))
    except ValidationError as error:
        problems = []
        for fault in error.errors():
            name = str(fault["loc"][0])
            problem = f"dataset.{name}={fault['input']!r}: {fault['msg']}."
            if fault["type"] == "extra_forbidden":
                hint = did_you_mean(name, ["name", *WorldSettings.model_fields])
                problem = f"No setting 'dataset.{name}'. {hint}"
            problems.append(problem)
        raise UserError("\n  ".join(problems)) from None


def world_of(dataset: Dataset) -> World:
    """Return the world from which a synthetic data set was made."""
    return make_world(WorldSettings.model_validate(dict(dataset.settings)))


def world_dataset(card: Card, world: World) -> Dataset:
    """Return a data set with the passages of a world, and a question for each chain of facts."""
    gold = {}
    for chain in world.chains:
        answer, start = world.entities[chain.answer], world.entities[chain.start]
        gold[chain.question] = Gold(
            (answer.name, answer.alias), world.evidence(chain),
            f"{chain.hops} hop{'s' * (chain.hops > 1)}", chain.hops, (start.name,),
        )  # fmt: skip
    return Dataset(
        name=world.settings.name,
        documents=world.passages,
        questions=tuple(Question(chain.question, chain.text) for chain in world.chains),
        gold=gold,
        card=card,
        settings=world.settings.model_dump(exclude_defaults=True),
    )


def training_worlds(dataset: Dataset) -> TrainingSet:
    """Return training and validation questions about worlds like `dataset` but with other seeds."""
    settings = WorldSettings.model_validate(dict(dataset.settings))

    def world(place: int, n_questions: int) -> Dataset:
        seed = settings.seed + place * OTHER_SEED
        while True:
            sizes = {"seed": seed, "n_questions": n_questions}
            try:
                return world_dataset(dataset.card, make_world(settings.model_copy(update=sizes)))
            except UserError:  # the world is too small for so many different questions
                if n_questions == 1:
                    raise
                n_questions //= 2

    def read(n_questions: int | None) -> Dataset:
        return world(1, min(n_questions or MOST_TRAINING, MOST_TRAINING))

    one = world(1, settings.n_questions)
    identity = f"{one.name} {one.corpus_digest} {MOST_TRAINING} {MOST_VALIDATION}"
    validation = partial(world, 2, MOST_VALIDATION)
    return TrainingSet(identity, read, lambda: len(read(None).questions), validation)
