"""The invented words of a world: distinct names, and sentences that state no fact."""

from collections.abc import Sequence

import numpy as np

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
"""The last word of a name that is not a person's."""
_TEMPLATES = (
    "In the {season} many {people} gathered near the {place} and talked about the {thing}.",
    "Nobody could say how the {thing} of {name} had come there.",
    "An old {thing} hung above the door for more than {number} years.",
    "Travellers from {name} brought {number} boxes of {thing} with them.",
    "The {people} remembered a {quality} {season} and a {quality} harvest.",
    "Letters about {name} speak of a {quality} {place} with a view of the hills.",
    "After {number} days of rain the road to the {place} could hardly be used.",
    "It took the {people} {number} weeks to repair the {thing}.",
    "Among the guests were {people} who had heard of {name} only once.",
    "Every {season} the {place} fills with {people} and with the smell of bread.",
    "Later accounts call {name} {quality}, but give no reason.",
    "The {thing} was kept in a {quality} {place} until the {season} of the flood.",
    "Some {people} compare the {place} with that of {name}.",
    "A {quality} wind blew from the {place}, and the {people} stayed at home.",
    "There is a song about {name}, which {people} sing in the {season}.",
    "What became of the {thing} is told in {number} different ways.",
)
_WORDS = {
    "season": "spring summer autumn winter",
    "people": "children farmers merchants visitors neighbours pupils servants dancers weavers",
    "place": "bridge market river gate orchard square tower garden mill cellar courtyard",
    "thing": "clock lamp carpet bell ladder painting mirror boat table wheel map drum",
    "quality": "quiet long bright narrow strange gentle heavy famous cold forgotten",
    "number": "three four seven nine twelve thirty forty ninety",
}
_SLOTS = {slot: tuple(words.split()) for slot, words in _WORDS.items()}
_SKEW = 3.0
"""Names are drawn as the place u ** 3 of a uniform u, so that few are in many passages."""


class Names:
    """Invented names with letters beyond ASCII; none is drawn twice, whatever its case."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._known: set[str] = set()

    def some(self, types: list[str]) -> list[str]:
        """Return a name for each type, in order."""
        drawn = self._random.integers(len(_SYLLABLES), size=(len(types), 4)).tolist()
        names = []
        for type_, picks in zip(types, drawn, strict=True):
            while not self._is_new(name := _name(type_, picks)):
                picks = self._random.integers(len(_SYLLABLES), size=4).tolist()
            names.append(name)
        return names

    def like(self, name: str) -> str:
        """Return a name with one word more than another, after its first: near it, not in it."""
        words = name.split()
        place = 2 if words[0] == "The" else 1
        while True:
            picks = self._random.integers(len(_SYLLABLES), size=2).tolist()
            longer = " ".join([*words[:place], _word(picks), *words[place:]])
            if self._is_new(longer):
                return longer

    def _is_new(self, name: str) -> bool:
        known = name.casefold() in self._known
        self._known.add(name.casefold())
        return not known


def _name(type_: str, picks: list[int]) -> str:
    if type_ == "person":
        return f"{_word(picks[:2])} {_word(picks[2:])}"
    nouns = _NOUNS[type_]
    name = f"{_word(picks[:3])} {nouns[picks[3] % len(nouns)]}"
    return f"The {name}" if type_ == "work" else name


def _word(picks: list[int]) -> str:
    return "".join(_SYLLABLES[pick] for pick in picks).capitalize()


class Filling:
    """Sentences that bring passages to the length of real ones, from one random stream."""

    def __init__(self, random: np.random.Generator, names: Sequence[str]) -> None:
        self._random = random
        self._names = names

    def sentences(self, n_words: int) -> list[str]:
        """Return sentences of at least so many words together, none for 0 or less."""
        sentences: list[str] = []
        while n_words > 0:
            template, name, *picks = self._random.random(2 + len(_SLOTS)).tolist()
            words = {
                slot: choices[int(pick * len(choices))]
                for (slot, choices), pick in zip(_SLOTS.items(), picks, strict=True)
            }
            words["name"] = self._names[int(name**_SKEW * len(self._names))]
            sentences.append(_TEMPLATES[int(template * len(_TEMPLATES))].format(**words))
            n_words -= len(sentences[-1].split())
        return sentences
