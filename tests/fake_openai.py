"""A server that speaks the OpenAI protocol over HTTP, with faults, limits and counts of requests.

One process serves many scenarios, each under its own path: `scenario` returns the `base_url` of a
new scenario, and `stats` its counts. As a program, it prints its port and serves until stdin ends.
"""

import asyncio
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

Json = dict[str, Any]
NO_LIMIT = 1 << 60
NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_ASKING = {"Who", "What", "Where", "When", "Which", "How", "Question", "Short", "Passage"}


@dataclass
class Scenario:
    """How the server behaves; times are in seconds, `latency` from the arrival of a request.

    `shares` gives the rate of each fault: 429, timeout, broken (half a JSON reply) and cut (half a
    body). With `reads` replies are read out of the prompts, and calls are counted by the whole
    prompt. Prompts with `fail_word` get HTTP 500.
    """

    latency: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    retry_after: float = 0.05
    timeout: float = 2.0
    seed: int = 0
    minute: float = 60.0
    requests_per_minute: int = NO_LIMIT
    tokens_per_minute: int = NO_LIMIT
    key: str | None = None
    models: tuple[str, ...] = ("fake",)
    listed: list[Json] = field(default_factory=list)
    refuse: tuple[str, ...] = ()
    window: int = NO_LIMIT
    silent_window: int = NO_LIMIT
    filter_word: str | None = None
    fail_word: str | None = None
    out_after: int = NO_LIMIT
    text: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    message: Json = field(default_factory=dict)
    finish: str = "stop"
    raw_status: int | None = None
    raw_body: str = ""
    fail_first: int = 0
    fingerprints: tuple[str, ...] = ("fp",)
    dimension: int = 8
    reads: bool = False


class FakeOpenAI:
    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def scenario(self, **settings: Any) -> str:
        return f"{self.address}{self._fetch('/scenarios', settings)['path']}/v1"

    def stats(self, base_url: str) -> SimpleNamespace:
        counts = self._fetch(base_url.removeprefix(self.address).removesuffix("/v1") + "/stats")
        counters = {of: Counter(counts[of]) for of in ("answered", "faults")}
        return SimpleNamespace(**counts | counters)

    def _fetch(self, path: str, body: Json | None = None) -> Any:
        written = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.address + path, written, timeout=10) as response:
            return json.load(response)


@contextmanager
def running() -> Iterator[FakeOpenAI]:
    pipes: Json = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, __file__], text=True, **pipes) as process:
        yield FakeOpenAI(int(process.stdout.readline()))


class Served:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.stats = SimpleNamespace(  # of requests, and of the answers that were sent whole
            requests=0, answered=Counter(), faults=Counter(), tokens=0, most_requests=0,
            most_tokens=0, most_at_once=0, bodies=[],
        )  # fmt: skip
        self.random = random.Random(scenario.seed)
        self.minute: deque[tuple[float, int]] = deque()
        self.n_tokens = self.at_once = 0

    def fault(self, n_tokens: int, body: Json) -> str:
        """Count a request, and return its fault, or ""."""
        now, scenario, stats = time.monotonic(), self.scenario, self.stats
        self.minute.append((now, n_tokens))
        self.n_tokens += n_tokens
        while self.minute[0][0] <= now - scenario.minute:
            self.n_tokens -= self.minute.popleft()[1]
        stats.requests += 1
        if len(stats.bodies) < 50:
            stats.bodies.append(body)
        stats.most_requests = max(stats.most_requests, len(self.minute))
        stats.most_tokens = max(stats.most_tokens, self.n_tokens)
        too_many = len(self.minute) > scenario.requests_per_minute
        if too_many or self.n_tokens > scenario.tokens_per_minute:
            return "429"
        fails = scenario.fail_word and scenario.fail_word in json.dumps(body)
        if fails or not scenario.fail_first < stats.requests <= scenario.out_after:
            return "500"
        number = self.random.random()
        for name, share in scenario.shares.items():
            number -= share
            if number < 0:
                return name
        return ""


def words(body: Json) -> int:
    return sum(len(message["content"].split()) for message in body.get("messages", ()))


def prompt_id(body: Json, whole: bool) -> str:
    """The digest of the request, or the `#number` in it, or the start of the last message."""
    if whole:
        message = [body["messages"], body.get("max_tokens"), body.get("response_format")]
        return hashlib.sha256(json.dumps(message, sort_keys=True).encode()).hexdigest()[:16]
    numbers = (re.search(r"#(\d+)", message["content"]) for message in body["messages"])
    return next((one[1] for one in numbers if one), body["messages"][-1]["content"][:40])


def refusal(scenario: Scenario, body: Json, key: str) -> tuple[int, Any] | None:
    def error(status: int, message: str, **more: Any) -> tuple[int, Any]:
        return status, {"error": {"message": message, "type": "invalid_request_error", **more}}

    if scenario.key is not None and key != scenario.key:
        return error(401, f"Incorrect API key provided: {key}.", code="invalid_api_key")
    if scenario.models and body.get("model") not in scenario.models:
        return error(404, f"The model `{body.get('model')}` does not exist", code="model_not_found")
    form = (body.get("response_format") or {}).get("type")
    for name in scenario.refuse:
        if form == name:
            return error(400, f"response_format of type {name} is not supported")
        if body.get(name) is not None:
            return error(400, f"Unsupported value: '{name}' is not supported.", param=name)
    if words(body) > scenario.window:
        problem = f"This model's maximum context length is {scenario.window} tokens."
        return error(400, problem, code="context_length_exceeded")
    if scenario.filter_word and scenario.filter_word in json.dumps(body):
        return error(400, "The prompt was filtered", code="content_filter")
    return None


def filled(schema: Json, name: str) -> Any:
    kind = schema.get("type")
    if kind == "object":
        return {key: filled(part, name) for key, part in schema.get("properties", {}).items()}
    return {"array": [], "integer": 1, "number": 1.0, "boolean": True}.get(str(kind), name)


def chat(served: Served, body: Json, broken: bool) -> Json:
    scenario = served.scenario
    name, last = prompt_id(body, False), body["messages"][-1]["content"]
    text = f"reply {name}" if scenario.text is None else scenario.text
    text = next((reply for part, reply in scenario.texts.items() if part in last), text)
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema" and scenario.text is None and not scenario.texts:
        text = json.dumps(filled(form["json_schema"]["schema"], name))
    text = read_reply(body) if scenario.reads else text
    text = 'Sure! Here it is: {"answer": "' if broken else text
    message = {"role": "assistant", "content": text, **scenario.message}
    n_prompt = min(words(body), scenario.silent_window)
    n_reply = len(f"{text} {message.get('reasoning_content', '')}".split())
    prints = scenario.fingerprints
    return {
        "model": body["model"], "system_fingerprint": prints[served.stats.requests % len(prints)],
        "choices": [{"index": 0, "message": message, "finish_reason": scenario.finish}],
        "usage": {"prompt_tokens": n_prompt, "completion_tokens": n_reply,
                  "total_tokens": n_prompt + n_reply},
    }  # fmt: skip


def read_reply(body: Json) -> str:
    texts = [str(one["content"]) for one in body["messages"] if one["role"] == "user"]
    text = next((one for one in texts[::-1] if "Passage:" in one or "Question:" in one), texts[-1])
    form = body.get("response_format") or {}
    fields = form.get("json_schema", {}).get("schema", {}).get("properties", {})
    passage = text.partition("Passage:\n")[2].partition("\nEntities:\n")[0] or text
    if "triples" in fields:
        facts = []
        for sentence in re.split(r"(?<=\.)\s|\n", passage):
            for head, tail in pairwise(NAME.finditer(sentence)):
                between = sentence[head.end() : tail.start()].strip()
                facts.append([head.group(), between or "and", tail.group()])
        return json.dumps({"triples": facts})
    if "named_entities" in fields:
        return json.dumps({"named_entities": _names(passage)})
    context, _, question = text.rpartition("Question:")
    known = set(_names(question))
    return next((name for name in _names(context) if name not in known), "unknown")


def _names(text: str) -> list[str]:
    return [name for name in dict.fromkeys(NAME.findall(text)) if name not in _ASKING]


def embeddings(served: Served, body: Json) -> Json:
    size = body.get("dimensions") or served.scenario.dimension
    rows = []
    for at, text in enumerate(body["input"]):
        vector = [sum(map(ord, text[place::size])) / 100 for place in range(size)]
        rows.append({"object": "embedding", "index": at, "embedding": vector})
    n_tokens = sum(len(text.split()) for text in body["input"])
    usage = {"prompt_tokens": n_tokens, "total_tokens": n_tokens}
    return {"model": body["model"], "data": rows[::-1], "usage": usage}


class Connection:
    served: list[Served] = []  # noqa: RUF012

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def run(self) -> None:
        try:
            while head := await self.reader.readuntil(b"\r\n\r\n"):
                arrived = time.monotonic()
                lines = head.decode("latin-1").split("\r\n")
                fields = (line.partition(": ") for line in lines[1:])
                headers = {name.lower(): value for name, _, value in fields if name}
                raw = await self.reader.readexactly(int(headers.get("content-length", "0")))
                key = headers.get("authorization", "").removeprefix("Bearer ")
                if not await self.request(lines[0].split(" ")[1], key, raw, arrived):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.writer.close()

    async def request(self, path: str, key: str, raw: bytes, arrived: float) -> bool:
        """Answer one request; False if the connection is over."""
        if path == "/scenarios":
            self.served.append(Served(Scenario(**json.loads(raw))))
            return await self.send(200, {"path": f"/{len(self.served) - 1}"})
        served, kind = self.served[int(path.split("/")[1])], path.rpartition("/")[2]
        if kind in ("stats", "models"):
            models = {"object": "list", "data": served.scenario.listed}
            return await self.send(200, models if kind == "models" else vars(served.stats))
        served.at_once += 1
        served.stats.most_at_once = max(served.stats.most_at_once, served.at_once)
        try:
            return await self.api(served, kind == "completions", key, raw, arrived)
        finally:
            served.at_once -= 1

    async def api(self, served: Served, is_chat: bool, key: str, raw: bytes, began: float) -> bool:
        scenario, stats, body = served.scenario, served.stats, json.loads(raw)
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        fault = served.fault((words(body) if is_chat else 0) + limit, body)
        if scenario.raw_status is not None:
            return await self.send(scenario.raw_status, scenario.raw_body.replace("{key}", key))
        if (refused := refusal(scenario, body, key)) is not None:
            stats.faults[str(refused[0])] += 1
            return await self.send(*refused)
        if fault:
            stats.faults[fault] += 1
        if fault in ("429", "500"):
            wait = f"retry-after: {scenario.retry_after}\r\n"
            return await self.send(int(fault), {"error": {"message": "try later"}}, wait)
        seconds = scenario.timeout if fault == "timeout" else scenario.latency
        answer = chat(served, body, fault == "broken") if is_chat else embeddings(served, body)
        await asyncio.sleep(began + seconds - time.monotonic())
        if fault == "timeout":
            self.writer.transport.abort()
            return False
        if fault != "cut":
            stats.answered[prompt_id(body, scenario.reads) if is_chat else "embeddings"] += 1
            stats.tokens += answer["usage"]["total_tokens"]
        return await self.send(200, answer, cut=fault == "cut")

    async def send(self, status: int, body: Any, more: str = "", *, cut: bool = False) -> bool:
        """Write one HTTP answer; `cut` ends the connection in the middle of the body."""
        text = (body if isinstance(body, str) else json.dumps(body)).encode()
        kind = f"{HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n{more}"
        head = f"HTTP/1.1 {status} {kind}content-length: {len(text)}\r\n\r\n"
        self.writer.write(head.encode() + (text[: len(text) // 2] if cut else text))
        await self.writer.drain()
        if cut:
            self.writer.transport.close()
        return not cut


async def serve() -> None:
    server = await asyncio.start_server(
        lambda *streams: Connection(*streams).run(), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(serve())
