"""A generated question, and the folder that holds it: `dataset.questions=FOLDER`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from graphrag_bench.data.dataset import QUESTIONS, Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import Row, read_lines, write_rows
from graphrag_bench.run.judged import read_sheet, write_sheet
from graphrag_bench.text import normalise_name

MADE, REVIEW = "made.jsonl", "review.csv"
_HEADS = (
    "id", "question", "answers", "evidence", "decision", "new question", "new answers", "note",
)  # fmt: skip
_BETWEEN = " | "
DECISIONS = ("keep", "drop", "edit")


@dataclass(frozen=True)
class Made:
    """A question with its answers and the documents that hold them; `origin` says what of.

    `origin` is the user and task of an abstract question, the names and relations of a specific
    one.
    """

    text: str
    type: str
    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    hops: int | None = None
    entities: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()


def distinct(questions: Iterable[Made]) -> list[Made]:
    """Return the questions in order, each wording once."""
    return list({normalise_name(one.text): one for one in reversed(list(questions))}.values())[::-1]


def write_set(folder: Path, dataset: Dataset, questions: Sequence[Made]) -> None:
    """Write corpus, questions and an empty review sheet; what is there already is kept.

    Raises UserError when the folder holds other questions: their review must not be lost.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"id": f"{one.type}-{number:04d}"} | {k: v for k, v in asdict(one).items() if v is not None}
        for number, one in enumerate(questions, 1)
    ]
    if there := list(read_lines(folder / MADE)):
        if there != json.loads(json.dumps(rows)):
            raise UserError(f"{folder} holds other questions; name another folder with out=FOLDER.")
        return
    write_rows(folder / "corpus.jsonl", [
        {"id": d.id, "title": d.title, "text": d.text} | ({"scope": d.scope} if d.scope else {})
        for d in dataset.documents
    ])  # fmt: skip
    write_rows(folder / QUESTIONS, rows)
    texts = {document.id: document.passage[:500] for document in dataset.documents}
    lines = []
    for row in rows:
        evidence = "\n".join(f"[{name}] {texts[name]}" for name in row["evidence"])
        lines.append([row["id"], row["text"], _BETWEEN.join(row["answers"]), evidence, *[""] * 4])
    write_sheet(folder / REVIEW, _HEADS, lines)
    write_rows(folder / MADE, rows)


def reviewed(sheet: Path) -> dict[str, int]:
    """Return how many questions were kept, dropped, edited and not looked at, and write the rest.

    The decision is keep, drop or edit, or empty, which keeps; edit takes the new question and the
    new answers where they are filled in, ` | ` between answers. The sheet can be read again after
    it was changed. Raises UserError for a sheet without its folder, a missing or unknown id, and a
    decision that is none.
    """
    made = list(read_lines(sheet.parent / MADE))
    if not made:
        raise UserError(f"{sheet.parent} holds no {MADE}: the sheet stays where it was written.")
    lines = {line["id"]: line for line in read_sheet(sheet, _HEADS)}
    if unknown := [name for name in lines if name not in {row["id"] for row in made}]:
        raise UserError(f"{sheet}: no question has the id '{unknown[0]}'.")
    counts = dict.fromkeys(("keep", "drop", "edit", "not looked at"), 0)
    rows = []
    for row in made:
        if row["id"] not in lines:
            raise UserError(f"{sheet}: the line of '{row['id']}' is gone; drop it by its decision.")
        line = lines[row["id"]]
        decision = line["decision"].strip().lower()
        if decision not in ("", *DECISIONS):
            raise UserError(
                f"{sheet}, {row['id']}: '{decision}' is none of {', '.join(DECISIONS)}."
            )
        counts[decision or "not looked at"] += 1
        if decision != "drop":
            rows.append(_edited(sheet, row, line) if decision == "edit" else row)
    if not rows:
        raise UserError(f"{sheet}: no question would be left.")
    write_rows(sheet.parent / QUESTIONS, rows)
    return counts


def _edited(sheet: Path, row: Row, line: Mapping[str, str]) -> Row:
    text, answers = line["new question"].strip(), line["new answers"].strip()
    if not text and not answers:
        raise UserError(f"{sheet}, {row['id']}: edit needs a new question or new answers.")
    given = [part.strip() for part in answers.split(_BETWEEN.strip()) if part.strip()]
    return row | ({"text": text} if text else {}) | ({"answers": given} if given else {})
