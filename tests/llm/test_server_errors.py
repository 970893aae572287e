import logging
import pickle
import threading
import time
import traceback
from email.utils import formatdate

import pytest
from urllib3 import HTTPResponse

from graphrag_bench import terminal
from graphrag_bench.embedding.openai_embedder import OpenAIEmbedder
from graphrag_bench.errors import UserError
from graphrag_bench.llm import http
from graphrag_bench.llm.calls import CallFailed, RunStopped
from graphrag_bench.llm.chat import reply
from graphrag_bench.llm.http import Retries, connection_pool, stated_wait
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.server import RateLimiter

pytestmark = pytest.mark.slow

KEY = "sk-planted-0123456789abcdef"
FAR = "https://far.example/v1"


def client(url, key=None, **more):
    return OpenAICompatible("fake", url, key, **more)


def ask(model, prompt):
    return reply(model, prompt, max_tokens=20)


def test_server_errors_are_retried_and_the_stated_wait_is_read(fake, chat):
    assert ask(client(fake.scenario(fail_first=2)), chat("x")).retries == 2
    for text, seconds in (
        ("Please try again in 1m2.5s. Visit billing to add credits.", 62.5),
        ("Please retry after 20 seconds", 20), ("try again in 120ms", 0.12),
        ('{"error": {"details": [{"retryDelay": "34s"}]}}', 34), ('{"retry_after": 3}', 3),
        ("You exceeded your quota. Check your plan and billing.", None),
    ):  # fmt: skip
        assert stated_wait(text) == seconds


def test_calls_fail_after_the_last_retry(fake, chat):
    model = client(fake.scenario(fail_word="bad", retry_after=0.01), retries=3)
    with pytest.raises(RunStopped, match="accepted no call"):
        ask(model, chat("bad"))
    model.server._stopped_at = 0.0
    assert ask(model, chat("good")).text
    (failed,) = model.complete([chat("bad")], max_tokens=5)
    assert failed.reason == "retries_exhausted" and failed.of_server and failed.retries == 3
    assert "4 attempts" in str(failed) and "HTTP 500" in str(failed)
    assert vars(pickle.loads(pickle.dumps(failed))) == vars(failed)


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


def everything_shown(error):
    shown = "".join(traceback.format_exception(error))
    while error is not None:
        shown += f"{error!r} {error} {vars(error)}"
        error = error.__context__
    return shown


@pytest.mark.parametrize("status", [401, 429])
def test_the_key_is_hidden_in_errors_that_echo_it(fake, chat, caplog, monkeypatch, status):
    monkeypatch.setenv("PLANTED_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    url = fake.scenario(raw_status=status, raw_body='{"error": {"message": "I saw {key}"}}')
    model = client(url, "PLANTED_KEY", retries=0)
    embedder = OpenAIEmbedder("fake", 8, url, "PLANTED_KEY", retries=0)
    for call in (lambda: ask(model, chat("x")), lambda: embedder.encode(["x"], kind="passage")):
        with pytest.raises((RunStopped, CallFailed)) as raised:
            call()
        shown = everything_shown(raised.value) + caplog.text + repr(vars(model.server))
        assert KEY not in shown
        assert "<api key>" in str(raised.value)


def test_an_invalid_key_is_refused_and_not_shown(chat, monkeypatch):
    for value in (f"{KEY}\n{KEY}", ""):
        monkeypatch.setenv("PLANTED_KEY", value)
        with pytest.raises(UserError, match="PLANTED_KEY") as raised:
            ask(client(FAR, "PLANTED_KEY"), chat("x"))
        assert KEY not in everything_shown(raised.value)


def test_the_proxy_comes_from_the_environment(monkeypatch):
    for address, variables, proxy in (
        (FAR, {"https_proxy": "http://p.example:3128"}, "http://p.example:3128"),
        (FAR, {"https_proxy": "p.example:3128"}, "http://p.example:3128"),
        (FAR, {"all_proxy": "http://me:word@p.example:1"}, "http://me:word@p.example:1"),
        (FAR, {"https_proxy": "http://p.example:1", "no_proxy": "far.example"}, None),
        (FAR, {"http_proxy": "http://p.example:1"}, None),
        ("http://127.0.0.1:8000/v1", {"http_proxy": "http://p.example:1"}, None),
    ):
        for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
            monkeypatch.delenv(name.upper(), raising=False)
            monkeypatch.setenv(name, variables.get(name, ""))
        pool = connection_pool(address, 5.0, 2)
        assert (pool.proxy.url if pool.proxy else None) == proxy
        if "@" in str(proxy):
            assert pool.proxy_headers == {"proxy-authorization": "Basic bWU6d29yZA=="}


def test_a_retry_waits_as_long_as_the_server_asks_up_to_two_minutes(monkeypatch):
    waits = []
    monkeypatch.setattr(http, "pause", waits.append)
    for status, headers, body, seconds in (
        (503, {"Retry-After": "0.5"}, "", 0.5),
        (429, {"Retry-After": "7", "Retry-After-Ms": "250"}, "try again in 9s", 0.25),
        (429, {}, "try again in 9s", 9.0),
        (500, {}, "try again in 9s", 0.5),
        (429, {"Retry-After": "3600"}, "", 0.5),
        (429, {"Retry-After": "soon"}, "", 0.5),
    ):
        Retries.up_to(3).sleep(HTTPResponse(body.encode(), headers, status))
        assert waits.pop() == seconds, (status, headers)
    response = HTTPResponse(b"", {"Retry-After": formatdate(time.time() + 20)}, 503)
    assert 17 < Retries.up_to(3).get_retry_after(response) <= 20
