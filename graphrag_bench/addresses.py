"""Addresses of servers: shown without user name, password and query, and refused with a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

from graphrag_bench.errors import UserError

_USER = re.compile(
    r"([a-z][a-z0-9+.-]*://)[^/?#\s'\"\[\],]*@|(?<![^\s'\"=])[^\s/@:]+:[^\s/@]+@", re.I
)
_SECRET = re.compile(
    r"[?&;](?:[\w-]*(?:key|token|secret|password|passwd|pwd|signature|credential|auth)|sig)=[^&\s]+",
    re.I,
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.I)


def public_address(url: str) -> str:
    """An address without user name, password and query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def without_secrets(text: str) -> str:
    """A text whose addresses have lost user name and password, and what a query calls a secret."""
    return _SECRET.sub("", _USER.sub(lambda found: found[1] or "", text))


def check_server(name: str, url: str) -> None:
    """Raise UserError unless an address names a server: http or https, a host, a port below 65,536.

    `name` is the setting. An address with a user name, a password or a key is refused too.
    """
    shown = without_secrets(url)
    if not url.startswith(("http://", "https://")):
        raise UserError(f"{name} is '{shown}'; it begins with http:// or https://.")
    refuse_secrets(name, url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UserError(f"{name} is '{shown}': {error}.") from None
    if not host:
        raise UserError(f"{name} is '{shown}'; it names no host, as in http://localhost:8000/v1.")
    if port == 0 or any(sign.isspace() for sign in url):
        raise UserError(f"{name} is '{shown}'; no server can be reached there.")


def refuse_secrets(name: str, value: object) -> None:
    """Raise UserError for an address with a user name, a password or a key in it, at any depth.

    `name` is the setting; the address is shown without them.
    """
    for path, text in _texts(name, value):
        if _ADDRESS.search(text) and without_secrets(text) != text:
            raise UserError(
                f"{path}={without_secrets(text)}: the address held a user name, a password or a "
                "key, which would be written into run folders and logs. Give the address without "
                "it, and name the environment variable that holds the key: llm.api_key_env=NAME."
            )


def _texts(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for inner in value:
            yield from _texts(name, inner)
