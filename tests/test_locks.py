"""Locks by lease, and caches on a drive that refuses the locks and maps of the system."""

import multiprocessing
import os
import sqlite3
import time
from contextlib import closing

import pytest
import refused_locks
from filelock import Timeout

from graphrag_bench import locks
from graphrag_bench.llm.cache import Cache, StoredVector
from graphrag_bench.llm.cache import cache_stats as stats

FORKS = multiprocessing.get_context("fork")


def test_a_lease_of_another_machine_or_of_nobody_is_taken_over_when_it_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "LEASE_SECONDS", 0.4)
    path = tmp_path / "run.lock"
    with locks.lock(path):
        marker = path.read_text()
        with pytest.raises(Timeout):
            locks.lock(path, 0)
    host = next(line for line in marker.splitlines() if line.startswith("host="))
    path.write_text(marker.replace(host, "host=elsewhere"))
    for _ in range(2):  # refusals do not start the time anew
        with pytest.raises(Timeout):
            locks.lock(path, 0)
        time.sleep(0.25)
    with locks.lock(path, 0):
        assert locks.lease_of(path).is_lock_held_by_us
    assert not path.exists()
    path.touch()  # a lock without an owner
    with pytest.raises(Timeout):
        locks.lock(path, 0)
    os.utime(path, (time.time() - 3600,) * 2)
    with locks.lock(path, 0):
        assert locks.lease_of(path).is_lock_held_by_us


def _store(path, name, n, killed):
    refused_locks.refuse_locks()
    cache = Cache(path)
    assert cache.by_lease
    for number in range(n):
        cache.put(StoredVector(f"{name}-{number}", "model", b"four" * 300))
    if killed:
        with cache._transaction("written") as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("PRAGMA cache_spill = 1")
            connection.execute("DELETE FROM cache")
            os._exit(9)


@pytest.mark.skipif(not refused_locks.AVAILABLE, reason="the filter of system calls is for x86-64")
@pytest.mark.parametrize("existing", ["none", "log"])
def test_processes_lose_no_reply_without_locks_of_the_system(tmp_path, existing):
    path = tmp_path / "replies.sqlite"
    if existing == "log":  # a home that was moved to a network drive
        with closing(Cache(path)) as cache:
            cache.put(StoredVector("old", "model", b"four"))
    both = [FORKS.Process(target=_store, args=(path, name, 8, name == "a")) for name in "ab"]
    for work in (FORKS.Process.start, FORKS.Process.join):
        list(map(work, both))
    assert [process.exitcode for process in both] == [9, 0]
    with closing(Cache(path)) as cache:
        assert cache.by_lease  # on this machine too: its header tells
    assert stats(path)["model"]["vectors"] == 16 + (existing == "log")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
