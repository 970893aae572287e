"""The synthetic world: its settings, and what is true in it, as one frozen value.

Nothing here is seen by an operator: texts and questions reach a method as those of any other set.
"""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from graphrag_bench.data.dataset import Document
from graphrag_bench.text import show_briefly


class WorldSettings(BaseModel):
    """What a world is made of. Texts and questions are a pure function of these settings.

    Each aspect has random numbers of its own: with another `noise`, `alias_rate` or `removed` the
    entities, facts and questions stay, and a higher rate takes what the lower one took and more.
    Shares are exact, rounded to the nearest whole number.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    hops: int = Field(3, ge=1, le=8, description="questions of 1 to so many hops, in equal shares")
    size: int = Field(1000, ge=12, description="passages that state facts, one for each entity")
    facts_per_passage: int = Field(2, ge=1, le=3, description="facts about each entity")
    n_questions: PositiveInt = Field(100, description="questions")
    alias_rate: float = Field(
        0.2, ge=0, le=1, description="share of the mentions in facts that use the alias"
    )
    noise: float = Field(
        0.1, ge=0, le=0.9, description="share of all passages that state no fact of the world"
    )
    contradictions: float = Field(
        0.5, ge=0, le=1, description="share of the noise that contradicts a fact, as a rumour"
    )
    removed: float = Field(
        0.0, ge=0, le=1, description="share of the facts whose sentence is left out of the corpus"
    )
    seed: int = Field(0, ge=0, description="seed of everything in the world")

    @property
    def name(self) -> str:
        """`world`, and each setting that is not the default: world-noise0.3-size200."""
        changed = [
            f"{name}{getattr(self, name):g}"
            for name, field in type(self).model_fields.items()
            if getattr(self, name) != field.default
        ]
        return "-".join(["world", *changed])


@dataclass(frozen=True)
class WorldEntity:
    """Somebody or something; `id` is its place in `World.entities`."""

    id: int
    name: str
    alias: str
    type: str
    kind: str


@dataclass(frozen=True)
class Fact:
    """Head and tail are ids of entities; `names` are their names as the sentence writes them.

    `passage` is the id of the passage that states it, None for a fact that was removed.
    """

    id: int
    head: int
    phrase: str
    tail: int
    names: tuple[str, str]
    passage: str | None


@dataclass(frozen=True)
class Chain:
    """The facts that answer a question, the first hop first; `answer` is the last one's tail."""

    question: str
    text: str
    start: int
    facts: tuple[int, ...]
    answer: int

    @property
    def hops(self) -> int:
        """The number of facts."""
        return len(self.facts)


@dataclass(frozen=True)
class World:
    """All that is true, all that is said, and the chains behind the questions.

    `entities` holds those of the facts first and the outsiders of the distractors after them.
    `passages` are in corpus order, `chains` in question order. `distractors` are true of the
    outsiders; `contradictions` are false, and said as rumours.
    """

    settings: WorldSettings
    entities: tuple[WorldEntity, ...]
    facts: tuple[Fact, ...]
    distractors: tuple[Fact, ...]
    contradictions: tuple[Fact, ...]
    passages: tuple[Document, ...]
    chains: tuple[Chain, ...]

    def evidence(self, chain: Chain) -> tuple[str, ...]:
        """Return the passages of a chain's facts in order, `removed-N` for a removed one."""
        facts = [self.facts[row] for row in chain.facts]
        return tuple(fact.passage or f"removed-{fact.id}" for fact in facts)


show_briefly(World)
