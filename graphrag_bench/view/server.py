"""A run page that is served on this machine, and written again when its runs change."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from graphrag_bench.errors import UserError
from graphrag_bench.runs.folder import METRICS
from graphrag_bench.runs.stored import StoredRun
from graphrag_bench.view.page import write_page

HOST = "127.0.0.1"
LOOK_EVERY = 2.0
"""Seconds between two looks at the runs."""
State = tuple[tuple[str, int], ...]


class _Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        if self.headers.get("Host", "").partition(":")[0] not in (HOST, "localhost"):
            self.send_error(403, "This page is for this machine alone.")
        else:
            super().do_GET()

    do_HEAD = do_GET  # noqa: N815 - likewise

    def list_directory(self, path: object) -> None:
        self.send_error(404)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a line for each file helps nobody."""


def state_of(runs: Sequence[StoredRun]) -> State:
    """The runs and when each was last scored: changed means that the page is out of date."""
    files = [(str(one.folder.path), one.folder.path / METRICS) for one in runs]
    return tuple((name, path.stat().st_mtime_ns) for name, path in files if path.is_file())


@contextmanager
def served(
    find: Callable[[], Sequence[StoredRun]], page: Path, home: Path, shared: str | None, port: int
) -> Iterator[str]:
    """Write the page of the runs that `find` gives, serve it, and yield its address.

    Every `LOOK_EVERY` seconds `find` is asked again; where a run has come, gone or been scored
    anew the page is written again, and an open browser loads it. `port` 0 takes any free one.
    Raises UserError for a port that is taken.
    """
    runs = find()
    state = state_of(runs)
    write_page(runs, page, home, shared, stamp=str(state))
    try:
        server = ThreadingHTTPServer((HOST, port), partial(_Handler, directory=str(page)))
    except OSError as error:
        raise UserError(f"Port {port} cannot be used: {error}. Give another: --port N.") from None
    stop = threading.Event()
    watching = threading.Thread(
        target=_watch, args=(find, state, page, home, shared, stop), daemon=True
    )
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    watching.start()
    serving.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}/"
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        watching.join()


def _watch(
    find: Callable[[], Sequence[StoredRun]],
    before: State,
    page: Path,
    home: Path,
    shared: str | None,
    stop: threading.Event,
) -> None:
    while not stop.wait(LOOK_EVERY):
        try:
            runs = find()
            if (state := state_of(runs)) != before:
                write_page(runs, page, home, shared, stamp=str(state))
                before = state
        except (UserError, OSError) as error:  # a run that is being written, or was removed
            sys.stderr.write(f"the page was not written again: {error}\n")
