"""Run fast-graphrag's `get_context` on the frozen world.

Rows are inserted into the storages of its state manager, between `insert_start` and `insert_done`,
without merging by similarity, so that the graph is the frozen one.
"""

import asyncio

import numpy as np
from fast_graphrag import GraphRAG
from fast_graphrag._llm._base import BaseEmbeddingService, BaseLLMService
from fast_graphrag._types import TChunk, TEntity, TRelation
from frozen import arguments, write


async def main():
    """Insert the graph, ask the questions, write the lists."""
    world, mode, target, work = arguments()

    class Table(BaseEmbeddingService):
        async def encode(self, texts, model=None):  # the engine writes names in capitals
            known = world.vector_of
            return world.vectors(text if text in known else text.lower() for text in texts)

    class Recorded(BaseLLMService):
        async def send_message(self, prompt, response_model=None, **_):
            raise RuntimeError("retrieval called a model instead of using the recorded entities")

    embedding = Table(embedding_dim=world.array("queries").shape[1])
    rag = GraphRAG(
        working_dir=work, domain="", example_queries="", entity_types=[],
        config=GraphRAG.Config(llm_service=Recorded(model="none"), embedding_service=embedding),
    )  # fmt: skip
    state = rag.state_manager
    await insert(state, world)
    answers, stages = {}, ("nodes", "relationships", "chunks")
    await state.query_start()
    if mode == "exact":  # the approximate search visits every node
        state.entity_storage._index.set_ef(len(world.nodes))
    for one in world.questions:
        named = {"named": one["named"], "generic": []}
        context = await state.get_context(query=one["text"], entities=named)
        found = context and (
            [(world.row_of[one.name], score) for one, score in context.entities],
            [(world.pair(one.source, one.target), score) for one, score in context.relations],
            [(int(one.id) - 1, score) for one, score in context.chunks],
        )
        answers[one["id"]] = {
            stage: [[row, [float(score)]] for row, score in rows]
            for stage, rows in zip(stages, found or ([], [], []), strict=True)
        }
    write(target, answers, "fast-graphrag")


async def insert(state, world):
    """Insert the frozen rows into the engine's stores."""
    vectors, graph = world.array("nodes"), state.graph_storage
    await state.insert_start()
    for node in world.nodes:
        entity = TEntity(name=node["name"], type=node["type"], description=node["description"])
        await graph.upsert_node(entity, None)
    for edge in world.relationships:
        relation = TRelation(
            source=edge["src_id"], target=edge["tgt_id"], description=edge["description"],
            chunks=[np.uint64(row + 1) for row in edge["chunks"]],
        )  # fmt: skip
        await graph.upsert_edge(relation, None)
    await state.entity_storage.upsert(ids=range(len(vectors)), embeddings=vectors)
    chunks = [TChunk(id=np.uint64(row), content=chunk["content"], metadata={})
              for row, chunk in enumerate(world.chunks, 1)]  # fmt: skip
    await state.chunk_storage.upsert(keys=[chunk.id for chunk in chunks], values=chunks)
    await state.insert_done()


asyncio.run(main())
