"""HTTP connections to one server with urllib3, and the waits between attempts."""

import re
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Retry, Timeout
from urllib3.exceptions import InvalidHeader
from urllib3.util import make_headers, parse_url

from graphrag_bench.terminal import is_local, pause

CONNECT_SECONDS = 10.0
LONGEST_WAIT = 120.0
"""Longest wait in seconds that a server may request. Longer requested waits are ignored."""
_BACKOFF = 0.5
_WAIT = re.compile(
    r"(?:try again|retry|wait|available|reset)[^\d{}\[\]]{0,40}?((?:\d+(?:\.\d+)?\s*"
    r"(?:ms|milliseconds?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])[\s,]*)+)"
    r"|retry[ _-]?after\W{1,5}(\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milli|h|m|s)?", re.IGNORECASE)
_UNITS = {"ms": 0.001, "milli": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def stated_wait(text: str) -> float | None:
    """Return the wait in seconds that an error message asks for, or None if it names no time."""
    if not (found := _WAIT.search(text)):
        return None
    parts = _TIME.findall(found[1] or found[2])
    return sum(float(n) * _UNITS[unit.lower()] for n, unit in parts)


class Retries(Retry):
    """Retries of one request. They wait as long as the server asks, and stop at a signal."""

    began = 0.0
    """Start of the last attempt, in seconds of the monotonic clock."""

    @classmethod
    def up_to(cls, n: int) -> "Retries":
        """Return up to `n` retries for a request that begins now."""
        retries = cls(
            n, allowed_methods=None, status_forcelist={408, 409, 429, *range(500, 600)},
            raise_on_status=False, backoff_factor=_BACKOFF, backoff_max=8.0, backoff_jitter=0.25,
        )  # fmt: skip
        retries.began = time.monotonic()
        return retries

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Return the wait in seconds from the headers of a response, or from the text of a 429."""
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            with suppress(KeyError, ValueError):
                return float(response.headers[name]) * unit
        date = None
        with suppress(InvalidHeader):
            date = super().get_retry_after(response)
        if date is None and response.status == 429:
            return stated_wait((response.data or b"")[:2000].decode("utf-8", "replace"))
        return date

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        """Wait before the next attempt. Raises KeyboardInterrupt if a signal arrives."""
        asked = None if response is None else self.get_retry_after(response)
        if asked is None or not 0 < asked <= LONGEST_WAIT:
            asked = self.get_backoff_time() or _BACKOFF  # urllib3's first wait is 0
        pause(asked)
        self.began = time.monotonic()


def connection_pool(address: str, seconds: float, n_connections: int) -> PoolManager:
    """Return connections with a time limit. Proxies are used unless the server is local."""
    parts = urlsplit(address)
    timeout = Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds)
    how: dict[str, Any] = {"maxsize": n_connections, "timeout": timeout}
    if parts.scheme == "https":
        import httpx2

        how["ssl_context"] = httpx2.create_ssl_context()
    direct = is_local(address) or proxy_bypass(parts.hostname or "")
    proxies = {} if direct else getproxies()
    if not (proxy := proxies.get(parts.scheme) or proxies.get("all")):
        return PoolManager(**how)
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    secrets = make_headers(proxy_basic_auth=parse_url(proxy).auth)
    return ProxyManager(proxy, proxy_headers=secrets, **how)
