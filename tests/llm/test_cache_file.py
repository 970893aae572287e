"""The file of replies, vectors and readings: versions, other programs, threads, read-only disks."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import APPLICATION, Cache, StoredReading, StoredReply, StoredVector
from graphrag_bench.llm.calls import RunStopped

REPLY = StoredReply(
    "Ada “Marsh”", "stop", model="a-1", prompt_tokens=7, completion_tokens=3, usd=0.0000123,
    seconds=0.5, key="6e7bd3017619133f24580d62d9a822bc", identity="model-a", prompt=b"prompt",
    verdict="valid", created=1.7e9 + 0.125,
)  # fmt: skip
VECTOR = StoredVector("fb3c33bc4cf87e5425af2b00f6ca46f8", "hashing:2", b"numbers", "m", 4, 0.25)
READING = StoredReading("aaaa", "capitals:1", b"found")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.sqlite"


def _script(path: Path, text: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)


def test_rows_come_back_as_they_were_stored(path: Path) -> None:
    cache = Cache(path)
    assert cache.put(REPLY, VECTOR, READING) == 3
    cache.set_verdict(REPLY.key, "unreadable")
    cache.close()
    again = Cache(path, reading=True)
    assert again.get_many(StoredReading, ["aaaa", "none"]) == {"aaaa": READING}
    assert again.get_many(StoredVector, [VECTOR.key]) == {VECTOR.key: VECTOR}
    stored = again.get(REPLY.key)
    assert stored is not None and stored.verdict == "unreadable" and stored.text == REPLY.text


def test_a_readable_reply_stays_and_an_unreadable_one_is_replaced(path: Path) -> None:
    cache = Cache(path)
    other = StoredReply("later", key=REPLY.key, identity="model-a", prompt=b"prompt", verdict="new")
    cache.put(REPLY)
    cache.put(other)
    assert cache.get(REPLY.key) == REPLY
    cache.set_verdict(REPLY.key, "unreadable")
    cache.put(other)
    assert cache.get(REPLY.key) == other


def test_what_is_no_cache_of_ours_is_refused_and_left_as_it_is(path: Path) -> None:
    for script, name in (
        ("CREATE TABLE songs (title TEXT)", "another program"),
        (
            f"CREATE TABLE cache (key TEXT); PRAGMA application_id={APPLICATION}; "
            "PRAGMA user_version=3",
            "another version",
        ),
    ):
        _script(path, script)
        before = path.read_bytes()
        with pytest.raises(UserError, match=name):
            Cache(path)
        assert path.read_bytes() == before
        path.unlink()
    path.write_text("no database " * 100)
    with pytest.raises(UserError, match="replies.sqlite"):
        Cache(path)


def test_a_file_that_cannot_be_written_stops_the_run(path: Path) -> None:
    cache = Cache(path)
    _script(path, "DROP TABLE cache")
    with pytest.raises(RunStopped, match="replies.sqlite"):
        cache.put(REPLY)


def test_processes_that_begin_together_make_one_file(path: Path) -> None:
    script = f"from graphrag_bench.llm.cache import Cache; Cache({str(path)!r})"
    root = Path(__file__).parents[2]
    every = [subprocess.Popen([sys.executable, "-c", script], cwd=root) for _ in range(4)]
    assert [process.wait() for process in every] == [0] * 4
