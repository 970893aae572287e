"""Costs of a document that is added to a corpus."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import counting_reader
import toy_runs

import graphrag_bench as gb
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.embedding.embedder import Hashing, TextKind, Vectors
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.llm.calls import Chat, Completion
from graphrag_bench.llm.scripted import Scripted

noted: Counter[str] = Counter()
"""Numbers of embedded texts, tagged texts and prompts."""
NEW = Document("new", "Vera Lindt", "Vera Lindt met Zora Quill in Osterby.")


class Embedder(Hashing):
    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        noted["embedded"] += len(texts)
        return super().encode(texts, kind=kind)


class Tagger(toy_runs.Capitals):
    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        noted["read"] += len(texts)
        return super().sentences(texts)


def reader() -> Scripted:
    def reply(chat: Chat) -> Completion:
        noted["prompts"] += 1
        return counting_reader._counted(chat)

    return Scripted({}, reply)


def run(data: Dataset, home: Path, method: str, **settings: object) -> Counter[str]:
    """Run, and return the numbers of embedded texts, tagged texts and prompts."""
    noted.clear()
    named = {"embedder": "Embedder", "nlp": "Tagger", "llm": "reader"}
    models = {role: {"_target_": f"test_added_document.{name}"} for role, name in named.items()}
    gb.method(method, **models, **settings).run(data, answer="off", paths={"home": str(home)})
    return Counter(noted)


def test_added_document_costs_only_its_own_calls(tmp_path: Path) -> None:
    """One passage and three names are new, and two calls: extraction and gleaning."""
    first = gb.dataset("toy")
    second = replace(first, documents=(*first.documents, NEW))
    by_llm = {"build": {"text_extraction": "llm"}}
    for method, settings, n_prompts in (("hipporag", {}, 0), ("llightrag", by_llm, 2)):
        whole, more = (run(data, tmp_path / method, method, **settings) for data in (first, second))
        assert more["prompts"] == n_prompts and more["read"] <= 1 and 0 < more["embedded"] <= 4 + 1
        assert all(whole[what] > 4 * n for what, n in more.items() if n)
