"""Answers that no server should give end in a reply or one clear failure, and never in a hang."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from graphrag_bench.models import sqlite_file
from graphrag_bench.models.budget import Budget
from graphrag_bench.models.cached import Cached
from graphrag_bench.models.ledger import Ledger, read_ledger
from graphrag_bench.models.llm import Metered
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.openai_embedder import OpenAIEmbedder
from graphrag_bench.models.outcomes import CallFailed, Completion, RunStopped
from graphrag_bench.models.reply_store import ReplyStore, StoredReply
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.models.spending import OwnAccount

pytestmark = pytest.mark.slow

FAST = {"first_pause": 0.01, "longest_pause": 0.02, "total": 5.0}
DEEP = "[" * 200_000 + "]" * 200_000


def ended(call):
    """What `call` returns, or the error it raises; fails when it takes longer than 20 seconds."""
    found = []

    def run():
        try:
            found.append(call())
        except (RunStopped, CallFailed) as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert found, "it hangs, or its thread died"
    return found[0]


def answer(**more):
    message = {"role": "assistant", "content": "Paris"}
    return {"model": "fake", "choices": [{"message": message, "finish_reason": "stop"}], **more}


def outcome_of(fake, chat, tmp_path, body):
    """The outcome of one call through cache and ledger, and the lines of the ledger."""
    url = fake.scenario(raw_status=200, raw_body=body)
    store, ledger = ReplyStore(tmp_path / "replies.sqlite"), Ledger(tmp_path / "ledger.jsonl")
    model = Cached(OpenAICompatible("fake", url, None, patience=FAST), store)
    meter = Metered(model, log=ledger.at("generate", "answer"))
    outcome = ended(lambda: meter.complete([chat("Which city?")], max_tokens=9)[0])
    held = list(store.rows())
    store.close()
    return outcome, held, list(read_ledger(ledger.path))


@pytest.mark.parametrize(
    "usage",
    [
        "many", ["prompt_tokens", 3], 7, {"prompt_tokens": 10**30, "completion_tokens": 1},
        {"prompt_tokens": -5, "completion_tokens": 1}, {"prompt_tokens": True},
        {"prompt_tokens": 3, "completion_tokens": 1, "completion_tokens_details": [1, 2]},
        {"prompt_tokens": 3, "completion_tokens": 1, "completion_tokens_details": "none"},
        {"prompt_tokens": 3, "completion_tokens": 10**19},
    ],
    ids=str,
)  # fmt: skip
def test_a_paid_reply_with_odd_usage_reaches_cache_and_ledger(fake, chat, tmp_path, usage):
    body = json.dumps(answer(usage=usage))
    outcome, held, lines = outcome_of(fake, chat, tmp_path, body)
    assert isinstance(outcome, Completion) and outcome.text == "Paris"
    assert [row.text for row in held] == ["Paris"]
    assert [0 < line.prompt_tokens < 100 for line in lines] == [True]


@pytest.mark.parametrize(
    "odd",
    [
        {"model": ["fake"]}, {"system_fingerprint": {"a": "b"}},
        {"choices": [{"message": {"content": "Paris", "reasoning": ["so"]}}]},
        {"choices": [{"message": {"content": "Par\ud800is"}}]},
    ],
    ids=["model", "fingerprint", "reasoning", "half a character"],
)  # fmt: skip
def test_a_paid_reply_with_odd_fields_reaches_the_cache(fake, chat, tmp_path, odd):
    outcome, held, _ = outcome_of(fake, chat, tmp_path, json.dumps(answer(**odd)))
    assert isinstance(outcome, Completion) and outcome.text.startswith("Par")
    assert [row.text for row in held] == [outcome.text]


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(answer()).replace('"Paris"', DEEP),
        json.dumps(answer(extra="\u00e9")).replace('"fake"', DEEP),
        json.dumps({"choices": [{"message": {"refusal": ["no"], "content": "x"}}]}),
        json.dumps({"error": ["broken"]}), json.dumps({"choices": "none"}),
    ],
    ids=["deep content", "deep and escaped", "refusal", "error", "choices"],
)  # fmt: skip
def test_an_answer_without_a_reply_is_one_clear_failure(fake, chat, tmp_path, body):
    outcome, _, _ = outcome_of(fake, chat, tmp_path, body)
    assert isinstance(outcome, CallFailed | RunStopped)
    assert 0 < len(str(outcome)) < 800


def test_a_prompt_with_half_a_character_is_sent(fake, chat):
    url = fake.scenario(text="Paris")
    model = OpenAICompatible("fake", url, None, patience=FAST)
    assert model.complete([chat("Who \ud800?")], max_tokens=9)[0].text == "Paris"


@pytest.mark.parametrize("status", [400, 413, 500])
def test_a_prompt_beyond_the_window_fails_that_call_alone(fake, chat, status):
    said = {"error": {"message": "This model's maximum context length is 8192 tokens."}}
    url = fake.scenario(raw_status=status, raw_body=json.dumps(said))
    outcome = ended(
        lambda: OpenAICompatible("fake", url, None, patience=FAST).complete(
            [chat("x")], max_tokens=9
        )[0]
    )
    assert isinstance(outcome, CallFailed) and outcome.reason == "context_overflow"
    assert not outcome.of_server and "maximum context length" in str(outcome)


def vectors(*rows, **more):
    found = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
    return {"model": "fake", "data": found, "usage": {"prompt_tokens": 5}, **more}


def embedded(fake, tmp_path, body, budget=None):
    url = fake.scenario(raw_status=200, raw_body=json.dumps(body))
    ledger = Ledger(tmp_path / "ledger.jsonl")
    made = OpenAIEmbedder("fake", 2, url, None, patience=FAST).attached(
        budget=budget, log=ledger.at("embedding", "embedder", kind="embedding")
    )
    found = ended(lambda: made.encode(["a", "bb"], kind="passage"))
    return found, list(read_ledger(ledger.path))


@pytest.mark.parametrize("row", [[float("nan"), 1.0], [0.0, 0.0], [float("inf"), 1.0], [1e39, 1.0]])
def test_a_vector_without_a_direction_is_refused_and_paid_for(fake, tmp_path, row):
    budget = Budget(1000, account=OwnAccount())
    found, lines = embedded(fake, tmp_path, vectors([1.0, 0.0], row), budget)
    assert isinstance(found, CallFailed) and "without a direction" in str(found)
    assert [line.prompt_tokens for line in lines] == [5]
    assert budget.spent.tokens == 5


@pytest.mark.parametrize("indices", [(0, 0), (1, 2), (0, 10**400), ("a", 1)])
def test_vectors_that_are_not_numbered_once_each_are_refused(fake, tmp_path, indices):
    body = vectors([1.0, 0.0], [0.0, 1.0])
    for row, index in zip(body["data"], indices, strict=True):
        row["index"] = index
    text = json.dumps(body).replace(str(10**400), "1e999")
    found, _ = embedded(fake, tmp_path, json.loads(text))
    assert isinstance(found, CallFailed | RunStopped)


@pytest.mark.parametrize("usage", ["five", [5], {"prompt_tokens": 10**30}])
def test_vectors_with_odd_usage_are_taken(fake, tmp_path, usage):
    found, lines = embedded(fake, tmp_path, vectors([3.0, 0.0], [0.0, 2.0], usage=usage))
    np.testing.assert_allclose(found, [[1, 0], [0, 1]])
    assert [0 < line.prompt_tokens < 10 for line in lines] == [True]


def row_of(key, **values):
    return StoredReply(key, "model", b"{}", "valid", **{"text": "x", "created": 0.0, **values})


def test_a_row_that_the_file_cannot_hold_fails_alone(tmp_path):
    store = ReplyStore(tmp_path / "replies.sqlite")
    wrong = ended(lambda: store.put(row_of("a", prompt_tokens=10**30)))
    assert isinstance(wrong, RunStopped) and "OverflowError" in str(wrong)
    assert ended(lambda: store.put(row_of("b", text="half \ud800"))).key == "b"
    assert store.get("b").text == "half ?"
    ended(lambda: store.close() or True)


def test_of_writes_that_share_a_commit_only_the_wrong_one_fails(tmp_path):
    file = sqlite_file.SqliteFile(
        tmp_path / "x.sqlite", lambda c: c.execute("CREATE TABLE t (n INT)"), 1, own=("t", ("n",))
    )
    commits = sqlite_file.Commits(file)
    values = [1, 10**30, 2]
    futures = [
        commits.submit(lambda c, n=n: c.execute("INSERT INTO t VALUES (?)", (n,)), may_wait=n > 1)
        for n in reversed(values)
    ]
    outcomes = [ended(lambda f=future: f.exception(10) or True) for future in futures]
    assert [outcome is True for outcome in outcomes] == [True, False, True]
    ended(lambda: commits.close() or True)
    with sqlite_file.Session(file).connection() as connection:
        assert connection.execute("SELECT sum(n) FROM t").fetchone() == (3,)


def test_the_death_of_the_writer_ends_the_run_with_its_reason(tmp_path, chat, monkeypatch):
    def broken(*_):
        raise RuntimeError("the disk caught fire")

    store = ReplyStore(tmp_path / "replies.sqlite")
    monkeypatch.setattr(sqlite_file, "_commit", broken)
    model = Cached(Scripted(answer=lambda _: "x", concurrency=4), store)
    stopped = ended(lambda: model.complete([chat(f"#{n}") for n in range(20)], max_tokens=5))
    assert isinstance(stopped, RunStopped) and "the disk caught fire" in str(stopped)
    again = ended(lambda: store.put(row_of("later")))
    assert isinstance(again, RunStopped) and "the disk caught fire" in str(again)
    ended(lambda: store.close() or True)
