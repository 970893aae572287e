"""Run LightRAG's `aquery_data` without budgets on the frozen world.

Rows are inserted into the engine's storages, so that nothing is extracted. The reply to its keyword
prompt is recorded. The lists are the results of `_perform_kg_search`, and the first 20
(`chunk_top_k`) chunks of `_merge_all_chunks`, before tokens are counted.
"""

import asyncio
import json

import lightrag.operate as operate
from frozen import NO_LIMIT, Letters, arguments, watch, write
from lightrag import LightRAG, QueryParam
from lightrag.utils import EmbeddingFunc, Tokenizer


async def main():
    """Insert the graph, ask the questions, write the lists."""
    world, mode, target, work = arguments()
    current, seen, answers = {}, {}, {}

    async def reply(prompt, system_prompt=None, **_):
        return json.dumps(current)

    dimension = world.array("queries").shape[1]
    embedding = EmbeddingFunc(embedding_dim=dimension, func=world.embed, max_token_size=NO_LIMIT)
    rag = LightRAG(
        working_dir=work, llm_model_func=reply, embedding_func=embedding,
        tokenizer=Tokenizer("letters", Letters()), enable_llm_cache=False,
    )  # fmt: skip
    await rag.initialize_storages()
    await insert(rag, world)
    for name in ("_perform_kg_search", "_merge_all_chunks"):
        watch(operate, name, seen)
    for one in world.questions:
        current |= {"high_level_keywords": one["high"], "low_level_keywords": one["low"]}
        seen.clear()
        param = QueryParam(
            mode=mode, enable_rerank=False, only_need_context=True,
            max_entity_tokens=NO_LIMIT, max_relation_tokens=NO_LIMIT, max_total_tokens=NO_LIMIT,
        )  # fmt: skip
        await rag.aquery_data(one["text"], param)
        answers[one["id"]] = lists(seen, world)
    await rag.finalize_storages()
    write(target, answers, "lightrag-hku")


async def insert(rag, world):
    """Insert the frozen rows into the engine's graph, vectors and chunks."""
    graph, texts = rag.chunk_entity_relation_graph, rag.text_chunks
    await world.insert(graph)
    for node in world.nodes:
        node["content"] = f"{node['name']}\n{node['description']}"
    for edge in world.relationships:
        edge["content"] = "{keywords}\t{src_id}\n{tgt_id}\n{description}".format(**edge)
    await rag.entities_vdb.upsert(world.rows("nodes"))
    await rag.relationships_vdb.upsert(world.rows("relationships"))
    await rag.chunks_vdb.upsert(world.rows("chunks"))
    await texts.upsert(world.rows("chunks"))
    for store in (graph, texts, rag.entities_vdb, rag.relationships_vdb, rag.chunks_vdb):
        await store.index_done_callback()


def lists(seen, world):
    """Return the three lists; the engine has no scores of entities."""
    nothing = {"final_entities": [], "final_relations": []}
    _, search = seen.get("_perform_kg_search", (None, nothing))
    _, chunks = seen.get("_merge_all_chunks", (None, []))
    chunks = [one["chunk_id"].rpartition("-")[2] for one in chunks[:20]]
    relations = search["final_relations"]
    scored = all("rank" in one for one in relations)
    ends = [one.get("src_tgt") or (one["src_id"], one["tgt_id"]) for one in relations]
    return {
        "nodes": [[world.row_of[one["entity_name"]], []] for one in search["final_entities"]],
        "relationships": [[world.pair(*pair), [one["rank"], one["weight"]] if scored else []]
                          for pair, one in zip(ends, relations, strict=True)],
        "chunks": [[int(row), []] for row in chunks],
    }  # fmt: skip


asyncio.run(main())
