"""Run nano-graphrag without budgets on the frozen world.

The lists are those of the functions that `_build_local_query_context` calls, and the communities
that `global_query` passes to `_map_global_communities`.
"""

import asyncio
import json
from collections import Counter
from dataclasses import asdict
from importlib.metadata import version

import nano_graphrag._op as op
import nano_graphrag._utils as utils
import numpy as np
from frozen import Letters, arguments, chunk_id, write
from nano_graphrag import GraphRAG, QueryParam
from nano_graphrag._utils import EmbeddingFunc

NO_LIMIT = 10**9
SEP = "<SEP>"


utils.ENCODER = Letters()


async def main():
    """Insert the graph, ask the questions, write the lists."""
    world, mode, target, work = arguments()
    table = dict(world.vector_of)

    async def embed(texts):
        return np.array([table[text] for text in texts], np.float32)

    async def reply(prompt, system_prompt=None, **_):
        return json.dumps({"points": []})

    embedding = EmbeddingFunc(world.array("chunks").shape[1], NO_LIMIT, embed)
    rag = GraphRAG(
        working_dir=work, embedding_func=embedding, best_model_func=reply, cheap_model_func=reply,
        enable_llm_cache=False,
    )  # fmt: skip
    await insert(rag, world, table, mode)
    param = QueryParam(
        mode=mode, only_need_context=True, local_max_token_for_text_unit=NO_LIMIT,
        local_max_token_for_local_context=NO_LIMIT, local_max_token_for_community_report=NO_LIMIT,
    )  # fmt: skip
    answers = {}
    for one in world.questions:
        retrieve = local if mode == "local" else everywhere
        answers[one["id"]] = await retrieve(rag, world, one["text"], param)
    write(target, answers, version("nano-graphrag"))


async def insert(rag, world, table, mode):
    """Insert the frozen rows into the engine's stores; a community is a cluster of nodes."""
    graph = rag.chunk_entity_relation_graph
    clusters = {row: [] for row in range(len(world.nodes))}
    for number, one in enumerate(world.communities):
        for row in one["nodes"]:
            clusters[row].append({"level": one["level"], "cluster": number})
    vectors = world.array("nodes")
    for row, node in enumerate(world.nodes):
        fields = {
            "entity_type": node["type"] or "UNKNOWN", "description": node["description"],
            "source_id": SEP.join(map(chunk_id, node["chunks"])),
        }  # fmt: skip
        if clusters[row]:
            fields["clusters"] = json.dumps(clusters[row])
        await graph.upsert_node(node["name"], node_data=fields)
    for edge in world.relationships:
        fields = {
            "weight": edge["weight"], "description": edge["description"],
            "source_id": SEP.join(map(chunk_id, edge["chunks"])), "order": 1,
        }  # fmt: skip
        ends = world.name(edge["source"]), world.name(edge["target"])
        await graph.upsert_edge(*ends, edge_data=fields)
    texts = {
        chunk_id(row): {
            "content": chunk["text"], "tokens": 1, "full_doc_id": str(row), "chunk_order_index": 0,
        }
        for row, chunk in enumerate(world.chunks)
    }  # fmt: skip
    await rag.text_chunks.upsert(texts)
    if mode == "local":
        rows = {}
        for row, node in enumerate(world.nodes):
            content = node["name"] + node["description"]
            table[content] = vectors[row]
            rows[f"ent-{row:05d}"] = {"entity_name": node["name"], "content": content}
        await rag.entities_vdb.upsert(rows)
    schema = await graph.community_schema()
    reports = {
        key: {
            **one, "report_string": world.communities[int(key)]["report"],
            "report_json": {"rating": world.communities[int(key)]["rating"]},
        }
        for key, one in schema.items()
    }  # fmt: skip
    await rag.community_reports.upsert(reports)


async def local(rag, world, text, param):
    """Return the four lists of a local search."""
    graph = rag.chunk_entity_relation_graph
    results = await rag.entities_vdb.query(text, top_k=param.top_k)
    names = [one["entity_name"] for one in results]
    datas = [
        {**await graph.get_node(name), "entity_name": name, "rank": await graph.node_degree(name)}
        for name in names
    ]
    communities = await op._find_most_related_community_from_entities(
        datas, param, rag.community_reports
    )
    chunks = await op._find_most_related_text_unit_from_entities(
        datas, param, rag.text_chunks, graph
    )
    edges = await op._find_most_related_edges_from_entities(datas, param, graph)
    row_of_text = {chunk["text"]: row for row, chunk in enumerate(world.chunks)}
    n_nodes = Counter(
        one["cluster"]
        for data in datas
        for one in json.loads(data.get("clusters", "[]"))
        if one["level"] <= param.level
    )
    listed = [(int(one["title"].split()[-1]), one["report_json"]["rating"]) for one in communities]
    return {
        "nodes": [[world.row_of[one["entity_name"]], [float(one["distance"])]] for one in results],
        "communities": [[row, [n_nodes[row], rating]] for row, rating in listed],
        "relationships": [
            [world.pair(*one["src_tgt"]), [one["rank"], one["weight"]]] for one in edges
        ],
        "chunks": [[row_of_text[one["content"]], []] for one in chunks],
    }


async def everywhere(rag, world, text, param):
    """Return the communities of a global search in the order of the map step."""
    seen = []
    mapped = op._map_global_communities

    async def watched(query, communities, *rest):
        seen.extend(communities)
        return await mapped(query, communities, *rest)

    op._map_global_communities = watched
    try:
        await op.global_query(
            text, rag.chunk_entity_relation_graph, rag.entities_vdb, rag.community_reports,
            rag.text_chunks, param, asdict(rag),
        )  # fmt: skip
    finally:
        op._map_global_communities = mapped
    rows = [
        [int(one["title"].split()[-1]), [one["occurrence"], one["report_json"]["rating"]]]
        for one in seen
    ]
    return {"communities": rows}


asyncio.run(main())
