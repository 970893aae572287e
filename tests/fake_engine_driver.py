"""A small engine of our own behind the protocol of drivers: an index of words, made with models.

It extracts names from every chunk with the chat model, embeds every chunk, and ranks by cosine. As
a program it reads JSON lines from standard input. Settings make it fail where a text holds a word:
`crash_on`, `hang_on`, `nonsense_on`, `fail_on`, `silent_on` (an empty answer), `greedy_on` (many
calls), `lose_on` (a chunk that it tells as lost), `swallow` (errors of models are ignored); `once`
names a file that arms them for one time.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

VERSION = "0.1"
KNOWN = {
    "crash_on", "hang_on", "nonsense_on", "fail_on", "silent_on", "greedy_on", "swallow", "once",
    "foreign", "lose_on",
}  # fmt: skip


class Engine:
    def __init__(self) -> None:
        self.opened: dict[str, Any] = {}

    def hello(self) -> dict[str, Any]:
        return {"engine": "fake", "version": VERSION, "python": sys.version.split()[0]}

    def open(self, **given: Any) -> dict[str, Any]:
        unknown = sorted(set(given["settings"]) - KNOWN)
        if unknown:
            raise ValueError(f"there is no setting {unknown[0]}")
        self.opened = given
        (Path(given["folder"]) / "config.ini").write_text(f"key = {given['key']}\n")
        return {
            "settings": {"similarity": "cosine", **given["settings"]},
            "not_equal": ["it lowers all words before it embeds them"],
        }

    def build(
        self, documents: list[dict[str, str]], chunks: list[dict[str, str]] | None
    ) -> dict[str, int]:
        self.fail(" ".join(row["text"] for row in documents))
        if chunks is None:  # as released: two documents in one chunk, under names of its own
            texts = [f"{row['title']}\n{row['text']}" for row in documents]
            pairs = [texts[at : at + 2] for at in range(0, len(texts), 2)]
            chunks = [{"id": f"own-{at}", "text": "\n".join(p)} for at, p in enumerate(pairs)]
        names = [self.chat(f"Extract the names.\n{row['text']}").split(";") for row in chunks]
        vectors = self.embed([row["text"].lower() for row in chunks])
        held = [
            {"id": row["id"], "text": row["text"], "names": [n.strip() for n in found if n.strip()],
             "vector": vector}
            for row, found, vector in zip(chunks, names, vectors, strict=True)
        ]  # fmt: skip
        self.file.write_text(json.dumps(held))
        nodes = {name for row in held for name in row["names"]}
        pairs_of = sum(max(len(row["names"]) - 1, 0) for row in held)
        n_lost = sum(self.armed("lose_on", row["text"]) for row in held)
        return {"n_nodes": len(nodes), "n_relationships": pairs_of, "n_chunks": len(held),
                "n_lost": n_lost}  # fmt: skip

    def graph(self) -> dict[str, Any]:
        rows = json.loads(self.file.read_text())
        chunks: dict[str, list[str]] = {}
        for row in rows:
            for name in row["names"]:
                chunks.setdefault(name, []).append(row["id"])
        nodes = [
            {"name": name, "type": "name", "description": f"{name} is a name", "chunks": ids}
            for name, ids in chunks.items()
        ]
        relationships = [
            {"source": head, "target": tail, "description": f"{head} is named with {tail}",
             "weight": 1.0, "chunks": [row["id"]]}
            for row in rows
            for head, tail in zip(row["names"], row["names"][1:], strict=False)
            if head != tail
        ]  # fmt: skip
        return {"nodes": nodes, "relationships": relationships}

    def ask(
        self, question: str, top_k: int | None, budget_tokens: int | None, answer: bool
    ) -> dict[str, Any]:
        self.fail(question)
        rows = json.loads(self.file.read_text())
        for at in range(100 if self.armed("greedy_on", question) else 1):
            keywords = self.chat(f"Keywords of: {question}" + (f" ({at})" if at else ""))
        (vector,) = self.embed([question.lower()])
        scored = sorted(
            ((sum(a * b for a, b in zip(vector, row["vector"], strict=True)), row) for row in rows),
            key=lambda pair: (-pair[0], pair[1]["id"]),
        )[: top_k or 3]
        passages = [{"id": row["id"], "text": row["text"], "score": score} for score, row in scored]
        if self.opened["settings"].get("foreign"):
            passages.insert(0, {"id": None, "text": "A text of nobody's corpus.", "score": 2.0})
        names = sorted({name for _, row in scored for name in row["names"]})
        context = "Names: " + ", ".join(names) + f"\nKeywords: {keywords}\n"
        context += "\n".join(passage["text"] for passage in passages)
        said = None
        if answer:
            said = self.chat(f"Answer briefly.\n{context}\nQuestion: {question}")
            said = "" if self.armed("silent_on", question) else said
        return {"passages": passages, "context": context, "answer": said}

    def close(self) -> dict[str, Any]:
        return {}

    @property
    def file(self) -> Path:
        return Path(self.opened["folder"]) / "words.json"

    def armed(self, name: str, text: str) -> bool:
        settings = self.opened["settings"]
        if not (word := settings.get(name)) or word not in text:
            return False
        if (once := settings.get("once")) is not None:
            if not Path(once).exists():
                return False
            Path(once).unlink()
        return True

    def fail(self, text: str) -> None:
        if self.armed("crash_on", text):
            tell("I was told to crash")
            os._exit(3)
        if self.armed("hang_on", text):
            time.sleep(3600)
        if self.armed("nonsense_on", text):
            reply("this is no JSON")
            time.sleep(3600)
        if self.armed("fail_on", text):
            raise RuntimeError("I was told to fail")

    def chat(self, text: str) -> str:
        body = {"model": self.opened["llm_model"], "temperature": 0.7, "max_tokens": 100,
                "messages": [{"role": "user", "content": text}]}  # fmt: skip
        answer = self.post("/chat/completions", body)
        return "" if answer is None else str(answer["choices"][0]["message"]["content"])

    def embed(self, texts: list[str]) -> list[list[float]]:
        body = {"model": self.opened["embedding_model"], "input": texts}
        answer = self.post("/embeddings", body)
        assert answer is not None
        return [row["embedding"] for row in answer["data"]]

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        request = urllib.request.Request(
            self.opened["base_url"] + path,
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.opened['key']}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                found: dict[str, Any] = json.load(response)
                return found
        except urllib.error.HTTPError as error:
            if self.opened["settings"].get("swallow") and path != "/embeddings":
                return None
            raise RuntimeError(f"HTTP {error.code}: {error.read().decode()}") from None


def tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def reply(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    engine = Engine()
    tell("the fake engine begins")
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            outcome = {"result": getattr(engine, asked["call"])(**asked["arguments"])}
        except Exception as error:  # noqa: BLE001 (the boundary of the process)
            outcome = {"error": {"type": type(error).__name__, "message": str(error)}}
        reply(json.dumps({"id": asked["id"], **outcome}))
        if asked["call"] == "close":
            return


if __name__ == "__main__":
    main()
