"""Faults and limits of a server, over real HTTP: what is tried again, what stops, and when."""

import socket
import time

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.models.attempts import Clock
from graphrag_bench.models.llm import reply
from graphrag_bench.models.openai_compatible import OpenAICompatible
from graphrag_bench.models.outcomes import CallFailed, Completion, RunStopped

pytestmark = pytest.mark.slow

FAST = {"first_pause": 0.01, "longest_pause": 0.05, "total": 5.0}


def client(url, **more):
    return OpenAICompatible("fake", url, None, **{"patience": FAST, **more})


def ask(model, prompt, **more):
    return reply(model, prompt, **{"max_tokens": 20, **more})


def failure(model, prompt, **more):
    (outcome,) = model.complete([prompt], **{"max_tokens": 20, **more})
    assert isinstance(outcome, CallFailed)
    return outcome


def test_faults_of_the_server_are_tried_again(fake, chat):
    url = fake.scenario(fail_first=3)
    assert ask(client(url), chat("x")).retries == 3


@pytest.mark.parametrize("fault", ["reset", "cut", "broken_body"])
def test_connections_that_break_are_tried_again(fake, chat, fault):
    url = fake.scenario(**{f"share_{fault}": 0.5, "seed": 3})
    got = client(url).complete([chat(f"#{n}") for n in range(10)], max_tokens=5)
    assert [one.text for one in got] == [f"reply {n}" for n in range(10)]
    assert sum(one.retries for one in got) == fake.stats(url).faults[fault] > 0


def test_a_server_that_does_not_answer_in_time_is_asked_again(fake, chat):
    url = fake.scenario(share_timeout=0.5, timeout=3, seed=1)
    model = client(url, patience={**FAST, "read": 0.2}, limits={"concurrency": 8})
    got = model.complete([chat(f"#{n}") for n in range(8)], max_tokens=5)
    assert all(isinstance(one, Completion) for one in got)


def test_retry_after_is_honoured_and_concurrency_is_cut(fake, chat):
    url = fake.scenario(latency=0.02, overload_above=2, retry_after=0.1)
    model = client(url, limits={"concurrency": 8})
    got = model.complete([chat(f"#{n}") for n in range(30)], max_tokens=5)
    assert all(isinstance(one, Completion) for one in got)
    stats = fake.stats(url)
    assert stats.faults["429"] < 60 and model.endpoint.attempts.width.allowed < 8


def test_patience_has_an_end(fake, chat):
    url = fake.scenario(raw_status=503, raw_body="busy")
    model = client(url, patience={**FAST, "total": 0.2})
    with pytest.raises(RunStopped, match="taken no call"):
        ask(model, chat("x"))
    url = fake.scenario(share_500=0.7, seed=5, retry_after=None)
    model = client(url, patience={**FAST, "total": 0.02})
    model.endpoint.attempts.proven = True
    outcomes = model.complete([chat(f"#{n}") for n in range(20)], max_tokens=5)
    failed = [one for one in outcomes if isinstance(one, CallFailed)]
    assert failed and all(one.reason == "retries_exhausted" for one in failed)


def test_a_wait_longer_than_patience_stops_the_run(fake, chat):
    url = fake.scenario(raw_status=429, raw_body="daily", raw_headers={"retry-after": "3600"})
    with pytest.raises(RunStopped, match="wait 3600 s"):
        ask(client(url), chat("x"))


def test_back_off_doubles_with_jitter_up_to_a_bound(fake, chat):
    slept = []
    clock = Clock(sleep=slept.append, jitter=lambda: 1.0)
    url = fake.scenario(fail_first=5, retry_after=None)
    patience = {"first_pause": 0.5, "longest_pause": 3.0}
    ask(client(url, patience=patience, clock=clock), chat("x"))
    assert slept == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_bad_key_stops_at_the_first_call(fake, chat, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "wrong")
    url = fake.scenario(key="right")
    model = OpenAICompatible("fake", url, "SOME_KEY", limits={"concurrency": 8})
    with pytest.raises(RunStopped, match="key in SOME_KEY"):
        model.complete([chat(f"#{n}") for n in range(50)], max_tokens=5)
    assert fake.stats(url).requests == 1


def test_an_unknown_model_stops_and_names_it(fake, chat):
    with pytest.raises(RunStopped, match="no model 'fake'.*base_url"):
        ask(client(fake.scenario(models=["other"])), chat("x"))


def test_spent_quota_stops(fake, chat):
    url = fake.scenario(raw_status=429, raw_body='{"error": {"code": "insufficient_quota"}}')
    with pytest.raises(RunStopped, match="no quota left"):
        ask(client(url), chat("x"))


def test_no_server_stops_with_the_address_and_what_to_do(chat):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = client(f"http://127.0.0.1:{port}/v1")
    with pytest.raises(RunStopped, match=rf"127.0.0.1:{port}/v1.*Start the server"):
        ask(model, chat("x"))


def test_a_web_page_is_no_api(fake, chat):
    with pytest.raises(RunStopped, match="web page.*ends in /v1"):
        ask(client(fake.scenario(raw_status=200, raw_body="<html>hello</html>")), chat("x"))


def test_an_address_without_a_scheme_is_refused_at_once():
    with pytest.raises(UserError, match="http://"):
        OpenAICompatible("m", "localhost:8000/v1")


@pytest.mark.parametrize("begin", ["http://", "https://", ""])
def test_an_address_with_a_password_is_refused_and_shown_without(begin):
    with pytest.raises(UserError) as raised:
        OpenAICompatible("m", f"{begin}someone:secret@host:81/v1")
    assert "secret" not in str(raised.value) and "host:81/v1" in str(raised.value)


def test_a_missing_key_is_named_when_the_first_call_comes(fake, chat, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    model = OpenAICompatible("fake", fake.scenario(), "NO_SUCH_KEY")
    with pytest.raises(UserError, match="NO_SUCH_KEY is not set"):
        ask(model, chat("x"))


def test_an_error_sent_with_status_200_is_still_an_error(fake, chat):
    url = fake.scenario(raw_status=200, raw_body='{"error": {"code": 401, "message": "no"}}')
    with pytest.raises(RunStopped, match="HTTP 401"):
        ask(client(url), chat("x"))


def test_limits_are_kept_as_the_server_sees_them(fake, chat):
    minute = 0.6
    url = fake.scenario(minute=minute, latency=0.01)
    clock = Clock(minute=minute, guard=0.15)
    limits = {"concurrency": 8, "requests_per_minute": 12, "tokens_per_minute": 400}
    model = client(url, limits=limits, clock=clock)
    began = time.monotonic()
    model.complete([chat(f"#{n} " + "word " * (n % 20)) for n in range(30)], max_tokens=10)
    stats = fake.stats(url)
    assert stats.most_requests <= 12 and stats.most_tokens <= 400
    assert stats.answered.total() == 30 and not stats.faults
    assert time.monotonic() - began < 8


def test_a_call_that_can_never_be_let_through_fails_at_once(fake, chat):
    model = client(fake.scenario(), limits={"tokens_per_minute": 50})
    failed = failure(model, chat("x"), max_tokens=100)
    assert failed.reason == "refused" and "tokens_per_minute=50" in str(failed)
