"""A program that stands for `vllm`: `vllm --version`, and `vllm serve` with the OpenAI protocol.

FAKE_VLLM is JSON: `fails` is a real log to print before exit code 1; `in_use` fails so on the first
start; `die_after` is the number of replies after which it ends. Each start writes its words, its
process id and that of its worker to the file `starts`.
"""

import json
import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOGS: dict[str, str] = json.loads(Path(__file__).with_name("vllm_logs.json").read_text())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    names: list[str] = []  # noqa: RUF012
    left: float = float("inf")

    def _send(self, body, status=200):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):  # noqa: N802
        rows = [{"id": name, "owned_by": "vllm", "max_model_len": 8192} for name in self.names]
        self._send({} if self.path == "/health" else {"object": "list", "data": rows})

    def do_POST(self):  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Handler.left -= 1
        if Handler.left < 0:
            print(LOGS["memory"], flush=True)  # noqa: T201
            os._exit(1)
        text = json.dumps({"city": "Warsaw"}) if "response_format" in body else "Paris"
        n_prompt = sum(len(one["content"].split()) for one in body["messages"])
        usage = {"prompt_tokens": n_prompt, "completion_tokens": 1}
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        self._send({"model": body["model"], "choices": [choice], "usage": usage})

    def log_message(self, *_):
        pass


def main(words, how):
    if words == ["--version"]:
        print("INFO 10-25 13:08:40 [__init__.py:239] Automatically detected platform cuda.\n0.11.0")  # noqa: T201
        return
    worker, starts = subprocess.Popen(["sleep", "600"]), Path(how["starts"])
    is_first = not starts.exists()
    with starts.open("a") as file:
        file.write(json.dumps({"words": words, "pids": [os.getpid(), worker.pid]}) + "\n")
    print("VLLM_API_KEY is", os.environ.get("VLLM_API_KEY"), flush=True)  # noqa: T201
    if fails := "port" if how.get("in_use") and is_first else how.get("fails"):
        print(LOGS[fails], flush=True)  # noqa: T201
        sys.exit(1)
    Handler.names = words[words.index("--served-model-name") + 1 :]
    Handler.left = how.get("die_after", Handler.left)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # as a crash, it leaves its worker behind
    (port,) = (word for word in words if word.startswith("--port="))
    address = "127.0.0.1", int(port.partition("=")[2])
    ThreadingHTTPServer(address, Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:], json.loads(os.environ["FAKE_VLLM"]))
