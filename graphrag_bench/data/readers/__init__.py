"""Read data sets from disk. The card of a data set names the function that reads its files."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import cast

from graphrag_bench.data.dataset import COLLECTIONS, QUESTIONS, Card, Dataset, Layout, load_card
from graphrag_bench.data.readers.jsonl import add_questions
from graphrag_bench.data.readers.judged import TEST, ir_datasets
from graphrag_bench.data.rows import Rows, exists
from graphrag_bench.errors import UserError, did_you_mean, unknown
from graphrag_bench.files import project_folder
from graphrag_bench.text import safe_name

_SETTINGS = ("name", "root", "openie", "questions")
_OWN = ("jsonl", "folder", "beir")
"""Cards for the user's own files. Such a data set is named after its card and its folder."""
FOLDER, PACKAGE = "folder", "ir_datasets"
_MODULES = {
    "jsonl": "jsonl",
    "passages": "musique hotpotqa popqa nq multihoprag alce_asqa zhou2025 ultradomain "
    "ultradomain_original",
    "stories": "quality squality summscreen infinitebench graphragbench novelqa",
    "documents": "wildgraphbench lihua_world",
    "rog": "rog",
    "judged": "beir",
}
READERS = {name: module for module, names in _MODULES.items() for name in names.split()}
"""The module of each reader. The function in this module has the name of the reader."""


def read_dataset(
    name: str,
    root: str | Path | None = None,
    openie: str | Path | None = None,
    settings: Mapping[str, object] = MappingProxyType({}),
    *,
    home: str | Path = ".",
    questions: str | Path | None = None,
    scored: bool = True,
) -> Dataset:
    """Read and check a data set, given the name of its card.

    The default `root` is the card's folder or `home`/data/<name>, where `fetch` saves files.
    `openie` selects one of several OpenIE files. `questions` is a file, or a folder with a file
    `questions.jsonl`, that replaces the questions. `settings` are the settings of a synthetic data
    set, or select a data set of a collection. If `scored` is false, an error in the gold is stored
    in `Dataset.gold_error` and not raised. Raises UserError for an unknown name or an invalid file.

    >>> toy = read_dataset("toy")
    >>> len(toy.documents), toy.questions[0].text, toy.gold["q1"].answers
    (8, 'Who founded the Norvik Observatory?', ('Ada Marsh',))
    """
    card = load_card(name)
    if card.made_by:
        for part, file in {"root": root, "openie": openie, "questions": questions}.items():
            if file is not None:
                raise UserError(f"Data set '{name}' is synthetic. Leave out dataset.{part}.")
        module, _, function = card.made_by.rpartition(".")
        return cast(Dataset, getattr(import_module(module), function)(card, settings))
    if others := settings.keys() - set(chosen := COLLECTIONS.get(name, ())):
        hint = did_you_mean(other := min(others), [*_SETTINGS, *chosen])
        raise UserError(f"Data set '{name}' has no setting 'dataset.{other}'. {hint}")
    settings = {**({"split": TEST} if "split" in chosen else {}), **settings}
    own, split = str(settings.get("name", "")), str(settings.get("split", ""))
    files: dict[str, Path | None] = {}
    if card.reader == PACKAGE:
        if root or openie or not own:
            raise UserError(f"dataset={name}: set dataset.name, but not dataset.root or openie.")
        corpus, rows = Path(own), ir_datasets(own)
    else:
        folder = _folder(card, root, Path(home), own)
        corpus, rows, files = _read(folder, _layout(folder, card), Path(home), split)
        files["openie"] = _openie_file(folder, openie)
        own = own or folder.resolve().name * bool(root and name in _OWN)
    dataset = Dataset(
        "-".join(filter(None, [name, own, split])), tuple(rows.documents.values()),
        tuple(rows.questions.values()), rows.gold, card, root=str(root) if root else None,
        settings=settings, subgraphs=rows.subgraphs, gold_error=rows.gold_error(corpus),
        notes=tuple(rows.notes), **files,
    )  # fmt: skip
    if questions is not None:
        dataset = _with_questions(dataset, Path(questions), rows.files)
    if scored and dataset.gold_error:
        raise UserError(dataset.gold_error)
    return dataset


def _read(
    folder: Path, layout: Layout, home: Path, split: str
) -> tuple[Path, Rows, dict[str, Path | None]]:
    """Return the corpus file or folder, the rows, and the files of training questions."""
    if layout.reader == FOLDER:
        from graphrag_bench.data.readers.folder import folder_rows

        return folder, folder_rows(folder, home / "cache" / "documents"), {}
    if layout.reader not in READERS:
        raise unknown("reader", layout.reader, READERS)
    module = import_module(f"graphrag_bench.data.readers.{READERS[layout.reader]}")
    reader: Callable[..., Rows] = getattr(module, layout.reader)
    parts = {part: folder / file for part, file in layout.files.items()}
    training = [one for one in ("training", "validation") if one in parts and exists(parts[one])]
    corpus, questions = _files(folder, layout)
    rows = reader(corpus, questions, *filter(None, [split]))
    return corpus, rows, {part: parts[part] for part in training}


def _with_questions(dataset: Dataset, place: Path, files: dict[str, list[str]]) -> Dataset:
    file = place if place.is_file() or place.suffix == ".jsonl" else place / QUESTIONS
    if not file.is_file():
        raise UserError(
            f"Data set '{dataset.name}': no questions at '{file}'. Generate them: "
            f"graphrag-bench questions dataset={dataset.card.name} kind=abstract out={file.parent}"
        )
    rows = Rows({document.id: document for document in dataset.documents}, files=files)
    of_folder = dataset.card.reader == FOLDER
    add_questions(rows, file, ids=not of_folder)
    changed = replace(
        dataset, questions=tuple(rows.questions.values()), gold=rows.gold, questions_file=file,
        gold_error=rows.gold_error(Path(dataset.root or file) if of_folder else file), notes=(),
    )  # fmt: skip
    return replace(changed, name=f"{dataset.corpus_name}-{changed.question_set}")


def data_folder(name: str, home: str | Path, member: str = "") -> Path:
    """Return the folder where `fetch` saves a data set, or the `member` of a collection."""
    return Path(home) / "data" / (f"{name}-{safe_name(member)}" if member else name)


def is_on_disk(card: Card, home: Path) -> bool:
    """Return whether the files of a data set are in the card's folder or below `home`."""
    return _place(card, home) is not None


def _place(card: Card, home: Path, member: str = "") -> Path | None:
    folders = project_folder("datasets") / card.name, data_folder(card.name, home, member)
    return next((folder for folder in folders if _complete(folder, card)), None)


def _folder(card: Card, root: str | Path | None, home: Path, member: str) -> Path:
    if root:
        if not Path(root).is_dir():
            raise UserError(f"dataset.root: no folder '{root}'.")
        return Path(root)
    if card.name in COLLECTIONS and not member:
        raise UserError(f"dataset={card.name} needs dataset.root=FOLDER or dataset.name=NAME.")
    if folder := _place(card, home, member):
        return folder
    fetched = member or (card.source and (card.source.downloads or card.source.by_hand))
    words = f"dataset={card.name}" + f" dataset.name={member}" * bool(member)
    how = f"Fetch it (graphrag-bench fetch {words}), or set" if fetched else "Set"
    raise UserError(f"Data set '{member or card.name}' is not on disk. {how} dataset.root=FOLDER.")


def _layout(folder: Path, card: Card) -> Layout:
    """Return the layout of the card that matches the files in a folder."""
    first = card.shapes[0]
    if layout := _complete(folder, card):
        return layout
    if len(card.shapes) == 1 or first.reader == FOLDER or any(map(exists, _files(folder, first))):
        return first
    expected = "; or ".join(", ".join(dict.fromkeys(one.files.values())) for one in card.shapes)
    there = ", ".join(sorted(item.name for item in folder.glob("*"))[:8]) or "nothing"
    raise UserError(f"Data set '{card.name}': expected {expected} in '{folder}', not {there}.")


def _complete(folder: Path, card: Card) -> Layout | None:
    """Return the first layout of a card whose files are all in a folder, or None."""
    layouts = (one for one in card.shapes if one.files and all(map(exists, _files(folder, one))))
    return next(layouts, None)


def _files(folder: Path, layout: Layout) -> tuple[Path, Path]:
    suffix = "jsonl" if layout.reader == "jsonl" else "json"
    corpus = layout.files.get("corpus", f"corpus.{suffix}")
    return folder / corpus, folder / layout.files.get("questions", f"questions.{suffix}")


def _openie_file(folder: Path, name: str | Path | None) -> Path | None:
    files = sorted(folder.glob("openie*.json"))
    names = ", ".join(path.name for path in files) or "no openie*.json"
    if name is not None:
        for path in (Path(name), folder / name):
            if path.is_file():
                return path
        raise UserError(f"dataset.openie={name}: the file does not exist. Found: {names}.")
    if len(files) > 1:
        raise UserError(f"{folder} has several OpenIE files. Set dataset.openie to one of {names}.")
    return files[0] if files else None
