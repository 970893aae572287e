"""Metrics of answers that are lists (Hit@1, Hit, precision, recall, F1) or chosen options."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Final

from graphrag_bench.evaluation.answers import DEFAULT, Matching, normalise

KGQA = "kgqa"
"""Name for all list metrics together in the card of a data set."""
LISTED = ("hit@1", "hit", "list_precision", "list_recall", "list_f1")

MARK = "ans:"
SQUAD: Final = "squad"
"""Normaliser of the list metrics, as in SubgraphRAG, whatever `evaluation.normaliser` is."""
_NO_ANSWER = ("none", "ans: not available", "ans: no information available")
_EITHER_WAY = ("when", "what year", "which year", "where", "sport", "what countr", "language",
               "nba finals", "world series")  # fmt: skip
_YEAR_ONLY = ("when", "what year")
_DATE = re.compile(r"(\d{4})-\d{2}-\d{2}\b.*", re.DOTALL)
_LONE = r"^\W*(?:option|choice|answer)?\W*([{any}])\W*$"
_PROSE = r"\b(?:answer|option|choice)\W+(?:is\W+|would be\W+)?(?:option\W+|choice\W+)?([{upper}])\b"
_FIRST = (
    r"^\W*([{upper}])(?:\s?[).:\]]|\W*\n|\s+[-–—]\s|,?\s+(?:because|since|not|rather|instead)\b)"
)
_BRACKETED = r"\(([{upper}])\)"
_MARKED = r"\b([{upper}])(?=[).:\]]|\s*$)"
_MARK_WORDS = re.compile(r"(?i)\b(?:option|choice|answer|is|would be)\b")
_TOKEN = re.compile(r"\w+|[^\w\s]|\n")
_JOINING_WORDS = frozenset({
    "or", "and", "nor", "well", "vs", "versus", "ou", "et", "oder", "und", "o", "y", "или", "и",
    "或", "或者", "和", "と",
})  # fmt: skip
_JOINS = _JOINING_WORDS | {"but", ",", "/", "&", "+", ";", "|", "-", "–", "—", "\n"}
_BETWEEN = frozenset({
    "option", "options", "choice", "choices", "answer", "answers", "maybe", "perhaps", "possibly",
    "probably", "either", "both", "also", "even", "else", "it", "could", "might", "may", "be",
    "as", "of",
})  # fmt: skip
_AROUND = _JOINING_WORDS | _BETWEEN | {
    "the", "my", "final", "best", "correct", "right", "is", "are", "i", "think", "pick", "choose",
    "say", "would", "s", "not", "neither", "between",
}  # fmt: skip
"""Words that may surround a lower-case option letter in an answer."""
_NOT = frozenset({
    "not", "neither", "nor", "than", "except", "cannot", "t", "over", "instead", "unlike",
})  # fmt: skip
_AFTER_A = _JOINS | _NOT | {"is", "are", "was", "were", "because", "since", "as", "rather"}
"""If one of these words follows "A" or "I", the letter is an option and not a word."""
_WRONG = re.compile(
    r"\W*\b(?:(?:is|are|was|were)(?:\W+\w+)?\W+(?:wrong|incorrect|false|not)\b|(?:is|are)n['’]t\b)"
)
_TEXTS = 0xE000
"""First of the private-use characters that replace the texts of options in an answer."""


def answer_lines(answer: str) -> tuple[str, ...]:
    r"""Return the distinct lines of an answer that contain `ans:`, in order.

    Lines with "none" or "not available", in upper or lower case, are left out (even "Nonesuch").

    >>> answer_lines("The team won:\nans: 2012\nans: 2014\nans: None of them")
    ('ans: 2012', 'ans: 2014')
    """
    lines = dict.fromkeys(line.strip() for line in answer.splitlines() if MARK in line)
    return tuple(line for line in lines if not any(text in line.lower() for text in _NO_ANSWER))


def list_scores(answer: str, golds: Sequence[str], question: str) -> dict[str, float]:
    r"""Return Hit@1, Hit, precision, recall and F1 of the `ans:` lines of an answer, in 0..1.

    A line matches a gold answer if it contains the gold answer after normalisation. If the question
    contains a word such as "when" or "where", a line also matches if the gold answer contains the
    line. If the question asks for a time, 2014-05-01 counts as 2014. For precision and recall, each
    line is matched with at most one gold answer, and the longest gold answers and lines are matched
    first. All values are 0 if there is no `ans:` line.
    Source: SubgraphRAG (Li et al., ICLR 2025); path pooling (Wang et al. 2025, section 4.1).

    >>> list_scores("ans: Ostra\nans: Norvik", ["Norvik"], "Which towns did she see?")["hit@1"]
    0.0
    """
    asked = question.lower()
    dated, either = (any(words in asked for words in of) for of in (_YEAR_ONLY, _EITHER_WAY))
    wanted = [_DATE.sub(r"\1", gold) if dated else gold for gold in golds if gold.strip()]
    lines = answer_lines(answer)
    if not lines or not wanted:
        return dict.fromkeys(LISTED, 0.0)

    def matches(line: str, gold: str) -> bool:
        name = normalise(line.partition(MARK)[2], SQUAD) if either else ""
        return Matching(SQUAD).finder(line)(gold) or bool(name and name in normalise(gold, SQUAD))

    unmatched = sorted(lines, key=lambda line: -len(normalise(line, SQUAD)))
    n_pairs = 0
    for gold in sorted(wanted, key=lambda gold: -len(normalise(gold, SQUAD))):
        if (match := next((line for line in unmatched if matches(line, gold)), None)) is not None:
            unmatched.remove(match)
            n_pairs += 1
    precision, recall = n_pairs / len(lines), n_pairs / len(wanted)
    f1 = 2 * precision * recall / (precision + recall) if n_pairs else 0.0
    hits = [any(matches(line, gold) for gold in wanted) for line in lines]
    values = (float(hits[0]), float(any(hits)), precision, recall, f1)
    return dict(zip(LISTED, values, strict=True))


@dataclass
class _Named:
    """Options that are joined by a word such as "or", and their start positions in the answer."""

    rows: list[int]
    starts: list[int]
    negated: bool


def read_option(answer: str, options: Sequence[str], matching: Matching = DEFAULT) -> int | None:
    """Return the index of the option that an answer chooses, or None.

    These rules are tried in order, until one finds exactly one option: (1) the answer is only a
    letter, capital or not; (2) it contains a phrase such as "the answer is B" or "Option B"; (3) it
    begins with "B." or "B)"; (4) it has a letter in brackets; (5) it contains the text of an
    option, normalised; (6) it has a letter before "." or at the end; (7) it has a capital letter.
    The following letters are ignored: "A" and "I" before a word, letters in the text of an option,
    and rejected options ("not A", "A and C are wrong"). If options are joined by "or", "and" or
    "/", only rules 1 to 3 apply. In the paper, a language model decides if rules fail.
    Source: Zhou et al. 2025, section 7.1.

    >>> read_option("I think it was Lyon.", ["Paris", "Lyon"])
    1
    """
    letters = ascii_uppercase[: len(options)]
    if lone := re.match(_LONE.format(any=letters + letters.lower()), answer):
        return letters.index(lone[1].upper())
    text, words = _with_texts_marked(answer, options, letters), frozenset(letters.lower())
    if {word.lower() for word in re.findall(r"\w+", text)} <= _AROUND | words:
        text = text.upper()
    text = _MARK_WORDS.sub(lambda word: word.group().lower(), text)
    named = _named(text, letters)
    at = {start: row for one in named for start, row in zip(one.starts, one.rows, strict=True)
          if not one.negated and text[start] in letters}  # fmt: skip
    hedges = [one for one in named if not one.negated and len(set(one.rows)) > 1]
    hedged = {start for one in hedges for start in one.starts}

    def by_letter(pattern: str) -> set[int]:
        found = re.finditer(pattern.format(upper=letters), text)
        return {one.start(1) for one in found if one.start(1) in at}

    several = len(set(at.values())) > 1
    if several and set(re.findall(r"\w+", text)) <= set(letters):
        return None
    for pattern in (_PROSE, _FIRST):
        if (starts := by_letter(pattern)) & hedged:
            return None
        if len(rows := {at[start] for start in starts}) == 1:
            return rows.pop()
    if hedges:
        return None
    denied = {row for one in named if one.negated for row in one.rows}
    ways = (
        {at[start] for start in by_letter(_BRACKETED)},
        _by_words(answer, options, matching) - denied,
        {at[start] for start in by_letter(_MARKED)},
        set(at.values()),
    )
    return next((rows.pop() for rows in ways if len(rows) == 1), None)


def _with_texts_marked(answer: str, options: Sequence[str], letters: str) -> str:
    texts = {row: re.findall(r"\w+", option) for row, option in enumerate(options)}
    for row in sorted(texts, key=lambda row: -len(options[row])):
        if texts[row] and "".join(texts[row]).upper() not in letters:
            pattern = r"\W+".join(texts[row])
            answer = re.sub(rf"(?i)(?<!\w){pattern}(?!\w)", chr(_TEXTS + row), answer)
    return answer


def _named(text: str, letters: str) -> list[_Named]:
    tokens = [(one.group(), one.start()) for one in _TOKEN.finditer(text)]
    groups: list[_Named] = []
    joins: list[str] | None = None  # words since the last option; None after an unrelated word
    negated, bare = False, True
    for place, (token, start) in enumerate(tokens):
        after = tokens[place + 1][0] if place + 1 < len(tokens) else "."
        row = letters.find(token) if len(token) == 1 else -1
        if row >= 0 and token in "AI" and after.isalnum() and after not in letters:
            row = row if after.lower() in _AFTER_A else -1
        if 0 <= (of_text := ord(token[0]) - _TEXTS) < len(letters):
            row = of_text
        if row < 0:
            word = token.lower()
            negated = word in _NOT or (negated and (word in _BETWEEN or not word.isalnum()))
            if word in _JOINS:
                joins = None if joins is None else [*joins, word]
            elif word.isalnum() and word not in _BETWEEN:
                joins = None
            bare = bare and not word.isalnum()
            continue
        last = groups[-1] if groups else None
        own_text = last is not None and bare and not joins and last.rows[-1] == row
        joined = bool(joins) and not (joins == ["\n"] and after.isalnum())
        if last and last.negated:
            joined = joined and bool(_JOINING_WORDS & set(joins or ()))
        if last and joins is not None and (joined or own_text):
            last.rows.append(row)
            last.starts.append(start)
        else:
            groups.append(_Named([row], [start], negated))
        joins, negated, bare = [], False, True
    for one in groups:
        one.negated = one.negated or _WRONG.match(text, one.starts[-1] + 1) is not None
    return groups


def _by_words(answer: str, options: Sequence[str], matching: Matching) -> set[int]:
    holds = replace(matching, containment="token_boundary").finder(answer)
    texts = {row: f" {' '.join(matching.tokens(option))} " for row, option in enumerate(options)
             if holds(option)}  # fmt: skip
    every = texts.values()
    return {row for row, one in texts.items() if not any(one in of for of in every if one != of)}


def choice_scores(
    answer: str, options: Sequence[str], correct: int, matching: Matching = DEFAULT
) -> dict[str, float]:
    """Return `multiple_choice` and `option_unread`, each 0.0 or 1.0.

    `multiple_choice` is 1 for the correct option, and `option_unread` if no option can be read.

    >>> choice_scores("The answer is (B).", ["Paris", "Lyon"], correct=1)
    {'multiple_choice': 1.0, 'option_unread': 0.0}
    """
    chosen = read_option(answer, options, matching)
    return {"multiple_choice": float(chosen == correct), "option_unread": float(chosen is None)}
