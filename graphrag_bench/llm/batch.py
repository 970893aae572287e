"""Batch files of requests and replies, in the format of OpenAI's batch API and `vllm run-batch`."""

import json
import threading
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import WAITING, Cache, StoredReply, reply_key
from graphrag_bench.llm.calls import CallFailed, Completion, Request, RequestsWritten
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.openai_compatible import OpenAICompatible, body, completion
from graphrag_bench.llm.server import FILTERED, OPENAI, OVERFLOW
from graphrag_bench.llm.settings import Prices, provider_facts
from graphrag_bench.prompts import Message

_AGAIN = (WAITING, "retries_exhausted", "malformed")
"""Failed requests with these reasons are always written to the file again."""


class BatchFile:
    """Batch file of the requests without a stored reply. It replaces an earlier file of requests.

    A command without new requests leaves an empty file. A command that finds an empty file also
    writes the requests with a failed or unreadable reply. Other kinds of files raise UserError.
    """

    def __init__(self, path: str) -> None:
        self.path, self.n, self._cache = Path(path), 0, Path()
        self._lock, self._keys = threading.Lock(), set[str]()
        size = self.path.stat().st_size if self.path.is_file() else None
        self._again = ("unreadable", "failed") if size == 0 else ()
        if size and not is_batch(path, "url"):
            raise UserError(f"'{path}' is not a file of requests. Choose another file.")
        self.path.write_text("")

    def __call__(self, llm: ChatModel, requests: Sequence[Request]) -> None:
        """Write the requests without a stored reply. Raises RequestsWritten if there are any."""
        if not isinstance(llm, OpenAICompatible) or llm.cache is None or llm.cache.reading:
            raise UserError("A batch needs llm=openai_compatible and cache.mode=write.")
        asked = {reply_key(llm.identity, one): one for one in requests}
        stored = llm.cache.get_many(StoredReply, [key for key, _ in asked])
        about: dict[str, Any] = {"identity": llm.identity, "verdict": "failed", "reason": WAITING}
        waiting = [
            StoredReply("", key=key, prompt=prompt, **about)
            for key, prompt in asked
            if (row := stored.get(key)) is None
            or row.reason in _AGAIN
            or row.verdict in self._again
        ]
        llm.cache.put(*waiting)
        with self._lock, self.path.open("a", encoding="utf-8") as out:
            for row in waiting:
                if row.key not in self._keys:
                    sent = body(llm.model, asked[row.key, row.prompt], llm.decoding, llm.dialect)
                    line = {"custom_id": row.key, "method": "POST", "url": "/v1/chat/completions"}
                    out.write(json.dumps({**line, "body": sent}) + "\n")
            self._keys.update(row.key for row in waiting)
            self.n, self._cache = len(self._keys), llm.cache.path
        if waiting:
            self.stop()

    def stop(self, before: int = 0) -> None:
        """Raise RequestsWritten if more than `before` requests have been written."""
        if self.n > before:
            raise RequestsWritten(
                f"{self.n} requests are in {self.path}. Import their replies (graphrag-bench cache "
                f"import REPLIES.jsonl --path {self._cache}), and repeat the command."
            )


def is_batch(file: str | Path, field: str = "custom_id") -> bool:
    """Return whether the first JSON object in a file's first 100 lines has the field `field`."""
    with suppress(OSError), Path(file).open(encoding="utf-8-sig", errors="replace") as lines:
        for line in islice(lines, 100):
            with suppress(ValueError, RecursionError):
                if isinstance(first := json.loads(line), dict):
                    return field in first
    return False


def import_replies(file: str | Path, cache: str | Path) -> str:
    """Store the replies of a batch, and return the number of lines of each kind as a text.

    The kinds are `replies`, `failed` (errors and unusable replies, which can be imported again),
    `known` (imported before), `foreign` (no such request in this cache) and `unreadable` (not a
    JSON reply). Raises UserError if the file has requests instead of replies.
    """
    counts = dict.fromkeys(("replies", "failed", "known", "foreign", "unreadable"), 0)
    with closing(Cache(cache)) as store, open(file, encoding="utf-8-sig", errors="replace") as rows:
        for line in filter(str.strip, rows):
            try:
                answer = json.loads(line)
                row = store.get(str(answer["custom_id"]))
                response = {**(answer.get("response") or {})}
                if response.get("status_code") == 200:
                    response["body"] = {**(response.get("body") or {})}
            except (ValueError, TypeError, KeyError, RecursionError):
                counts["unreadable"] += 1
                continue
            if "url" in answer and not answer.keys() & {"response", "error"}:
                raise UserError(f"'{file}' lists requests, not replies. Import a file of replies.")
            kind = "foreign" if row is None else "known"
            if row is not None and row.verdict == "failed":
                asked = json.loads(zlib.decompress(row.prompt))
                chat = tuple(Message(*one) for one in asked["messages"])
                how = {name: asked[name] for name in ("max_tokens", "stop", "schema")}
                llm = _Answered(row.identity, answer.get("error"), response)
                (outcome,) = llm.attached(store=store, trial=asked["trial"]).complete([chat], **how)
                kind = "failed" if isinstance(outcome, CallFailed) else "replies"
            counts[kind] += 1
    return ", ".join(f"{n} {kind}" for kind, n in counts.items())


@dataclass(eq=False)
class _Answered(ChatModel):
    """Model that returns the reply in a line of a batch file. Prices ignore the batch discount."""

    identity: str = ""
    error: object = None
    response: Mapping[str, Any] = field(default_factory=dict)

    def call(self, request: Request) -> Completion:
        if self.error or self.response.get("status_code") != 200:
            text = json.dumps(self.error or self.response)[:500]
            kinds = {"context_overflow": OVERFLOW, "content_filter": FILTERED}
            final = (kind for kind, pattern in kinds.items() if pattern.search(text))
            raise CallFailed(next(final, "retries_exhausted"), text)
        prices = provider_facts(self.identity.rpartition(":")[0], OPENAI)[1] or Prices()
        return completion(self.response["body"], request, prices)
