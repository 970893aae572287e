"""A live index: what it does to a change, what is left of what is gone, and who may do what."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_runs import TAGGER

import graphrag_bench as gb
from graphrag_bench.errors import UserError
from graphrag_bench.growing.live_index import LiveIndex

HERE = Path(__file__).parent
COUNTING = {"_target_": "counting_reader.reader"}
SETTINGS = {"embedder": "hashing", "nlp": TAGGER, "llm": COUNTING}
SECRET = "Zanzibar Quux"


def document(name: str, text: str, title: str = "") -> dict[str, str]:
    return {"id": name, "title": title, "text": text}


CORPUS = (
    document("a", "Ada Marsh founded Norvik Labs. Ada Marsh lives in Tarn.", "Ada Marsh"),
    document("b", "Norvik Labs built the Velden Bridge with Otto Lind.", "Norvik Labs"),
    document("c", "Otto Lind was born in Tarn and met Ada Marsh.", "Otto Lind"),
)
HIDDEN = document("s", f"{SECRET} met Ada Marsh in Tarn. {SECRET} keeps the Amber Key.", SECRET)


def made(folder: Path, method: str = "entitypassage", **settings: object) -> LiveIndex:
    return gb.index(folder, method=method, **{**SETTINGS, **settings})


def artifacts(folder: Path) -> dict[str, bytes]:
    """The columns of every artifact by their path below it; no recipes, which tell seconds."""
    root = folder / "artifacts" / "index"
    plain = ("recipe.json", "manifest.json", "ledger.jsonl")
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name not in plain and path.parent.name != "history"
    }


METHODS = {
    "entitypassage": {},
    "vanilla": {},
    "hipporag": {"build": {"extraction": "nlp"}},
    "llightrag": {"build": {"text_extraction": "nlp"}},
    "lgraphrag": {},
    "raptor": {},
}


@pytest.mark.parametrize("method", METHODS)
def test_what_is_changed_is_what_a_clean_build_makes(method: str, tmp_path: Path) -> None:
    settings = METHODS[method]
    grown, clean = made(tmp_path / "grown", method, **settings), tmp_path / "clean"
    grown.add(*CORPUS[:2])
    grown.add(HIDDEN, document("d", "Mira Sol painted Velden.", "Mira Sol"))
    with grown.change() as draft:
        draft.remove("s")
        draft.add(CORPUS[2])
        draft.update(document("d", "Mira Sol painted Tarn and Velden.", "Mira Sol"))
    whole = [*CORPUS[:2], document("d", "Mira Sol painted Tarn and Velden.", "Mira Sol"), CORPUS[2]]
    made(clean, method, **settings).add(*whole)
    assert artifacts(tmp_path / "grown") == artifacts(clean)


def test_a_change_says_what_it_did_and_pays_for_its_documents_alone(tmp_path: Path) -> None:
    index = made(tmp_path / "index", "hipporag", build={"extraction": "llm"})
    first = index.add(*CORPUS)
    assert (first.calls, first.calls_of_all) == (6, 6)
    second = index.add(document("d", "Mira Sol painted Tarn.", "Mira Sol"))
    assert (second.calls, second.calls_of_all) == (2, 8)
    assert str(second).startswith("1 of 4 documents new; 2 calls instead of 8; ")
    third = index.update(document("d", "Mira Sol painted Velden.", "Mira Sol"))
    assert (third.calls, str(third.documents)) == (2, "1 of 4 documents changed")
    fourth = index.remove("d", "c")
    assert (fourth.calls, str(fourth.documents)) == (0, "2 documents, 2 gone")
    assert (index.version, len(index)) == (4, 2)


def test_a_rebuild_keeps_the_replies_of_what_it_does_not_build(tmp_path: Path) -> None:
    index = made(tmp_path, "hipporag", build={"extraction": "llm"})
    index.add(*CORPUS)
    of_another_program(tmp_path)
    again = index.rebuild()
    assert (again.calls, again.calls_of_all) == (0, 6)
    again = index.add(document("d", "Mira Sol painted Tarn.", "Mira Sol"))
    assert (again.calls, again.calls_of_all) == (2, 8)


def test_a_change_of_several_documents_says_what_it_did_when_it_is_whole(tmp_path: Path) -> None:
    with made(tmp_path).change() as draft:
        draft.add(*CORPUS)
        with pytest.raises(UserError, match="not built yet"):
            _ = draft.committed
    assert str(draft.committed.documents) == "3 of 3 documents new"


def test_a_document_is_the_one_that_was_given_whatever_characters_it_has(tmp_path: Path) -> None:
    """Characters at which lines may end, and half a character."""
    index = made(tmp_path, "vanilla")
    for name in ("\u2028", "\u0085", "\x1c", "\r\n", "\ud800"):
        index.add(document(f"a{name}b", f"Ada{name}Marsh founded Norvik Labs.", f"Ada{name}"))
    read = gb.index(tmp_path).documents
    assert [row.text for row in read] == [row.text for row in index.documents]
    assert [row.id for row in read][3:] == ["a\r\nb", "a?b"]
    assert len(gb.index(tmp_path).ask("Who founded Norvik Labs?").context.pieces) == 5


def test_only_the_communities_that_a_document_touches_are_reported_on_again(
    tmp_path: Path,
) -> None:
    build = {"communities": "leiden_grown", "reports": "llm", "text_extraction": "nlp"}
    index = made(tmp_path, "lgraphrag", build=build)
    first = index.add(*CORPUS)
    far = index.add(document("d", "Mira Sol painted Lake Quell. Lake Quell inspired Ilse Brandt."))
    near = index.update(
        document("d", "Mira Sol painted Lake Quell. Lake Quell drowned Ilse Brandt.")
    )
    assert first.calls == first.calls_of_all > 0
    assert (far.calls, far.calls_of_all) == (1, first.calls + 1)
    assert (near.calls, near.calls_of_all) == (1, first.calls + 1)
    assert index.remove("d").calls == 0


@pytest.mark.parametrize("method", ["hipporag", "lgraphrag", "entitypassage", "raptor"])
def test_nothing_is_left_of_a_document_that_is_removed(method: str, tmp_path: Path) -> None:
    """Neither in artifacts nor in stored replies, readings or vectors, whatever state they had."""
    build = {"hipporag": {"extraction": "llm"}, "lgraphrag": {"reports": "llm"}}.get(method, {})
    index = made(tmp_path, method, **({"build": build} if build else {}))
    index.add(*CORPUS)
    index.add(HIDDEN)
    index.ask("Who keeps the Amber Key?")
    assert list(found_in(tmp_path))
    index.remove("s")
    assert not list(found_in(tmp_path))
    assert index.ask("Who keeps the Amber Key?").context.pieces


def found_in(folder: Path) -> Iterator[str]:
    """Where the secret is: in the bytes of a file, or in what a store has compressed."""
    words = [form.encode() for form in (SECRET, SECRET.lower(), "Amber Key", "amber key")]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and any(word in path.read_bytes() for word in words):
            yield str(path)
        if path.suffix == ".sqlite":
            yield from (f"{path}: a row" for cell in cells(path) if any(w in cell for w in words))


def cells(path: Path) -> Iterator[bytes]:
    """The contents of a store's rows, decompressed where they are compressed."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        for (table,) in tables:
            for row in connection.execute(f"SELECT * FROM {table}"):
                for cell in row:
                    raw = cell if isinstance(cell, bytes) else str(cell).encode()
                    try:
                        yield zlib.decompress(raw)
                    except zlib.error:
                        yield raw


def test_others_see_the_old_state_until_the_new_one_is_whole(tmp_path: Path) -> None:
    """A reader opened the state before; it is asked within the change, and after it."""
    writer = made(tmp_path)
    writer.add(*CORPUS[:2])
    reader = gb.index(tmp_path)
    before = reader.ask("Where was Otto Lind born?")
    with writer.change() as draft:
        draft.add(CORPUS[2])
        assert reader.version == 1
        assert reader.ask("Where was Otto Lind born?").context == before.context
        with pytest.raises(UserError, match="Another process is changing the index"):
            gb.index(tmp_path).add(HIDDEN)
    after = reader.ask("Where was Otto Lind born?")
    assert reader.version == 2
    assert any("born in Tarn" in piece.text for piece in after.context.pieces)


def test_a_reader_that_meets_files_of_a_state_that_is_gone_takes_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = made(tmp_path), gb.index(tmp_path)
    writer.add(*CORPUS)
    opens = LiveIndex._open
    n_opened = []

    def slow(self: LiveIndex, version: object) -> object:
        n_opened.append(version)
        if len(n_opened) == 1:
            writer.remove("c")
        return opens(self, version)  # type: ignore[arg-type]

    monkeypatch.setattr(LiveIndex, "_open", slow)
    assert reader.ask("Who founded Norvik Labs?").context.pieces
    assert len(n_opened) == 2


def test_a_change_that_fails_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    index = made(tmp_path)
    index.add(*CORPUS)
    with pytest.raises(ZeroDivisionError), index.change() as draft:
        draft.remove("a")
        _ = 1 / 0
    with pytest.raises(UserError, match="'b' is there already; update"):
        index.add(CORPUS[1])
    with pytest.raises(UserError, match=r"no document 'bb'.*'b'"):
        index.remove("bb")
    with pytest.raises(UserError, match="is a mapping with id and text"):
        index.add({"id": "x", "body": "text"})
    with pytest.raises(UserError, match="has no text"):
        index.add(document("x", "  "))
    assert (index.version, len(index)) == (1, 3)


def test_an_index_is_opened_as_it_was_made(tmp_path: Path) -> None:
    made(tmp_path).add(*CORPUS)
    assert gb.index(tmp_path).ask("Who founded Norvik Labs?").answer
    with pytest.raises(UserError, match="is of 'entitypassage', not of 'vanilla'"):
        gb.index(tmp_path, method="vanilla")
    with pytest.raises(UserError, match=r"other settings \(embedder\)"):
        gb.index(tmp_path, embedder="static")
    with pytest.raises(UserError, match="name its method"):
        gb.index(tmp_path / "none")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").write_text("mine")
    with pytest.raises(UserError, match="not empty"):
        gb.index(tmp_path / "full", method="vanilla")


def test_an_index_keeps_everything_in_its_folder(tmp_path: Path) -> None:
    for settings in ({"cache": {"path": "mine.sqlite"}}, {"paths": {"home": "."}}):
        with pytest.raises(UserError, match="an index keeps everything in its own folder"):
            gb.index(tmp_path / "index", method="vanilla", **settings)
    assert not (tmp_path / "index").exists()


def test_the_last_document_leaves_an_empty_index(tmp_path: Path) -> None:
    index = made(tmp_path)
    with pytest.raises(UserError, match="has no documents"):
        index.ask("Who?")
    index.add(CORPUS[0])
    index.remove("a")
    assert (len(index), artifacts(tmp_path)) == (0, {})
    with pytest.raises(UserError, match="has no documents"):
        index.ask("Who?")
    index.add(CORPUS[1])
    assert index.ask("Who built the Velden Bridge?").context.pieces


def test_a_state_of_another_program_is_named_and_rebuilt(tmp_path: Path) -> None:
    index = made(tmp_path)
    index.add(*CORPUS)
    of_another_program(tmp_path)
    with pytest.raises(UserError, match=r"index\.rebuild\(\)"):
        gb.index(tmp_path).ask("Who?")
    assert gb.index(tmp_path).rebuild().version == 2
    assert index.ask("Who founded Norvik Labs?").context.pieces


def of_another_program(folder: Path) -> None:
    """Make the state that holds one whose graph has another key."""
    path = folder / "current.json"
    held = json.loads(path.read_text())
    held["artifacts"]["graph"] = "0" * 12
    path.write_text(json.dumps(held))


def test_twenty_kills_in_the_middle_of_a_change_leave_the_old_state_or_the_new(
    tmp_path: Path,
) -> None:
    command = [sys.executable, str(HERE / "killed_writers.py"), str(tmp_path / "index"), "7", "20"]
    paths = os.pathsep.join([str(HERE.parent), *sys.path])
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=300,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 20
    for row in rows:
        assert len(row["documents"]) == 1, row
        assert row["context"] == row["documents"]
        assert row["version"] == row["documents"][0] + 1
    versions = [row["version"] for row in rows]
    assert versions == sorted(versions)
    assert versions[-1] > 1
    assert any(row["unfinished"] for row in rows)
