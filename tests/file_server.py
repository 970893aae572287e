"""An HTTP server of files, with faults on request and the hub's endpoints of uploads."""

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

COMMIT = "c0ffee".ljust(40, "0")


@dataclass
class FileServer:
    """Files by path, the paths of all requests, and the status of the next replies."""

    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    address: str = ""

    def publish(self, repo: str, files: dict[str, bytes], *, large: bool = False) -> None:
        """Add files to a data set repository, with checksums if they are `large`."""
        starts = [f"/datasets/{repo}/resolve/{revision}/" for revision in ("main", COMMIT)]
        self.files |= {start + path: files[path] for path in files for start in starts}
        rows: list[dict[str, object]] = []
        for name in (one for one in self.files if one.startswith(starts[0])):
            size, sha256 = len(self.files[name]), hashlib.sha256(self.files[name]).hexdigest()
            lfs = {"lfs": {"sha256": sha256, "size": size, "pointerSize": 134}} if large else {}
            rows.append({"rfilename": name.removeprefix(starts[0]), "size": size, **lfs})
        listing = json.dumps({"id": repo, "sha": COMMIT, "siblings": rows}).encode()
        for path in ("", "/revision/main"):
            self.files[f"/api/datasets/{repo}{path}"] = listing


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client went away
            super().handle_error(request, client_address)


@contextmanager
def serving() -> Iterator[FileServer]:
    stored = FileServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # noqa: N802 - named by the library
            path = self.path.partition("?")[0]
            stored.requests.append(path)
            status = stored.faults.pop(0) if stored.faults else 200 if path in stored.files else 404
            self.reply(status, stored.files[path] if status == 200 else b"")

        do_HEAD = do_GET  # noqa: N815 - named by the library

        def do_POST(self) -> None:  # noqa: N802 - named by the library
            path = self.path.partition("?")[0]
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            stored.requests.append(path)
            if not self.headers.get("Authorization"):
                self.reply(401, b"{}")
                return
            answer: dict[str, object] = {"errors": [], "warnings": []}
            if path == "/api/repos/create":
                answer, wanted = {"url": f"{stored.address}/datasets/x/y"}, json.loads(content)
                stored.publish(f"{wanted['organization']}/{wanted['name']}", {})
            elif path.endswith("/preupload/main"):
                modes = {"uploadMode": "regular", "shouldIgnore": False}
                files = json.loads(content)["files"]
                answer = {"files": [{**modes, "path": one["path"]} for one in files]}
            elif match := re.fullmatch("/api/datasets/(.+)/commit/main", path):
                rows = [json.loads(line)["value"] for line in content.splitlines()]
                new = {row["path"]: base64.b64decode(row["content"]) for row in rows[1:]}
                stored.publish(match[1], new)
                answer = {"commitUrl": f"{stored.address}/datasets/x/y/commit/c", "commitOid": "c"}
            self.reply(200, json.dumps(answer).encode())

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hash(body)}"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        stored.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield stored
        finally:
            server.shutdown()
            thread.join()
