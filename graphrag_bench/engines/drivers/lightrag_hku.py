"""LightRAG as HKUDS releases it, behind the calls of `driving`: `ainsert` and `aquery_llm`."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))  # last: a driver has the name of an engine's package
from driving import (  # noqa: E402
    ChunkNames,
    Opened,
    Row,
    by_document,
    divided,
    greeting,
    plain_fields,
    ranks_in_place,
    released_texts,
    serve,
    stored_graph,
    stored_texts,
)

NOT_EQUAL = [
    "there is no reranker",
    "its own store of replies is off, for ours has them",
    "it is not told of the embedder's window: ours embeds long texts, as for every method",
    "replies are merged in the order in which they come, which may change the order of ties",
]
OF_EQUAL = [
    "nodes and relationships may take the shares of the context budget that they have of its "
    "default of 30,000 tokens, passages the rest; k bounds passages, and not nodes",
]
_OWN = ("working_dir", "enable_llm_cache", "enable_llm_cache_for_entity_extract", "workspace")
_SAID = ("mode", "top_k", "chunk_top_k", "max_entity_tokens", "max_relation_tokens",
         "max_total_tokens", "response_type")  # fmt: skip
_BUFFER = 200
"""Tokens that LightRAG sets aside of its budget for its list of references."""


class LightRag:
    """An index of LightRAG that is open."""

    def hello(self) -> Any:
        """Name and version."""
        return greeting("lightrag-hku")

    async def open(self, given: Opened) -> dict[str, Any]:
        """Open the index of a folder; the release's own clients ask for replies and vectors."""
        os.chdir(given.folder)
        self.ranks = ranks_in_place()
        from lightrag import LightRAG, QueryParam
        from lightrag.llm.openai import openai_complete_if_cache, openai_embed
        from lightrag.utils import EmbeddingFunc

        self.folder, self.equal = Path(given.folder), given.equal
        self.asked, built = divided(
            given.settings, plain_fields(QueryParam), plain_fields(LightRAG, *_OWN)
        )
        self.parameters = QueryParam
        self.names = ChunkNames(self.folder)
        self.cut: dict[str, list[str]] = {}

        async def reply(prompt: str, **words: Any) -> Any:
            words.pop("hashing_kv", None)
            return await openai_complete_if_cache(
                given.llm_model, prompt, base_url=given.base_url, api_key=given.key, **words
            )

        embed = partial(
            openai_embed.func,
            model=given.embedding_model,
            base_url=given.base_url,
            api_key=given.key,
        )
        if self.equal:
            built["chunking_func"] = lambda *told: self.our_chunks(*told)  # copied, not its self
        self.rag = LightRAG(
            working_dir=given.folder,
            llm_model_func=reply,
            llm_model_name=given.llm_model,
            embedding_func=EmbeddingFunc(embedding_dim=given.embedding_dimension, func=embed),
            enable_llm_cache=False,
            enable_llm_cache_for_entity_extract=False,
            **built,
        )
        await self.rag.initialize_storages()
        asks = self.query(None, None)
        held = {name: getattr(asks, name) for name in _SAID}
        for name in ("entity_extract_max_gleaning", "summary_context_size"):
            held[name] = getattr(self.rag, name)
        if self.equal:
            held = {name: one for name, one in held.items() if not name.startswith("max_")}
        else:
            held["chunk_token_size"] = self.rag.chunk_token_size
        return {"settings": held, "not_equal": [*NOT_EQUAL, *(OF_EQUAL if self.equal else ())]}

    def our_chunks(self, _: Any, content: str, *__: Any) -> list[dict[str, Any]]:
        """What LightRAG takes for the chunks of a document: ours."""
        return [
            {"tokens": len(self.ranks.encode(text)), "content": text, "chunk_order_index": at}
            for at, text in enumerate(self.cut[content])
        ]

    async def build(self, documents: list[Row], chunks: list[Row] | None) -> dict[str, int]:
        """Insert everything in one go; raises RuntimeError where a document failed."""
        texts = released_texts(documents) if chunks is None else self.documents_of(chunks)
        ids = [f"document-{at}" for at in range(len(texts))]
        await self.rag.ainsert(texts, ids=ids, file_paths=ids)
        self.refuse_failed()
        graph = self.graph()
        await self.rag.finalize_storages()
        n_chunks = len(stored_texts(self.folder))
        return {
            "n_nodes": len(graph["nodes"]),
            "n_relationships": len(graph["relationships"]),
            "n_chunks": n_chunks,
        }

    def documents_of(self, chunks: list[Row]) -> list[str]:
        """The text of each document, put together of our chunks, which it will be cut into."""
        from lightrag.utils import sanitize_text_for_encoding as sane

        groups = by_document(chunks)
        names: dict[str, list[str]] = {}
        for row in chunks:
            names.setdefault(row["text"], []).append(row["id"])
        pairs, texts = [], []
        for at, rows in enumerate(groups):
            texts.append(sane("\n\n".join(row["text"] for row in rows)))
            self.cut[texts[-1]] = [sane(row["text"]) for row in rows]
            for order, row in enumerate(rows):
                key = f"document-{at}-chunk-{order:03d}"
                pairs += [(key, name) for name in names[row["text"]]]
        self.names.keep(pairs)
        return texts

    def refuse_failed(self) -> None:
        """Raise RuntimeError with the first reason where LightRAG has marked documents failed."""
        held = json.loads((self.folder / "kv_store_doc_status.json").read_text())
        failed = [one for one in held.values() if str(one.get("status")) != "processed"]
        if failed:
            why = next((one["error_msg"] for one in failed if one.get("error_msg")), "no reason")
            raise RuntimeError(f"{len(failed)} of {len(held)} documents failed: {why}")

    def graph(self) -> Any:
        """Its nodes and relationships."""
        return stored_graph(self.folder, self.names)

    def query(self, top_k: int | None, budget: int | None, **words: Any) -> Any:
        """The parameters of a question; a budget is shared out as the defaults share theirs."""
        words = {"enable_rerank": False, **words}
        if top_k is not None:
            words["chunk_top_k"] = top_k
        if budget is not None:
            usual = self.parameters()
            for name in ("max_entity_tokens", "max_relation_tokens"):
                words[name] = budget * getattr(usual, name) // usual.max_total_tokens
            words["max_total_tokens"] = budget
        return self.parameters(**{**words, **self.asked})

    async def ask(
        self, question: str, top_k: int | None, budget_tokens: int | None, answer: bool
    ) -> dict[str, Any]:
        """Passages and context of `aquery_llm`; the answer is a second call of it."""
        asks = self.query(top_k, budget_tokens, only_need_context=True)
        if budget_tokens is not None:
            asks.max_total_tokens += self.n_of_prompt(question, asks)
        found = await self.found(question, asks)
        chunks = (found.get("data") or {}).get("chunks") or []
        empty = not any((found.get("data") or {}).values())
        said = None
        if answer:
            replied = await self.found(question, self.query(top_k, budget_tokens))
            said = replied["llm_response"]["content"]
        passages = [
            {"id": self.names.one(one.get("chunk_id") or ""), "text": one["content"], "score": None}
            for one in chunks
        ]
        context = "" if empty else found["llm_response"]["content"] or ""
        return {"passages": passages, "context": context, "answer": said}

    async def found(self, question: str, asks: Any) -> dict[str, Any]:
        """What `aquery_llm` returns; raises RuntimeError for an error that it has put in there."""
        found: dict[str, Any] = await self.rag.aquery_llm(question, asks)
        said = str(found.get("message") or "")
        if found.get("status") == "failure" and said.startswith("Query failed"):
            raise RuntimeError(said)
        return found

    def n_of_prompt(self, question: str, asks: Any) -> int:
        """The tokens of its budget that LightRAG gives to its prompt, which our reader has not."""
        from lightrag.prompt import PROMPTS

        prompt = PROMPTS["rag_response"].format(
            context_data="", response_type=asks.response_type, user_prompt=asks.user_prompt or "n/a"
        )
        return len(self.ranks.encode(prompt)) + len(self.ranks.encode(question)) + _BUFFER

    def close(self) -> dict[str, Any]:
        """Nothing is left to be done: the build has written everything."""
        return {}


if __name__ == "__main__":
    serve(LightRag())
