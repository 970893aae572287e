"""The file of replies, vectors and readings: versions, other programs, threads, read-only disks."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import Cache, StoredReading, StoredReply, StoredVector
from graphrag_bench.llm.calls import RunStopped

REPLY = StoredReply(
    "6e7bd3017619133f24580d62d9a822bc", "model-a", b"prompt", "valid", "Ada “Marsh”", "stop",
    "a-1", prompt_tokens=7, completion_tokens=3, usd=0.0000123, seconds=0.5, created=1.7e9 + 0.125,
)  # fmt: skip
FAILED = StoredReply("357b", "model-a", b"p", "failed", text="no", reason="refused")
VECTOR = StoredVector("fb3c33bc4cf87e5425af2b00f6ca46f8", "hashing:2", b"numbers", "m", 4, 0.25)
READING = StoredReading("aaaa", "capitals:1", b"found")
VERSION_3 = """
CREATE TABLE replies (key TEXT NOT NULL, identity TEXT NOT NULL, prompt BLOB NOT NULL,
  verdict TEXT NOT NULL, text TEXT NOT NULL, finish TEXT NOT NULL, model TEXT NOT NULL,
  fingerprint TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL, usd REAL NOT NULL, seconds REAL NOT NULL,
  retries INTEGER NOT NULL, reason TEXT NOT NULL, created REAL NOT NULL,
  mark TEXT NOT NULL DEFAULT '', PRIMARY KEY (key));
INSERT INTO replies VALUES('6e7bd3017619133f24580d62d9a822bc','model-a',CAST('prompt' AS BLOB),
  'valid','Ada “Marsh”','stop','a-1','',7,3,0,1.23e-05,0.5,0,'',1700000000.125,'3cde0dfe1db2fe26');
INSERT INTO replies VALUES('357b','model-a',CAST('p' AS BLOB),
  'failed','no','','','',0,0,0,0.0,0.0,0,'refused',0.0,'2ccce2615624e46b');
CREATE TABLE vector_blocks (key TEXT NOT NULL, identity TEXT NOT NULL, dimension INTEGER NOT NULL,
  rows BLOB NOT NULL, model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, usd REAL NOT NULL,
  mark TEXT NOT NULL DEFAULT '', PRIMARY KEY (key));
CREATE TABLE vectors (key TEXT NOT NULL, identity TEXT NOT NULL, numbers BLOB NOT NULL,
  model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, usd REAL NOT NULL,
  mark TEXT NOT NULL DEFAULT '', PRIMARY KEY (key));
INSERT INTO vectors VALUES('fb3c33bc4cf87e5425af2b00f6ca46f8','hashing:2',
  CAST('numbers' AS BLOB),'m',4,0.25,'7ef1f9a9eda8abf8');
CREATE TABLE readings (key TEXT NOT NULL, identity TEXT NOT NULL, found BLOB NOT NULL,
  mark TEXT NOT NULL DEFAULT '', PRIMARY KEY (key));
INSERT INTO readings VALUES('aaaa','capitals:1',CAST('found' AS BLOB),'fcedc3db622ae2a3');
PRAGMA application_id=1196573255;
PRAGMA user_version=3;
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.sqlite"


def _script(path: Path, text: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)


def test_a_file_of_version_3_is_read_as_it_is_and_becomes_one_of_this_version(path: Path) -> None:
    _script(path, VERSION_3)
    before = path.read_bytes()
    reading = Cache(path, reading=True)
    rows = [FAILED, REPLY, VECTOR, READING]
    assert list(reading.rows()) == rows
    assert reading.get(REPLY.key) == REPLY and reading.some(StoredVector, [VECTOR.key]) == {
        VECTOR.key: VECTOR
    }
    reading.close()
    assert path.read_bytes() == before
    for _ in range(2):
        cache = Cache(path)
        assert list(cache.rows()) == rows
        cache.close()


def test_rows_come_back_as_they_were_stored(path: Path) -> None:
    cache = Cache(path)
    assert cache.put(REPLY, VECTOR, READING) == 3
    cache.judge(REPLY.key, "unreadable")
    cache.close()
    again = Cache(path, reading=True)
    assert again.some(StoredReading, ["aaaa", "none"]) == {"aaaa": READING}
    assert again.some(StoredVector, [VECTOR.key]) == {VECTOR.key: VECTOR}
    stored = again.get(REPLY.key)
    assert stored is not None and stored.verdict == "unreadable" and stored.text == REPLY.text


def test_a_readable_reply_stays_and_an_unreadable_one_is_replaced(path: Path) -> None:
    cache = Cache(path)
    other = StoredReply(REPLY.key, "model-a", b"prompt", "new", "later")
    cache.put(REPLY)
    cache.put(other)
    assert cache.get(REPLY.key) == REPLY
    cache.judge(REPLY.key, "unreadable")
    cache.put(other)
    assert cache.get(REPLY.key) == other


def test_threads_of_two_caches_write_one_file(path: Path) -> None:
    caches = [Cache(path), Cache(path)]

    def write(number: int) -> None:
        for part in range(25):
            caches[number % 2].put(StoredReply(f"{number}-{part}", "m", b"", "valid"))

    threads = [threading.Thread(target=write, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(caches[0].rows())) == 200


def test_what_is_no_cache_of_ours_is_refused_and_left_as_it_is(path: Path) -> None:
    for script, name in (
        ("CREATE TABLE songs (title TEXT)", "another program"),
        ("PRAGMA user_version=99", "another version"),
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
