"""Settings, entities and facts of synthetic worlds. Operators see only texts and questions."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from graphrag_bench.data.dataset import Document
from graphrag_bench.text import show_briefly

Rate = Annotated[float, Field(ge=0, le=1)]


class WorldSettings(BaseModel):
    """Settings of a synthetic world. They determine its texts and questions.

    If `noise`, `alias_rate` or `removed` is changed, entities, facts and questions stay the same.
    A higher rate affects the same items as a lower rate, and more.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    hops: int = Field(3, ge=1, le=8, description="maximum number of hops of a question (1 to 8)")
    size: int = Field(1000, ge=12, description="number of entities, each with one passage")
    facts_per_passage: int = Field(2, ge=1, le=3, description="number of facts about each entity")
    n_questions: PositiveInt = Field(100, description="number of questions")
    alias_rate: Rate = Field(0.2, description="fraction of mentions in facts that use the alias")
    noise: float = Field(0.1, ge=0, le=0.9, description="fraction of passages without a true fact")
    contradictions: Rate = Field(0.5, description="fraction of noise passages against a fact")
    removed: Rate = Field(0.0, description="fraction of the facts that are left out of the corpus")
    seed: int = Field(0, ge=0, description="seed of all random choices")

    @property
    def name(self) -> str:
        """The name of the data set: `world` and the settings that differ from their defaults.

        >>> WorldSettings(size=200, noise=0.3).name
        'world-size200-noise0.3'
        """
        changed = self.model_dump(exclude_defaults=True)
        return "-".join(["world", *(f"{name}{value:g}" for name, value in changed.items())])


@dataclass(frozen=True)
class WorldEntity:
    """An entity of a synthetic world. Its `id` is its index in `World.entities`."""

    id: int
    name: str
    alias: str
    type: str
    kind: str


@dataclass(frozen=True)
class Fact:
    """A relation between two entities, with names as written. A removed fact has no passage."""

    id: int
    head: int
    phrase: str
    tail: int
    names: tuple[str, str]
    passage: str | None


@dataclass(frozen=True)
class Chain:
    """A question and the facts that answer it, in hop order. `answer` is the last entity."""

    question: str
    text: str
    start: int
    facts: tuple[int, ...]
    answer: int

    @property
    def hops(self) -> int:
        """The number of facts in the chain."""
        return len(self.facts)


@show_briefly
@dataclass(frozen=True)
class World:
    """A synthetic world. `contradictions` are false facts that are stated as rumours.

    `distractors` are true facts about additional entities, which come last in `entities`.
    """

    settings: WorldSettings
    entities: tuple[WorldEntity, ...]
    facts: tuple[Fact, ...]
    distractors: tuple[Fact, ...]
    contradictions: tuple[Fact, ...]
    passages: tuple[Document, ...]
    chains: tuple[Chain, ...]

    def evidence(self, chain: Chain) -> tuple[str, ...]:
        """Return the passage ids of a chain's facts, in order. A removed fact gives `removed-N`."""
        facts = [self.facts[row] for row in chain.facts]
        return tuple(fact.passage or f"removed-{fact.id}" for fact in facts)
