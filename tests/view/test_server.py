"""A served page: for this machine alone, and written again when its runs change."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import part, planted_runs

from graphrag_bench.cli.view import newest
from graphrag_bench.errors import UserError
from graphrag_bench.view import page as server
from graphrag_bench.view.page import served


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        planted_runs(folder, ["vanilla"])
    return folder


@pytest.fixture
def address(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, int]]:
    """The host and port of a page of the home's runs, which is looked at all the time."""
    monkeypatch.setattr(server, "LOOK_EVERY", 0.02)
    with served(lambda: newest(home, 8), tmp_path / "page", home, None, 0) as url:
        host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
        yield host, int(port)


def got(address: tuple[str, int], path: str, host: str | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*address, timeout=10)
    connection.request("GET", path, headers={"Host": host} if host else {})
    reply = connection.getresponse()
    return reply.status, reply.read()


def test_the_page_is_served_to_this_machine_alone(address: tuple[str, int]) -> None:
    status, body = got(address, "/")
    assert status == 200 and b"parts.js" in body
    assert address[0] == "127.0.0.1"
    assert got(address, "/", "evil.example")[0] == 403
    assert got(address, "/data/")[0] == 404
    assert got(address, "/../../etc/passwd")[0] == 404


def test_a_run_that_is_scored_anew_is_written_anew(
    address: tuple[str, int], home: Path, tmp_path: Path
) -> None:
    assert part(tmp_path / "page", "index")["served"]
    _, before = got(address, "/data/stamp.js")
    (path,) = (home / "runs").glob("*/*/*/metrics.json")
    path.write_text(json.dumps(json.loads(path.read_text())))
    until = time.monotonic() + 30
    while got(address, "/data/stamp.js")[1] == before:
        assert time.monotonic() < until, "the page was not written again"
        time.sleep(0.02)


def test_a_port_that_is_taken_is_refused(
    address: tuple[str, int], home: Path, tmp_path: Path
) -> None:
    again = served(lambda: newest(home, 8), tmp_path / "other", home, None, address[1])
    with pytest.raises(UserError, match="--port"), again:
        pass
