"""Run LightRAG's `aquery_data` without budgets on the frozen world.

Rows are inserted into the engine's storages, so that nothing is extracted. The reply to its keyword
prompt is recorded. The lists are the results of `_perform_kg_search`, and the first `chunk_top_k`
chunks of `_merge_all_chunks`, before tokens are counted.
"""

import asyncio
import json
from importlib.metadata import version

import lightrag.operate as operate
import numpy as np
from frozen import Letters, arguments, chunk_id, chunk_row, write
from lightrag import LightRAG, QueryParam
from lightrag.utils import EmbeddingFunc, Tokenizer

NO_LIMIT = 10**9
DEFAULT_CHUNKS = 20
SEP = "<SEP>"


async def main():
    """Insert the graph, ask the questions, write the lists."""
    world, mode, target, work = arguments()
    table, current = dict(world.vector_of), {}

    async def embed(texts, **_):
        return np.array([table[text] for text in texts], np.float32)

    async def reply(prompt, system_prompt=None, **_):
        one = current["question"]
        return json.dumps({"high_level_keywords": one["high"], "low_level_keywords": one["low"]})

    seen = {}
    dimension = world.array("queries").shape[1]
    rag = LightRAG(
        working_dir=work,
        llm_model_func=reply,
        embedding_func=EmbeddingFunc(embedding_dim=dimension, func=embed, max_token_size=NO_LIMIT),
        tokenizer=Tokenizer("letters", Letters()),
        enable_llm_cache=False,
    )
    await rag.initialize_storages()
    await insert(rag, world, table)
    watch(seen)
    answers = {}
    for one in world.questions:
        current["question"] = one
        seen.clear()
        param = QueryParam(
            mode=mode, enable_rerank=False, only_need_context=True,
            max_entity_tokens=NO_LIMIT, max_relation_tokens=NO_LIMIT, max_total_tokens=NO_LIMIT,
        )  # fmt: skip
        await rag.aquery_data(one["text"], param)
        answers[one["id"]] = lists(seen, world)
    await rag.finalize_storages()
    write(target, answers, version("lightrag-hku"))


async def insert(rag, world, table):
    """Insert the frozen rows into the engine's graph, vectors and chunks."""
    graph = rag.chunk_entity_relation_graph
    nodes, edges, chunks = (world.array(one) for one in ("nodes", "relationships", "chunks"))
    entities, relations = {}, {}
    for row, node in enumerate(world.nodes):
        source = SEP.join(map(chunk_id, node["chunks"]))
        await graph.upsert_node(
            node["name"],
            {
                "entity_id": node["name"], "entity_type": node["type"] or "UNKNOWN",
                "description": node["description"], "source_id": source, "file_path": "sample",
            },
        )  # fmt: skip
        content = f"{node['name']}\n{node['description']}"
        table[content] = nodes[row]
        entities[f"ent-{row:05d}"] = {
            "entity_name": node["name"], "content": content, "source_id": source,
            "entity_type": node["type"], "file_path": "sample",
        }  # fmt: skip
    for row, edge in enumerate(world.relationships):
        source, tail = world.name(edge["source"]), world.name(edge["target"])
        sources = SEP.join(map(chunk_id, edge["chunks"]))
        await graph.upsert_edge(
            source, tail,
            {
                "weight": edge["weight"], "description": edge["description"],
                "keywords": edge["keywords"], "source_id": sources, "file_path": "sample",
            },
        )  # fmt: skip
        content = f"{edge['keywords']}\t{source}\n{tail}\n{edge['description']}"
        table[content] = edges[row]
        relations[f"rel-{row:05d}"] = {
            "src_id": source, "tgt_id": tail, "content": content, "keywords": edge["keywords"],
            "description": edge["description"], "source_id": sources, "file_path": "sample",
        }  # fmt: skip
    texts = {}
    for row, chunk in enumerate(world.chunks):
        table[chunk["text"]] = chunks[row]
        texts[chunk_id(row)] = {
            "content": chunk["text"], "tokens": 1, "full_doc_id": f"doc-{row}",
            "chunk_order_index": 0, "file_path": "sample",
        }  # fmt: skip
    await rag.entities_vdb.upsert(entities)
    await rag.relationships_vdb.upsert(relations)
    await rag.chunks_vdb.upsert(texts)
    await rag.text_chunks.upsert(texts)
    stores = (graph, rag.entities_vdb, rag.relationships_vdb, rag.chunks_vdb, rag.text_chunks)
    for storage in stores:
        await storage.index_done_callback()


def watch(seen):
    """Record the results of the two stages in `seen`."""
    search, merge = operate._perform_kg_search, operate._merge_all_chunks

    async def searched(*args, **named):
        result = await search(*args, **named)
        seen["search"] = result
        return result

    async def merged(*args, **named):
        result = await merge(*args, **named)
        seen["chunks"] = result
        return result

    operate._perform_kg_search, operate._merge_all_chunks = searched, merged


def lists(seen, world):
    """Return the three lists; the engine has no scores of entities."""
    search = seen.get("search", {"final_entities": [], "final_relations": []})
    nodes = [[world.row_of[one["entity_name"]], []] for one in search["final_entities"]]
    rows = []
    for one in search["final_relations"]:
        ends = one.get("src_tgt") or (one["src_id"], one["tgt_id"])
        key = [one["rank"], one["weight"]] if "rank" in one else []
        rows.append([world.pair(*ends), key])
    chunks = [[chunk_row(one["chunk_id"]), []] for one in seen.get("chunks", [])]
    if any(not key for _, key in rows):
        rows = [[row, []] for row, _ in rows]
    return {"nodes": nodes, "relationships": rows, "chunks": chunks[:DEFAULT_CHUNKS]}


asyncio.run(main())
