"""A server that speaks the OpenAI protocol over HTTP, with faults, limits and counts of requests.

One process serves many scenarios, each under its own path: `scenario` returns the `base_url` of a
new scenario, and `stats` returns its counts. As a program this file is the server: it prints its
port and serves until stdin ends.
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
from typing import Any

NO_LIMIT = 1 << 60
NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_ASKING = {"Who", "What", "Where", "When", "Which", "How", "Question", "Short", "Passage"}


@dataclass
class Scenario:
    """How the server behaves; times are in seconds, `latency` from the arrival of a request.

    `shares` gives the rate of each fault: 429, timeout, broken (half a JSON reply) and cut (half a
    body). `wait_text` is the message of a 429 without the header `retry-after`. `minute` is the
    length of the window in which requests and tokens are counted. With `reads` replies are read out
    of the prompts, and calls are counted by the whole prompt. Prompts with `fail_word` get HTTP
    500; so do all prompts after `out_after` requests.
    """

    latency: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    retry_after: float = 0.05
    wait_text: str = ""
    timeout: float = 2.0
    seed: int = 0
    minute: float = 60.0
    requests_per_minute: int = NO_LIMIT
    tokens_per_minute: int = NO_LIMIT
    key: str | None = None
    models: tuple[str, ...] = ("fake",)
    listed: list[dict[str, Any]] = field(default_factory=list)
    refuse: tuple[str, ...] = ()
    window: int = NO_LIMIT
    silent_window: int = NO_LIMIT
    filter_word: str | None = None
    fail_word: str | None = None
    out_after: int = NO_LIMIT
    text: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    reasoning: str = ""
    message: dict[str, Any] = field(default_factory=dict)
    finish: str = "stop"
    raw_status: int | None = None
    raw_body: str = ""
    fail_first: int = 0
    fingerprints: tuple[str, ...] = ("fp",)
    dimension: int = 8
    reads: bool = False


@dataclass
class Stats:
    """Counts of requests and of the answers that were sent whole, and the time they took in all."""

    requests: int = 0
    answered: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    most_requests: int = 0
    most_tokens: int = 0
    most_at_once: int = 0
    seconds: float = 0.0
    bodies: list[dict[str, Any]] = field(default_factory=list)


class FakeOpenAI:
    """The running server, as tests and benchmarks use it."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def scenario(self, **settings: Any) -> str:
        return f"{self.address}{self._fetch('/scenarios', settings)['path']}/v1"

    def stats(self, base_url: str) -> Stats:
        counts = self._fetch(base_url.removeprefix(self.address).removesuffix("/v1") + "/stats")
        counters = {name: Counter(counts[name]) for name in ("answered", "faults")}
        return Stats(**counts | counters)

    def _fetch(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        written = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, written)
        with urllib.request.urlopen(request, timeout=10) as response:
            answer: dict[str, Any] = json.load(response)
            return answer


@contextmanager
def running() -> Iterator[FakeOpenAI]:
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        yield FakeOpenAI(int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(10)


class Served:
    """A scenario with its counts."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.stats = Stats()
        self.random = random.Random(scenario.seed)
        self.minute: deque[tuple[float, int]] = deque()
        self.n_tokens = self.at_once = 0

    def fault(self, n_tokens: int, body: dict[str, Any]) -> str:
        """Count a request, and return its fault, or ""."""
        now, scenario, stats = time.monotonic(), self.scenario, self.stats
        while self.minute and self.minute[0][0] <= now - scenario.minute:
            self.n_tokens -= self.minute.popleft()[1]
        self.minute.append((now, n_tokens))
        self.n_tokens += n_tokens
        stats.requests += 1
        if len(stats.bodies) < 50:
            stats.bodies.append(body)
        stats.most_requests = max(stats.most_requests, len(self.minute))
        stats.most_tokens = max(stats.most_tokens, self.n_tokens)
        if len(self.minute) > scenario.requests_per_minute:
            return "429"
        if self.n_tokens > scenario.tokens_per_minute:
            return "429"
        if not scenario.fail_first < stats.requests <= scenario.out_after:
            return "500"
        if scenario.fail_word and scenario.fail_word in json.dumps(body):
            return "500"
        number = self.random.random()
        for name, share in scenario.shares.items():
            number -= share
            if number < 0:
                return name
        return ""


def error(status: int, message: str, **more: Any) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": message, "type": "invalid_request_error", **more}}


def words(body: dict[str, Any]) -> int:
    return sum(len(message["content"].split()) for message in body.get("messages", ()))


def prompt_id(body: dict[str, Any]) -> str:
    """The `#number` in the first message that has one; else the start of the last message."""
    for message in body["messages"]:
        if match := re.search(r"#(\d+)", message["content"]):
            return match.group(1)
    return str(body["messages"][-1]["content"][:40])


def refusal(scenario: Scenario, body: dict[str, Any], key: str) -> tuple[int, Any] | None:
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


def filled(schema: dict[str, Any], name: str) -> Any:
    """A small value that fits a JSON schema; strings are `name`."""
    kind = schema.get("type")
    if kind == "object":
        return {key: filled(part, name) for key, part in schema.get("properties", {}).items()}
    return {"array": [], "integer": 1, "number": 1.0, "boolean": True}.get(str(kind), name)


def chat(served: Served, body: dict[str, Any], *, broken: bool) -> dict[str, Any]:
    scenario = served.scenario
    name, last = prompt_id(body), body["messages"][-1]["content"]
    text = f"reply {name}" if scenario.text is None else scenario.text
    text = next((reply for part, reply in scenario.texts.items() if part in last), text)
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema" and scenario.text is None and not scenario.texts:
        text = json.dumps(filled(form["json_schema"]["schema"], name))
    if scenario.reads:
        text = read_reply(body)
    if broken:
        text = 'Sure! Here it is: {"answer": "'
    message = {"role": "assistant", "content": text, **scenario.message}
    if scenario.reasoning:
        message["reasoning_content"] = scenario.reasoning
    n_prompt = min(words(body), scenario.silent_window)
    n_reply = len(text.split()) + len(scenario.reasoning.split())
    return {
        "model": body["model"],
        "system_fingerprint": scenario.fingerprints[
            served.stats.requests % len(scenario.fingerprints)
        ],
        "choices": [{"index": 0, "message": message, "finish_reason": scenario.finish}],
        "usage": {"prompt_tokens": n_prompt, "completion_tokens": n_reply,
                  "total_tokens": n_prompt + n_reply},
    }  # fmt: skip


def read_reply(body: dict[str, Any]) -> str:
    """Return the reply to a chat request: JSON for a schema, else a name."""
    text = _last_with(body, ("Passage:", "Question:"))
    form = body.get("response_format") or {}
    fields = form.get("json_schema", {}).get("schema", {}).get("properties", {})
    passage = text.partition("Passage:\n")[2].partition("\nEntities:\n")[0] or text
    if "triples" in fields:
        return json.dumps({"triples": _facts(passage)})
    if "named_entities" in fields:
        return json.dumps({"named_entities": _names(passage)})
    context, _, question = text.rpartition("Question:")
    known = set(_names(question))
    return next((name for name in _names(context) if name not in known), "unknown")


def prompt_digest(body: dict[str, Any]) -> str:
    """Return a digest of a request: messages, token limit and response format."""
    message = [body["messages"], body.get("max_tokens"), body.get("response_format")]
    return hashlib.sha256(json.dumps(message, sort_keys=True).encode()).hexdigest()[:16]


def _last_with(body: dict[str, Any], words: tuple[str, ...]) -> str:
    """Return the last user message that contains one of the words, else the last message."""
    texts = [str(message["content"]) for message in body["messages"] if message["role"] == "user"]
    fitting = [text for text in texts if any(word in text for word in words)]
    return [*texts, *fitting][-1]


def _names(text: str) -> list[str]:
    return [name for name in dict.fromkeys(NAME.findall(text)) if name not in _ASKING]


def _facts(passage: str) -> list[list[str]]:
    """Return [name, words between, next name] within each sentence."""
    facts = []
    for sentence in re.split(r"(?<=\.)\s|\n", passage):
        result = list(NAME.finditer(sentence))
        for head, tail in zip(result, result[1:], strict=False):
            between = sentence[head.end() : tail.start()].strip()
            facts.append([head.group(), between or "and", tail.group()])
    return facts


def embeddings(served: Served, body: dict[str, Any]) -> dict[str, Any]:
    size = body.get("dimensions") or served.scenario.dimension
    rows = []
    for at, text in enumerate(body["input"]):
        vector = [0.0] * size
        for place, char in enumerate(text):
            vector[place % size] += ord(char) / 100
        rows.append({"object": "embedding", "index": at, "embedding": vector})
    n_tokens = sum(len(text.split()) for text in body["input"])
    usage = {"prompt_tokens": n_tokens, "total_tokens": n_tokens}
    return {"model": body["model"], "data": rows[::-1], "usage": usage}


class Server:
    def __init__(self) -> None:
        self.served: list[Served] = []

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                arrived = time.monotonic()
                lines = head.decode("latin-1").split("\r\n")
                fields = (line.partition(": ") for line in lines[1:])
                headers = {name.lower(): value for name, _, value in fields if name}
                raw = await reader.readexactly(int(headers.get("content-length", "0")))
                key = headers.get("authorization", "").removeprefix("Bearer ")
                if not await self.request(lines[0].split(" ")[1], key, raw, writer, arrived):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def request(
        self, path: str, key: str, raw: bytes, writer: asyncio.StreamWriter, arrived: float
    ) -> bool:
        """Answer one request; False if the connection is over."""
        if path == "/scenarios":
            self.served.append(Served(Scenario(**json.loads(raw))))
            return await send(writer, 200, {"path": f"/{len(self.served) - 1}"})
        served = self.served[int(path.split("/")[1])]
        if path.endswith("/stats"):
            return await send(writer, 200, vars(served.stats))
        if path.endswith("/models"):
            return await send(writer, 200, {"object": "list", "data": served.scenario.listed})
        served.at_once += 1
        served.stats.most_at_once = max(served.stats.most_at_once, served.at_once)
        try:
            is_chat = path.endswith("/chat/completions")
            return await api(served, is_chat, key, json.loads(raw), writer, arrived)
        finally:
            served.at_once -= 1


async def api(
    served: Served,
    is_chat: bool,
    key: str,
    body: dict[str, Any],
    writer: asyncio.StreamWriter,
    arrived: float,
) -> bool:
    scenario, stats = served.scenario, served.stats
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or 0
    fault = served.fault((words(body) if is_chat else 0) + limit, body)
    if scenario.raw_status is not None:
        return await send(writer, scenario.raw_status, scenario.raw_body.replace("{key}", key))
    if (refused := refusal(scenario, body, key)) is not None:
        stats.faults[str(refused[0])] += 1
        return await send(writer, *refused)
    if fault:
        stats.faults[fault] += 1
    if fault in ("429", "500"):
        wait = "" if scenario.wait_text else f"retry-after: {scenario.retry_after}\r\n"
        message = scenario.wait_text or "try later"
        return await send(writer, int(fault), {"error": {"message": message}}, wait)
    seconds = scenario.timeout if fault == "timeout" else scenario.latency
    answer = chat(served, body, broken=fault == "broken") if is_chat else embeddings(served, body)
    await asyncio.sleep(arrived + seconds - time.monotonic())
    if fault == "timeout":
        writer.transport.abort()
        return False
    if fault != "cut":
        by_prompt = prompt_digest if scenario.reads else prompt_id
        stats.answered[by_prompt(body) if is_chat else "embeddings"] += 1
        stats.tokens += answer["usage"]["total_tokens"]
        stats.seconds += time.monotonic() - arrived
    return await send(writer, 200, answer, cut=fault == "cut")


async def send(
    writer: asyncio.StreamWriter, status: int, body: Any, more: str = "", *, cut: bool = False
) -> bool:
    """Write one HTTP answer; `cut` ends the connection in the middle of the body."""
    text = (body if isinstance(body, str) else json.dumps(body)).encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        f"{more}content-length: {len(text)}\r\n\r\n"
    )
    writer.write(head.encode() + (text[: len(text) // 2] if cut else text))
    await writer.drain()
    if cut:
        writer.transport.close()
    return not cut


async def serve() -> None:
    server = await asyncio.start_server(Server().connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(serve())
