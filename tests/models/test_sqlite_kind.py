"""A store of another program is never changed, and ours can be read where nothing is writable."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.models.cache_sharing import cache_stats, import_replies
from graphrag_bench.models.outcomes import RunStopped
from graphrag_bench.models.replay import Replay
from graphrag_bench.models.reply_store import ReplyStore, StoredReply

REPLY = StoredReply("k", "model", b"", "valid", text="Paris", prompt_tokens=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "there"
    made.mkdir()
    return made


def stored(path: Path) -> Path:
    store = ReplyStore(path)
    store.put(REPLY)
    store.close()
    return path


def foreign(path: Path, application: int = 0) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id={application}")
        connection.execute("CREATE TABLE contacts (name TEXT)")
        connection.execute("INSERT INTO contacts VALUES ('Ada')")
        connection.commit()
    return path


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.parametrize("application", [0, 7])
def test_the_file_of_another_program_is_refused_and_left_as_it_is(
    folder: Path, tmp_path: Path, application: int
) -> None:
    path = foreign(folder / "contacts.db", application)
    exported = stored(tmp_path / "replies.sqlite")
    before = state(folder)
    for use in (
        lambda: cache_stats(path),
        lambda: import_replies(exported, path),
        lambda: ReplyStore(path),
        lambda: ReplyStore(path, "rollback"),
        lambda: Replay(str(path)).identity,
    ):
        with pytest.raises(UserError, match="of another program and is left as it is"):
            use()
        assert state(folder) == before


def test_a_table_of_the_same_name_makes_no_file_ours(folder: Path) -> None:
    path = folder / "theirs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE replies (key TEXT, letter TEXT)")
    before = state(folder)
    with pytest.raises(UserError, match="another program"):
        ReplyStore(path)
    assert state(folder) == before


def test_pages_that_were_overwritten_end_in_one_message(folder: Path) -> None:
    path = stored(folder / "replies.sqlite")
    held = bytearray(path.read_bytes())
    for start in range(4096, len(held), 4096):
        held[start : start + 64] = b"\xff" * 64
    path.write_bytes(held)
    for use in (lambda: cache_stats(path), lambda: ReplyStore(path).get("k")):
        with pytest.raises(UserError, match="replies.sqlite cannot be"):
            use()


def test_reading_leaves_nothing_behind(folder: Path) -> None:
    path = stored(folder / "replies.sqlite")
    Path(f"{path}.lock").unlink(missing_ok=True)
    before = state(folder)
    assert cache_stats(path)[0].verdicts == (("valid", 1),)
    assert state(folder) == before


def test_what_another_process_has_not_closed_yet_is_read_too(folder: Path) -> None:
    store = ReplyStore(folder / "replies.sqlite")
    store.put(REPLY)
    assert cache_stats(store.path)[0].verdicts == (("valid", 1),)
    store.put(StoredReply("l", "model", b"", "valid", text="Rome"))
    assert cache_stats(store.path)[0].verdicts == (("valid", 2),)
    store.close()


@pytest.mark.parametrize("look", [ReplyStore, cache_stats])
def test_who_looks_at_a_file_once_more_keeps_its_log_from_other_processes(
    folder: Path, look: Callable[[Path], object]
) -> None:
    store = ReplyStore(folder / "replies.sqlite")
    look(store.path)
    other = (
        "import sqlite3, sys; there = sqlite3.connect(sys.argv[1]); "
        "there.execute('SELECT count(*) FROM replies').fetchone(); there.close()"
    )
    subprocess.run([sys.executable, "-c", other, str(store.path)], check=True)
    assert Path(f"{store.path}-wal").is_file()
    store.put(REPLY)
    assert cache_stats(store.path)[0].verdicts == (("valid", 1),)
    store.close()


def test_a_file_that_is_whole_with_its_log_alone_is_ours(folder: Path) -> None:
    """As a process leaves it that was killed while it took over the log."""
    path = folder / "replies.sqlite"
    store = ReplyStore(path)
    before = path.read_bytes()
    for number in range(40):
        store.put(replace(REPLY, key=str(number), text="Paris" * 500))
    log = Path(f"{path}-wal").read_bytes()
    store.close()
    first_page = path.read_bytes()[:4096]
    path.write_bytes(first_page + before[4096:])
    Path(f"{path}-wal").write_bytes(log)
    again = ReplyStore(path)
    assert len(list(again.rows())) == 40
    again.close()


def test_a_store_that_is_read_is_never_written(folder: Path) -> None:
    store = ReplyStore(stored(folder / "replies.sqlite"), reading=True)
    assert store.get("k") == REPLY
    with pytest.raises(RunStopped, match="is read, and not written to"):
        store.put(REPLY)
    store.close()


def test_a_store_is_read_where_nothing_can_be_written() -> None:
    """By a process without the rights to write there, which the superuser gives up for it."""
    folder = Path(tempfile.mkdtemp(prefix="read-only-", dir="/tmp"))
    try:
        path = stored(folder / "replies.sqlite")
        path.chmod(0o444)
        folder.chmod(0o555)
        child = os.fork()
        if child == 0:
            os._exit(_read_without_rights(path))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert {one.name for one in folder.iterdir()} <= {path.name, f"{path.name}.lock"}
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def _read_without_rights(path: Path) -> int:
    try:
        if os.geteuid() == 0:
            os.setuid(65534)
        assert not os.access(path.parent, os.W_OK)
        assert cache_stats(path)[0].verdicts == (("valid", 1),)
        assert Replay(str(path)).identity == "model"
        found = ReplyStore(path, reading=True).get("k")
        assert found is not None and found.text == "Paris"
        with pytest.raises(UserError, match="cache.mode=read"):
            ReplyStore(path)
    except BaseException:  # noqa: BLE001 (a forked process)
        traceback.print_exc()
        return 1
    return 0
