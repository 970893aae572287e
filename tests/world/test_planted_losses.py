"""The funnel finds every loss that is planted at a stage of the synthetic world."""

import json
from pathlib import Path
from statistics import mean

import pytest
from toy_runs import metrics, records, run_folder

from graphrag_bench.api import dataset
from graphrag_bench.explain.funnel import run_funnel
from graphrag_bench.graphs.chunking import presplit
from graphrag_bench.run.stored import find_run
from graphrag_bench.world.dataset import world_of
from graphrag_bench.world.planted import planted_extraction
from graphrag_bench.world.reader import WorldReader

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]

SIZES = {"size": 40, "n_questions": 12, "noise": 0.2, "contradictions": 0.0}
WORLD = [
    "dataset=world", *(f"dataset.{name}={value}" for name, value in SIZES.items()),
    "embedder=hashing", "llm=world_reader", "nlp._target_=toy_runs.Capitals", "reference_rows=off",
    "budget_context=native",  # 2,400 tokens would hold most of so small a world
]  # fmt: skip
HIPPORAG = ["method=hipporag", "method.conversion=llm"]


class Elsewhere(WorldReader):
    """A reader that finds the same outsider in every question."""

    def respond(self, chat):
        if "named_entities" in chat[0].content:
            world = world_of(world_set())
            return json.dumps({"named_entities": [world.entities[world.settings.size].name]})
        return super().respond(chat)


def world_set(**settings):
    return dataset("world", **{**SIZES, **settings})


def funnel_and_rows(*settings):
    folder = run_folder(*WORLD, *settings)
    funnel = run_funnel(find_run(str(folder), "."), Path())
    assert not funnel.unknown
    return funnel, records(folder)


def at(stage, funnel):
    return {(fate.question, fate.document) for fate in funnel.documents if fate.lost == stage}


def retrieved(rows):
    return {(row["question"], name) for row in rows for name in row.get("documents", ())}


def evidence(**settings):
    gold = world_set(**settings).gold
    return {(name, document) for name, one in gold.items() for document in one.evidence}


def test_dropped_facts_are_lost_at_extraction() -> None:
    """With one fact per passage, a dropped fact leaves its passage without relationships."""
    world = {"hops": 1, "facts_per_passage": 1}
    sizes = [f"dataset.{name}={value}" for name, value in world.items()]
    drop = ["build.extraction.drop=0.5", "method.n_retrieved=3"]
    funnel, rows = funnel_and_rows(*HIPPORAG, *sizes, *drop)
    table = presplit(corpus=world_set(**world))
    read = planted_extraction(chunk_table=table, drop=0.5).rows
    empty = (row for row, one in enumerate(read) if not one.triples)
    dropped = {document for row in empty for document in table.documents_of(row)}
    planted = {pair for pair in evidence(**world) if pair[1] in dropped}
    assert at("extracted", funnel) == planted - retrieved(rows) != set()
    otherwise = {one.document for one in funnel.documents if one.state("extracted") == "recovered"}
    assert otherwise == {document for _, document in planted & retrieved(rows)}


def test_questions_with_wrong_entities_lose_their_evidence_at_linking() -> None:
    """Linking uses vectors only; synonymy edges would join similar names."""
    elsewhere = "llm._target_=test_planted_losses.Elsewhere"
    settings = ["build.graph=kg", "method.linking=[vectors]", elsewhere]
    funnel, rows = funnel_and_rows(*HIPPORAG, *settings)
    assert at("linked", funnel) == evidence() - retrieved(rows) != set()


@pytest.mark.parametrize(
    ("stage", "settings"),
    [("prompt", ["method.top_k=1"]), ("cut", ["method.n_retrieved=4", "method.budget=60"])],
)
def test_retrieved_evidence_is_lost_by_rank_or_by_budget(stage: str, settings: list[str]) -> None:
    funnel, rows = funnel_and_rows("method=vanilla", *settings)
    packed = {(row["question"], p["id"]) for row in rows for p in row["context"]["pieces"]}
    missing = (evidence() & retrieved(rows)) - packed
    assert at(stage, funnel) == at("prompt", funnel) | at("cut", funnel) == missing != set()


def test_removed_facts_lower_the_oracle_by_their_exact_share() -> None:
    result = world_of(world_set(removed=0.3))
    funnel, _ = funnel_and_rows("method=oracle", "dataset.removed=0.3")
    gone = {pair for pair in evidence(removed=0.3) if pair[1].startswith("removed-")}
    assert at("corpus", funnel) == gone != set()
    stated = [[result.facts[row].passage is not None for row in one.facts] for one in result.chains]
    best, answerable = mean(map(mean, stated)), mean(map(all, stated))
    (folder,) = Path().glob("runs/*/*/*/metrics.json")
    scores = metrics(folder.parent)["metrics"]
    assert scores["evidence_recall@5"]["mean"] == pytest.approx(best, abs=1e-6)
    assert scores["accuracy"]["mean"] == pytest.approx(answerable, abs=1e-6)
