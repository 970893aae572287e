"""A synthetic world as a data set: its settings checked, its passages, questions and gold."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from graphrag_bench.data.card import Card
from graphrag_bench.data.dataset import Dataset, Document, Gold
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.values import Question
from graphrag_bench.world.facts import World, WorldSettings
from graphrag_bench.world.making import make_world


def synthetic(card: Card, files: Mapping[str, object], settings: Mapping[str, object]) -> Dataset:
    """The data set of a world with these settings, named after those that are not the default.

    `files` names what only sets on disk have. Raises UserError for a setting that is unknown, out
    of range or of another type, and for a file: there is none to read.
    """
    for name, given in files.items():
        if given is not None:
            raise UserError(f"Data set '{card.name}' is made, not read: leave out dataset.{name}.")
    return world_dataset(card, make_world(_checked(settings)))


def _checked(settings: Mapping[str, object]) -> WorldSettings:
    try:
        return WorldSettings.model_validate(dict(settings))
    except ValidationError as error:
        raise UserError("\n  ".join(_problem(dict(fault)) for fault in error.errors())) from None


def _problem(fault: Mapping[str, object]) -> str:
    place = fault["loc"]
    name = str(place[0]) if isinstance(place, tuple) else ""
    if fault["type"] == "extra_forbidden":
        known = ["name", *WorldSettings.model_fields]
        return f"There is no setting 'dataset.{name}'. {did_you_mean(name, known)}"
    return f"dataset.{name}={fault['input']!r}: {fault['msg']}."


def world_dataset(card: Card, world: World) -> Dataset:
    """Passages as documents, and for each chain a question with its gold.

    Gold answers are the name and the alias; the evidence are the passages that state the chain's
    facts, and an id that no document has for each fact that was removed. Types are the hops.
    """
    gold = {}
    for chain in world.chains:
        answer, start = world.entities[chain.answer], world.entities[chain.start]
        type_ = "1 hop" if chain.hops == 1 else f"{chain.hops} hops"
        evidence = world.evidence(chain)
        gold[chain.question] = Gold(
            (answer.name, answer.alias), evidence, type_, chain.hops, (start.name,)
        )
    return Dataset(
        name=world.settings.name,
        documents=tuple(Document(row.id, row.title, row.text) for row in world.passages),
        questions=tuple(Question(chain.question, chain.text) for chain in world.chains),
        gold=gold,
        card=card,
        world=world,
    )
