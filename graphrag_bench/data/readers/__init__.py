"""Readers of published formats: a folder of files becomes documents, questions and gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from graphrag_bench.data.card import Card, Layout, load_card
from graphrag_bench.data.dataset import QUESTIONS, Dataset, Gold
from graphrag_bench.data.file_evidence import documents_of
from graphrag_bench.data.records import is_there
from graphrag_bench.data.rows import Rows
from graphrag_bench.errors import UserError, did_you_mean, unknown
from graphrag_bench.locations import project_folder

_SETTINGS = ("name", "root", "openie", "questions", "part", "parts")
_PART = ("part", "parts")
_OWN = ("jsonl", "folder")
"""The cards of sets of your own, which are named after their folders."""
SYNTHETIC = "synthetic"
"""The `reader` of a card whose set is made from settings and has no files."""


FOLDER = "folder"
"""The `reader` of a card whose set is a folder of texts of any kind."""


def read_dataset(
    name: str,
    root: str | Path | None = None,
    openie: str | Path | None = None,
    settings: Mapping[str, object] = MappingProxyType({}),
    *,
    home: str | Path = ".",
    questions: str | Path | None = None,
) -> Dataset:
    """The checked data set of a card, read from `root`.

    Without a root it is read from the card's own folder, or else from `home`/data/<name>, where
    `fetch` puts it. `openie` names the OpenIE file to use where a folder holds several, `questions`
    a file or folder of questions (`questions.jsonl`) that take the place of the set's own.
    `settings` are those of a set that is made rather than read; `part` and `parts` among them take
    the first documents of any set (`first_parts`). Raises UserError for an unknown name, for a
    setting that the set does not have, and for every fault in the files, with the file and line.
    """
    own = {name: value for name, value in settings.items() if name not in _PART}
    part, parts = (_count(name, settings.get(name, 1)) for name in _PART)
    return first_parts(_read(name, root, openie, own, Path(home), questions), part, parts)


def first_parts(dataset: Dataset, part: int, parts: int) -> Dataset:
    """The first `part` of `parts` equal parts of the documents, in the order of the corpus.

    The questions are those whose evidence is in the first part, whatever `part` is, so that every
    size of the corpus is asked the same; of a file that the evidence names, one document must be
    there. Raises UserError for a part that there is not, and where
    no question is left.
    """
    if not 1 <= part <= parts:
        raise UserError(f"dataset.part={part}: there is no part {part} of {parts}.")
    if parts == 1:
        return dataset
    n = len(dataset.documents)
    documents = dataset.documents[: -(-n * part // parts)]
    first = {row.id for row in documents[: -(-n // parts)]}
    questions = tuple(
        question for question in dataset.questions if _answered_by(first, dataset.gold[question.id])
    )
    if not questions:
        raise UserError(
            f"dataset.parts={parts}: the first {len(first):,} of {n:,} documents hold the evidence "
            "of no question; a smaller number of parts makes the first one larger."
        )
    gold = {question.id: dataset.gold[question.id] for question in questions}
    return replace(
        dataset, documents=documents, questions=questions, gold=gold, part=part, parts=parts
    )


def _answered_by(documents: set[str], gold: Gold) -> bool:
    named = [documents_of(gold, one) for one in gold.evidence]
    return bool(named) and all(not documents.isdisjoint(one) for one in named)


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UserError(f"dataset.{name}={value}: a number from 1 on was expected.")
    return value


def _read(
    name: str,
    root: str | Path | None,
    openie: str | Path | None,
    settings: Mapping[str, object],
    home: Path,
    questions: str | Path | None,
) -> Dataset:
    card = load_card(name)
    if card.reader == SYNTHETIC:
        from graphrag_bench.data.synthetic import synthetic

        files = {"root": root, "openie": openie, "questions": questions}
        return synthetic(card, files, settings)
    for setting in settings:
        hint = did_you_mean(setting, _SETTINGS)
        raise UserError(f"There is no setting 'dataset.{setting}'. {hint}")
    folder = _folder(card, root, home)
    layout = _layout(folder, card) if card.reader != FOLDER else card.shapes[0]
    if layout.reader == FOLDER:
        from graphrag_bench.data.readers.documents import folder_rows

        rows = folder_rows(folder, home / "cache" / "documents")
    elif layout.reader in READERS:
        module = import_module(f"graphrag_bench.data.{READERS[layout.reader]}")
        read: Callable[[Path, Path], Rows] = getattr(module, layout.reader)
        rows = read(*_files(folder, layout))
    else:
        raise unknown("reader", layout.reader, READERS)
    rows.check(folder if layout.reader == FOLDER else _files(folder, layout)[0])
    made = Dataset(
        name=name if root is None or name not in _OWN else f"{name}-{folder.resolve().name}",
        documents=tuple(rows.documents.values()),
        questions=tuple(rows.questions.values()),
        gold=rows.gold,
        card=card,
        openie=_openie_file(folder, openie),
        root=str(root) if root else None,
        subgraphs=rows.subgraphs,
        training=_training_file(folder, layout),
    )
    return made if questions is None else _asked(made, Path(questions), rows.files)


def _asked(dataset: Dataset, given: Path, files: dict[str, list[str]]) -> Dataset:
    file = given / QUESTIONS if given.suffix != ".jsonl" else given
    if not file.is_file():
        raise UserError(
            f"Data set '{dataset.name}': there are no questions at '{file}' "
            "(dataset.questions=FILE). Make them: graphrag-bench questions "
            f"dataset={dataset.card.name} kind=abstract out={file.parent}"
        )
    from graphrag_bench.data.readers.lines import add_questions

    rows = Rows({document.id: document for document in dataset.documents}, files=files)
    add_questions(rows, file, ids=dataset.card.reader != FOLDER)
    rows.check(Path(dataset.root or file) if dataset.card.reader == FOLDER else file)
    questions = tuple(rows.questions.values())
    made = replace(dataset, questions=questions, gold=rows.gold, questions_file=file)
    return replace(made, name=f"{dataset.name}-{made.asked}")


def data_folder(name: str, home: str | Path) -> Path:
    """Where `fetch` puts a set, and where it is looked for when no root is named."""
    return Path(home) / "data" / name


def _folder(card: Card, root: str | Path | None, home: Path) -> Path:
    if root:
        folder = Path(root)
        if not folder.is_dir():
            raise UserError(
                f"Data set '{card.name}': there is no folder '{folder}' (dataset.root=PATH)."
            )
        return folder
    own = project_folder("datasets") / card.name
    for folder in (own, data_folder(card.name, home)):
        if any(_complete(folder, layout) for layout in card.shapes):
            return folder
    fetched = card.source is not None and (card.source.downloads or card.source.by_hand)
    how = f"fetch it (graphrag-bench fetch dataset={card.name}) or " if fetched else ""
    raise UserError(
        f"Data set '{card.name}' is not on disk; {how}name its folder: dataset.root=PATH."
    )


def _complete(folder: Path, layout: Layout) -> bool:
    return bool(layout.files) and all(is_there(path) for path in _files(folder, layout))


def _layout(folder: Path, card: Card) -> Layout:
    """The first of the card's shapes that the folder holds, or the only one.

    Raises UserError when there are several and the folder holds none.
    """
    for layout in card.shapes:
        if _complete(folder, layout):
            return layout
    if len(card.shapes) == 1 or any(map(is_there, _files(folder, card.shapes[0]))):
        return card.shapes[0]
    wanted = "; or ".join(", ".join(dict.fromkeys(one.files.values())) for one in card.shapes)
    there = ", ".join(sorted(item.name for item in folder.glob("*"))[:8]) or "nothing"
    raise UserError(f"Data set '{card.name}': '{folder}' holds {there}; what is read is {wanted}.")


def _files(folder: Path, layout: Layout) -> tuple[Path, Path]:
    suffix = "jsonl" if layout.reader in ("jsonl", FOLDER) else "json"
    corpus = layout.files.get("corpus", f"corpus.{suffix}")
    return folder / corpus, folder / layout.files.get("questions", f"questions.{suffix}")


def _training_file(folder: Path, layout: Layout) -> Path | None:
    name = layout.files.get("training")
    return folder / name if name and is_there(folder / name) else None


def _openie_file(folder: Path, chosen: str | Path | None) -> Path | None:
    found = sorted(folder.glob("openie*.json"))
    names = ", ".join(path.name for path in found) or "no openie*.json"
    if chosen is not None:
        path = Path(chosen) if Path(chosen).is_file() else folder / chosen
        if not path.is_file():
            raise UserError(
                f"There is no OpenIE file '{chosen}' (dataset.openie=FILE); {folder} holds {names}."
            )
        return path
    if len(found) > 1:
        raise UserError(f"{folder} holds several OpenIE files; choose dataset.openie= {names}.")
    return found[0] if found else None


READERS: Mapping[str, str] = {
    "jsonl": "readers.lines",
    "musique": "readers.multihop",
    "musique_original": "readers.multihop",
    "hotpotqa": "readers.multihop",
    "hotpotqa_original": "readers.multihop",
    "popqa": "readers.popqa",
    "popqa_table": "readers.popqa",
    "multihoprag": "readers.news",
    "alce_asqa": "readers.asqa",
    "ultradomain": "readers.domains",
    "ultradomain_original": "readers.domains",
    "quality": "readers.stories",
    "squality": "readers.stories",
    "summscreen": "readers.stories",
    "infinitebench": "readers.stories",
    "graphragbench": "readers.novels",
    "novelqa": "readers.novels",
    "rog": "kgqa",
    "zhou2025": "readers.zhou",
}
"""The module below `graphrag_bench.data` of each reader, which is a function of that name."""
