"""The server behind `fake_openai`: as a program it prints its port and serves until stdin ends."""

import asyncio
import json
import os
import random
import re
import sys
import time
from collections import deque
from http import HTTPStatus
from typing import Any

import reading
from fake_openai import Scenario, Stats


class Served:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.stats = Stats()
        self.random = random.Random(scenario.seed)
        self.minute: deque[tuple[float, int]] = deque()
        self.n_tokens = 0
        self.at_once = 0

    def count(self, n_tokens: int) -> None:
        """Enter a request into the sliding window."""
        now = time.monotonic()
        while self.minute and self.minute[0][0] <= now - self.scenario.minute:
            self.n_tokens -= self.minute.popleft()[1]
        self.minute.append((now, n_tokens))
        self.n_tokens += n_tokens
        self.stats.requests += 1
        self.stats.most_requests = max(self.stats.most_requests, len(self.minute))
        self.stats.most_tokens = max(self.stats.most_tokens, self.n_tokens)

    def over_limit(self) -> bool:
        n_requests = self.scenario.requests_per_minute or 1 << 60
        return n_requests < len(self.minute) or (
            (self.scenario.tokens_per_minute or 1 << 60) < self.n_tokens
        )

    def fault(self) -> str:
        """The fault that this request meets; "" for none."""
        scenario = self.scenario
        if self.stats.requests <= scenario.fail_first:
            return "500"
        if scenario.out_after is not None and self.stats.requests > scenario.out_after:
            return "500"
        dice = self.random.random()
        for name in ("429", "500", "reset", "timeout", "broken", "cut"):
            dice -= getattr(scenario, f"share_{name}")
            if dice < 0:
                return name
        return ""


def error(status: int, message: str, **more: Any) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": message, "type": "invalid_request_error", **more}}


def words(body: dict[str, Any]) -> int:
    return sum(len(message["content"].split()) for message in body.get("messages", ()))


def prompt_id(body: dict[str, Any]) -> str:
    """The `#number` in the first message that holds one; else the start of the last message."""
    for message in body["messages"]:
        if match := re.search(r"#(\d+)", message["content"]):
            return match.group(1)
    return str(body["messages"][-1]["content"][:40])


def refusal(served: Served, body: dict[str, Any], key: str) -> tuple[int, dict[str, Any]] | None:
    scenario = served.scenario
    if scenario.key is not None and key != scenario.key:
        return error(401, f"Incorrect API key provided: {key}.", code="invalid_api_key")
    if scenario.models and body.get("model") not in scenario.models:
        return error(404, f"The model `{body.get('model')}` does not exist", code="model_not_found")
    for name in scenario.refuse:
        value = body.get(name)
        if name in ("json_schema", "json_object"):
            if (body.get("response_format") or {}).get("type") == name:
                return error(400, f"response_format of type {name} is not supported")
        elif name == "max_tokens" and value is not None:
            return error(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this "
                "model. Use 'max_completion_tokens' instead.",
                param=name,
            )
        elif value is not None:
            return error(400, f"Unsupported value: '{name}' does not support {value}.", param=name)
    if scenario.window is not None and words(body) > scenario.window:
        return error(
            400,
            f"This model's maximum context length is {scenario.window} tokens.",
            code="context_length_exceeded",
        )
    if scenario.filter_word and any(scenario.filter_word in m["content"] for m in body["messages"]):
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
    name = prompt_id(body)
    text = f"reply {name}" if scenario.text is None else scenario.text
    last = body["messages"][-1]["content"]
    text = next((reply for part, reply in scenario.texts.items() if part in last), text)
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema" and scenario.text is None and not scenario.texts:
        text = json.dumps(filled(form["json_schema"]["schema"], name))
    if scenario.reads:
        text = reading.reply(body)
    if broken:
        text = 'Sure! Here it is: {"answer": "'
    n_prompt = words(body)
    if scenario.silent_window is not None:
        n_prompt = min(n_prompt, scenario.silent_window)
    message = {"role": "assistant", "content": text, **scenario.message}
    if scenario.reasoning is not None:
        message["reasoning_content"] = scenario.reasoning
    n_completion = len(text.split()) + len((scenario.reasoning or "").split())
    fingerprint = scenario.fingerprints[served.stats.requests % len(scenario.fingerprints)]
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "system_fingerprint": fingerprint,
        "choices": [{"index": 0, "message": message, "finish_reason": scenario.finish}],
        "usage": {
            "prompt_tokens": n_prompt,
            "completion_tokens": n_completion,
            "total_tokens": n_prompt + n_completion,
        },
    }


def embeddings(served: Served, body: dict[str, Any]) -> dict[str, Any]:
    size = body.get("dimensions") or served.scenario.dimension
    rows = []
    for at, text in enumerate(body["input"]):
        vector = [0.0] * size
        for place, char in enumerate(text):
            vector[place % size] += ord(char) / 100
        rows.append({"object": "embedding", "index": at, "embedding": vector})
    n_tokens = sum(len(text.split()) for text in body["input"])
    rows.reverse()
    return {
        "object": "list",
        "model": body["model"],
        "data": rows,
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
    }


class Server:
    def __init__(self) -> None:
        self.served: list[Served] = []

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it is closed."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                fields = (line.partition(": ") for line in lines[1:])
                headers = {name.lower(): value for name, _, value in fields if name}
                raw = await reader.readexactly(int(headers.get("content-length", "0")))
                path = lines[0].split(" ")[1]
                if not await self.request(path, headers, raw, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def request(
        self, path: str, headers: dict[str, str], raw: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; False when the connection is over."""
        if path == "/scenarios":
            self.served.append(Served(Scenario(**json.loads(raw))))
            return await send(writer, 200, {"path": f"/{len(self.served) - 1}"})
        served = self.served[int(path.split("/")[1])]
        if path.endswith("/stats"):
            return await send(writer, 200, vars(served.stats))
        served.at_once += 1
        served.stats.most_at_once = max(served.stats.most_at_once, served.at_once)
        try:
            return await self.api(served, path, headers, json.loads(raw or "{}"), writer)
        finally:
            served.at_once -= 1

    async def api(
        self,
        served: Served,
        path: str,
        headers: dict[str, str],
        body: dict[str, Any],
        writer: asyncio.StreamWriter,
    ) -> bool:
        scenario, stats = served.scenario, served.stats
        if path.endswith("/models"):
            return await send(writer, 200, {"object": "list", "data": scenario.listed})
        is_chat = path.endswith("/chat/completions")
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        served.count((words(body) if is_chat else 0) + limit)
        if len(stats.bodies) < 50:
            stats.bodies.append(body)
        key = headers.get("authorization", "").removeprefix("Bearer ")
        if scenario.raw_status is not None:
            text = (scenario.raw_body or "").replace("{key}", key)
            return await send(writer, scenario.raw_status, text)
        if (refused := refusal(served, body, key)) is not None:
            stats.faults[str(refused[0])] += 1
            return await send(writer, *refused)
        fault = "429" if served.over_limit() else served.fault()
        if scenario.fail_word and any(scenario.fail_word in m["content"] for m in body["messages"]):
            fault = "500"
        if fault:
            stats.faults[fault] += 1
        if fault in ("429", "500"):
            wait = (
                {} if scenario.retry_after is None else {"retry-after": str(scenario.retry_after)}
            )
            return await send(writer, int(fault), {"error": {"message": "try later"}}, wait)
        await asyncio.sleep(scenario.timeout if fault == "timeout" else scenario.latency)
        if fault in ("reset", "timeout"):
            writer.transport.abort()
            return False
        answer = (
            chat(served, body, broken=fault == "broken") if is_chat else embeddings(served, body)
        )
        if fault == "cut":
            await send(writer, 200, answer, cut=True)
            return False
        by_prompt = reading.prompt_digest if scenario.reads else prompt_id
        stats.answered[by_prompt(body) if is_chat else "embeddings"] += 1
        stats.tokens += answer.get("usage", {}).get("total_tokens", 0)
        return await send(writer, 200, answer)


async def send(
    writer: asyncio.StreamWriter,
    status: int,
    body: dict[str, Any] | str,
    headers: dict[str, str] | None = None,
    *,
    cut: bool = False,
) -> bool:
    """Write one HTTP answer; `cut` breaks off in the middle of the body."""
    text = (body if isinstance(body, str) else json.dumps(body)).encode()
    more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
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
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(serve())
