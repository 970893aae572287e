"""Costs of a document that is added to a corpus."""

from collections import Counter
from dataclasses import replace

import counting_reader
import toy_runs

import graphrag_bench as gb
from graphrag_bench.data.dataset import Document
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.llm.scripted import Scripted

noted: Counter[str] = Counter()
NEW = Document("new", "Vera Lindt", "Vera Lindt met Zora Quill in Osterby.")
MODELS = {"embedder": "Embedder", "nlp": "Tagger", "llm": "Reader"}


class Embedder(Hashing):
    def encode(self, texts, *, kind):
        noted["embedded"] += len(texts)
        return super().encode(texts, kind=kind)


class Tagger(toy_runs.Capitals):
    def sentences(self, texts):
        noted["read"] += len(texts)
        return super().sentences(texts)


class Reader(Scripted):
    def __init__(self) -> None:
        super().__init__({}, counting_reader._counted)

    def call(self, request):
        noted["prompts"] += 1
        return super().call(request)


def run(data, home, method, **settings):
    noted.clear()
    models = {role: {"_target_": f"test_added_document.{name}"} for role, name in MODELS.items()}
    gb.method(method, **models, **settings).run(data, answer="off", paths={"home": str(home)})
    return Counter(noted)


def test_added_document_costs_only_its_own_calls(tmp_path):
    """One passage and three names are new, and two calls: extraction and gleaning."""
    first = gb.dataset("toy")
    second = replace(first, documents=(*first.documents, NEW))
    by_llm = {"build": {"text_extraction": "llm"}}
    for method, settings, n_prompts in (("hipporag", {}, 0), ("llightrag", by_llm, 2)):
        whole, more = (run(data, tmp_path / method, method, **settings) for data in (first, second))
        assert more["prompts"] == n_prompts and more["read"] <= 1 and 0 < more["embedded"] <= 4 + 1
        assert all(whole[what] > 4 * n for what, n in more.items() if n)
