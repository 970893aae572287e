"""Replies exported to a file and replayed without a model."""

import pytest
from pydantic import BaseModel

from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import Cache, export_rows, import_rows
from graphrag_bench.llm.calls import CallFailed, Completion, RunStopped
from graphrag_bench.llm.replay import Replay
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.structured import ask

PLAN = [
    ("could not be read", "still ?"),
    ("bad", "?"),
    ("good", '{"name": "Rome"}'),
    ("plain", Completion("a reply", "length", model="m", fingerprint="f", prompt_tokens=3,
                         completion_tokens=2, usd=0.25)),
    ("filtered", CallFailed("content_filter", "no")),
]  # fmt: skip


class City(BaseModel):
    name: str


def everything(model, chat):
    """One run with a readable, an unreadable, a cut and a failed reply."""
    cities = [
        ask(model, chat(text), City, max_tokens=5, purpose="p", fallback=City(name="-")).name
        for text in ("good", "bad")
    ]
    plain, failed = model.complete([chat("plain"), chat("filtered")], max_tokens=5)
    return cities, plain.text, plain.finish, failed.reason, model.meter.usage


@pytest.fixture
def recorded(tmp_path, chat):
    store = Cache(tmp_path / "replies.sqlite")
    model = Scripted(PLAN)
    outcome = everything(model.attached(store=store), chat)
    store.close()
    return tmp_path / "replies.sqlite", model.identity, outcome


def test_a_replay_repeats_replies_and_failures(recorded, tmp_path, chat):
    for name in ("shared.jsonl", "shared.jsonl.gz", None):
        store, identity, outcome = recorded
        path = tmp_path / name if name else store
        if name:
            assert export_rows(store, path) == 5
        replay = Replay(str(path))
        assert replay.identity == identity
        assert everything(replay, chat) == outcome


def test_an_unknown_prompt_stops_the_run(recorded, chat):
    with pytest.raises(RunStopped, match="another"):
        Replay(str(recorded[0])).complete([chat("another")], max_tokens=5)


def test_a_file_with_two_models_needs_an_identity(recorded, chat):
    store = Cache(recorded[0])
    other = Scripted({"": "x"})
    other.attached(store=store).complete([chat("a")], max_tokens=5)
    store.close()
    with pytest.raises(UserError, match="llm.identity"):
        Replay(str(recorded[0])).complete([chat("a")], max_tokens=5)
    (reply,) = Replay(str(recorded[0]), other.identity).complete([chat("a")], max_tokens=5)
    assert reply.text == "x"
    with pytest.raises(UserError, match="nobody"):
        Replay(str(recorded[0]), "nobody").complete([chat("a")], max_tokens=5)


@pytest.mark.parametrize("line", ["{", "[1]", '{"key": 1}'])
def test_an_error_in_an_export_names_the_line(recorded, tmp_path, line):
    path = tmp_path / "shared.jsonl"
    export_rows(recorded[0], path)
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UserError, match="line 7: "):
        import_rows(path, tmp_path / "new.sqlite")
