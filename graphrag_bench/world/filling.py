"""Sentences that state no fact of the world and bring its passages to the length of real ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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


class Filling:
    """Filler, drawn sentence by sentence from one stream of random numbers."""

    def __init__(self, random: np.random.Generator, names: Sequence[str]) -> None:
        self._random = random
        self._names = names

    def sentences(self, n_words: int) -> list[str]:
        """Sentences of at least so many words together, none for 0 or less."""
        found: list[str] = []
        while n_words > 0:
            found.append(self._sentence())
            n_words -= len(found[-1].split())
        return found

    def _sentence(self) -> str:
        template, name, *picks = self._random.random(2 + len(_SLOTS)).tolist()
        words = {
            slot: choices[int(pick * len(choices))]
            for (slot, choices), pick in zip(_SLOTS.items(), picks, strict=True)
        }
        words["name"] = self._names[int(name**_SKEW * len(self._names))]
        return _TEMPLATES[int(template * len(_TEMPLATES))].format(**words)
