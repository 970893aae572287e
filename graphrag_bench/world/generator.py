"""Generate a synthetic world: entities, facts, chains of facts, passages and noise."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrag_bench.arrays import FloatArray
from graphrag_bench.data.dataset import Document
from graphrag_bench.errors import UserError
from graphrag_bench.world import grammar
from graphrag_bench.world.facts import Chain, Fact, World, WorldEntity, WorldSettings
from graphrag_bench.world.grammar import KINDS, TYPES, Statement, kind_sentence

_STREAMS = ("names", "facts", "aliases", "removed", "chains", "order", "noise", "outsiders")
_SOUNDS = (
    "ba be bo dal den dir dö fa fen gal gor gü ha hel ina jas jo kal kar kes kø la len lis lum "
    "ma mar mel mor mü na nel nor ny oda os pal pen pho ra ren ril ros ru sa sel sin sø ta tel tir "
    "tor ul va vel vis vor vé wen xa yl yr za zen zil zu ña ło ęd ål čar šen žu thén éla îr"
)
_SYLLABLES = tuple(_SOUNDS.split())
_NOUNS = {
    "place": ("Bay", "Hill", "Ford", "Moor", "Cape", "Mills", "Cross", "Heath"),
    "organisation": ("Society", "Guild", "College", "League", "Press", "Union", "Bank", "Trust"),
    "work": ("Chronicle", "Elegy", "Atlas", "Overture", "Letters", "Garden", "Voyage", "Mirror"),
}
_TRIES = 200
_OF_HEAD = {kind: [one for one in grammar.RELATIONS if one.head == kind] for kind in TYPES}


def make_world(settings: WorldSettings) -> World:
    """Generate the synthetic world with the given settings. Equal settings give equal worlds.

    Every entity has a passage. It introduces the entity (and its alias, if facts use the alias) and
    states facts about the entity. Noise passages imitate or contradict facts, beginning with the
    facts that questions need. Raises UserError if the world is too small for `n_questions`
    different questions.
    """
    entities = _entities(settings)
    facts = _facts(settings, entities)
    chains = _chains(settings, entities, facts)
    named = {name for fact in facts for name in fact.names}
    outsiders, distractors, contradictions, noise = _noise(settings, entities, facts, chains)
    order = _random(settings, "order").random(len(entities)).tolist()
    n_each = settings.facts_per_passage
    placed = []
    for place, one in zip(order, entities, strict=True):
        sentences = [kind_sentence(one.name, one.kind)]
        if one.alias in named:
            sentences.append(Statement(one.name, grammar.ALSO, one.alias).sentence)
        own = facts[one.id * n_each : (one.id + 1) * n_each]
        sentences += [_statement(fact) for fact in own if fact.passage is not None]
        placed.append((place, Document(f"p{one.id}", one.name, " ".join(sentences))))
    ordered = sorted([*placed, *noise], key=lambda pair: (pair[0], pair[1].id))
    passages = tuple(passage for _, passage in ordered)
    return World(
        settings, (*entities, *outsiders), tuple(facts), tuple(distractors),
        tuple(contradictions), passages, tuple(chains),
    )  # fmt: skip


def _random(settings: WorldSettings, stream: str) -> np.random.Generator:
    return np.random.default_rng([settings.seed, _STREAMS.index(stream)])


def _first(random: np.random.Generator, n: int, share: float) -> set[int]:
    return set(random.permutation(n)[: round(share * n)].tolist())


def _entities(settings: WorldSettings) -> list[WorldEntity]:
    random = _random(settings, "names")
    types = [TYPES[row % len(TYPES)] for row in range(settings.size)]
    names = _InventedNames(random)
    columns = names.draw(types), names.draw(types), types
    picks = random.integers(1 << 30, size=settings.size).tolist()
    return [
        WorldEntity(row, name, alias, kind, KINDS[kind][pick % len(KINDS[kind])])
        for row, (name, alias, kind, pick) in enumerate(zip(*columns, picks, strict=True))
    ]


def _tail(of_type: str, size: int, draw: float, never: Sequence[int]) -> int:
    ids = range(TYPES.index(of_type), size, len(TYPES))
    place = int(draw * len(ids))
    while ids[place % len(ids)] in never:
        place += 1
    return ids[place % len(ids)]


def _facts(settings: WorldSettings, entities: Sequence[WorldEntity]) -> list[Fact]:
    n_each = settings.facts_per_passage
    random = _random(settings, "facts")
    choices = random.permuted(np.tile(np.arange(3), (settings.size, 1)), axis=1).tolist()
    draws = random.random((settings.size, n_each)).tolist()
    n_facts = settings.size * n_each
    aliased = _first(_random(settings, "aliases"), 2 * n_facts, settings.alias_rate)
    removed = _first(_random(settings, "removed"), n_facts, settings.removed)
    facts = []
    for row in range(n_facts):
        head, place = entities[row // n_each], row % n_each
        relation = _OF_HEAD[head.type][choices[head.id][place]]
        tail = entities[_tail(relation.tail, settings.size, draws[head.id][place], [head.id])]
        head_name = head.alias if 2 * row in aliased else head.name
        tail_name = tail.alias if 2 * row + 1 in aliased else tail.name
        passage = None if row in removed else f"p{head.id}"
        names = head_name, tail_name
        facts.append(Fact(row, head.id, relation.phrase, tail.id, names, passage))
    return facts


def _chains(
    settings: WorldSettings, entities: Sequence[WorldEntity], facts: Sequence[Fact]
) -> list[Chain]:
    random = _random(settings, "chains")
    n_each = settings.facts_per_passage
    chains: dict[tuple[int, ...], Chain] = {}
    for number in range(settings.n_questions):
        hops = 1 + number % settings.hops
        for _ in range(_TRIES):
            start, *turns = random.random(1 + hops).tolist()
            walk: list[Fact] = []
            at = int(start * len(entities))
            for turn in turns:
                walk.append(facts[at * n_each + int(turn * n_each)])
                at = walk[-1].tail
            rows = tuple(fact.id for fact in walk)
            if rows not in chains and len({fact.tail for fact in walk} - {walk[0].head}) == hops:
                break
        else:
            raise UserError(
                f"dataset.size={settings.size} is too small for {settings.n_questions} different "
                f"questions of 1 to {settings.hops} hops. Increase dataset.size, or decrease "
                "dataset.n_questions."
            )
        text = grammar.question(entities[walk[0].head].name, tuple(fact.phrase for fact in walk))
        chains[rows] = Chain(f"q{number}", text, walk[0].head, rows, walk[-1].tail)
    return list(chains.values())


def _statement(fact: Fact, *, rumour: bool = False) -> str:
    return Statement(fact.names[0], fact.phrase, fact.names[1], rumour).sentence


def _noise(
    settings: WorldSettings, entities: Sequence[WorldEntity],
    facts: Sequence[Fact], chains: Sequence[Chain],
) -> tuple[list[WorldEntity], list[Fact], list[Fact], list[tuple[float, Document]]]:  # fmt: skip
    """Return additional entities, distractors, contradictions, and passages with sort keys."""
    n_noise = round(settings.noise * settings.size / (1 - settings.noise))
    random = _random(settings, "noise")
    shuffled = random.permutation(len(facts)).tolist()
    chained = {row for chain in chains for row in chain.facts}
    targets = sorted(shuffled, key=lambda row: row not in chained)  # facts of questions first
    draws: FloatArray = random.random((n_noise, 3))
    names = _InventedNames(_random(settings, "outsiders"))
    outsiders, placed = list[WorldEntity](), list[tuple[float, Document]]()
    distractors, contradictions = list[Fact](), list[Fact]()
    for row, (turn, kind, place) in enumerate(draws.tolist()):
        fact = facts[targets[row % len(targets)]]
        head, of_type = entities[fact.head], grammar.BY_PHRASE[fact.phrase].tail
        tail = entities[_tail(of_type, settings.size, turn, (fact.head, fact.tail))]
        contradicts = int((row + 1) * settings.contradictions) > int(row * settings.contradictions)
        others, title, opening = contradictions, f"Rumours about {head.name}", ""
        if not contradicts:
            kinds, number = KINDS[head.type], len(entities) + len(outsiders)
            kind_of, title = kinds[int(kind * len(kinds))], names.draw_near(head.name)
            head = WorldEntity(number, title, "", head.type, kind_of)
            outsiders.append(head)
            others, opening = distractors, f"{kind_sentence(title, kind_of)} "
        other = Fact(len(others), head.id, fact.phrase, tail.id, (head.name, tail.name), f"n{row}")
        others.append(other)
        text = opening + _statement(other, rumour=contradicts)
        placed.append((place, Document(f"n{row}", title, text)))
    return outsiders, distractors, contradictions, placed


class _InventedNames:
    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._known: set[str] = set()

    def _picks(self, *size: int) -> Any:
        return self._random.integers(len(_SYLLABLES), size=size).tolist()

    def draw(self, types: list[str]) -> list[str]:
        names = []
        for type_, picks in zip(types, self._picks(len(types), 4), strict=True):
            while not self._is_new(name := _name(type_, picks)):
                picks = self._picks(4)
            names.append(name)
        return names

    def draw_near(self, name: str) -> str:
        """Return a similar name: the given name with an extra word after its first word."""
        words = name.split()
        place = 2 if words[0] == "The" else 1
        while True:
            longer = " ".join([*words[:place], _word(self._picks(2)), *words[place:]])
            if self._is_new(longer):
                return longer

    def _is_new(self, name: str) -> bool:
        n_known = len(self._known)
        self._known.add(name.casefold())
        return len(self._known) > n_known


def _name(type_: str, picks: list[int]) -> str:
    if type_ == "person":
        return f"{_word(picks[:2])} {_word(picks[2:])}"
    name = f"{_word(picks[:3])} {_NOUNS[type_][picks[3] % len(_NOUNS[type_])]}"
    return f"The {name}" if type_ == "work" else name


def _word(picks: list[int]) -> str:
    return "".join(_SYLLABLES[pick] for pick in picks).capitalize()
