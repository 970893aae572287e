"""The models of a run: made when first asked for, so that a finished run loads none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.backends import make
from graphrag_bench.experiment.settings import RunSettings
from graphrag_bench.fingerprint import file_digest
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.llm import LLM
from graphrag_bench.models.nlp import Nlp


class Models(Mapping[str, Any]):
    """What is given rather than built: corpus, OpenIE file, embedder, tagger, language models.

    A mapping from resource name to object; objects are made at the first look-up.
    """

    NAMES = ("corpus", "openie", "embedder", "nlp", "llm", "llm_build")

    def __init__(self, settings: RunSettings, dataset: Dataset) -> None:
        """Nothing is made yet."""
        self.settings = settings
        self.corpus = dataset

    def __getitem__(self, name: str) -> Any:
        """The object of that name; KeyError for another name."""
        if name not in self.NAMES:
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self.NAMES)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.NAMES)

    @cached_property
    def embedder(self) -> Embedder:
        """The model that embeds."""
        made: Embedder = make("embedder", self.settings.embedder)
        return made

    @cached_property
    def nlp(self) -> Nlp:
        """The tagger and parser."""
        made: Nlp = make("nlp", self.settings.nlp)
        return made

    @cached_property
    def llm(self) -> LLM:
        """The model that answers."""
        made: LLM = make("llm", self.settings.llm)
        return made

    @cached_property
    def llm_build(self) -> LLM:
        """The model that builds: the one that answers, unless another is set."""
        if self.settings.llm_build is None:
            return self.llm
        made: LLM = make("llm_build", self.settings.llm_build)
        return made

    @property
    def openie(self) -> Any:
        """The OpenIE file of the set; raises UserError when it has none."""
        if self.corpus.openie is None:
            raise UserError(
                f"Data set '{self.corpus.name}' has no OpenIE file; name one with "
                "dataset.openie=FILE, or build without: build.extraction=nlp."
            )
        return self.corpus.openie

    def identity(self, name: str) -> str:
        """What stands for the object in keys: never an address, a key or a path."""
        if name == "corpus":
            return self.corpus.corpus_digest
        if name == "openie":
            return file_digest(self.openie)
        return str(self[name].identity)
