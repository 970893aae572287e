"""Archives, graphs and folders of other tools that are broken, swollen, or point elsewhere."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from chaos.hostility import CANARY, EITHER, NAMED, REFUSED, Case, Place, run, write_set

SWOLLEN = 1 << 28
"""Bytes of what is packed a thousand times smaller."""
_GRAPHML = (
    '<?xml version="1.0" encoding="{encoding}"?>{doctype}'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    '<node id="Anna Roth"/><node id="{second}"/>'
    '<edge source="Anna Roth" target="{target}"/></graph></graphml>'
)
_LAUGHS = "<!DOCTYPE g [<!ENTITY a0 'ha'>" + "".join(
    f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12)
) + "]>"  # fmt: skip


def graph(name: str, file: str, content: bytes | str, expected: str = REFUSED) -> Case:
    """A graph to import, used by a run of HippoRAG without a tagger."""

    def given(place: Place) -> Sequence[str]:
        write_set(place)
        path = place.work / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        more = (f"graph.import_from={path}", "method.conversion=llm")
        return run(place, *more, method="hipporag")

    return Case(f"graph: {name}", given, expected)


def _graphml(encoding: str = "UTF-8", doctype: str = "", second: str = "Bert Lang",
             target: str = "Bert Lang") -> str:  # fmt: skip
    return _GRAPHML.format(encoding=encoding, doctype=doctype, second=second, target=target)


def tables(name: str, **changed: object) -> Case:
    """A folder of Microsoft GraphRAG with other values in its tables."""

    def given(place: Place) -> Sequence[str]:
        import pyarrow
        from pyarrow import parquet

        write_set(place)
        folder = place.work / "output"
        folder.mkdir()
        rows: dict[str, list[dict[str, object]]] = {
            "entities": [{"id": "1", "title": "ANNA ROTH"}, {"id": "2", "title": "BERT LANG"}],
            "relationships": [{"source": "ANNA ROTH", "target": "BERT LANG", "weight": 1.0}],
            "text_units": [{"id": "t", "text": "Anna Roth met Bert Lang in Cologne."}],
            "communities": [{"community": 0, "level": 0, "entity_ids": ["1", "2"]}],
            "community_reports": [{"community": 0, "full_content": "Anna and Bert."}],
        }
        for table, held in rows.items():
            fresh = changed.get(table, held)
            if isinstance(fresh, bytes):
                (folder / f"{table}.parquet").write_bytes(fresh)
            else:
                parquet.write_table(pyarrow.Table.from_pylist(fresh), folder / f"{table}.parquet")
        return run(place, f"graph.import_from={folder}", "answer=off", method="lgraphrag")

    return Case(f"GraphRAG folder: {name}", given)


def archive(name: str, command: Sequence[str], file: str, make: Callable[[Path], object]) -> Case:
    """A file that a command reads, by itself."""

    def given(place: Place) -> Sequence[str]:
        path = place.work / file
        make(path)
        return [str(path) if word == "FILE" else word for word in command]

    return Case(f"{' '.join(command[:2])}: {name}", given)


def _tar(name: str, content: bytes = b"x", link: str = "") -> Callable[[Path], object]:
    def make(path: Path) -> None:
        with tarfile.open(path, "w:gz") as tar:
            member = tarfile.TarInfo(name)
            member.size = 0 if link else len(content)
            member.type, member.linkname = (
                (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, "")
            )
            tar.addfile(member, io.BytesIO(content))

    return make


def _swollen_tar(path: Path) -> None:
    _tar("toy/graph/0123456789ab/recipe.json", b"0" * SWOLLEN)(path)


def folder(name: str, make: Callable[[Path], object], expected: str = EITHER) -> Case:
    """A folder of texts with one more file, read by a run of BM25."""

    def given(place: Place) -> Sequence[str]:
        texts = place.work / "texts"
        texts.mkdir()
        (texts / "anna.txt").write_text("Anna Roth met Bert Lang in Cologne.")
        (texts / "questions.jsonl").write_text('{"id": "q", "text": "Where?"}\n')
        make(texts)
        return ["run", "dataset=folder", f"dataset.root={texts}", "method=bm25", "answer=off"]

    return Case(f"folder: {name}", given, expected)


def _swollen_docx(texts: Path) -> None:
    with zipfile.ZipFile(texts / "b.docx", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("word/document.xml", b" " * SWOLLEN)


def _locked_docx(texts: Path) -> None:
    """A zip whose flags say that its members are encrypted."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        made.writestr("word/document.xml", b"<w/>")
        made.writestr("[Content_Types].xml", b"<w/>")
    raw = bytearray(held.getvalue())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = raw.find(mark)
        while place >= 0:
            raw[place + at] |= 1
            place = raw.find(mark, place + 1)
    (texts / "b.docx").write_bytes(raw)


_IMPORT, _CACHE = ("artifacts", "import", "FILE"), ("cache", "import", "FILE")
FILES = (
    graph("an encoding that nobody knows", "g.graphml", _graphml(encoding="klingon-8")),
    graph("laughs by the billion", "g.graphml", _graphml(doctype=_LAUGHS, second="&a11;")),
    graph("a file of this machine", "g.graphml", _graphml(
        doctype="<!DOCTYPE g [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>", second="&x;")),
    graph("cut", "g.graphml", _graphml()[:200]),
    graph("an end that is not a node", "g.graphml", _graphml(target="Nobody"), EITHER),
    graph("no XML", "g.graphml", b"\0\1\2"),
    graph("a triple that is not UTF-8", "g.csv", b"Anna Roth,met,\xff\xfe\n"),
    graph("a field of a million letters", "g.csv", "Anna Roth,met," + "x" * 1_000_000, EITHER),
    graph("a quote that never closes", "g.csv", 'Anna Roth,met,"Bert' + "\nx" * 200_000, EITHER),
    graph("a deep triple", "g.jsonl", b"[" * 100_000 + b"]" * 100_000),
    graph("a triple with a lone surrogate", "g.jsonl", b'["Anna Roth", "met", "\\ud800"]\n'),
    tables("a level that is null", communities=[
        {"community": 0, "level": None, "entity_ids": ["1"]}]),
    tables("a level that is a text", communities=[
        {"community": 0, "level": "top", "entity_ids": ["1"]}]),
    tables("a community that is NaN", communities=[
        {"community": float("nan"), "level": 0, "entity_ids": ["1"]}]),
    tables("a column that is missing", relationships=[{"from": "A", "to": "B"}]),
    tables("a weight that is NaN", relationships=[
        {"source": "ANNA ROTH", "target": "BERT LANG", "weight": float("nan")}]),
    tables("a table of noise", entities=b"PAR1" + bytes(200) + b"PAR1"),
    archive("swollen", _IMPORT, "a.tar.gz", _swollen_tar),
    archive("a name that climbs", _IMPORT, "a.tar.gz", _tar(f"../../{CANARY}")),
    archive("a name from the root", _IMPORT, "a.tar.gz", _tar(f"/tmp/chaos-{CANARY}")),
    archive("a link", _IMPORT, "a.tar.gz", _tar("toy/graph/0123456789ab/x", link="/etc/passwd")),
    archive("noise", _IMPORT, "a.tar.gz", lambda path: path.write_bytes(b"\x1f\x8b" + bytes(99))),
    archive("a folder", _IMPORT, "a.tar.gz", Path.mkdir),
    archive("swollen", _CACHE, "r.jsonl.gz", lambda path: path.write_bytes(
        gzip.compress(b" " * SWOLLEN))),
    archive("cut", _CACHE, "r.jsonl.gz", lambda path: path.write_bytes(
        gzip.compress(os.urandom(9999))[:500])),
    archive("deep", _CACHE, "r.jsonl", lambda path: path.write_bytes(b"[" * 99_999 + b"\n")),
    folder("a name that is not UTF-8", lambda texts: Path(
        os.fsdecode(os.fsencode(texts) + b"/b\xff\xfe.txt")).write_text("Bert."), NAMED),
    folder("a name that steers the terminal", lambda texts: (
        texts / "b\x1b[2J.txt").write_text("Bert lives in Dresden.")),
    folder("a folder that links to itself", lambda texts: (texts / "loop").symlink_to(texts)),
    folder("a pipe that nobody writes", lambda texts: os.mkfifo(texts / "b.txt")),
    folder("a text that is not UTF-8", lambda texts: (texts / "b.txt").write_bytes(b"\xff\xfe"),
           NAMED),
    folder("20,000 nested tags", lambda texts: (texts / "b.html").write_text("<div>" * 20_000)),
    folder("a document of noise", lambda texts: (texts / "b.docx").write_bytes(b"PK\3\4" * 99),
           NAMED),
    folder("a locked document", _locked_docx, NAMED),
    folder("a swollen document", _swollen_docx),
    folder("a page description of noise", lambda texts: (
        texts / "b.pdf").write_bytes(b"%PDF-1.7"), NAMED),
)  # fmt: skip
