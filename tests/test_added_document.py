"""A corpus to which a document is added costs what the document costs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import counting_reader
import pytest
import toy_runs

import graphrag_bench as gb
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.embedding.embedder import Hashing, TextKind, Vectors
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.llm.calls import Chat, Completion
from graphrag_bench.llm.scripted import Scripted

embedded: list[str] = []
read: list[str] = []
prompts: list[str] = []
NEW = Document("new", "Vera Lindt", "Vera Lindt met Zora Quill in Osterby.")


class Embedder(Hashing):
    """The hashing embedder, with every text that reaches it noted."""

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        embedded.extend(texts)
        return super().encode(texts, kind=kind)


class Tagger(toy_runs.Capitals):
    """The tagger of capitals, with every text that reaches it noted."""

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        read.extend(texts)
        yield from super().sentences(texts)


def reader() -> Scripted:
    """The scripted reader, with every prompt that reaches it noted."""

    def reply(chat: Chat) -> Completion:
        prompts.append(chat[-1].content)
        return counting_reader._counted(chat)

    return Scripted({}, reply)


def run(data: Dataset, home: Path, method: str, **settings: object) -> tuple[int, int, int]:
    """How many texts a run embeds, how many it reads, and how many prompts it sends."""
    for calls in (embedded, read, prompts):
        calls.clear()
    models = {
        "embedder": {"_target_": "test_added_document.Embedder"},
        "nlp": {"_target_": "test_added_document.Tagger"},
        "llm": {"_target_": "test_added_document.reader"},
    }
    result = gb.method(method, **models, **settings)
    result.run(data, answer="off", paths={"home": str(home)})
    return len(embedded), len(read), len(prompts)


@pytest.mark.parametrize(
    ("method", "settings", "n_prompts"),
    [("hipporag", {}, 0), ("llightrag", {"build": {"text_extraction": "llm"}}, 2)],
)
def test_one_more_document_costs_its_own_texts_readings_and_calls(
    method: str, settings: dict[str, object], n_prompts: int, tmp_path: Path
) -> None:
    """One passage and three names are new: at most as many texts; its extraction and a gleaning."""
    first = gb.dataset("toy")
    whole = run(first, tmp_path, method, **settings)
    more = run(replace(first, documents=(*first.documents, NEW)), tmp_path, method, **settings)
    assert more[2] == n_prompts
    assert more[1] <= 1
    assert 0 < more[0] <= 4 + 1
    assert all(big > 4 * small for big, small in zip(whole, more, strict=True) if small)
