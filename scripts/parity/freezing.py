"""Our side of a case: the lists of a method, and its graph and vectors as files."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import graphrag_bench as gb
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import row_ids
from graphrag_bench.indices.vectors import node_texts, relationship_texts
from graphrag_bench.pipeline.steps import Execution, run_steps
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.values import Ranked, RetrievalState
from parity.comparison import Case, Ranking


def ours(case: Case, home: Path) -> tuple[dict[str, dict[str, Ranking]], Path]:
    """Return our lists (`profile=upstream`, no model called), and the folder for the engine."""
    experiment = _experiment(case, home)
    resources = build_resources(experiment, experiment.models, Progress(), answering=False)
    resources["embedder"] = experiment.models["embedder"]
    planned = {item.resource for item in experiment.plan} & {"graph", "communities", "reports"}
    resources |= experiment.store().resources(experiment.plan, planned, experiment.models)
    pipeline = experiment.method.pipeline
    states = [RetrievalState(question) for question in experiment.dataset.questions]
    result = run_steps((*pipeline.convert, *pipeline.retrieve), states, Execution(resources))
    ended = [state for state in result if isinstance(state, RetrievalState)]
    if len(ended) < len(result):
        raise RuntimeError(f"{case.name}: a question failed.")
    stages = case.stages.items()
    lists = {one.question.id: {name: _ranking(one.get(name)).head(n) for name, n in stages}
             for one in ended}  # fmt: skip
    folder = home / "frozen" / case.name
    folder.mkdir(parents=True, exist_ok=True)
    _freeze(folder, resources, ended)
    return lists, folder


def _experiment(case: Case, home: Path) -> Experiment:
    """Return the checked experiment; HippoRAG 2 reads its facts from a file in its own format."""
    settings = {"paths": {"home": str(home)}, "answer": "off"}
    method = gb.method(case.method, profile="upstream", **case.settings, **settings)
    if case.engine != "hipporag":
        return method.experiment(gb.dataset("sample"))
    facts = home / "frozen" / "openie.json"
    if not facts.is_file():
        plain = gb.method(case.method, profile="upstream", **settings)
        _write_openie(plain.experiment(gb.dataset("sample")), facts)
    return method.experiment(
        gb.dataset("sample", openie=facts), build={"extraction": "openie_file"}
    )


def _write_openie(experiment: Experiment, path: Path) -> None:
    """Write the facts of an extraction by spaCy in HippoRAG's format.

    Names have only a-z, 0-9 and single spaces, so that both sides read the same; entities are the
    ends of facts, because the engine has no others.
    """
    store = experiment.store()
    resources = store.resources(experiment.plan, {"extraction", "chunk_table"}, experiment.models)
    table, docs = resources["chunk_table"], []
    for row, message in enumerate(resources["extraction"].rows):
        named = [tuple(map(_plain, (t.head, t.relation, t.tail))) for t in message.triples]
        triples = [list(one) for one in named if all(one) and one[0] != one[2]]
        ends = dict.fromkeys(end for triple in triples for end in (triple[0], triple[2]))
        docs.append(
            {
                "idx": table.documents_of(row)[0],
                "passage": table.passage(row),
                "extracted_entities": list(ends),
                "extracted_triples": triples,
            }
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"docs": docs}, ensure_ascii=False), encoding="utf-8")


def _plain(name: str) -> str:
    return " ".join(re.sub("[^A-Za-z0-9 ]", " ", name.lower()).split())


def _ranking(value: Ranked[Any] | None) -> Ranking:
    if value is None:
        return Ranking(())
    return Ranking(tuple(value.ids.tolist()), tuple((score,) for score in value.scores.tolist()))


def _freeze(folder: Path, resources: Mapping[str, Any], states: Sequence[RetrievalState]) -> None:
    """Write graph, chunks, communities and recorded replies as JSON, vectors as arrays."""
    table, embedder = resources["chunk_table"], resources["embedder"]
    world: dict[str, Any] = {
        "chunks": [{"title": table.titles[row], "text": table.passage(row)}
                   for row in range(len(table))],
        "questions": [_recorded(state) for state in states],
    }  # fmt: skip
    arrays = {"chunks": _vectors(resources, "chunk_index", table.passages, embedder)}
    graph = resources.get("graph")
    if graph is not None:
        world |= _graph(graph)
        nodes, rows = node_texts(graph, named=True), relationship_texts(graph)
        arrays["nodes"] = _vectors(resources, "node_index", nodes, embedder)
        arrays["relationships"] = _vectors(resources, "relationship_index", rows, embedder)
    if "communities" in resources:
        world["communities"] = _communities(resources["communities"], resources["reports"])
    texts = sorted({text for one in world["questions"] for text in _texts(one)})
    arrays["queries"] = np.concatenate([embedder.encode([text], kind="question") for text in texts])
    world["queries"] = texts
    (folder / "world.json").write_text(json.dumps(world, ensure_ascii=False), encoding="utf-8")
    for name, rows in arrays.items():
        np.save(folder / f"{name}.npy", np.asarray(rows, np.float32))


def _vectors(resources: Mapping[str, Any], name: str, texts: list[str], embedder: Any) -> Any:
    stored = resources.get(name)
    return embedder.encode(texts, kind="passage") if stored is None else np.asarray(stored.vectors)


def _recorded(state: RetrievalState) -> dict[str, Any]:
    """Return a question with the recorded replies: spaCy's keywords and entities."""
    keywords, mentions = state.get("keywords"), state.get("mentions")
    return {
        "id": state.question.id,
        "text": state.question.text,
        "low": list(keywords.low) if keywords else [],
        "high": list(keywords.high) if keywords else [],
        "named": list(mentions.names) if mentions else [],
    }


def _texts(question: Mapping[str, Any]) -> list[str]:
    """Return the texts that either side may search for."""
    joined = [", ".join(question[level]) for level in ("low", "high")]
    return [text for text in (question["text"], *joined, *question["named"]) if text]


def _graph(graph: Graph) -> dict[str, Any]:
    none = [""] * max(graph.n_nodes, graph.n_relationships)
    rows = zip(
        graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(),
        graph.synonym.tolist(), graph.relations, graph.facts or none, graph.keywords or none,
        strict=False,
    )  # fmt: skip
    return {
        "nodes": [
            {
                "name": name, "type": kind, "description": message,
                "chunks": row_ids(graph.node_chunk, row).tolist(),
            }
            for row, (name, kind, message) in enumerate(
                zip(graph.names, graph.types or none, graph.descriptions or none, strict=False)
            )
        ],
        "relationships": [
            {
                "source": source, "target": target, "weight": weight, "synonym": synonym,
                "relation": relation, "description": fact, "keywords": themes,
                "chunks": row_ids(graph.relationship_chunk, row).tolist(),
            }
            for row, (source, target, weight, synonym, relation, fact, themes) in enumerate(rows)
        ],
    }  # fmt: skip


def _communities(communities: Any, reports: Any) -> list[dict[str, Any]]:
    return [
        {
            "level": int(communities.level[row]),
            "nodes": row_ids(communities.nodes, row).tolist(),
            "chunks": row_ids(communities.chunks, row).tolist(),
            "rating": float(reports.ratings[row]),
            "report": reports.texts[row],
        }
        for row in range(len(communities))
    ]
