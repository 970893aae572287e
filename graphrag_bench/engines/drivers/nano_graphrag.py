"""nano-graphrag as released, behind the calls of `driving`: `ainsert`, and `aquery` in `local`."""

from __future__ import annotations

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
    by_text,
    divided,
    greeting,
    plain_fields,
    ranks_in_place,
    released_texts,
    serve,
    shared_out,
    stored_graph,
    stored_texts,
)

NOT_EQUAL = [
    "its search is `local`, which its author prefers; `global`, its default, retrieves no passages "
    "(engine.settings.mode)",
    "its own store of replies is off, for ours has them",
]
OF_EQUAL = [
    "reports, relationships and passages share the context budget as they share its default of "
    "12,000 tokens; it counts neither nodes nor the columns of its tables, so that it searches "
    "again with less until its context takes at most 95 % of the budget",
    "k bounds no search: as many passages as their share of the budget holds",
]
_OWN = (
    "working_dir", "enable_llm_cache", "enable_naive_rag", "using_azure_openai",
    "always_create_working_dir",
)  # fmt: skip
_SHARES = {
    "local_max_token_for_text_unit": 4000,
    "local_max_token_for_local_context": 4800,
    "local_max_token_for_community_report": 3200,
}
"""Tokens of passages, relationships and reports, by default."""
_ROUNDS = 8
_MODES = ("local", "global")


class NanoGraphRag:
    """An index of nano-graphrag that is open."""

    def hello(self) -> Any:
        """Name and version."""
        return greeting("nano-graphrag")

    def open(self, given: Opened) -> dict[str, Any]:
        """Open the index of a folder; its own client asks for replies, which reads the address."""
        os.chdir(given.folder)
        os.environ |= {"OPENAI_API_KEY": given.key, "OPENAI_BASE_URL": given.base_url}
        self.ranks = ranks_in_place()
        import numpy as np
        from nano_graphrag import GraphRAG, QueryParam
        from nano_graphrag._llm import get_openai_async_client_instance, openai_complete_if_cache
        from nano_graphrag._utils import EmbeddingFunc

        self.folder, self.equal = Path(given.folder), given.equal
        self.asked, built = divided(
            given.settings,
            plain_fields(QueryParam, "only_need_context"),
            plain_fields(GraphRAG, *_OWN),
        )
        self.asked.setdefault("mode", "local")
        if self.asked["mode"] not in _MODES:
            raise ValueError(f"mode is {self.asked['mode']!r}; local and global are supported")
        self.parameters, self.names = QueryParam, ChunkNames(self.folder)
        self.cut: dict[str, list[str]] = {}
        self.retrieved: list[dict[str, Any]] = []

        async def embed(texts: list[str]) -> Any:
            client = get_openai_async_client_instance()
            found = await client.embeddings.create(
                model=given.embedding_model, input=list(texts), encoding_format="float"
            )
            return np.array([one.embedding for one in found.data])

        if self.equal:
            built["chunk_func"] = lambda *given, **words: self.our_chunks(*given, **words)
        model = partial(openai_complete_if_cache, given.llm_model)
        self.rag = GraphRAG(
            working_dir=given.folder,
            best_model_func=model,
            cheap_model_func=model,
            embedding_func=EmbeddingFunc(
                given.embedding_dimension, given.embedding_max_tokens, embed
            ),
            enable_llm_cache=False,
            **built,
        )
        self.watch()
        asks = self.query(None)
        held = {"mode": asks.mode, "top_k": asks.top_k, "level": asks.level}
        if not self.equal:
            held |= {name: getattr(asks, name) for name in _SHARES}
            held["chunk_token_size"] = self.rag.chunk_token_size
        held["entity_extract_max_gleaning"] = self.rag.entity_extract_max_gleaning
        return {"settings": held, "not_equal": [*NOT_EQUAL, *(OF_EQUAL if self.equal else ())]}

    def watch(self) -> None:
        """Keep the chunks that its local search puts into the context, which it does not tell."""
        from nano_graphrag import _op

        found = _op._find_most_related_text_unit_from_entities

        async def kept(*given: Any, **words: Any) -> Any:
            self.retrieved = await found(*given, **words)
            return self.retrieved

        _op._find_most_related_text_unit_from_entities = kept

    def our_chunks(self, tokens_list: Any, doc_keys: list[str], **_: Any) -> list[dict[str, Any]]:
        """What nano-graphrag takes for the chunks of its documents: ours."""
        return [
            {
                "tokens": len(self.ranks.encode(text)),
                "content": text,
                "chunk_order_index": at,
                "full_doc_id": key,
            }
            for key in doc_keys
            for at, text in enumerate(self.cut[key])
        ]

    async def build(self, documents: list[Row], chunks: list[Row] | None) -> dict[str, int]:
        """Insert everything in one go; raises RuntimeError where nothing was extracted."""
        texts = released_texts(documents) if chunks is None else self.documents_of(chunks)
        await self.rag.ainsert(texts)
        held = stored_texts(self.folder)
        if not held:
            raise RuntimeError("it has extracted no node from any document, and stores nothing")
        graph = self.graph()
        return {
            "n_nodes": len(graph["nodes"]),
            "n_relationships": len(graph["relationships"]),
            "n_chunks": len(held),
        }

    def documents_of(self, chunks: list[Row]) -> list[str]:
        """The text of each document, put together of our chunks, which it will be cut into."""
        from nano_graphrag._utils import compute_mdhash_id

        texts = []
        for rows in by_document(chunks):
            texts.append("\n\n".join(row["text"] for row in rows))
            key = compute_mdhash_id(texts[-1].strip(), prefix="doc-")
            self.cut[key] = [row["text"].strip() for row in rows]
        self.names.keep((by_text(row["text"]), row["id"]) for row in chunks)
        return texts

    def graph(self) -> Any:
        """Its nodes and relationships; it writes names in quotation marks."""
        return stored_graph(self.folder, self.names, quotes='"')

    def query(self, budget: int | None, **words: Any) -> Any:
        """The parameters of a question; a budget is shared out as the defaults share theirs."""
        if budget is not None:
            words |= shared_out(budget, _SHARES)
        return self.parameters(**{**words, **self.asked})

    async def ask(
        self, question: str, top_k: int | None, budget_tokens: int | None, answer: bool
    ) -> dict[str, Any]:
        """The context of its search with the chunks in it; the answer is a second call."""
        self.retrieved = []
        context = await self.context(question, budget_tokens)
        left, aim = budget_tokens or 0, (budget_tokens or 0) * 19 // 20
        for _ in range(_ROUNDS if budget_tokens is not None else 0):
            n_tokens = len(self.ranks.encode(context))
            if n_tokens <= aim or not left:
                break
            left = left * aim // n_tokens
            context = await self.context(question, left)
        passages = [
            {"id": self.names.one(by_text(one["content"])), "text": one["content"], "score": None}
            for one in self.retrieved
        ]
        said = await self.rag.aquery(question, self.query(budget_tokens)) if answer else None
        return {"passages": passages, "context": context, "answer": said}

    async def context(self, question: str, budget: int | None) -> str:
        """What its search finds; "" where it finds nothing."""
        found = await self.rag.aquery(question, self.query(budget, only_need_context=True))
        return str(found or "")

    def close(self) -> dict[str, Any]:
        """Nothing is left to be done: the build has written everything."""
        return {}


if __name__ == "__main__":
    serve(NanoGraphRag())
