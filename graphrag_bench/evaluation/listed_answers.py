"""Metrics of answers given as a list, one `ans:` line for each: Hit@1, Hit, precision, recall, F1.

Source: the evaluation of CWQ and WebQSP by SubgraphRAG (Li et al., ICLR 2025), which path pooling
(Wang et al. 2025, section 4.1) takes over.
"""

import re
from collections.abc import Sequence
from string import ascii_uppercase

from graphrag_bench.evaluation.answers import DEFAULT, Normaliser, Reading

KGQA = "kgqa"
"""What a card calls these metrics, all of them together."""
LISTED = ("hit@1", "hit", "list_precision", "list_recall", "list_f1")

MARK = "ans:"
normalise_listed = Normaliser("squad")
"""Lower case, no ASCII punctuation, no articles, single spaces.

It is the `squad` form whatever `evaluation.normaliser` says: so these sets are scored.
"""
_NO_ANSWER = ("ans: not available", "ans: no information available")
_EITHER_WAY = (
    "when", "what year", "which year", "where", "sport", "what countr", "language", "nba finals",
    "world series",
)  # fmt: skip
_YEAR_ONLY = ("when", "what year")
_DATE = re.compile(r"(\d{4})-\d{2}-\d{2}\b.*", re.DOTALL)


def _marked(answer: str) -> list[str]:
    lines = (line.strip() for line in answer.splitlines() if MARK in line)
    return [line for line in lines if not any(text in line.lower() for text in _NO_ANSWER)]


def predictions(answer: str) -> tuple[str, ...]:
    """The lines of an answer that hold `ans:` in lower case, in order, each once.

    Lines that hold "none" in any case are left out, "Nonesuch" among them, and those that say that
    nothing is available.
    """
    return tuple(dict.fromkeys(line for line in _marked(answer) if "none" not in line.lower()))


def listed(answer: str) -> tuple[str, ...]:
    """The text after the `ans:` of each line; a line is left out where that is just "none"."""
    names = map(_behind, _marked(answer))
    return tuple(dict.fromkeys(n for n in names if n and normalise_listed(n) != "none"))


def _behind(line: str) -> str:
    return line.partition(MARK)[2].strip()


def list_scores(answer: str, golds: Sequence[str], question: str) -> dict[str, float]:
    """The scores of the lines of an answer against the gold answers, by the names of `LISTED`.

    All are in 0..1, the better the higher.
    A line and a gold answer match when the gold is contained in the line, both normalised, or, for
    questions of certain kinds (when, where, ...), what the line answers in the gold. Of questions
    for a time, the gold 2014-05-01 is taken as 2014. Precision and recall count pairs of a line and
    a gold that match, each used once, longest first, ties in order; without a line all is 0. Gold
    answers that normalise to nothing are skipped.
    """
    lowered = question.lower()
    dated = any(words in lowered for words in _YEAR_ONLY)
    either = any(words in lowered for words in _EITHER_WAY)
    years = [_DATE.sub(r"\1", gold) if dated else gold for gold in golds]
    wanted = [gold for gold in map(normalise_listed, years) if gold]
    lines = predictions(answer)
    if not lines or not wanted:
        return dict.fromkeys(LISTED, 0.0)

    def matches(line: str, gold: str) -> bool:
        name = normalise_listed(_behind(line)) if either else ""
        return gold in normalise_listed(line) or bool(name and name in gold)

    unmatched = sorted(lines, key=lambda line: -len(normalise_listed(line)))
    n_pairs = 0
    for gold in sorted(wanted, key=lambda gold: -len(gold)):
        if (match := next((line for line in unmatched if matches(line, gold)), None)) is not None:
            unmatched.remove(match)
            n_pairs += 1
    precision, recall = n_pairs / len(lines), n_pairs / len(wanted)
    f1 = 2 * precision * recall / (precision + recall) if n_pairs else 0.0
    hits = [any(matches(line, gold) for gold in wanted) for line in lines]
    values = (float(hits[0]), float(any(hits)), precision, recall, f1)
    return dict(zip(LISTED, values, strict=True))


_LONE = r"^\W*(?:option|choice|answer)?\W*([{any}])\W*$"
_PROSE = r"\b(?:answer|option|choice)\W+(?:is\W+|would be\W+)?(?:option\W+|choice\W+)?([{upper}])\b"
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
    lowered = re.sub(marks, lambda chosen: chosen.group().lower(), answer)

    def by_letter(*patterns: str) -> int | None:
        chosen = {
            letter.upper()
            for pattern in patterns
            for letter in re.findall(
                pattern.format(any=letters + letters.lower(), upper=letters, capital=capitals),
                lowered,
            )
        }
        return letters.index(chosen.pop()) if len(chosen) == 1 else None

    for pattern in (_LONE, _PROSE, _FIRST, _BRACKETED):
        if (chosen := by_letter(pattern)) is not None:
            return chosen
    chosen = _by_words(answer, options, reading)
    return by_letter(_MARKED, _CAPITAL) if chosen is None else chosen


def _by_words(answer: str, options: Sequence[str], reading: Reading) -> int | None:
    words = f" {' '.join(reading.tokens(answer))} "
    texts = [f" {' '.join(reading.tokens(option))} " for option in options]
    rows = [row for row, option in enumerate(texts) if option.strip() and option in words]
    widest = [
        row
        for row in rows
        if not any(texts[row] != texts[other] and texts[row] in texts[other] for other in rows)
    ]
    return widest[0] if len(widest) == 1 else None


def choice_scores(
    answer: str, options: Sequence[str], correct: int, reading: Reading = DEFAULT
) -> dict[str, float]:
    """`multiple_choice` is 1.0 when the right option is chosen; `option_unread` when none is.

    An answer that chooses no option, or several, is wrong.
    """
    chosen = chosen_option(answer, options, reading)
    return {"multiple_choice": float(chosen == correct), "option_unread": float(chosen is None)}
