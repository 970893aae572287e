"""GraphRAG as Microsoft releases it, behind the calls of `driving`: its pipeline, its searches."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).parent))  # last: a driver has the name of an engine's package
from driving import (  # noqa: E402
    ChunkNames,
    Opened,
    Row,
    by_document,
    by_text,
    divided,
    greeting,
    plain_fields,
    ranks_in_place,
    released_texts,
    serve,
)

NOT_EQUAL = [
    "its search is `local`; `basic`, `global` and `drift` by engine.settings.mode",
    "its own store of replies is off, for ours has them",
    "an answer has `Multiple Paragraphs`, and reports are those of level 2 or above: the defaults "
    "of its command (engine.settings.response_type, community_level)",
]
OF_EQUAL = [
    "reports, nodes with relationships, and passages share the context budget by its shares of 15, "
    "35 and 50 %",
    "k bounds no search but `basic`: as many passages as their share of the budget holds",
]
_ASKED = {"mode": "local", "community_level": 2, "response_type": "Multiple Paragraphs"}
_MODES = ("local", "basic", "global", "drift")
_SECTIONS = (
    "chunking", "extract_graph", "summarize_descriptions", "community_reports", "cluster_graph",
    "embed_text", "local_search", "basic_search", "global_search", "drift_search",
)  # fmt: skip
"""The parts of its configuration that are settings."""
_NOT_SETTINGS = ("type", "encoding_model", "completion_model_id", "embedding_model_id",
                 "model_instance_name")  # fmt: skip
_TYPES = "extract_graph.entity_types"
_TABLES = ("entities", "relationships", "communities", "community_reports", "text_units")
_LOGS = "logs"
_SEED = 0


class MicrosoftGraphRag:
    """An index of GraphRAG that is open."""

    def hello(self) -> Any:
        """Name and version."""
        return greeting("graphrag")

    def open(self, given: Opened) -> dict[str, Any]:
        """Open the index of a folder; nothing is read before the first question."""
        os.chdir(given.folder)
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches prices when imported
        ranks_in_place()
        self.folder, self.equal = Path(given.folder), given.equal
        known = self.known()
        own, held = divided(flat(given.settings), _ASKED, known)
        self.asked = {**_ASKED, **own}
        if self.asked["mode"] not in _MODES:
            raise ValueError(f"mode is {self.asked['mode']!r}; there are {', '.join(_MODES)}")
        self.fixed = held
        self.given = given
        self.names = ChunkNames(self.folder)
        self.tables: dict[str, Any] = {}
        self.cut: dict[str, list[str]] = {}
        used = known | held
        told = {**self.asked, _TYPES: used[_TYPES]}
        told |= {name: used[name] for name in known if name.startswith(self.section + ".")}
        told["extract_graph.max_gleanings"] = used["extract_graph.max_gleanings"]
        if not self.equal:
            told |= {name: used[name] for name in ("chunking.size", "chunking.overlap")}
        return {"settings": told, "not_equal": [*NOT_EQUAL, *(OF_EQUAL if self.equal else ())]}

    def known(self) -> dict[str, Any]:
        """The settings that its configuration has, with their defaults, by their path in it."""
        from graphrag.config.defaults import graphrag_config_defaults as defaults

        found = {_TYPES: list(defaults.extract_graph.entity_types)}
        for section in _SECTIONS:
            part = getattr(defaults, section)
            for name in plain_fields(type(part), *_NOT_SETTINGS):
                found[f"{section}.{name}"] = getattr(part, name)
        return found

    @property
    def section(self) -> str:
        """The part of the configuration that the search has."""
        return f"{self.asked['mode']}_search"

    def config(self, budget: int | None = None, top_k: int | None = None) -> Any:
        """Its configuration, with the search bounded by a budget where there is one."""
        from graphrag.config.models.graph_rag_config import GraphRagConfig

        given = self.given
        where = {
            "model_provider": "openai",
            "api_base": given.base_url,
            "api_key": given.key,
        }
        held = nested(bounded(budget, top_k) | self.fixed)
        held.setdefault("chunking", {}).setdefault("type", "tokens")
        return GraphRagConfig.model_validate({
            **held,
            "completion_models": {"default_completion_model": {**where, "model": given.llm_model}},
            "embedding_models": {
                "default_embedding_model": {**where, "model": given.embedding_model}
            },
            "input_storage": {"base_dir": given.folder},
            "output_storage": {"base_dir": str(self.folder / "output")},
            "update_output_storage": {"base_dir": str(self.folder / "update")},
            "reporting": {"base_dir": str(self.folder / _LOGS)},
            "cache": {"type": "none"},
            "vector_store": {
                "type": "lancedb",
                "db_uri": str(self.folder / "lancedb"),
                "vector_size": given.embedding_dimension,
            },
        })  # fmt: skip

    async def build(self, documents: list[Row], chunks: list[Row] | None) -> dict[str, int]:
        """Run its pipeline over all documents; raises RuntimeError where a step of it failed."""
        import pandas
        from graphrag.api import build_index

        if chunks is None:
            texts = released_texts(documents)
        else:
            texts = self.documents_of(chunks)
            self.chunk_as_we_do()
        rows = [
            {"id": f"document-{at}", "title": f"document-{at}", "text": text,
             "creation_date": "", "raw_data": None, "human_readable_id": at}
            for at, text in enumerate(texts)
        ]  # fmt: skip
        for done in await build_index(self.config(), input_documents=pandas.DataFrame(rows)):
            if done.error is not None:
                raise RuntimeError(f"its step {done.workflow} failed: {done.error}")
        units = self.table("text_units")
        return {
            "n_nodes": len(self.table("entities")),
            "n_relationships": len(self.table("relationships")),
            "n_chunks": len(units),
            "n_lost": sum(not len(names) for names in units["entity_ids"]),
        }

    def documents_of(self, chunks: list[Row]) -> list[str]:
        """The text of each document, put together of our chunks, which it will be cut into."""
        texts = []
        for rows in by_document(chunks):
            texts.append("\n\n".join(row["text"] for row in rows))
            self.cut[texts[-1]] = [row["text"] for row in rows]
        self.names.keep((by_text(row["text"]), row["id"]) for row in chunks)
        return texts

    def chunk_as_we_do(self) -> None:
        """Let its step that cuts documents give our chunks."""
        from graphrag.index.workflows import create_base_text_units as step

        def chunk(text: str, transform: Any = None) -> list[Any]:
            return [SimpleNamespace(text=one) for one in dict.fromkeys(self.cut[text])]

        step.create_chunker = lambda *_, **__: SimpleNamespace(chunk=chunk)

    def table(self, name: str) -> Any:
        """One of the tables that its pipeline has written."""
        if name not in self.tables:
            import pandas

            self.tables[name] = pandas.read_parquet(self.folder / "output" / f"{name}.parquet")
        return self.tables[name].copy()

    def graph(self) -> dict[str, Any]:
        """Its nodes and relationships with the text units that they were read in."""
        texts = dict(self.table("text_units")[["id", "text"]].itertuples(index=False, name=None))

        def chunks(ids: Any) -> list[str]:
            held = {by_text(texts[one]): texts[one] for one in ids if one in texts}
            found: list[str] = self.names.all(held, held)
            return found

        nodes = [
            {"name": row.title, "type": row.type, "description": row.description or "",
             "chunks": chunks(row.text_unit_ids)}
            for row in self.table("entities").itertuples()
        ]  # fmt: skip
        relationships = [
            {"source": row.source, "target": row.target, "description": row.description or "",
             "weight": float(row.weight), "chunks": chunks(row.text_unit_ids)}
            for row in self.table("relationships").itertuples()
        ]  # fmt: skip
        return {"nodes": nodes, "relationships": relationships}

    async def ask(
        self, question: str, top_k: int | None, budget_tokens: int | None, answer: bool
    ) -> dict[str, Any]:
        """What its search puts into a prompt, with the passages in it, and its answer."""
        search = self.search(self.config(budget_tokens, top_k))
        if self.asked["mode"] == "global":
            context, said = await global_search(search, question, answer)
            return {"passages": [], "context": context, "answer": said}
        if self.asked["mode"] == "drift":
            return await self.drift(search, question, answer)
        found = search.context_builder.build_context(
            query=question, **search.context_builder_params
        )
        said = None
        if answer:
            said = "".join([piece async for piece in search.stream_search(question)])
        passages = self.passages(found.context_records)
        context = found.context_chunks if any(map(len, found.context_records.values())) else ""
        return {"passages": passages, "context": context, "answer": said}

    async def drift(self, search: Any, question: str, answer: bool) -> dict[str, Any]:
        """The answers to its sub-questions as the context, and the passages that they had.

        What it draws is drawn the same at every call, so that its answer is of this context.
        """
        from graphrag.query.structured_search.drift_search import primer

        random.seed(_SEED)  # it shuffles sub-questions without a score, and draws a report
        primer.secrets = random
        found = await search.search(question, reduce=answer)
        nodes = search.query_state.serialize(include_context=False).get("nodes", [])
        context = "\n\n".join(str(node["answer"]) for node in nodes if node.get("answer"))
        rows: dict[str, Any] = {}
        for held in found.context_data.values():
            if isinstance(held, Mapping):
                rows |= {one["text"]: one for one in self.passages(held)}
        said = str(found.response) if answer else None
        return {"passages": list(rows.values()), "context": context, "answer": said}

    def passages(self, records: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The text units among what stands in a context, in its order."""
        units = records.get("sources")
        texts = [] if units is None or "text" not in units else units["text"]
        return [{"id": self.names.one(by_text(one)), "text": one, "score": None} for one in texts]

    def search(self, config: Any) -> Any:
        """The search of its mode over the tables of the index."""
        from graphrag.config import embeddings
        from graphrag.query import factory, indexer_adapters
        from graphrag.utils.api import get_embedding_store

        mode, level = self.asked["mode"], self.asked["community_level"]
        kind = {"config": config, "response_type": self.asked["response_type"]}

        def store(name: str) -> Any:
            return get_embedding_store(config.vector_store, name)

        if mode == "basic":
            return factory.get_basic_search_engine(
                text_units=indexer_adapters.read_indexer_text_units(self.table("text_units")),
                text_unit_embeddings=store(embeddings.text_unit_text_embedding),
                **kind,
            )
        groups = self.table("communities")
        kind["entities"] = indexer_adapters.read_indexer_entities(
            self.table("entities"), groups, level
        )
        reports = indexer_adapters.read_indexer_reports(
            self.table("community_reports"), groups, level
        )
        if mode == "global":
            return factory.get_global_search_engine(
                reports=reports,
                communities=indexer_adapters.read_indexer_communities(
                    groups, self.table("community_reports")
                ),
                **kind,
            )
        kind |= {
            "reports": reports,
            "text_units": indexer_adapters.read_indexer_text_units(self.table("text_units")),
            "relationships": indexer_adapters.read_indexer_relationships(
                self.table("relationships")
            ),
            "description_embedding_store": store(embeddings.entity_description_embedding),
        }
        if mode == "local":
            return factory.get_local_search_engine(covariates={}, **kind)
        indexer_adapters.read_indexer_report_embeddings(
            reports, store(embeddings.community_full_content_embedding)
        )
        return factory.get_drift_search_engine(**kind)

    def close(self) -> dict[str, Any]:
        """Its logs of the build are left out of the index."""
        shutil.rmtree(self.folder / _LOGS, ignore_errors=True)
        return {}


async def global_search(search: Any, question: str, answer: bool) -> tuple[str, str | None]:
    """What its map step has found, and the answer of its reduce step where one is asked for."""
    model = search.model

    async def nothing() -> AsyncIterator[Any]:
        no_piece: list[Any] = []
        for one in no_piece:
            yield one

    async def reply(**words: Any) -> Any:
        """The model's, but none to the reduce step, which alone asks for a stream."""
        return nothing() if words.get("stream") else await model.completion_async(**words)

    if not answer:
        search.model = SimpleNamespace(completion_async=reply)
    found = await search.search(question)
    return str(found.reduce_context_text), str(found.response) if answer else None


def bounded(budget: int | None, top_k: int | None) -> dict[str, Any]:
    """The settings that a budget in tokens and a number of passages stand for."""
    found: dict[str, Any] = {} if top_k is None else {"basic_search.k": top_k}
    if budget is not None:
        found |= {
            "local_search.max_context_tokens": budget,
            "basic_search.max_context_tokens": budget,
            "global_search.data_max_tokens": budget,
            "drift_search.local_search_max_data_tokens": budget,
        }
    return found


def flat(settings: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Settings in groups, by their paths."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{before}{name}.")
        else:
            found[before + name] = value
    return found


def nested(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings by their paths, in groups."""
    found: dict[str, dict[str, Any]] = {}
    for path, value in settings.items():
        section, _, name = path.partition(".")
        found.setdefault(section, {})[name] = value
    return found


if __name__ == "__main__":
    serve(MicrosoftGraphRag())
