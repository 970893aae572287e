"""Choices that follow from other choices: what an imported graph replaces, what `auto` means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphrag_bench.config.settings import RunSettings
from graphrag_bench.contract import builders, variants
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.offline.importers.paths import variants_for

REPLACED = frozenset({"extraction", "text_extraction", "fact_extraction", "schema_extraction"})
"""What an imported graph makes unnecessary, even where a variant was set."""
RICH_TYPES = ("organization", "person", "geo", "event", "category")
"""The types of entities of a rich knowledge graph, as LightRAG, PathRAG and PathCoRAG release it;
nano-graphrag, PankRAG and HiRAG, whose graphs are textual, have no `category`."""
DEFAULTS: Mapping[str, Any] = {"extraction": "auto", "text_extraction": "auto"}

Choices = dict[str, dict[str, Any]]


def imported_choices(settings: RunSettings) -> dict[str, str]:
    """The variants that `graph.import_from` selects; none where it is not set.

    Raises UserError for a path that is not a graph, for one graph per partition, and where the run
    itself chooses another way of building what is imported.
    """
    if settings.graph.import_from is None:
        return {}
    if settings.graph.per != "all":
        raise UserError("graph.import_from is one graph of everything: graph.per must be all.")
    found = variants_for(Path(settings.graph.import_from))
    chosen = settings.build.get("graph", {})
    variant = chosen.get("variant") if isinstance(chosen, Mapping) else chosen
    if variant is not None and str(variant) not in _same_format(found["graph"]):
        raise UserError(
            f"graph.import_from takes the place of build.graph={variant}; leave one of them out."
        )
    if settings.chunking.get("variant") != "auto":
        found.pop("chunk_table", None)
    return found


def _same_format(variant: str) -> set[str]:
    return {variant, *(("graphml", "graphml_tkg") if variant.startswith("graphml") else ())}


def complete(choices: Choices, dataset: Dataset) -> None:
    """Put variants in place of `auto`, and in what follows from the graph.

    `auto` reads the facts that are planted in a synthetic world, the triples that a data set comes
    with, an OpenIE file where there is one, and otherwise what a tagger finds; a graph that is
    `auto` has the names of such triples as they are, and is a knowledge graph of texts elsewhere.

    Node names are those of the extraction where the graph is made of it, and otherwise those of
    the graph, titles among them where they are; a rich knowledge graph asks a language model for
    keywords, and for categories among the entities.
    """
    if choices["chunk_table"].get("variant") == "auto":
        choices["chunk_table"]["variant"] = dataset.card.chunking
    planted = dataset.world is not None
    if choices["extraction"].get("variant") == "auto":
        presplit = choices["chunk_table"]["variant"] == "presplit"
        there = {
            "planted": planted,
            "subgraphs": dataset.subgraphs is not None,
            "openie_file": presplit and dataset.openie is not None,
        }
        choices["extraction"]["variant"] = next((name for name in there if there[name]), "nlp")
    if choices.get("graph", {}).get("variant") == "auto":
        choices["graph"]["variant"] = "kg" if dataset.subgraphs is None else "subgraphs"
    if choices["text_extraction"].get("variant") == "auto":
        choices["text_extraction"]["variant"] = "planted" if planted else "nlp"
    graph = choices.get("graph", {}).get("variant", "")
    made = builders.get(variants("graph")[graph]).needs if graph in variants("graph") else ()
    of_extraction = "extraction" in made or not made
    names = choices.setdefault("name_index", {})
    names.setdefault("variant", "extraction" if of_extraction else "graph")
    if "titles" in choices.get("graph", {}) and names["variant"] == "extraction":
        names["titles"] = choices["graph"]["titles"]
    if graph in ("rkg", "rkg_llm"):
        choices["text_extraction"].setdefault("keywords", True)
        if choices["text_extraction"]["variant"] in ("llm", "core_llm"):
            choices["text_extraction"].setdefault("entity_types", list(RICH_TYPES))
