"""What became of each trial, and the table of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaos.trial import Ended

SAME, CLEAR, WRONG = "same result", "clear error", "silently wrong"
TRACEBACK, HANG, DOUBLED = "traceback", "hang", "doubled calls"
OUTCOMES = (SAME, CLEAR, WRONG, TRACEBACK, HANG, DOUBLED)
GOOD = (SAME, CLEAR)
CODES_OF_ERRORS = (1, 2, 130, 143)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|^Fatal Python error", re.M)
_MESSAGE = re.compile(r"^graphrag-bench|failed|stopped|damaged|left out|not whole", re.M)


@dataclass(frozen=True)
class Outcome:
    """One trial: its kind, what was done, what came out, and why it was judged so."""

    kind: str
    what: str
    outcome: str
    why: str = ""
    code: int | None = 0
    seconds: float = 0.0

    @property
    def row(self) -> Mapping[str, object]:
        """The outcome for a JSON file."""
        return dict(vars(self))


def judged(
    kind: str, what: str, ended: Ended, *, differs: str = "", doubled: int = 0, named: str = ""
) -> Outcome:
    """The outcome of a command.

    `differs` says how its result differs from the reference, "" for not at all; `doubled` is the
    number of calls that were paid twice. A result that differs is not a fault when the output holds
    `named`, the name of what was damaged, and a word that says so.
    """
    outcome, why = _judged(ended, differs, doubled, named)
    return Outcome(kind, what, outcome, why, ended.code, ended.seconds)


def _judged(ended: Ended, differs: str, doubled: int, named: str) -> tuple[str, str]:
    last = ended.err.strip()[-700:]
    if ended.code is None:
        return HANG, last
    if _TRACEBACK.search(ended.text) or ended.code < 0 or ended.code not in (0, *CODES_OF_ERRORS):
        return TRACEBACK, last or f"ended by signal {-ended.code}"
    if doubled:
        return DOUBLED, f"{doubled} calls were paid for twice; {last}"
    if ended.code in CODES_OF_ERRORS:
        if _MESSAGE.search(ended.text):
            return CLEAR, last[-300:]
        return WRONG, f"exit code {ended.code} without a message: {last}"
    if not differs:
        return SAME, ""
    if named and any(named in line for line in ended.text.splitlines() if _MESSAGE.search(line)):
        return CLEAR, last[-300:]
    return WRONG, f"{differs}; {last}"


def table(outcomes: Sequence[Outcome]) -> str:
    """Outcomes by kind, as text, with a row of sums."""
    kinds = list(dict.fromkeys(one.kind for one in outcomes))
    rows = [["kind", "tried", *OUTCOMES]]
    for kind in [*kinds, "all"]:
        counts = Counter(one.outcome for one in outcomes if kind in (one.kind, "all"))
        rows.append([kind, str(counts.total()), *(str(counts[name]) for name in OUTCOMES)])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(t.rjust(w) for t, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
