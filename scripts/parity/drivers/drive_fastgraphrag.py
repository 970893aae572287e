"""fast-graphrag on the frozen world: its own graph, vector and chunk stores, `get_context`.

Rows enter through the storages of its state manager, between `insert_start` and `insert_done`.
Nothing is merged by similarity when they enter, so that the graph is the frozen one.
"""

import asyncio
from importlib.metadata import version

import numpy as np
from fast_graphrag import GraphRAG
from fast_graphrag._llm._base import BaseEmbeddingService, BaseLLMService
from fast_graphrag._prompt import PROMPTS
from fast_graphrag._types import TChunk, TEntity, TRelation
from frozen import arguments, chunk_id, chunk_row, write


async def main():
    """Insert, ask, write."""
    world, mode, target, work = arguments()
    prompts = []

    class Table(BaseEmbeddingService):
        """The vectors of the frozen world."""

        async def encode(self, texts, model=None):
            """One row for each text."""
            return world.embed(texts)

    class Silent(BaseLLMService):
        """A model that is never asked."""

    embedding = Table(embedding_dim=world.array("queries").shape[1])
    rag = GraphRAG(
        working_dir=work, domain="", example_queries="", entity_types=[],
        config=GraphRAG.Config(llm_service=Silent(model="none"), embedding_service=embedding),
    )  # fmt: skip
    state = rag.state_manager
    await insert(state, world)
    ids = await chunk_rows(world)
    answers = {}
    await state.query_start()
    if mode == "exact":  # candidates of the approximate search: as many as there are nodes
        state.entity_storage._index.set_ef(len(world.nodes))
    for one in world.questions:
        asked = {"named": one["named"], "generic": []}
        found = await state.get_context(query=one["text"], entities=asked)
        answers[one["id"]] = lists(found, world, ids)
        prompts.append({
            "name": "entities", "question": one["text"],
            "text": PROMPTS["entity_extraction_query"].format(query=one["text"]),
        })  # fmt: skip
    write(target, answers, version("fast-graphrag"), prompts)


async def chunk_rows(world):
    """The row of each chunk by the number that is its id."""
    return {row + 1: row for row in range(len(world.chunks))}


async def insert(state, world):
    """The frozen rows into the engine's stores."""
    vectors = world.array("nodes")
    await state.insert_start()
    for node in world.nodes:
        await state.graph_storage.upsert_node(
            TEntity(name=node["name"], type=node["type"], description=node["description"]), None
        )
    for edge in world.relationships:
        await state.graph_storage.upsert_edge(
            TRelation(
                source=world.name(edge["source"]), target=world.name(edge["target"]),
                description=edge["description"], 
                chunks=[np.uint64(row + 1) for row in edge["chunks"]],
            ),
            None,
        )  # fmt: skip
    await state.entity_storage.upsert(ids=range(len(vectors)), embeddings=vectors)
    chunks = [
        TChunk(id=np.uint64(row + 1), content=chunk["text"], metadata={})
        for row, chunk in enumerate(world.chunks)
    ]
    await state.chunk_storage.upsert(keys=[chunk.id for chunk in chunks], values=chunks)
    await state.insert_done()


def lists(found, world, ids):
    """The rows of the three lists with the engine's scores; empty where it finds no context."""
    if found is None:
        return {"nodes": [], "relationships": [], "chunks": []}
    return {
        "nodes": [[world.row_of[one.name], [float(s)]] for one, s in found.entities],
        "relationships": [
            [world.pair(one.source, one.target), [float(s)]] for one, s in found.relations
        ],
        "chunks": [[ids[int(one.id)], [float(s)]] for one, s in found.chunks],
    }


assert chunk_row(chunk_id(3)) == 3
asyncio.run(main())
