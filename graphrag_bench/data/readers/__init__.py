"""Data sets read from disk: a folder of files becomes documents, questions and gold.

A reader of a published format is a function of the corpus and the questions, named as in a card.
That of the project's own format, corpus.jsonl and questions.jsonl, is here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from graphrag_bench.data.dataset import (
    ABSTRACT,
    QUESTIONS,
    Card,
    Dataset,
    Document,
    Gold,
    Layout,
    load_card,
)  # fmt: skip
from graphrag_bench.data.rows import (
    FileRow,
    Rows,
    choice_gold,
    is_there,
    json_lines,
    warn,
    with_options,
)  # fmt: skip
from graphrag_bench.errors import UserError, did_you_mean, unknown
from graphrag_bench.files import project_folder
from graphrag_bench.fingerprint import digest
from graphrag_bench.text import squash
from graphrag_bench.values import Question

_SETTINGS = ("name", "root", "openie", "questions")
_OWN = ("jsonl", "folder")
"""The cards of sets of your own, which are named after their folders."""
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
    scored: bool = True,
) -> Dataset:
    """Return the checked data set of a card, read from `root`.

    Without a root it is read from the card's own folder, or else from `home`/data/<name>, where
    `fetch` puts it. `openie` names the OpenIE file to use where a folder holds several, `questions`
    a file or folder of questions (`questions.jsonl`) that take the place of the set's own.
    `settings` are those of a synthetic set. Raises UserError for what is unknown, and for every
    fault in the files, with the file and line; one in the gold is `fault` unless `scored`.
    """
    card = load_card(name)
    if card.made_by:
        for part, file in {"root": root, "openie": openie, "questions": questions}.items():
            if file is not None:
                raise UserError(f"Data set '{name}' is made, not read: leave out dataset.{part}.")
        return _made(card, settings)
    for setting in settings:
        hint = did_you_mean(setting, _SETTINGS)
        raise UserError(f"There is no setting 'dataset.{setting}'. {hint}")
    dataset = _read(card, root, openie, Path(home), questions)
    if scored and dataset.fault:
        raise UserError(dataset.fault)
    return dataset


def _made(card: Card, settings: Mapping[str, object]) -> Dataset:
    module, _, function = card.made_by.rpartition(".")
    make: Callable[[Card, Mapping[str, object]], Dataset] = getattr(import_module(module), function)
    return make(card, settings)


def _read(
    card: Card,
    root: str | Path | None,
    openie: str | Path | None,
    home: Path,
    questions: str | Path | None,
) -> Dataset:
    folder = _folder(card, root, home)
    layout = _layout(folder, card) if card.reader != FOLDER else card.shapes[0]
    if layout.reader == FOLDER:
        from graphrag_bench.data.readers.folder import folder_rows

        rows = folder_rows(folder, home / "cache" / "documents")
        fault = rows.check(folder)
    else:
        if layout.reader not in READERS:
            raise unknown("reader", layout.reader, READERS)
        module = import_module(f"graphrag_bench.data.{READERS[layout.reader]}")
        reader: Callable[[Path, Path], Rows] = getattr(module, layout.reader)
        rows = reader(*_files(folder, layout))
        fault = rows.check(_files(folder, layout)[0])
    names = {part: layout.files.get(part) for part in ("training", "validation")}
    extra = {part: folder / name for part, name in names.items() if name}
    there = {part: path for part, path in extra.items() if is_there(path)}
    own = root is not None and card.name in _OWN
    dataset = Dataset(
        name=f"{card.name}-{folder.resolve().name}" if own else card.name,
        documents=tuple(rows.documents.values()),
        questions=tuple(rows.questions.values()),
        gold=rows.gold,
        card=card,
        openie=_openie_file(folder, openie),
        root=str(root) if root else None,
        subgraphs=rows.subgraphs,
        training=there.get("training"),
        validation=there.get("validation"),
        fault=fault,
    )
    if questions is None:
        return dataset
    return _with_questions(dataset, Path(questions), rows.files)


def _with_questions(dataset: Dataset, place: Path, files: dict[str, list[str]]) -> Dataset:
    file = place / QUESTIONS if place.suffix != ".jsonl" else place
    if not file.is_file():
        raise UserError(
            f"Data set '{dataset.name}': there are no questions at '{file}'. Make them: "
            f"graphrag-bench questions dataset={dataset.card.name} kind=abstract out={file.parent}"
        )
    rows = Rows({document.id: document for document in dataset.documents}, files=files)
    add_questions(rows, file, ids=dataset.card.reader != FOLDER)
    fault = rows.check(Path(dataset.root or file) if dataset.card.reader == FOLDER else file)
    questions = tuple(rows.questions.values())
    changed = replace(
        dataset, questions=questions, gold=rows.gold, questions_file=file, fault=fault
    )
    return replace(changed, name=f"{dataset.name}-{changed.question_set}")


def data_folder(name: str, home: str | Path) -> Path:
    """Return where `fetch` puts a set, and where it is looked for when no root is named."""
    return Path(home) / "data" / name


def is_on_disk(card: Card, home: Path) -> bool:
    """Return whether the files of a set are in the card's own folder or below `home`."""
    return any(True for _ in _places(card, home))


def _places(card: Card, home: Path) -> Iterator[Path]:
    for folder in (project_folder("datasets") / card.name, data_folder(card.name, home)):
        if any(_complete(folder, layout) for layout in card.shapes):
            yield folder


def _folder(card: Card, root: str | Path | None, home: Path) -> Path:
    if root:
        folder = Path(root)
        if not folder.is_dir():
            raise UserError(f"dataset.root: there is no folder '{folder}'.")
        return folder
    for folder in _places(card, home):
        return folder
    fetched = card.source is not None and (card.source.downloads or card.source.by_hand)
    how = f"fetch it (graphrag-bench fetch dataset={card.name}) or " if fetched else ""
    raise UserError(
        f"Data set '{card.name}' is not on disk; {how}name its folder: dataset.root=PATH."
    )


def _complete(folder: Path, layout: Layout) -> bool:
    return bool(layout.files) and all(is_there(path) for path in _files(folder, layout))


def _layout(folder: Path, card: Card) -> Layout:
    """Return the first of the card's shapes that the folder holds, or the only one."""
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


def _openie_file(folder: Path, chosen: str | Path | None) -> Path | None:
    files = sorted(folder.glob("openie*.json"))
    names = ", ".join(path.name for path in files) or "no openie*.json"
    if chosen is not None:
        path = Path(chosen) if Path(chosen).is_file() else folder / chosen
        if not path.is_file():
            raise UserError(f"dataset.openie={chosen}: there is no such file; there are: {names}.")
        return path
    if len(files) > 1:
        raise UserError(f"{folder} holds several OpenIE files; choose dataset.openie= {names}.")
    return files[0] if files else None


class _Document(FileRow):
    other_names = {
        "_id": "id", "doc_id": "id", "docid": "id",
        "contents": "text", "content": "text", "passage": "text", "body": "text",
    }  # fmt: skip

    id: str
    title: str = ""
    text: str
    scope: str | None = None
    aliases: list[str] = []


class _Question(FileRow):
    other_names = {
        "_id": "id", "qid": "id", "question_id": "id", "query_id": "id",
        "question": "text", "query": "text", "question_type": "type",
        "answer": "answers", "golden_answers": "answers", "gold_answers": "answers",
        "possible_answers": "answers", "answer_aliases": "answers",
    }  # fmt: skip

    id: str = ""
    text: str
    answers: list[str] = []
    evidence: list[str] = []
    type: str = ""
    hops: int | None = None
    entities: list[str] = []
    scope: str | None = None
    spans: list[str] = []
    options: list[str] = []
    correct: int | None = None
    supporting_facts: object = None
    supporting_docs: object = None
    gold_docs: object = None
    positive_ctxs: object = None


_SUPPORTING = ("supporting_facts", "supporting_docs", "gold_docs", "positive_ctxs")
"""Evidence in the words of other tools: ids, titles or texts of documents, alone, first in a list
(HotpotQA's facts), or as a field of an object (DPR's passages)."""
_NAMES = ("passage_id", "psg_id", "doc_id", "docid", "_id", "id", "title", "text")


def jsonl(corpus: Path, questions: Path) -> Rows:
    """Return the rows of `corpus.jsonl` (id, title, text, scope, aliases) and `questions.jsonl`.

    Questions: id, text, answers, evidence, and optionally type, hops, entities, scope, spans
    (sentences of the evidence), options and correct (the index of the right one, from 0). A
    question with options is asked with them, as lines `A. ...`. Names that FlashRAG, BEIR, DPR and
    HotpotQA have for these are read too; a field that is not read is named in a note.
    """
    rows = Rows()
    for place, row in json_lines(corpus, _Document):
        document = Document(row.id, row.title, row.text, row.scope, tuple(row.aliases))
        rows.add_document(place, document)
    add_questions(rows, questions)
    return rows


def add_questions(rows: Rows, questions: Path, *, ids: bool = True) -> None:
    """Add the rows of a `questions.jsonl`.

    Without `ids` a row may lack its id, and has one of its text then (`q-1a2b3c4d`), which stays
    when other questions are added.
    """
    named: dict[str, list[str]] = {}
    for place, row in json_lines(questions, _Question):
        if ids and not row.id:
            raise UserError(f"{place}: the field 'id' is missing.")
        text, choice = with_options(row.text, row.options), Gold()
        if row.options or row.correct is not None:
            choice = choice_gold(place, row.options, row.correct)
        evidence = dict.fromkeys(row.evidence)
        for field in _SUPPORTING:
            if value := getattr(row, field):
                named = named or _by_any_name(rows)
                evidence |= dict.fromkeys(_supporting(f"{place}: '{field}'", value, named, rows))
        gold = replace(
            choice,
            answers=tuple(dict.fromkeys(row.answers)) or choice.answers,
            evidence=tuple(evidence),
            type=row.type,
            hops=row.hops,
            entities=tuple(row.entities),
            spans=tuple(row.spans),
        )
        name = row.id or f"q-{digest(text)[:8]}"
        rows.add_question(place, Question(name, text, row.scope), gold)
    if rows.gold and not any(one.type == ABSTRACT or one != Gold(type=one.type, hops=one.hops)
                             for one in rows.gold.values()):  # fmt: skip
        warn(f"{questions}: no question has gold (answers, evidence, options): nothing is scored.")


def _by_any_name(rows: Rows) -> dict[str, list[str]]:
    """The ids of the documents of each id, file, title and text, the first of these that has it."""
    named = {name: [name] for name in [*rows.files, *rows.documents]}
    for name_of in (lambda row: row.title, lambda row: squash(row.text)):
        others: dict[str, list[str]] = {}
        for document in rows.documents.values():
            others.setdefault(name_of(document), []).append(document.id)
        named = others | named
    return named


def _supporting(
    place: str, value: object, named: Mapping[str, list[str]], rows: Rows
) -> Iterator[str]:
    """Yield the ids; documents of one title are the parts of a file of that name."""
    columns = value.get("title") if isinstance(value, Mapping) else value  # the hub's parquet
    for item in columns if isinstance(columns, list) else [columns]:
        names = (
            [item[name] for name in _NAMES if name in item]
            if isinstance(item, dict)
            else [item[0] if isinstance(item, list) and item else item]
        )
        keys = [key for name in names for key in (str(name), squash(str(name))) if key in named]
        if not keys:
            raise UserError(f"{place}: {item!r:.80} is no id, title or text of a document.")
        documents = named[keys[0]]
        if len(documents) > 1:
            rows.files.setdefault(keys[0], documents)
        yield documents[0] if len(documents) == 1 else keys[0]


_READERS_OF = {
    "readers": "jsonl",
    "readers.passages": "musique hotpotqa popqa nq multihoprag alce_asqa zhou2025 ultradomain "
    "ultradomain_original",
    "readers.stories": "quality squality summscreen infinitebench graphragbench novelqa",
    "subgraphs": "rog",
}
READERS = {name: module for module, names in _READERS_OF.items() for name in names.split()}
"""The module below `graphrag_bench.data` of each reader, which is a function of that name."""
