"""Our side of a case: the lists of a method, and its graph and vectors as files."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import graphrag_bench as gb
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
    lists: dict[str, dict[str, Ranking]] = {}
    for state in result:
        if not isinstance(state, RetrievalState):
            raise RuntimeError(f"{case.name}: a question failed.")
        lists[state.question.id] = {}
        for name, n in case.stages.items():
            found = state.get(name) or Ranked[Any].empty()
            keys = tuple(zip(found.scores[:n].tolist(), strict=True))
            lists[state.question.id][name] = Ranking(tuple(found.ids[:n].tolist()), keys)
    folder = home / "frozen" / case.name
    folder.mkdir(parents=True, exist_ok=True)
    _freeze(folder, resources, result)
    return lists, folder


def _experiment(case: Case, home: Path) -> Experiment:
    """Return the checked experiment; HippoRAG 2 reads its facts from a file in its own format.

    The facts are an extraction by spaCy. Their names have only a-z, 0-9 and single spaces, so that
    both sides read the same. The entities are the ends of facts, because the engine has no others.
    """
    settings = {"profile": "upstream", "paths": {"home": str(home)}, "answer": "off"}
    method = gb.method(case.method, **settings, **case.settings)
    experiment = method.experiment(gb.dataset("sample"))
    if case.engine != "hipporag":
        return experiment
    facts = home / "frozen" / "openie.json"
    if not facts.is_file():
        wanted = {"extraction", "chunk_table"}
        resources = experiment.store().resources(experiment.plan, wanted, experiment.models)
        table, docs = resources["chunk_table"], []
        for row, message in enumerate(resources["extraction"].rows):
            plain = [[" ".join(re.findall("[a-z0-9]+", one.lower()))
                      for one in (three.head, three.relation, three.tail)]
                     for three in message.triples]  # fmt: skip
            triples = [one for one in plain if all(one) and one[0] != one[2]]
            ends = dict.fromkeys(end for head, _, tail in triples for end in (head, tail))
            docs.append({"idx": table.documents_of(row)[0], "passage": table.passage(row),
                         "extracted_entities": [*ends], "extracted_triples": triples})  # fmt: skip
        facts.parent.mkdir(parents=True, exist_ok=True)
        facts.write_text(json.dumps({"docs": docs}, ensure_ascii=False), encoding="utf-8")
    build = {"extraction": "openie_file"}
    return method.experiment(gb.dataset("sample", openie=facts), build=build)


def _freeze(folder: Path, resources: Mapping[str, Any], states: Sequence[RetrievalState]) -> None:
    """Write graph, chunks, communities and spaCy's keywords as JSON, and vectors as arrays."""
    graph, embedder = resources["graph"], resources["embedder"]
    none = [""] * max(graph.n_nodes, graph.n_relationships)
    world: dict[str, Any] = {"chunks": resources["chunk_table"].passages, "questions": []}
    searched = set()
    for state in states:
        keywords, mentions = state.get("keywords"), state.get("mentions")
        low, high = (list(keywords.low), list(keywords.high)) if keywords else ([], [])
        own = {"id": state.question.id, "text": state.question.text, "low": low, "high": high,
               "named": list(mentions.names) if mentions else []}  # fmt: skip
        searched |= {own["text"], ", ".join(low), ", ".join(high), *own["named"]} - {""}
        world["questions"].append(own)
    world["nodes"] = _records(
        name=graph.names, type=graph.types or none, description=graph.descriptions or none,
        chunks=_members(graph.node_chunk),
    )  # fmt: skip
    world["relationships"] = _records(
        source=graph.source.tolist(), target=graph.target.tolist(), weight=graph.weight.tolist(),
        relation=graph.relations, description=graph.facts or none, keywords=graph.keywords or none,
        chunks=_members(graph.relationship_chunk),
    )  # fmt: skip
    if "communities" in resources:
        communities, reports = resources["communities"], resources["reports"]
        world["communities"] = _records(
            level=communities.level.tolist(), nodes=_members(communities.nodes),
            rating=map(float, reports.ratings), report=reports.texts,
        )  # fmt: skip
    texts = {"chunk": world["chunks"], "node": node_texts(graph, named=True),
             "relationship": relationship_texts(graph)}  # fmt: skip
    arrays = {
        f"{kind}s": resources[f"{kind}_index"].vectors if f"{kind}_index" in resources
        else embedder.encode(rows, kind="passage")
        for kind, rows in texts.items()
    }  # fmt: skip
    world["queries"] = sorted(searched)
    vectors = [embedder.encode([text], kind="question") for text in world["queries"]]
    arrays["queries"] = np.concatenate(vectors)
    (folder / "world.json").write_text(json.dumps(world, ensure_ascii=False), encoding="utf-8")
    for name, rows in arrays.items():
        np.save(folder / f"{name}.npy", np.asarray(rows, np.float32))


def _members(matrix: Any) -> Iterable[list[int]]:
    return (row_ids(matrix, row).tolist() for row in range(matrix.shape[0]))


def _records(**columns: Iterable[Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=False)]
