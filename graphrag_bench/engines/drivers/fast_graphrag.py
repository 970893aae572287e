"""fast-graphrag as Circlemind releases it, behind the calls of `driving`."""

from __future__ import annotations

import os
import sys
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
)

NEUTRAL = {
    "domain": "Find what the passages say of people, organisations, places, works and events, and "
    "how these are related to each other.",
    "example_queries": "Which person, place, work or year is meant by facts that several passages "
    "state?",
    "entity_types": [
        "person", "organization", "location", "event", "work", "product", "group", "date",
        "concept",
    ],
}  # fmt: skip
"""What the release leaves to its users to say."""
NOT_EQUAL = [
    "domain, example_queries and entity_types have no default in the release: neutral ones of ours",
    "its limit of 500 requests a minute for embeddings is lifted",
    "its vectors are searched approximately, and graphs of documents are merged in the order in "
    "which they come: two builds may differ",
]
OF_EQUAL = [
    "nodes, relationships and passages share the context budget as they share its default of "
    "16,000 tokens, a token taken for four characters",
]
_AT_ONCE = 32
_SHARES = {"entities_max_tokens": 4000, "relations_max_tokens": 3000, "chunks_max_tokens": 9000}


class FastGraphRag:
    """An index of fast-graphrag that is open."""

    def hello(self) -> Any:
        """Name and version."""
        return greeting("fast-graphrag")

    def open(self, given: Opened) -> dict[str, Any]:
        """Open the index of a folder; the release's own services ask for replies and vectors."""
        os.chdir(given.folder)
        ranks_in_place()
        from fast_graphrag import GraphRAG, QueryParam
        from fast_graphrag._llm import OpenAIEmbeddingService, OpenAILLMService
        from instructor import Mode

        self.folder, self.equal = Path(given.folder), given.equal
        self.asked, told, ranked, service = divided(
            given.settings,
            plain_fields(QueryParam, "only_context"),
            NEUTRAL,
            ("chunk_top_k",),
            ("mode",),
        )
        service["mode"] = Mode(service.get("mode", OpenAILLMService.mode))
        self.parameters, self.names = QueryParam, ChunkNames(self.folder)
        self.fixed_k = ranked.get("chunk_top_k")
        told = {**NEUTRAL, **told}
        where = {
            "base_url": given.base_url,
            "api_key": given.key,
            "max_requests_concurrent": _AT_ONCE,
        }
        config = GraphRAG.Config(
            llm_service=OpenAILLMService(model=given.llm_model, **service, **where),
            embedding_service=OpenAIEmbeddingService(
                model=given.embedding_model,
                embedding_dim=given.embedding_dimension,
                rate_limit_per_minute=False,
                **where,
            ),
        )
        self.chunking = OurChunks()
        if self.equal:
            config.chunking_service_cls = lambda: self.chunking
        self.rag = GraphRAG(working_dir=given.folder, config=config, **told)
        self.ranking = self.rag.state_manager.chunk_ranking_policy.config
        self.n_lost = 0
        self.watch()
        held = {**told, "mode": service["mode"].value}
        held["ppr_damping"] = config.graph_storage.config.ppr_damping
        if not self.equal:
            self.ranking.top_k = self.fixed_k or self.ranking.top_k
            asks = self.query(None)
            held |= {name: getattr(asks, name) for name in _SHARES}
            held["chunk_top_k"] = self.ranking.top_k
            held["chunk_token_size"] = self.rag.chunking_service.config.chunk_token_size
        return {"settings": held, "not_equal": [*NOT_EQUAL, *(OF_EQUAL if self.equal else ())]}

    def watch(self) -> None:
        """Keep the text of the context, made only for an answer, and count documents it drops."""
        from fast_graphrag._types import TContext

        extract = self.rag.information_extraction_service._extract

        async def counted(llm: Any, chunks: Any, *given: Any) -> Any:
            found = await extract(llm, chunks, *given)
            self.n_lost += len(chunks) if found is None else 0
            return found

        self.rag.information_extraction_service._extract = counted

        truncate = TContext.truncate

        def kept(context: Any, max_chars: dict[str, int], output_context_str: bool = False) -> Any:
            self.context = truncate(context, max_chars, output_context_str=True)
            return self.context

        TContext.truncate = kept

    async def build(self, documents: list[Row], chunks: list[Row] | None) -> dict[str, int]:
        """Insert everything in one go; raises RuntimeError where nothing was extracted."""
        texts = released_texts(documents) if chunks is None else self.documents_of(chunks)
        n_nodes, n_relationships, n_chunks = await self.rag.async_insert(texts, show_progress=False)
        if chunks is not None:  # afterwards: it takes a folder with a file in it for an index
            self.names.keep((by_text(row["text"]), row["id"]) for row in chunks)
        if not n_nodes:
            raise RuntimeError("it has extracted no node from any document, and stores nothing")
        return {
            "n_nodes": n_nodes,
            "n_relationships": n_relationships,
            "n_chunks": n_chunks,
            "n_lost": self.n_lost,
        }

    def documents_of(self, chunks: list[Row]) -> list[str]:
        """The text of each document, put together of our chunks, which it will be cut into."""
        texts = []
        for rows in by_document(chunks):
            texts.append("\n\n".join(row["text"] for row in rows))
            self.chunking.cut[texts[-1]] = [row["text"] for row in rows]
        return texts

    async def graph(self) -> dict[str, Any]:
        """Its nodes, and its relationships with the chunks that they were read in."""
        state = self.rag.state_manager
        await state.query_start()
        try:
            graph, stored = state.graph_storage, state.chunk_storage
            nodes = [await graph.get_node_by_index(at) for at in range(await graph.node_count())]
            edges = [await graph.get_edge_by_index(at) for at in range(await graph.edge_count())]
            relationships = []
            for edge in edges:
                rows = [at for at in await stored.get_index(edge.chunks or []) if at is not None]
                texts = [one.content for one in await stored.get_by_index(rows) if one is not None]
                keys = {by_text(text): text for text in texts}
                relationships.append({
                    "source": edge.source,
                    "target": edge.target,
                    "description": edge.description or "",
                    "weight": 1.0,
                    "chunks": self.names.all(keys, keys),
                })  # fmt: skip
        finally:
            await state.query_done()
        if not nodes:
            raise RuntimeError("its graph cannot be read again")
        return {
            "nodes": [
                {"name": one.name, "type": one.type, "description": one.description, "chunks": []}
                for one in nodes
            ],
            "relationships": relationships,
        }

    def query(self, budget: int | None, **words: Any) -> Any:
        """The parameters of a question; a budget is shared out as the defaults share theirs."""
        if budget is not None:
            words |= shared_out(budget, _SHARES)
        return self.parameters(**{**words, **self.asked})

    async def ask(
        self, question: str, top_k: int | None, budget_tokens: int | None, answer: bool
    ) -> dict[str, Any]:
        """Passages and context of its query, and its answer where one is asked for."""
        self.context = ""
        if top_k is not None:
            self.ranking.top_k = self.fixed_k or top_k
        state = self.rag.state_manager
        await state.query_start()
        try:
            found = await self.rag.async_query(
                question, self.query(budget_tokens, only_context=not answer)
            )
        finally:
            await state.query_done()
        passages = [
            {"id": self.names.one(by_text(one.content)), "text": one.content, "score": float(score)}
            for one, score in found.context.chunks
        ]
        said = found.response if answer else None
        return {"passages": passages, "context": self.context, "answer": said}

    def close(self) -> dict[str, Any]:
        """Nothing is left to be done: the build has written everything."""
        return {}


class OurChunks:
    """A chunking service that cuts documents into our chunks."""

    def __init__(self) -> None:
        """No document yet."""
        self.cut: dict[str, list[str]] = {}

    async def extract(self, data: Any) -> list[list[Any]]:
        """The chunks of each document, with keys as the release makes them."""
        import xxhash
        from fast_graphrag._types import TChunk, THash

        return [
            [
                TChunk(id=THash(xxhash.xxh3_64_intdigest(text) // 2), content=text, metadata={})
                for text in dict.fromkeys(self.cut[one.data])
            ]
            for one in data
        ]


if __name__ == "__main__":
    serve(FastGraphRag())
