"""Retries, errors, rate limits and secrets of a server, over HTTP."""

import logging
import pickle
import threading
import time
import traceback

import pytest

from graphrag_bench import terminal
from graphrag_bench.embedding.openai_embedder import OpenAIEmbedder
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, Completion, RunStopped
from graphrag_bench.llm.chat import reply
from graphrag_bench.llm.http import stated_wait
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.server import RateLimiter

pytestmark = pytest.mark.slow

KEY = "sk-planted-0123456789abcdef"


def client(url, key=None, **more):
    return OpenAICompatible("fake", url, key, **more)


def ask(model, prompt):
    return reply(model, prompt, max_tokens=20)


def test_server_errors_are_retried_after_the_stated_wait(fake, chat):
    url = fake.scenario(fail_first=2, retry_after=0.05)
    assert ask(client(url), chat("x")).retries == 2
    busy = fake.scenario(shares={"429": 0.5}, retry_after=0.05, seed=1)
    replies = client(busy).complete([chat(f"#{n}") for n in range(10)], max_tokens=5)
    assert [one.text for one in replies] == [f"reply {n}" for n in range(10)]
    assert sum(one.retries for one in replies) == fake.stats(busy).faults["429"] > 0


def test_a_429_is_retried_after_the_wait_in_its_text(fake, chat):
    for text, seconds in (
        ("Please try again in 1m2.5s. Visit billing to add credits.", 62.5),
        ("Please retry after 20 seconds", 20),
        ('{"error": {"details": [{"retryDelay": "34s"}]}}', 34),
        ('{"retry_after": 3}', 3),
        ("try again in 120ms", 0.12),
        ("You exceeded your quota. Check your plan and billing.", None),
    ):
        assert stated_wait(text) == seconds
    text = "Quota exceeded, please try again in 0.7s, or visit billing."
    url = fake.scenario(shares={"429": 0.5}, wait_text=text, seed=1)
    began, answer = time.monotonic(), ask(client(url), chat("x"))
    assert answer.retries > 0 and time.monotonic() - began >= 0.7 * answer.retries


def test_calls_fail_after_the_last_retry(fake, chat):
    model = client(fake.scenario(fail_word="bad", retry_after=0.01), retries=3)
    with pytest.raises(RunStopped, match="accepted no call"):
        ask(model, chat("bad"))
    model.server._stopped_at = 0.0
    assert ask(model, chat("good")).text
    (failed,) = model.complete([chat("bad")], max_tokens=5)
    assert failed.reason == "retries_exhausted" and failed.of_server and failed.retries == 3
    assert "4 attempts" in str(failed) and "HTTP 500" in str(failed)


def test_errors_of_account_model_and_address_and_a_missing_server_stop_the_run(fake, chat):
    for scenario, message in (
        ({"models": ["other"]}, "'fake'.*base_url"),
        ({"raw_status": 402, "raw_body": '{"error": "pay first"}'}, "quota.*pay first"),
        ({"raw_status": 200, "raw_body": "<html>hello</html>"}, "web page.*hello.*base_url.*/v1"),
        ({"raw_status": 200, "raw_body": '{"error": {"code": 401, "message": "no"}}'}, "HTTP 401"),
    ):
        url = fake.scenario(**scenario)
        with pytest.raises(RunStopped, match=message):
            ask(client(url), chat("x"))
        assert fake.stats(url).requests == 1
    with pytest.raises(RunStopped, match="127.0.0.1:9/v1.*Start it"):
        ask(client("http://127.0.0.1:9/v1", retries=0), chat("x"))


def test_rate_limits_are_kept(fake, chat):
    url = fake.scenario(minute=0.4, latency=0.01)
    limits = {"concurrency": 8, "requests_per_minute": 12, "tokens_per_minute": 400}
    model = client(url, limits=limits)
    model.server.limiter.minute = 0.9  # requests may be half a second on their way
    model.complete([chat(f"#{n} " + "word " * (n % 20)) for n in range(20)], max_tokens=10)
    stats = fake.stats(url)
    assert stats.most_requests <= 12 and stats.most_tokens <= 400
    assert stats.answered.total() == 20 and not stats.faults
    (failed,) = model.complete([chat("x")], max_tokens=500)
    assert failed.reason == "refused" and "tokens_per_minute=400" in str(failed)


def test_after_a_signal_running_calls_end_and_no_call_starts(fake, chat, monkeypatch):
    monkeypatch.setattr(terminal, "_STOPPING", threading.Event())
    url = fake.scenario(latency=0.3)
    model = client(url, limits={"concurrency": 4})
    ask(model, chat("#0"))
    threading.Timer(0.1, terminal._STOPPING.set).start()
    with pytest.raises(KeyboardInterrupt):
        model.complete([chat(f"#{number}") for number in range(40)], max_tokens=5)
    assert fake.stats(url).answered.total() == 5
    limiter = RateLimiter(1, None)
    limiter.admit(0)
    with pytest.raises(KeyboardInterrupt):
        limiter.admit(0)


@pytest.fixture
def planted(monkeypatch, caplog):
    monkeypatch.setenv("PLANTED_KEY", KEY)
    caplog.set_level(logging.DEBUG)


def everything_shown(error):
    shown = "".join(traceback.format_exception(error))
    while error is not None:
        shown += f"{error!r} {error} {vars(error)}"
        error = error.__context__
    return shown


@pytest.mark.parametrize("status", [401, 429])
def test_the_key_is_hidden_in_errors_that_echo_it(fake, chat, caplog, planted, status):
    url = fake.scenario(raw_status=status, raw_body='{"error": {"message": "I saw {key}"}}')
    model = client(url, "PLANTED_KEY", retries=0)
    embedder = OpenAIEmbedder("fake", 8, url, "PLANTED_KEY", retries=0)
    for call in (lambda: ask(model, chat("x")), lambda: embedder.encode(["x"], kind="passage")):
        with pytest.raises((RunStopped, CallFailed)) as raised:
            call()
        shown = everything_shown(raised.value) + caplog.text + repr(vars(model.server))
        assert KEY not in shown
        assert "<api key>" in str(raised.value)


def test_the_key_is_sent_and_hidden_in_a_repr(fake, chat, planted, monkeypatch):
    url = fake.scenario(key=KEY)
    model = client(url, "PLANTED_KEY")
    assert ask(model, chat("x")).text
    assert KEY not in repr(model.server.key)
    for value in (f"{KEY}\n{KEY}", ""):
        monkeypatch.setenv("PLANTED_KEY", value)
        with pytest.raises(UserError, match="PLANTED_KEY") as raised:
            ask(client(url, "PLANTED_KEY"), chat("x"))
        assert KEY not in everything_shown(raised.value)


def test_a_failure_can_be_pickled():
    failed = CallFailed("empty", "nothing", Completion("", prompt_tokens=7, completion_tokens=3))
    failed.retries, failed.seconds = 2, 3.0
    assert vars(pickle.loads(pickle.dumps(failed))) == vars(failed)
