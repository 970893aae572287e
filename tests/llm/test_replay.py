"""Replies exported to a file and replayed without a model."""

from contextlib import closing

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
    how = {"max_tokens": 5, "purpose": "p", "fallback": City(name="-")}
    cities = [ask(model, chat(text), City, **how).name for text in ("good", "bad")]
    plain, failed = model.complete([chat("plain"), chat("filtered")], max_tokens=5)
    return cities, plain.text, plain.finish, failed.reason, model.meter.usage


@pytest.fixture
def recorded(tmp_path, chat):
    path, model = tmp_path / "replies.sqlite", Scripted(PLAN)
    with closing(Cache(path)) as store:
        outcome = everything(model.attached(store=store), chat)
    return path, model.identity, outcome


def test_a_replay_repeats_replies_and_failures_and_an_unknown_prompt_stops_the_run(
    recorded, tmp_path, chat
):
    store, identity, outcome = recorded
    for path in (store, tmp_path / "shared.jsonl", tmp_path / "shared.jsonl.gz"):
        assert path == store or export_rows(store, path) == 5
        replay = Replay(str(path))
        assert replay.identity == identity
        assert everything(replay, chat) == outcome
        with pytest.raises(RunStopped, match="another"):
            replay.complete([chat("another")], max_tokens=5)


def test_a_file_with_two_models_needs_an_identity(recorded, chat):
    path, other = recorded[0], Scripted({"": "x"})
    with closing(Cache(path)) as store:
        other.attached(store=store).complete([chat("a")], max_tokens=5)
    (reply,) = Replay(str(path), other.identity).complete([chat("a")], max_tokens=5)
    assert reply.text == "x"
    for identity, name in ((None, "llm.identity"), ("nobody", "nobody")):
        with pytest.raises(UserError, match=name):
            Replay(str(path), identity).complete([chat("a")], max_tokens=5)


def test_an_error_in_an_export_names_the_line(recorded, tmp_path):
    path = tmp_path / "shared.jsonl"
    export_rows(recorded[0], path)
    rows = path.read_text()
    for line in ("{", "[1]", '{"key": 1}'):
        path.write_text(f"{rows}{line}\n")
        with pytest.raises(UserError, match="line 7: "):
            import_rows(path, tmp_path / "new.sqlite")
