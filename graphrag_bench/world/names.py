"""Invented names, every one distinct whatever its case, with letters beyond ASCII."""

from __future__ import annotations

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


class Names:
    """Names as they are drawn; none is given twice."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._taken: set[str] = set()

    def some(self, types: list[str]) -> list[str]:
        """A name for each type, in order."""
        drawn = self._random.integers(len(_SYLLABLES), size=(len(types), 4)).tolist()
        return [self._new(type_, picks) for type_, picks in zip(types, drawn, strict=True)]

    def like(self, name: str) -> str:
        """A name with one word more than another, after its first: near it, and not in it."""
        words = name.split()
        place = 2 if words[0] == "The" else 1
        while True:
            picks = self._random.integers(len(_SYLLABLES), size=2).tolist()
            longer = " ".join([*words[:place], _word(picks), *words[place:]])
            if self._take(longer):
                return longer

    def _new(self, type_: str, picks: list[int]) -> str:
        while not self._take(name := _name(type_, picks)):
            picks = self._random.integers(len(_SYLLABLES), size=4).tolist()
        return name

    def _take(self, name: str) -> bool:
        known = name.casefold() in self._taken
        self._taken.add(name.casefold())
        return not known


def _name(type_: str, picks: list[int]) -> str:
    if type_ == "person":
        return f"{_word(picks[:2])} {_word(picks[2:])}"
    nouns = _NOUNS[type_]
    name = f"{_word(picks[:3])} {nouns[picks[3] % len(nouns)]}"
    return f"The {name}" if type_ == "work" else name


def _word(picks: list[int]) -> str:
    return "".join(_SYLLABLES[pick] for pick in picks).capitalize()
