"""Write and parse the sentences of synthetic worlds, in which each relation has one phrase.

Names contain no word of a phrase, no quotes, and none of the characters . , ; :
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graphrag_bench.text import normalise_name

TYPES = ("person", "place", "organisation", "work")
KINDS: Mapping[str, tuple[str, ...]] = {
    "person": ("painter", "physician", "botanist", "sailor", "jurist"),
    "place": ("town", "harbour", "valley", "village", "province"),
    "organisation": ("guild", "society", "college", "league", "workshop"),
    "work": ("novel", "chronicle", "ballad", "treatise", "poem"),
}


@dataclass(frozen=True)
class WorldRelation:
    """A relation with its `phrase` in facts and its `role` in questions. Each head has one tail."""

    phrase: str
    role: str
    head: str
    tail: str


RELATIONS = (
    WorldRelation("was born in", "birthplace", "person", "place"),
    WorldRelation("studied under", "teacher", "person", "person"),
    WorldRelation("worked for", "employer", "person", "organisation"),
    WorldRelation("is named after", "namesake", "place", "person"),
    WorldRelation("is administered by", "administrator", "place", "organisation"),
    WorldRelation("is described in", "description", "place", "work"),
    WorldRelation("was founded by", "founder", "organisation", "person"),
    WorldRelation("has its seat in", "seat", "organisation", "place"),
    WorldRelation("takes its motto from", "source of the motto", "organisation", "work"),
    WorldRelation("was written by", "author", "work", "person"),
    WorldRelation("is set in", "setting", "work", "place"),
    WorldRelation("was published by", "publisher", "work", "organisation"),
)
"""Each type of entity is the head of three relations, so that every chain can be continued."""
BY_PHRASE: Mapping[str, WorldRelation] = {relation.phrase: relation for relation in RELATIONS}
ALSO = "is also known as"
RUMOUR = "Rumour has it that"
"""The beginning of a sentence that states a false fact."""
_WHICH = {"person": "Who is", **{kind: f"Which {kind} is" for kind in TYPES[1:]}}

_PHRASES = (*BY_PHRASE, ALSO)
_STATED = re.compile(rf"(?i)\W*(\w.*?)\W+({'|'.join(map(re.escape, _PHRASES))})\W+(.*\w)\W*")
_KIND_WORDS = {kind: type_ for type_, kinds in KINDS.items() for kind in kinds}
_KIND = re.compile(rf"(?:^|[\n.]\s*)([^\n.]+) is a ({'|'.join(_KIND_WORDS)})\.")
_PARTS = re.compile(r"[\n.;:!?\"]+")


@dataclass(frozen=True)
class Statement:
    """A statement in a sentence or table row, with names as written. A `rumour` may be false."""

    head: str
    phrase: str
    tail: str
    rumour: bool = False

    @property
    def sentence(self) -> str:
        """The statement as a sentence."""
        fact = f"{self.head} {self.phrase} {self.tail}."
        return f"{RUMOUR} {fact}" if self.rumour else fact


@dataclass(frozen=True)
class ParsedQuestion:
    """A question as a path: its start entity, and the phrases to follow in order."""

    start: str
    phrases: tuple[str, ...]


def kind_sentence(name: str, kind: str) -> str:
    """Return the sentence that introduces an entity, e.g. "Nor Guild is a guild."."""
    return f"{name} is a {kind}."


def question(start: str, phrases: tuple[str, ...]) -> str:
    """Return the question that asks for the last entity of a chain.

    >>> question("Ada Marsh", ("worked for", "was founded by"))
    'Who is the founder of the employer of Ada Marsh?'
    """
    end = start
    for phrase in phrases:
        end = f"the {BY_PHRASE[phrase].role} of {end}"
    return f"{_WHICH[BY_PHRASE[phrases[-1]].tail]} {end}?"


def parse_question(text: str) -> ParsedQuestion | None:
    """Parse a question of a synthetic world. For any other text, return None."""
    rest = text.strip().removesuffix("?")
    for opening in _WHICH.values():
        rest = rest.removeprefix(f"{opening} ")
    phrases: list[str] = []
    while outer := [one for one in RELATIONS if rest.startswith(f"the {one.role} of ")]:
        phrases.append(outer[0].phrase)
        rest = rest.removeprefix(f"the {outer[0].role} of ")
    return ParsedQuestion(rest, tuple(reversed(phrases))) if phrases and rest else None


def kinds(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the type and the sentence of each entity that a text introduces."""
    for name, kind in _KIND.findall(text):
        yield name.strip(), _KIND_WORDS[kind], kind_sentence(name.strip(), kind)


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements in a text, in order. Case and punctuation are ignored.

    A statement is a sentence, a triple "(HEAD, PHRASE, TAIL)", a path "HEAD -> PHRASE -> TAIL", a
    CSV row "...,HEAD,TAIL,PHRASE,...", or a sentence in a CSV cell.

    >>> [one.sentence for one in statements("(Ada Marsh, worked for, Nor Guild)")]
    ['Ada Marsh worked for Nor Guild.']
    """
    for part in _PARTS.split(text):
        cells = part.split(",")
        if len(cells) == 1:
            yield from _sentence(part)
            continue
        for position, cell in enumerate(cells):
            phrase = normalise_name(cell)
            if phrase not in _PHRASES:
                yield from _sentence(cell)
            elif position == 1 and len(cells) == 3:
                yield Statement(_bare(cells[0]), phrase, _bare(cells[2]))
            elif position > 1:
                yield Statement(_bare(cells[position - 2]), phrase, _bare(cells[position - 1]))


def _sentence(part: str) -> Iterator[Statement]:
    if match := _STATED.fullmatch(part):
        head, phrase, tail = match.groups()
        rumour = head.casefold().startswith(RUMOUR.casefold() + " ")
        yield Statement(head[len(RUMOUR) + 1 :] if rumour else head, phrase.lower(), tail, rumour)


def _bare(cell: str) -> str:
    return re.sub(r"^\W+|\W+$", "", cell)
