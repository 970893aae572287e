"""Read the rows of published files (JSON, JSON lines, TSV, parquet) and their positions."""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError

from graphrag_bench.data.dataset import Document, Gold
from graphrag_bench.data.subgraphs import Subgraphs
from graphrag_bench.errors import UserError, did_you_mean, extra_needed
from graphrag_bench.progress import Progress
from graphrag_bench.values import Question

_HINTED = 20_000
"""Maximum number of ids that are compared with an unknown id to suggest a similar id."""


class FileRow(BaseModel, extra="ignore", coerce_numbers_to_str=True):
    """A row of a published file. Numbers are converted to text."""


R = TypeVar("R", bound=FileRow)
OneOrSeveral = Annotated[
    list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
]
Place = str
"""Position for error messages: a file, and a line, item or row of this file."""


def not_blank(texts: Sequence[str | None]) -> tuple[str, ...]:
    """Return the distinct texts that are not blank, in their original order."""
    return tuple(dict.fromkeys(text for text in texts if text and text.strip()))


@dataclass
class Rows:
    """Documents, questions and gold of a data set that is being read, each stored by id.

    Evidence in `absent` may be missing from the corpus and then counts as not retrieved. Some
    evidence items consist of several documents, such as a file that was split. `files` maps each
    such item to its documents.
    """

    documents: dict[str, Document] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    gold: dict[str, Gold] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    subgraphs: Subgraphs | None = None
    files: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add_document(self, place: Place, document: Document) -> None:
        """Add a document. Raises UserError if its id already exists."""
        if document.id in self.documents:
            number = [*self.documents].index(document.id) + 1
            raise UserError(f"{place}: the id '{document.id}' occurs twice (document {number}).")
        self.documents[document.id] = document

    def add_question(self, place: Place, question: Question, gold: Gold) -> None:
        """Add a question, with its options in its text. A missing id becomes a number, from 0."""
        name = question.id or str(len(self.questions))
        if gold.correct is not None:
            n = len(gold.options)
            if not 0 <= gold.correct < n:
                marked = f"option {gold.correct + 1} is marked as correct"
                raise UserError(f"{place}: {marked}, but the number of options is {n}.")
            gold = replace(gold, answers=gold.answers or (gold.options[gold.correct],))
        if before := self.places.get(name):
            first = before.rpartition(", ")[2]
            raise UserError(f"{place}: the id '{name}' occurs twice ({first}).")
        if not question.text.strip():
            raise UserError(f"{place}: question '{name}' has no text.")
        if not all(map(str.strip, gold.answers)):
            raise UserError(f"{place}: question '{name}' has a blank answer.")
        text = with_options(question.text, gold.options)
        self.places[name], self.questions[name] = place, replace(question, id=name, text=text)
        self.gold[name] = replace(gold, grades=()) if {*gold.grades} <= {1} else gold

    def gold_error(self, corpus: Path) -> str:
        """Return the first error in the gold evidence, or "". Also set `Gold.parts`.

        Evidence must be in the corpus and in the scope of its question.
        """
        corpus = next(iter(files_of(corpus, required=False)), corpus)
        if not self.documents:
            raise UserError(f"{corpus}: the corpus is empty.")
        if not any(document.text.strip() for document in self.documents.values()):
            raise UserError(f"{corpus}: every document is blank.")
        for name, gold in self.gold.items():
            question, scope = f"{self.places[name]}: question '{name}'", self.questions[name].scope
            wanted = [one for one in gold.evidence if one not in self.absent]
            for evidence in wanted:
                if evidence not in self.files and evidence not in self.documents:
                    ids = [*self.files, *self.documents][:_HINTED]
                    hint = did_you_mean(evidence, ids, [*ids[:3], "..."])
                    why = f"has the evidence '{evidence}', which is not in '{corpus}'. {hint}"
                    return f"{question} {why}"
                for document in self.files.get(evidence, [evidence]):
                    other = self.documents[document].scope
                    if None not in (scope, other) and scope != other:
                        why = f"its evidence '{document}' has scope '{other}'"
                        return f"{question} has scope '{scope}', but {why}."
            parts = tuple((one, tuple(self.files[one])) for one in wanted if one in self.files)
            self.gold[name] = replace(gold, parts=parts) if parts else gold
        return ""


def with_options(question: str, options: Sequence[str]) -> str:
    """Return the question followed by its options, one per line (`A. ...`)."""
    pairs = zip(ascii_uppercase, options, strict=False)
    return "\n".join([question, *map(". ".join, pairs)])


@cache
def warn(text: str) -> None:
    """Print a warning about a data set, at most once per process."""
    Progress().say(f"! {text}")


def records(path: Path, shape: type[R]) -> Iterator[tuple[Place, R]]:
    """Yield each row of a file as its place and an object of the pydantic class `shape`."""
    return ((place, checked_row(place, content, shape)) for place, content in objects(path))


def objects(path: Path) -> Iterator[tuple[Place, object]]:
    """Yield place and content of each row of a file, or of all files that match a pattern."""
    readers = {".parquet": parquet_objects, ".json": json_objects, ".tsv": _table_rows}
    for file in files_of(path):
        ending = Path(file.name.removesuffix(".gz")).suffix
        yield from readers.get(ending, json_line_objects)(file)


def n_records(path: Path) -> int:
    """Return the number of rows in parquet or JSON lines files. `path` may be a pattern."""
    files = files_of(path)
    if files[0].suffix != ".parquet":
        return sum(bool(line.strip()) for file in files for line in _lines(file))
    with extra_needed("interchange"):
        from pyarrow import parquet
    return sum(parquet.read_metadata(file).num_rows for file in files)


def files_of(path: Path, *, required: bool = True) -> list[Path]:
    """Return the file or folder at a path, or the sorted files that match the path as a pattern.

    If nothing matches `test.json`, then `test.json.gz`, `test.parquet` and `test-*.parquet` are
    tried, parquet also in the subfolder `data`. Raises UserError if a required file is missing.
    """
    if path.exists():
        return [path]
    patterns = [path.name, f"{path.name}.gz", f"{path.stem}.parquet", f"{path.stem}-*.parquet"]
    patterns += [f"data/{one}" for one in patterns[2:]]
    every = (sorted(one for one in path.parent.glob(name) if one.is_file()) for name in patterns)
    files = next(filter(None, every), [])
    if files or not required:
        return files
    there = ", ".join(sorted(item.name for item in path.parent.glob("*"))[:8]) or "nothing"
    parquet = f"{path.stem}*.parquet next to it or in data/"
    raise UserError(f"No file '{path}', and no {parquet}. Found: {there}.")


def exists(path: Path) -> bool:
    """Return whether `files_of` would find a file at a path."""
    return bool(files_of(path, required=False))


def read_text(path: Path) -> str:
    """Return the text of a file. Raises UserError if the file is missing or not UTF-8."""
    return _text(b"".join(_lines(path)), path)


def json_file(path: Path) -> object:
    """Return the content of a JSON file. Raises a UserError that names an invalid line."""
    return _parsed(b"".join(_lines(path)), path)


def records_by_id(path: Path, shape: type[R]) -> Iterator[tuple[str, Place, R]]:
    """Yield the id, location and object of each item. The id is a key, a QID or a number from 1."""
    content = json_file(path)
    rows = enumerate(content if isinstance(content, list) else [content], start=1)
    items = [(str(one.get("QID", n) if isinstance(one, dict) else n), one) for n, one in rows]
    for name, item in content.items() if isinstance(content, Mapping) else items:
        yield name, (place := f"{path}, {name}"), checked_row(place, item, shape)


def json_objects(path: Path) -> Iterator[tuple[Place, object]]:
    """Yield place and content of each JSON line, of each item of a JSON list, or of one object."""
    first = list(islice(filter(bytes.strip, _lines(path)), 2))
    with suppress(ValueError):
        if len(first) > 1 and json.loads(first[0]) is not None:
            yield from json_line_objects(path)
            return
    content = json_file(path)
    for number, item in enumerate(content if isinstance(content, list) else [content]):
        yield f"{path}, item {number}", item


def json_line_objects(path: Path) -> Iterator[tuple[Place, object]]:
    """Yield the place and the content of each row of a JSON lines file. Blank lines are skipped."""
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            yield f"{path}, line {number}", _parsed(line, path, number)


def _lines(path: Path) -> Iterator[bytes]:
    if not path.is_file():
        there = sorted(item.name for item in path.parent.glob("*.json*"))
        hint = did_you_mean(path.name, there, there or ["no JSON file"])
        raise UserError(f"No file '{path}'. {hint}")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield from file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: the gzip file is damaged ({error}).") from None


def _text(content: bytes, path: Path, line: int = 0) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = line or content.count(b"\n", 0, error.start) + 1
        byte = f"(byte {error.start})"
        raise UserError(f"{path}, line {line}: the text is not UTF-8 {byte}.") from None


def _parsed(content: bytes, path: Path, line: int = 0) -> object:
    """Parse a JSON file or line. NaN and Infinity become None."""
    text = _text(content, path, line)
    try:
        parsed: object = json.loads(text, parse_constant=lambda _: None)
        if "\\ud" in text.lower():
            json.dumps(parsed, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"{path}, line {line or error.lineno}"
        raise UserError(f"{place}: the text is not JSON ({error.msg}).") from None
    except UnicodeEncodeError:  # a text was cut in the middle of a character
        raise UserError(f"{path}, line {line}: a text has a lone surrogate.") from None
    return parsed


def _table_rows(path: Path) -> Iterator[tuple[Place, object]]:
    lines = (_text(line, path, number) for number, line in enumerate(_lines(path), start=1))
    table = csv.DictReader(lines, delimiter="\t")
    try:
        for row in table:
            yield f"{path}, line {table.line_num}", {name: row[name] for name in row if name}
    except csv.Error as error:
        raise UserError(f"{path}, line {table.line_num}: {error}.") from None


def parquet_objects(path: Path) -> Iterator[tuple[Place, Mapping[str, object]]]:
    """Yield place and content of the rows of a parquet file. Raises UserError for other files."""
    with extra_needed("interchange"):
        from pyarrow import parquet
    try:
        with parquet.ParquetFile(path) as file:
            rows = (row for batch in file.iter_batches(64) for row in batch.to_pylist())
            for number, row in enumerate(rows, start=1):
                nan = {name: None for name, value in row.items() if value != value}
                yield f"{path}, row {number}", row | nan
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not a parquet file ({str(error)[:200]}).") from None


def checked_row(
    place: Place, content: Any, shape: type[R], written: Mapping[str, str] = MappingProxyType({})
) -> R:
    """Convert a row to a pydantic object. `written` maps field names to the names in the file."""
    if not isinstance(content, dict):
        names = ", ".join(of.alias or name for name, of in shape.model_fields.items())
        raise UserError(f"{place}: expected an object with {names}, not {content!r:.60}.")
    try:
        return shape.model_validate(content)
    except ValidationError as error:
        fault = error.errors()[0]
        first, *others = map(str, fault["loc"])
        path = ".".join([written.get(first, first), *others])
        if fault["type"] != "missing":
            why = f"{fault['msg']} ({fault['input']!r:.60})"
            raise UserError(f"{place}: field '{path}': {why}.") from None
        hint = did_you_mean(path, [name for name in content if written.get(name, name) == name])
        raise UserError(f"{place}: the field '{path}' is missing. {hint}") from None
