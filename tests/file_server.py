"""An HTTP server of files, with faults on request and the hub's endpoints of uploads."""

import base64
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class FileServer:
    """Files by path, and what goes wrong with the next requests."""

    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    """The path of every request."""
    faults: list[int] = field(default_factory=list)
    """The status of the next replies."""
    address: str = ""

    def publish(self, repo: str, files: dict[str, bytes]) -> None:
        """Add files to a data set repository, which is created if missing."""
        for path, content in files.items():
            for revision in ("main", "0" * 40):
                self.files[f"/datasets/{repo}/resolve/{revision}/{path}"] = content
        start = f"/datasets/{repo}/resolve/main/"
        names = [name.removeprefix(start) for name in self.files if name.startswith(start)]
        rows = [{"rfilename": name} for name in names]
        listing = json.dumps({"id": repo, "sha": "0" * 40, "siblings": rows}).encode()
        self.files[f"/api/datasets/{repo}"] = listing
        self.files[f"/api/datasets/{repo}/revision/main"] = listing


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def serving() -> Iterator[FileServer]:
    """A running server on a free port of this machine."""
    stored = FileServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # noqa: N802 - named by the library
            path = self.path.partition("?")[0]
            stored.requests.append(path)
            status = stored.faults.pop(0) if stored.faults else 200 if path in stored.files else 404
            body = stored.files[path] if status == 200 else b""
            self.reply(status, body)

        do_HEAD = do_GET  # noqa: N815 - named by the library

        def do_POST(self) -> None:  # noqa: N802 - named by the library
            path, content = (
                self.path.partition("?")[0],
                self.rfile.read(int(self.headers.get("Content-Length", 0))),
            )
            stored.requests.append(path)
            if not self.headers.get("Authorization"):
                self.reply(401, b"{}")
                return
            answer: dict[str, object] = {"errors": [], "warnings": []}
            if path == "/api/repos/create":
                answer = {"url": f"{stored.address}/datasets/x/y"}
                wanted = json.loads(content)
                stored.publish(f"{wanted['organization']}/{wanted['name']}", {})
            elif path.endswith("/preupload/main"):
                modes = {"uploadMode": "regular", "shouldIgnore": False}
                files = [{**modes, "path": one["path"]} for one in json.loads(content)["files"]]
                answer = {"files": files}
            elif match := re.fullmatch("/api/datasets/(.+)/commit/main", path):
                rows = [json.loads(line)["value"] for line in content.splitlines()]
                new = {row["path"]: base64.b64decode(row["content"]) for row in rows[1:]}
                stored.publish(match[1], new)
                answer = {"commitUrl": f"{stored.address}/datasets/x/y/commit/c", "commitOid": "c"}
            self.reply(200, json.dumps(answer).encode())

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", "0" * 40)
            self.send_header("ETag", f'"{hash(body)}"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    stored.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield stored
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
