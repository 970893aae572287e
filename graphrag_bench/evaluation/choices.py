"""Multiple-choice answers: which option a text chooses, by its letter or by its words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_uppercase

from graphrag_bench.evaluation.answers import DEFAULT, Reading

_LONE = r"^\W*(?:option|choice|answer)?\W*([{any}])\W*$"
_SAID = r"\b(?:answer|option|choice)\W+(?:is\W+|would be\W+)?(?:option\W+|choice\W+)?([{upper}])\b"
_FIRST = r"^\W*([{upper}])\s?[).:\]](?!\W*(?:or|and)\b)"
_BRACKETED = r"\(([{upper}])\)"
_MARKED = r"\b([{upper}])(?=[).:\]]|\s*$)"
_CAPITAL = r"\b([{capital}])\b"


def chosen_option(answer: str, options: Sequence[str], reading: Reading = DEFAULT) -> int | None:
    """The index of the option that an answer chooses; None when it names none, or several.

    The first of these ways that names exactly one option decides: the whole answer is its letter,
    in any case; it is told as in "the answer is B" or "Option B"; the answer begins with "B." or
    "B)"; a letter is in brackets; the answer holds an option's words, normalised, and those of
    no other but inside them; a letter precedes a sign such as "." or at the end; a capital
    letter is alone, where "A" and "I" may be words and do not count.
    Source: Zhou et al. 2025, section 7.1, whose language model reads the letter where this cannot.
    """
    letters = ascii_uppercase[: len(options)]
    capitals = "".join(letter for letter in letters if letter not in "AI") or "-"
    marks = r"(?i)\b(?:option|choice|answer|is|would be)\b"
    told = re.sub(marks, lambda found: found.group().lower(), answer)

    def by_letter(*patterns: str) -> int | None:
        found = {
            letter.upper()
            for pattern in patterns
            for letter in re.findall(
                pattern.format(any=letters + letters.lower(), upper=letters, capital=capitals), told
            )
        }
        return letters.index(found.pop()) if len(found) == 1 else None

    for pattern in (_LONE, _SAID, _FIRST, _BRACKETED):
        if (chosen := by_letter(pattern)) is not None:
            return chosen
    chosen = _by_words(answer, options, reading)
    return by_letter(_MARKED, _CAPITAL) if chosen is None else chosen


def _by_words(answer: str, options: Sequence[str], reading: Reading) -> int | None:
    words = f" {' '.join(reading.tokens(answer))} "
    told = [f" {' '.join(reading.tokens(option))} " for option in options]
    held = [row for row, option in enumerate(told) if option.strip() and option in words]
    widest = [
        row
        for row in held
        if not any(told[row] != told[other] and told[row] in told[other] for other in held)
    ]
    return widest[0] if len(widest) == 1 else None


def choice_scores(
    answer: str, options: Sequence[str], correct: int, reading: Reading = DEFAULT
) -> dict[str, float]:
    """`multiple_choice` is 1.0 when the right option is chosen; `option_unread` when none is.

    An answer that chooses no option, or several, is wrong.
    """
    chosen = chosen_option(answer, options, reading)
    return {
        "multiple_choice": float(chosen == correct),
        "option_unread": float(chosen is None),
    }
