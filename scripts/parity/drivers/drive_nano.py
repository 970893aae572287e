"""Run nano-graphrag without budgets on the frozen world.

The lists are those of the functions that `_build_local_query_context` calls, and the communities
that `global_query` passes to `_map_global_communities`.
"""

import asyncio
import json
from collections import Counter, defaultdict
from dataclasses import asdict

import nano_graphrag._op as op
import nano_graphrag._utils as utils
from frozen import NO_LIMIT, Letters, arguments, watch, write
from nano_graphrag import GraphRAG, QueryParam
from nano_graphrag._utils import EmbeddingFunc

utils.ENCODER = Letters()


async def main():
    """Insert the graph, ask the questions, write the lists."""
    world, mode, target, work = arguments()

    async def reply(prompt, system_prompt=None, **_):
        return json.dumps({"points": []})

    embedding = EmbeddingFunc(world.array("chunks").shape[1], NO_LIMIT, world.embed)
    rag = GraphRAG(
        working_dir=work, embedding_func=embedding, best_model_func=reply, cheap_model_func=reply,
        enable_llm_cache=False,
    )  # fmt: skip
    await insert(rag, world, mode)
    param = QueryParam(
        mode=mode, only_need_context=True, local_max_token_for_text_unit=NO_LIMIT,
        local_max_token_for_local_context=NO_LIMIT, local_max_token_for_community_report=NO_LIMIT,
    )  # fmt: skip
    seen, answers = {}, {}
    watch(op, "_map_global_communities", seen)
    for one in world.questions:
        if mode == "local":
            answers[one["id"]] = await local(rag, world, one["text"], param)
            continue
        await op.global_query(
            one["text"], rag.chunk_entity_relation_graph, rag.entities_vdb, rag.community_reports,
            rag.text_chunks, param, asdict(rag),
        )  # fmt: skip
        (_, mapped, *_), _ = seen.pop("_map_global_communities")
        rows = [[one["row"], [one["occurrence"], one["rating"]]] for one in mapped]
        answers[one["id"]] = {"communities": rows}
    write(target, answers, "nano-graphrag")


async def insert(rag, world, mode):
    """Insert the frozen rows into the engine's stores; a community is a cluster of nodes."""
    graph = rag.chunk_entity_relation_graph
    await world.insert(graph)
    clusters = defaultdict(list)
    for number, one in enumerate(world.communities):
        for row in one["nodes"]:
            clusters[row].append({"level": one["level"], "cluster": number})
    for row, own in clusters.items():
        await graph.upsert_node(world.nodes[row]["name"], {"clusters": json.dumps(own)})
    await rag.text_chunks.upsert(world.rows("chunks"))
    if mode == "local":
        for node in world.nodes:
            node["content"] = node["name"] + node["description"]
        await rag.entities_vdb.upsert(world.rows("nodes"))
    reports = {}
    for key, schema in (await graph.community_schema()).items():
        row = int(key)
        text, rating = (world.communities[row][name] for name in ("report", "rating"))
        report = {"report_string": text, "report_json": {"rating": rating}}
        reports[key] = {**schema, **report, "row": row, "rating": rating}
    await rag.community_reports.upsert(reports)


async def local(rag, world, text, param):
    """Return the four lists of a local search."""
    graph = rag.chunk_entity_relation_graph
    results = await rag.entities_vdb.query(text, top_k=param.top_k)
    found = [
        {**await graph.get_node(name), "entity_name": name, "rank": await graph.node_degree(name)}
        for name in (one["entity_name"] for one in results)
    ]
    communities = await op._find_most_related_community_from_entities(
        found, param, rag.community_reports
    )
    chunks = await op._find_most_related_text_unit_from_entities(
        found, param, rag.text_chunks, graph
    )
    edges = await op._find_most_related_edges_from_entities(found, param, graph)
    clusters = (one for node in found for one in json.loads(node.get("clusters", "[]")))
    n_nodes = Counter(one["cluster"] for one in clusters if one["level"] <= param.level)
    return {
        "nodes": [[world.row_of[one["entity_name"]], [float(one["distance"])]] for one in results],
        "communities": [[one["row"], [n_nodes[one["row"]], one["rating"]]] for one in communities],
        "relationships": [[world.pair(*one["src_tgt"]), [one["rank"], one["weight"]]]
                          for one in edges],
        "chunks": [[world.row_of[one["content"]], []] for one in chunks],
    }  # fmt: skip


asyncio.run(main())
