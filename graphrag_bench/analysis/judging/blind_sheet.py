"""A blind comparison for people: a sheet without names, a separate key, and people's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from graphrag_bench.analysis.judging.both_orders import BothOrders
from graphrag_bench.analysis.judging.pairs import Comparison
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.runs.sheets import read_sheet, write_sheet

Item = tuple[str, str, str, str]
"""Question, two runs in the order of the comparison, and criterion."""
Labels = Mapping[Item, str]
"""`A` where the first run of the item won, `B` where the second did, `tie`."""

_KEY_HEADS = ("item", "question id", "answer 1", "run 1", "answer 2", "run 2")
_ONE, _TWO, _TIE = ("1", "answer 1"), ("2", "answer 2"), ("tie", "=", "0", "draw", "same")


def key_of(sheet: Path) -> Path:
    """The path of a sheet's key: `sheet.key.csv` next to `sheet.csv`."""
    return sheet.with_suffix(".key.csv")


def write_blind(
    comparison: Comparison, criteria: Sequence[str], path: Path, seed: int = 0
) -> tuple[Path, Path]:
    """The sheet and its key, which alone holds the methods' names; both written.

    Every question and pair is one item; items are shuffled by `seed`, and so are the sides, of
    which each run has one as often as the other.
    """
    rng = np.random.default_rng(seed)
    items = [(name, *pair) for name in comparison.questions for pair in comparison.pairs]
    duels = [comparison.of_duel(duel) for duel in comparison.duels()]
    shown = digest(duels, list(criteria), seed)[:4]
    turned = rng.permutation(len(items)) % 2
    rows, keys = [], []
    for number, at in enumerate(rng.permutation(len(items)), 1):
        question, a, b = items[at]
        one, two = (b, a) if turned[at] else (a, b)
        name = f"{shown}-{number:03d}"
        answers = [comparison.answers[run][question] for run in (one, two)]
        rows.append([name, comparison.questions[question], *answers, *[""] * len(criteria)])
        titles = comparison.titles
        keys.append([name, question, titles[one], one, titles[two], two])
    write_sheet(path, ["item", "question", "answer 1", "answer 2", *criteria], rows)
    write_sheet(key_of(path), _KEY_HEADS, keys)
    return path, key_of(path)


def read_people(
    comparison: Comparison, criteria: Sequence[str], sheets: Sequence[Path], key: Path | None
) -> dict[str, Labels]:
    """What each person said, by the name of the file; cells left empty are not labels.

    Raises UserError for a missing key, an item that the key does not hold, runs that are not
    compared here, and a cell that is none of 1, 2 and tie.
    """
    found: dict[str, Labels] = {}
    for sheet in sheets:
        places = _places(comparison, key or key_of(sheet))
        labels: dict[Item, str] = {}
        for row in read_sheet(sheet, ["item", *criteria]):
            if row["item"] not in places:
                raise UserError(
                    f"{sheet}: the key has no item '{row['item']}'; name the key of this sheet "
                    "with --key FILE."
                )
            question, one, two = places[row["item"]]
            a, b = next(pair for pair in comparison.pairs if set(pair) == {one, two})
            for name in criteria:
                if said := _said(sheet, row["item"], name, row[name]):
                    winner = {"1": one, "2": two}.get(said)
                    label = "tie" if winner is None else "A" if winner == a else "B"
                    labels[question, a, b, name] = label
        name = sheet.stem if sheet.stem not in found else f"{sheet.stem} {len(found) + 1}"
        found[name] = labels
    return found


def _places(comparison: Comparison, key: Path) -> dict[str, tuple[str, str, str]]:
    if not key.is_file():
        raise UserError(f"There is no key '{key}'; name the sheet's key with --key FILE.")
    places = {}
    for row in read_sheet(key, _KEY_HEADS):
        for run in (row["run 1"], row["run 2"]):
            if run not in comparison.keys:
                raise UserError(f"{key}: run {run} is not compared here; name the sheet's runs.")
        places[row["item"]] = (row["question id"], row["run 1"], row["run 2"])
    return places


def _said(sheet: Path, item: str, criterion: str, cell: str) -> str:
    """`1`, `2` or `tie`; "" for an empty cell."""
    text = cell.strip().lower()
    for said, ways in (("1", _ONE), ("2", _TWO), ("tie", _TIE), ("", ("",))):
        if text in ways:
            return said
    raise UserError(f"{sheet}, item {item}, {criterion}: '{cell}' is none of 1, 2 and tie.")


def judge_labels(verdicts: Mapping[Item, BothOrders]) -> Labels:
    """The judge's labels: a tie where its two orders disagree, none where one is missing."""
    names = {1.0: "A", 0.5: "tie", 0.0: "B"}
    return {item: names[pair.points] for item, pair in verdicts.items() if pair.points is not None}
