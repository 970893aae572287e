"""What is built along a sequence of changes is what a clean build makes, byte for byte.

Sequences of insertions, changes, deletions and moves over passages of the synthetic world. Along a
sequence the stores of readings, vectors and replies are kept; the clean build has none. Each of
the 200 sequences goes to one graph type in turn; EVERY_SEQUENCE=1 gives every type all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from graphrag_bench.config.compose import composed
from graphrag_bench.config.words import read_words
from graphrag_bench.contract import builders
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.models import Models
from graphrag_bench.offline.plan import Planned, plan
from graphrag_bench.offline.store import Store
from graphrag_bench.progress import Progress

N_SEQUENCES, N_CHANGES, N_FIRST = 200, 4, 7
APART = ("recipe.json", "manifest.json", "ledger.jsonl")
"""Files that tell seconds and stored calls."""

OF_ALL = {"chunk_table", "chunk_index", "bm25", "graph", "communities", "reports", "node_index"}
OF_RELATIONSHIPS = OF_ALL | {"relationship_index", "triple_index"}
NLP, LLM = {"extraction": "nlp"}, {"extraction": "llm"}
NAMED = {"node_index": "name", "name_index": "extraction"}
SAID = {"node_index": "description"}
CASES: Mapping[str, tuple[Mapping[str, object], set[str]]] = {
    "kg": ({**NLP, **NAMED}, OF_RELATIONSHIPS | {"tfidf"}),
    "kg of an llm": ({**LLM, **NAMED, "graph": "kg", "reports": "llm"}, OF_RELATIONSHIPS),
    "kg_synonymy": ({**NLP, **NAMED}, OF_RELATIONSHIPS),
    "rkg": ({"text_extraction": "nlp", **SAID}, OF_RELATIONSHIPS | {"community_index"}),
    "rkg_llm": ({"text_extraction": "llm", "reports": "llm", **SAID}, OF_RELATIONSHIPS),
    "tkg": ({"text_extraction": "nlp", **SAID}, OF_RELATIONSHIPS),
    "tkg_llm": ({"text_extraction": "llm", **SAID}, OF_RELATIONSHIPS),
    "passage": ({"node_index": "text"}, OF_ALL),
    "hop": (
        {"pseudo_questions": "nlp", "node_index": "text"},
        OF_ALL | {"relationship_index", "question_index"},
    ),
    "heterogeneous": (
        {"text_extraction": "nlp", "node_index": "text"},
        {"chunk_table", "chunk_index", "graph", "node_index"},
    ),
    "heterogeneous_llm": (
        {"text_extraction": "llm", "node_index": "text"},
        {"chunk_table", "chunk_index", "graph", "node_index"},
    ),
    "layered": ({"text_extraction": "nlp", **SAID}, OF_RELATIONSHIPS),
    "layered_llm": ({"text_extraction": "llm", **SAID}, OF_RELATIONSHIPS),
    "hypergraph": (
        {"fact_extraction": "nlp", "node_index": "text"},
        {"chunk_table", "chunk_index", "graph", "node_index"},
    ),
    "hypergraph of an llm": (
        {"fact_extraction": "llm", "graph": "hypergraph", "node_index": "text"},
        {"chunk_table", "graph", "node_index"},
    ),
    "hypergraph_synonymy": (
        {"fact_extraction": "nlp", "node_index": "text"},
        {"chunk_table", "chunk_index", "graph", "node_index"},
    ),
    "attributed": (
        {"schema_extraction": "nlp", "node_index": "name", "name_index": "graph"},
        OF_RELATIONSHIPS | {"attribute_index"},
    ),
    "attributed of an llm": (
        {
            "schema_extraction": "llm",
            "graph": "attributed",
            "reports": "llm",
            "node_index": "name",
            "name_index": "graph",
        },
        OF_RELATIONSHIPS | {"attribute_index"},
    ),  # fmt: skip
    "entity_passage": ({"node_index": "name", "name_index": "graph"}, OF_ALL),
    "entities": ({"node_index": "name", "name_index": "graph"}, OF_ALL | {"sentence_index"}),
    "tkg of a core": (
        {"text_extraction": "core_nlp", "graph": "tkg", **SAID},
        OF_RELATIONSHIPS | {"chunk_graph", "keyword_graph"},
    ),
    "tree": ({"node_index": "description"}, {"chunk_table", "chunk_index", "graph", "node_index"}),
    "tree_llm": ({"node_index": "description"}, {"chunk_table", "graph", "node_index"}),
}
ELSEWHERE = {
    "graphml", "graphml_attributed", "graphml_rkg", "graphml_tkg", "msgraphrag",
    "msgraphrag_attributed", "triples", "subgraphs",
}  # fmt: skip
"""Graph types that are imported, or given with each question: nothing of them is built here."""


@cache
def world() -> Dataset:
    words = ("dataset=world", "dataset.size=30", "method=vanilla")
    return Experiment.prepare(composed(read_words(words))).dataset


def models_in(home: Path, mode: str) -> Models:
    words = (
        "dataset=world", "dataset.size=30", "method=vanilla", "embedder=hashing", "llm=scripted",
        "llm._target_=counting_reader.reader", "nlp._target_=toy_runs.Capitals",
        f"paths.home={home}", f"cache.mode={mode}",
    )  # fmt: skip
    return Experiment.prepare(composed(read_words(words)), world()).models


def built(case: str, documents: Sequence[Document], models: Models, home: Path) -> list[Planned]:
    """The plan of a case over these documents, every artifact of it built."""
    models = models.over(replace(world(), documents=tuple(documents)))
    choices, wanted = CASES[case]
    every = {"graph": case, "communities": "leiden", "reports": "extractive",
             "chunk_table": "presplit", **choices}  # fmt: skip
    tree = {"cluster_size": 3, "clustering": "kmeans"}
    if case.startswith("tree"):
        every["graph"] = {"variant": case, **tree}
    identities = {name: partial(models.identity, name) for name in Models.NAMES}
    made = plan(wanted, every, identities)  # type: ignore[arg-type]
    Store(home / "artifacts", Progress(quiet=True)).resources(made, wanted, models)
    return made


def columns(made: Sequence[Planned], home: Path) -> dict[str, bytes]:
    found = {}
    for item in made:
        folder = home / "artifacts" / item.resource / item.key
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name not in APART:
                found[f"{item.resource}/{path.relative_to(folder)}"] = path.read_bytes()
    return found


def changed(documents: list[Document], chance: np.random.Generator) -> list[Document]:
    """The documents after one insertion, change, deletion or move."""
    made, pool = list(documents), world().documents
    what, place = chance.integers(5), int(chance.integers(len(documents)))
    other = pool[int(chance.integers(len(pool)))]
    if what == 0 and len(made) > 4:
        del made[place]
    elif what == 1:
        made[place] = replace(made[place], text=f"{made[place].text} {other.text}")
    elif what == 2:  # an id that is used again for another text
        made[place] = replace(other, id=made[place].id)
    elif what == 3:
        made.insert(int(chance.integers(len(made))), made.pop(place))
    else:
        name = f"{other.id}-{chance.integers(10**6)}"  # its text may be there already
        made.insert(place, replace(other, id=name))
    return made


def check(case: str, seed: int, folder: Path) -> None:
    chance = np.random.default_rng(seed)
    first = chance.choice(len(world().documents), N_FIRST, replace=False)
    documents = [world().documents[row] for row in sorted(first)]
    along, clean = folder / "along", folder / "clean"
    kept = models_in(along, "write")
    for step in range(N_CHANGES):
        if step:
            documents = changed(documents, chance)
        made = built(case, documents, kept, along)
    again = built(case, documents, models_in(clean, "off"), clean)
    assert [item.key for item in made] == [item.key for item in again]
    assert columns(made, along) == columns(again, clean)


def test_every_graph_type_is_here_or_says_why_not() -> None:
    models_in(Path(), "off")  # registers the builders
    types = {one.variant for one in builders.all() if one.resource == "graph"}
    assert types == {case for case in CASES if " of " not in case} | ELSEWHERE


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(N_SEQUENCES))
def test_a_sequence_ends_where_a_clean_build_does(seed: int, tmp_path: Path) -> None:
    check(list(CASES)[seed % len(CASES)], seed, tmp_path)


@pytest.mark.skipif("EVERY_SEQUENCE" not in os.environ, reason="EVERY_SEQUENCE=1 runs all of them")
@pytest.mark.parametrize("case", CASES)
def test_every_sequence_of_every_type(case: str, tmp_path: Path) -> None:
    for seed in range(N_SEQUENCES):
        check(case, seed, tmp_path / str(seed))
