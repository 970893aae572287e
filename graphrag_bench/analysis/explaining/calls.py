"""The calls of a language model behind a stored question: what was sent, and what came back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.llm.ledger import Line, read_ledger
from graphrag_bench.models.cache import Cache
from graphrag_bench.runs.stored import StoredRun

Call = dict[str, Any]
_BUILD = "build"


class Calls:
    """The calls that a run's questions made, by question, in the order of the ledger."""

    def __init__(self, run: StoredRun, home: Path) -> None:
        """Read the ledger of `run`; prompts and replies are looked up when they are asked for.

        They are in the file that `cache.path` of the run names, else in the store of replies below
        `home`. Where that is gone, calls are told without them.
        """
        self._lines: dict[str, list[Line]] = {}
        for line in read_ledger(*run.folder.files("ledger")):
            if line.stage != _BUILD:
                self._lines.setdefault(line.item, []).append(line)
        named = run.config.get("cache", {}).get("path")
        store = Path(named) if named else home / "cache" / "replies.sqlite"
        self._store = Cache(store, reading=True) if store.is_file() else None

    def of(self, question: str) -> list[Call]:
        """The calls of a question: the ledger's fields that are not empty, `prompt` and `reply`.

        `prompt` are the messages as they were sent, each with `role` and `content`.
        """
        return [self._told(line) for line in self._lines.get(question, ())]

    def _told(self, line: Line) -> Call:
        said: Call = {name: value for name, value in vars(line).items() if value}
        stored = self._store.get(line.key) if self._store and line.key else None
        if stored is None:
            return said
        messages = json.loads(zlib.decompress(stored.prompt))["messages"]
        prompt = [{"role": role, "content": content} for role, content in messages]
        return {**said, "prompt": prompt, "reply": stored.text}


def call_lines(calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Each call as text: its step, model, tokens and time, then the messages and the reply."""
    yield f"calls: {len(calls)}"
    for call in calls:
        tokens = f"{call.get('prompt_tokens', 0):,} + {call.get('completion_tokens', 0):,} tokens"
        took = "from the store" if call.get("cached") else f"{call.get('seconds', 0.0):.3f} s"
        parts = (call["step"], call.get("model", ""), tokens, took, call["outcome"])
        yield f"  {'  '.join(part for part in parts if part)}"
        if "prompt" not in call:
            yield "    (prompt and reply are not in the store of replies)"
            continue
        for message in call["prompt"]:
            yield from _said(message["role"], message["content"])
        yield from _said("reply", call["reply"])


def _said(who: str, text: str) -> Iterator[str]:
    yield f"    {who}:"
    yield from (f"      {line}" for line in text.splitlines() or [""])
