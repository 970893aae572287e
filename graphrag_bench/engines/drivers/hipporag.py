"""HippoRAG 2 as its authors release it, behind the calls of `driving`: `index` and `retrieve`."""

from __future__ import annotations

import ast
import json
import multiprocessing
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).parent))  # last: a driver has the name of an engine's package
from driving import (  # noqa: E402
    ChunkNames,
    Opened,
    Row,
    by_text,
    divided,
    greeting,
    plain_fields,
    released_texts,
    serve,
)

NOT_EQUAL = [
    "its own store of replies is off, for ours has them, and it asks no model a second time",
    "names, triples and facts are read as literals of Python, where its release runs them as code",
]
OF_EQUAL = [
    "its context has as many passages as the budget holds, where its release sends 5 (qa_top_k)",
]
_ABSENT = {"vllm": ("SamplingParams", "LLM"), "gritlm": ("GritLM",)}
"""What it imports for models that it would run itself."""
_OWN = (
    "llm_name", "embedding_model_name", "embedding_model_dtype", "embedding_return_as_normalized",
    "openie_mode", "information_extraction_model_name", "text_preprocessor_class_name",
    "preprocess_encoder_name", "preprocess_chunk_overlap_token_size", "preprocess_chunk_func",
    "num_gen_choices", "temperature", "max_retry_attempts", "force_openie_from_scratch",
    "force_index_from_scratch", "save_openie", "skip_graph", "is_directed_graph", "graph_type",
    "max_qa_steps", "embedding_max_seq_len",
)  # fmt: skip
"""Settings of its configuration that are the driver's, or that this release does not read."""
_SAID = (
    "retrieval_top_k", "linking_top_k", "damping", "passage_node_weight",
    "synonymy_edge_sim_threshold", "max_new_tokens",
)  # fmt: skip
_MODEL, _EMBEDDER = "llm", "text-embedding"
"""Names that its folders have; it chooses its client of OpenAI by the second."""


class HippoRag:
    """An index of HippoRAG that is open."""

    def hello(self) -> Any:
        """Name and version."""
        return greeting("hipporag")

    def open(self, given: Opened) -> dict[str, Any]:
        """Open the index of a folder; its own clients of OpenAI ask for replies and vectors."""
        os.chdir(given.folder)
        os.environ |= {"OPENAI_API_KEY": given.key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        import_without_models()
        from hipporag import HippoRAG
        from hipporag.llm.openai_gpt import CacheOpenAI
        from hipporag.utils.config_utils import BaseConfig

        self.folder, self.equal = Path(given.folder), given.equal
        (self.fixed,) = divided(given.settings, plain_fields(BaseConfig, *_OWN))
        self.names = ChunkNames(self.folder)
        ask = CacheOpenAI.infer.__wrapped__.__wrapped__

        def infer(self: Any, messages: Any, **words: Any) -> Any:
            return (*ask(self, messages, **{**words, "model": given.llm_model}), False)

        CacheOpenAI.infer = infer
        self.rag = HippoRAG(
            global_config=BaseConfig(
                llm_name=_MODEL,
                llm_base_url=given.base_url,
                embedding_model_name=_EMBEDDER,
                embedding_base_url=given.base_url,
                save_dir=given.folder,
                **self.fixed,
            )
        )
        config = self.rag.global_config
        held = {name: getattr(config, name) for name in _SAID}
        if not self.equal or "qa_top_k" in self.fixed:
            held["qa_top_k"] = config.qa_top_k
        if self.equal and "retrieval_top_k" not in self.fixed:
            del held["retrieval_top_k"]
        return {"settings": held, "not_equal": [*NOT_EQUAL, *(OF_EQUAL if self.equal else ())]}

    def build(self, documents: list[Row], chunks: list[Row] | None) -> dict[str, int]:
        """Index everything in one go; raises RuntimeError where nothing was extracted."""
        if chunks is None:
            texts = released_texts(documents)
        else:
            texts = list(dict.fromkeys(row["text"] for row in chunks if row["text"].strip()))
            self.names.keep((by_text(row["text"]), row["id"]) for row in chunks)
        try:
            self.rag.index(texts)
        except Exception as error:
            if not any(triples for _, triples in self.extracted()):
                raise RuntimeError("it has extracted no triple from any passage") from error
            raise
        graph = self.graph()
        return {
            "n_nodes": len(graph["nodes"]),
            "n_relationships": len(graph["relationships"]),
            "n_chunks": len(texts),
            "n_lost": sum(not triples for _, triples in self.extracted()),
        }

    def extracted(self) -> Iterator[tuple[str, list[list[str]]]]:
        """Each passage with its triples, in the words that the graph has."""
        from hipporag.utils.llm_utils import filter_invalid_triples
        from hipporag.utils.misc_utils import text_processing

        path = Path(self.rag.openie_results_path)
        for row in json.loads(path.read_text())["docs"] if path.is_file() else ():
            triples = filter_invalid_triples(triples=row["extracted_triples"])
            yield row["passage"], [text_processing(triple) for triple in triples]

    def graph(self) -> dict[str, Any]:
        """Its phrases, and its triples with the passages that they were read in.

        Edges of synonyms, and to passages, follow from these.
        """
        phrases: dict[str, dict[str, str]] = {}
        facts: dict[tuple[str, str, str], dict[str, str]] = {}
        for text, triples in self.extracted():
            held = {by_text(text): text}
            for head, relation, tail in triples:
                phrases.setdefault(head, {}).update(held)
                phrases.setdefault(tail, {}).update(held)
                facts.setdefault((head, relation, tail), {}).update(held)
        return {
            "nodes": [
                {"name": name, "type": "", "description": "", "chunks": self.names.all(held, held)}
                for name, held in phrases.items()
            ],
            "relationships": [
                {"source": head, "target": tail, "description": relation, "weight": 1.0,
                 "chunks": self.names.all(held, held)}
                for (head, relation, tail), held in facts.items()
            ],
        }  # fmt: skip

    def ask(
        self, question: str, top_k: int | None, budget_tokens: int | None, answer: bool
    ) -> dict[str, Any]:
        """Passages of its retrieval, the text that its prompt has of them, and its answer."""
        config = self.rag.global_config
        if top_k is not None:
            config.retrieval_top_k = self.fixed.get("retrieval_top_k", top_k)
            config.qa_top_k = self.fixed.get("qa_top_k", top_k)
        (found,) = self.rag.retrieve(queries=[question])
        passages = [
            {"id": self.names.one(by_text(text)), "text": text, "score": float(score)}
            for text, score in zip(found.docs, found.doc_scores, strict=True)
        ]
        context = "".join(f"Wikipedia Title: {text}\n\n" for text in found.docs[: config.qa_top_k])
        said = self.rag.qa([found])[0][0].answer if answer else None
        return {"passages": passages, "context": context, "answer": said}

    def close(self) -> dict[str, Any]:
        """Nothing is left to be done: the build has written everything."""
        return {}


def import_without_models() -> None:
    """Import HippoRAG without what runs models, starts a process, or runs text as code."""
    for name, held in _ABSENT.items():
        module = ModuleType(name)
        vars(module).update(dict.fromkeys(held))
        sys.modules[name] = module
    debugger = ModuleType("ipdb")  # where it would stop at an error of the embedder
    vars(debugger)["set_trace"] = raise_again
    sys.modules["ipdb"] = debugger
    vars(multiprocessing)["Manager"] = lambda: SimpleNamespace(dict=dict)
    from hipporag import HippoRAG as _  # noqa: F401, N814

    for name in ("hipporag.HippoRAG", "hipporag.rerank",
                 "hipporag.information_extraction.openie_openai"):  # fmt: skip
        vars(sys.modules[name])["eval"] = ast.literal_eval


def raise_again() -> None:
    """Raise the error that is being handled."""
    error = sys.exc_info()[1]
    assert error is not None
    raise error


if __name__ == "__main__":
    serve(HippoRag())
