"""Spreadsheets for human judgements of answer pairs, and their agreement with the judge model."""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.judging.pairs import TIE, Duel, PairJudging, mean_of, points_won, verdict_rows
from graphrag_bench.report.rendering import MISSING, Table, format_interval, format_mean, safe_cell
from graphrag_bench.report.rows import group_by
from graphrag_bench.run.folder import RunFolder, read_json
from graphrag_bench.text import counted

HEADS = ("code", "question", "A", "B", "verdict")
_CONVERTED = re.compile(r"(?![1-9]\d{,10}$)(?=.*\d).{,30}$|(true|false)$", re.I)
"""Texts that a spreadsheet may convert into a number, a date or a truth value."""
_SEPARATOR = re.compile(r'"?sep=([^\r\n]).*\n', re.I)
"""Optional first line of a CSV file that tells Excel the separator."""


def write_sheet(judging: PairJudging, n: int, file: Path, seed: int) -> int:
    """Write a spreadsheet with up to `n` pairs of answers; return the number of pairs.

    Pairs that need a judge are sampled by question type. The sheet does not tell which run is A;
    the folder of the comparison stores it.
    """
    duels, rng = _duels(judging, seed), np.random.default_rng(seed)
    gold = judging.pairs.runs[0].require_dataset().gold
    codes = rng.permutation(sorted(duels)).tolist()
    types = group_by(codes, lambda code: gold[duels[code].question].type).values()
    places = {code: (n - 0.5) / len(of) for of in types for n, code in enumerate(of, 1)}
    codes.sort(key=places.__getitem__)
    shown = {code: duels[code].second if rng.integers(2) else duels[code].first for code in codes}
    rows = [(code, *map(safe_text, _texts(duels[code], shown[code])), "") for code in codes[:n]]
    RunFolder(judging.folder).write_json(f"sheet-{seed}.json", {"seed": seed, "A": shown})
    with file.open("w", encoding="utf-8-sig", newline="") as out:
        csv.writer(out).writerows([HEADS, *rows])
    return len(rows)


def _texts(duel: Duel, a: str) -> tuple[str, str, str]:
    return (duel.text, *(duel.answers if a == duel.first else duel.answers[::-1]))


def safe_text(text: str) -> str:
    """Add an apostrophe before a text if a spreadsheet would execute or convert it."""
    return f"'{text}" if _CONVERTED.match(text) else safe_cell(text)


def is_same(cell: str, text: str, ascii_only: bool) -> bool:
    """Return whether a cell shows a text or its ASCII part, ignoring spaces and apostrophes."""
    text = re.sub(r"[^\x00-\x7f]", "\ufffd", text) if ascii_only else text
    cell, text = (" ".join(one.strip().lstrip("'").split()) for one in (cell, text))
    return fnmatchcase(cell, re.sub("\ufffd+", "*", escape(text))) if ascii_only else cell == text


def _duels(judging: PairJudging, seed: int) -> dict[str, Duel]:
    first, _ = judging.pairs.titles
    duels = (one for one in judging.pairs.duels() if one.first == first and one.winner is None)
    return {f"q{digest(seed, one.question, one.fingerprint)}": one for one in duels}


def read_sheet(judging: PairJudging, file: Path) -> tuple[dict[str, str], int]:
    """Return the winners by question, and the number of rows with a blank verdict.

    A winner is the key of a run, or TIE. The separator is a comma, semicolon or tab, or the
    character that follows `sep=` in the first line. If the file is not in Unicode, only ASCII
    characters are compared. Raises UserError for an unknown code, a changed text, and a verdict
    other than A, B or tie.
    """
    pairs: dict[str, tuple[Duel, str]] = {}
    for path in judging.folder.glob("sheet-*.json"):
        stored = read_json(path)
        known = _duels(judging, stored["seed"])
        pairs |= {code: (known[code], a) for code, a in stored["A"].items() if code in known}
    raw = file.read_bytes()
    text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace")
    ascii_only = raw.isascii() or "\ufffd" in text
    first = _SEPARATOR.match(text)
    separator = first[1] if first else max(",;\t", key=text.partition("\n")[0].count)
    lines = io.StringIO(text[first.end() if first else 0 :], newline="")
    reader = csv.DictReader(lines, delimiter=separator)
    if missing := [name for name in HEADS if name not in (reader.fieldnames or ())]:
        raise UserError(f"{file} has no column '{missing[0]}'. Write the file with --sheet.")
    winners: dict[str, str] = {}
    n_blank = 0
    for number, row in enumerate(reader, 2):
        code, verdict = (str(row[name] or "").strip() for name in ("code", "verdict"))
        if not code and not verdict:
            continue  # an empty row
        if code not in pairs or pairs[code][0].question in winners:
            raise UserError(
                f"{file}, row {number}: the code '{code}' occurs twice or belongs to another "
                "comparison, or the answers have changed."
            )
        duel, a = pairs[code]
        b = duel.second if a == duel.first else duel.first
        texts = zip(HEADS[1:4], _texts(duel, a), strict=True)
        if changed := [name for name, of in texts if not is_same(row[name] or "", of, ascii_only)]:
            raise UserError(
                f"{file}, row {number}, column {', column '.join(changed)}: the text has changed "
                "since --sheet wrote it. Restore the text, or remove the row."
            )
        names = {"a": a, "b": b, "tie": TIE, "": ""}
        if (winner := names.get(verdict.casefold())) is None:
            raise UserError(f"{file}, row {number}: verdict '{verdict}' is not A, B or tie.")
        winners |= {duel.question: winner} if winner else {}
        n_blank += not winner
    if not winners:
        raise UserError(f"{file}: all {n_blank} verdicts are blank.")
    return winners, n_blank


def agreement_table(judging: PairJudging, people: Mapping[str, str], n_blank: int) -> Table:
    """Return a table with the agreement and Cohen's kappa of people and the judge, by criterion."""
    labels = [*judging.pairs.titles, TIE]
    won = {key[:3]: of for key, of in points_won(verdict_rows(judging.folder)).items()}
    rows = []
    for criterion in judging.criteria:
        points = won.get((labels[0], labels[1], criterion), {})
        both = {q: sum(points[q].values()) for q in people if len(points.get(q, {})) == 2}
        judge = {q: {2.0: labels[0], 0.0: labels[1]}.get(total, TIE) for q, total in both.items()}
        if (same := mean_of({q: float(people[q] == judge[q]) for q in judge}, {})) is None:
            raise UserError("The judge has no verdict on these pairs. First run without --read.")
        cells = Counter((labels.index(people[q]), labels.index(judge[q])) for q in judge)
        counts = np.array([[cells[i, j] for j in range(3)] for i in range(3)])
        drawn = np.random.default_rng(0).multinomial(same.n, counts.ravel() / same.n, 9999)
        shown = MISSING
        if not np.isnan(value := kappa(counts)):
            low, high = np.nanpercentile(kappa(drawn.reshape(-1, 3, 3)), (2.5, 97.5))
            shown = f"{value:.2f}{format_interval(low, high, same.n)}"
        numbers = str(same.n), str(len(people) - same.n)
        rows.append((criterion, *numbers, format_mean(same.stored()), shown))
    heads = ("criterion", "n", "missing", "agreement [95 %]", "kappa [95 %]")
    notes = (
        f"{counted(len(people), 'row')} filled, {n_blank} blank; missing: no verdict of the judge",
        "the judge's verdict: the winner in both orders, else a tie; kappa: Cohen 1960, on A, B "
        "and tie; intervals are 95 % bootstrap over questions",
    )
    return Table("people and the judge", heads, tuple(rows), notes, texts=heads[:1])


def kappa(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return Cohen's kappa of contingency tables (..., n, n); NaN if chance agreement is 1.

    >>> kappa(np.array([[20, 5], [10, 15]])).round(2).item()
    0.4
    """
    n = counts.sum((-2, -1))
    same = np.trace(counts, axis1=-2, axis2=-1) / n
    chance = (counts.sum(-1) * counts.sum(-2)).sum(-1) / n**2
    with np.errstate(invalid="ignore"):
        return np.asarray((same - chance) / (1 - chance), np.float64)
