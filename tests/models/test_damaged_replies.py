"""A stored reply that is not as it was written is named, left out and asked for again."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.models.cache_sharing import cache_stats, export_replies, import_replies
from graphrag_bench.models.cached import Cached
from graphrag_bench.models.fan_out import Request
from graphrag_bench.models.faults import NotAccepted
from graphrag_bench.models.replay import Replay
from graphrag_bench.models.reply_store import ReplyStore, StoredReply, StoredVector, StoredVectors
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.prompts import Message

REPLY = StoredReply("k1", "m", b"prompt", "new", "Dresden", "stop", "m", prompt_tokens=7, created=2)
VECTOR = StoredVector("k4", "e", b"\0\0\x80?", "e", 3, 0.5)
BLOCK = StoredVectors("k2", "e", 2, b"\0" * 8, "e", 3, 0)
WHERE = Request((Message("user", "Where?"),), 9)
CHANGES = (
    "text = 'Cologne'",
    "prompt_tokens = 9e18",
    "prompt_tokens = 'many'",
    "usd = x'00'",
    "usd = 0.5",
    "prompt = x'00'",
    "verdict = 'perhaps'",
    "verdict = 'unreadable'",
    "text = CAST(x'ff' AS TEXT)",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one reply, one block of vectors of an earlier version, and a vector."""
    store = ReplyStore(tmp_path / "replies.sqlite")
    store.put(REPLY)
    store.put_blocks([BLOCK])
    store.put_vectors([VECTOR])
    store.close()
    return store.path


def change(path: Path, *statements: str) -> None:
    """What another program does to the file."""
    with closing(sqlite3.connect(path)) as other:
        for statement in statements:
            other.execute(statement)
        other.commit()


def as_of_version_1(path: Path) -> None:
    """Leave the file as the version before marks wrote it."""
    dropped = (f"ALTER TABLE {table} DROP COLUMN mark" for table in ("replies", "vector_blocks"))
    change(path, *dropped, "DROP TABLE vectors", "PRAGMA user_version = 1")


def lines(said: str) -> Sequence[str]:
    return re.findall(r"^! The cache .*replies\.sqlite is damaged: the row .*", said, re.M)


def test_rows_are_handed_out_as_they_were_written_with_the_verdict_they_got_later(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store = ReplyStore(path)
    assert (store.get("k1"), store.block("k2")) == (REPLY, BLOCK)
    store.judge("k1", "valid")
    store.close()
    assert ReplyStore(path).get("k1") == replace(REPLY, verdict="valid")
    odd = replace(REPLY, key="k3", text="half \ud800", usd=-0.0, seconds=3)
    store = ReplyStore(path)
    store.put(odd)
    assert store.get("k3") == replace(odd, text="half ?")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("changed", CHANGES)
def test_a_changed_reply_is_named_left_out_and_asked_for_again_once(
    tmp_path: Path, changed: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "replies.sqlite"
    store = ReplyStore(path)
    paid = Cached(Scripted({"Where": "Dresden"}), store).call(WHERE)
    store.close()
    change(path, f"UPDATE replies SET {changed}")
    assert cache_stats(path) == []
    assert len(lines(capfd.readouterr().err)) == 1
    model = Scripted({"Where": "Dresden"})
    store = ReplyStore(path)
    again = Cached(model, store).call(WHERE)
    assert (again.text, len(model.asked)) == (paid.text, 1)
    assert len(lines(capfd.readouterr().err)) == 1
    store.close()
    assert Cached(model, ReplyStore(path)).call(WHERE).cached
    assert (len(model.asked), capfd.readouterr().err) == (1, "")


def test_a_changed_block_of_vectors_is_named_and_left_out_and_written_again(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    change(path, "UPDATE vector_blocks SET rows = x'0000803f00000000'")
    store = ReplyStore(path)
    assert store.block("k2") is None
    assert len(lines(capfd.readouterr().err)) == 1
    store.put_blocks([BLOCK])
    assert store.block("k2") == BLOCK


def test_a_replay_has_no_damaged_reply_and_an_export_holds_none(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "replies.sqlite"
    for prompt in ("Where?", "When?"):
        asked = Request((Message("user", prompt),), 9)
        Cached(Scripted({"Where": "Dresden", "When": "1900"}), ReplyStore(path)).call(asked)
    change(path, "UPDATE replies SET text = 'Cologne' WHERE rowid = 1")
    with pytest.raises(NotAccepted, match="holds no reply"):
        Replay(str(path)).call(WHERE)
    assert len(lines(capfd.readouterr().err)) == 1
    assert export_replies(path, tmp_path / "replies.jsonl") == 1
    assert len(lines(capfd.readouterr().err)) == 1


def test_an_import_mends_a_damaged_reply(path: Path, tmp_path: Path) -> None:
    export_replies(path, tmp_path / "replies.jsonl")
    change(path, "UPDATE replies SET text = 'Cologne'", "UPDATE vector_blocks SET rows = x'00'")
    change(path, "UPDATE vectors SET numbers = x'00'")
    assert import_replies(tmp_path / "replies.jsonl", path) == 3
    store = ReplyStore(path)
    assert (store.get("k1"), store.block("k2")) == (REPLY, BLOCK)
    assert store.vectors(["k4"]) == {"k4": VECTOR}


@pytest.mark.parametrize(
    "damage", ["DROP TABLE replies", "ALTER TABLE replies RENAME COLUMN text TO words"]
)
@pytest.mark.parametrize("reading", [False, True])
def test_a_store_without_its_table_is_damaged_and_no_new_one(
    path: Path, damage: str, reading: bool
) -> None:
    change(path, damage)
    with pytest.raises(UserError, match=r"replies\.sqlite is damaged: its table 'replies' is gone"):
        ReplyStore(path, reading=reading)


def test_a_store_of_version_1_is_read_as_it_is_and_gets_marks_where_it_is_written_to(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    as_of_version_1(path)
    before = path.read_bytes()
    old = ReplyStore(path, reading=True)
    assert (old.get("k1"), old.vectors(["k4"]), [*old.all_vectors()]) == (REPLY, {}, [BLOCK])
    assert path.read_bytes() == before
    store = ReplyStore(path)
    store.put(replace(REPLY, key="k3"))
    assert (store.get("k1"), store.block("k2")) == (REPLY, BLOCK)
    store.close()
    change(path, "UPDATE replies SET text = 'Cologne'")
    store = ReplyStore(path)
    assert store.get("k1") == replace(REPLY, text="Cologne")
    assert (store.get("k3"), len(lines(capfd.readouterr().err))) == (None, 1)


def test_a_reply_of_version_1_with_a_number_that_is_none_is_left_out(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    as_of_version_1(path)
    change(path, "UPDATE replies SET prompt_tokens = 'many'")
    assert [stats.prompt_tokens for stats in cache_stats(path)] == [3]
    assert len(lines(capfd.readouterr().err)) == 1
