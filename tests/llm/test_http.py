"""Proxies of a connection pool, and the wait before the next attempt."""

import time
from email.utils import formatdate

from urllib3 import HTTPResponse

from graphrag_bench.llm import http
from graphrag_bench.llm.http import Retries, connection_pool

FAR = "https://far.example/v1"


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


def test_waits_grow_to_eight_seconds(monkeypatch):
    waits, retries = [], Retries.up_to(10)
    monkeypatch.setattr(http, "pause", waits.append)
    for _ in range(7):
        retries = retries.increment("POST", "/v1", error=None)
        retries.sleep()
    assert [round(wait) for wait in waits[1:]] == [1, 2, 4, 8, 8, 8]
    assert waits[0] == 0.5 and max(waits) <= 8
