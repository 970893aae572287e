"""Multiple choice: options as lines of the question, and the gold of the right one."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import UserError


def with_options(question: str, options: Sequence[str]) -> str:
    """The question and, on lines of their own, its options as `A. ...`, `B. ...`."""
    lines = [f"{letter}. {text}" for letter, text in zip(ascii_uppercase, options, strict=False)]
    return "\n".join([question, *lines])


def choice_gold(place: str, options: Sequence[str], correct: int | None, type_: str = "") -> Gold:
    """Gold with the options; the text of the right one is the answer, none when it is not known.

    Raises UserError, with the place, for an index (from 0) that no option has.
    """
    if correct is not None and not 0 <= correct < len(options):
        raise UserError(f"{place}: option {correct + 1} is right, and there are {len(options)}.")
    answers = () if correct is None else (options[correct],)
    return Gold(answers, type=type_, options=tuple(options), correct=correct)
