"""The models of a run: made when first asked for, so that a finished run loads none."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from graphrag_bench.config.settings import LEAST_IN_PROCESSES, RunSettings
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.training import TrainingSet, training_set
from graphrag_bench.errors import UserError
from graphrag_bench.executors.executor import Executor
from graphrag_bench.executors.on_ray import OnRay
from graphrag_bench.executors.processes import Processes
from graphrag_bench.experiment.known_identities import identity_of
from graphrag_bench.experiment.shared import Shared
from graphrag_bench.fingerprint import file_digest
from graphrag_bench.models.budget import Budget, Budgeted
from graphrag_bench.models.cached import Cached
from graphrag_bench.models.checkpoint import Checkpoint
from graphrag_bench.models.cross_encoder import PassageScorer
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.failure_gate import FailureGate
from graphrag_bench.models.fan_out import FanOut
from graphrag_bench.models.from_config import make
from graphrag_bench.models.in_workers import EmbedderInWorkers, NlpInWorkers, Recipe
from graphrag_bench.models.kept_sentences import KeptSentences, ReadingStore
from graphrag_bench.models.kept_vectors import KeptVectors
from graphrag_bench.models.ledger import Ledger, read_ledger, spent
from graphrag_bench.models.llm import LLM
from graphrag_bench.models.local import Local
from graphrag_bench.models.local_on_ray import LocalOnRay
from graphrag_bench.models.nlp import Nlp, Spacy
from graphrag_bench.models.openai_embedder import OpenAIEmbedder
from graphrag_bench.models.replay import Replay
from graphrag_bench.models.reply_store import ReplyStore
from graphrag_bench.models.shared_account import SharedAccount
from graphrag_bench.models.spending import OwnAccount
from graphrag_bench.models.tokenizer import Tokenizer, tokenizer_of
from graphrag_bench.models.trial import OnTrial
from graphrag_bench.offline.importers.paths import content_digest, file_of

_OWN = ("corpus", "openie", "training")
"""What is another thing over another corpus."""
_RELEASED = ("nlp", "cross_encoder", "llm_judge", "tokenizer", "replies", "vectors", "readings")
"""What a finished run lets go of, besides what counts its calls."""


F = TypeVar("F", ReplyStore, ReadingStore)


class Models(Mapping[str, Any]):
    """What is given rather than built: corpus, files to import, embedder, tagger, language models.

    A mapping from resource name to object; objects are made at the first look-up.
    """

    NAMES = (
        "corpus", "openie", "import_from", "training", "embedder", "nlp",
        "llm", "llm_build", "tokenizer", "cross_encoder", "checkpoint",
    )  # fmt: skip

    def __init__(
        self, settings: RunSettings, dataset: Dataset, shared: Shared | None = None
    ) -> None:
        self.settings = settings
        self.shared = shared or Shared()
        self.corpus = dataset
        self.ledger_path = Path(settings.paths.home) / "cache" / "ledger.jsonl"
        self.earlier: Callable[[], Sequence[Path]] = tuple
        self.account: Path | None = None
        self.gates: dict[str, FailureGate] = {}
        self._first: Models | None = None
        self._trial = 0

    def over(self, dataset: Dataset) -> Models:
        """The same models over another corpus: one cache, one budget, one ledger for all."""
        other = copy.copy(self)
        other.corpus, other._first = dataset, self._first or self
        return other

    def on_trial(self, trial: int) -> Models:
        """The same models with the answering one in a further repeat; a ledger of their own."""
        other = copy.copy(self)
        other._drop_charged()
        other.gates, other._trial = {}, trial
        return other

    def charge(
        self, ledger: Path, earlier: Callable[[], Sequence[Path]], account: Path | None = None
    ) -> None:
        """Write calls to `ledger`, and count what it and `earlier` ones hold as spent.

        `account` is the file by which processes at work on the same run keep one budget. Failures
        are counted from 0.
        """
        self.gates.clear()
        if self.ledger_path != ledger:
            self._drop_charged()
        self.ledger_path, self.earlier, self.account = ledger, earlier, account

    def _drop_charged(self) -> None:
        for name in ("embedder", "llm", "llm_build", "ledger", "budget"):
            vars(self).pop(name, None)

    def release(self) -> None:
        """Let go of models, files and the ledger; what is shared stays open for other runs."""
        self._drop_charged()
        for name in _RELEASED:
            vars(self).pop(name, None)

    def __getitem__(self, name: str) -> Any:
        if name not in self.NAMES:
            raise KeyError(name)
        own = self._first is None or name in _OWN
        return getattr(self if own else self._first, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.NAMES)

    def __len__(self) -> int:
        return len(self.NAMES)

    @cached_property
    def embedder(self) -> Embedder:
        """The model that embeds, behind a store of vectors; one by API shares cache and budget."""
        made: Embedder = self._bare("embedder", self.settings.embedder)
        if isinstance(made, OpenAIEmbedder):
            return made.attached(
                store=self.replies,
                mode=self.settings.cache.mode,
                budget=self.budget,
                log=self.ledger.at("embedding", "embedder", kind="embedding"),
            )
        mode = self.settings.cache.mode
        if mode == "off" or (mode == "read" and not self._vectors_path.is_file()):
            return self._spread_embedder(made)
        return KeptVectors(self._spread_embedder(made), self.vectors, mode)

    def _spread_embedder(self, made: Embedder) -> Embedder:
        if self.ray is None:
            return made
        recipe = Recipe.of("embedder", self.settings.embedder, made)
        return EmbedderInWorkers(made, self.ray, recipe)

    @cached_property
    def nlp(self) -> Nlp:
        """The tagger and parser, behind a store of what it has read."""
        made: Nlp = self._bare("nlp", self.settings.nlp)
        made = self._spread_nlp(made)
        mode = self.settings.cache.mode
        if mode == "off" or (mode == "read" and not self._readings_path.is_file()):
            return made
        return KeptSentences(made, self.readings, mode)

    def _spread_nlp(self, made: Nlp) -> Nlp:
        asked = self.settings.nlp_workers
        if self.ray is not None:
            executor: Executor = self.ray
            least = LEAST_IN_PROCESSES
        elif asked == "auto" and isinstance(made, Spacy):
            executor, least = Processes(os.cpu_count() or 1), LEAST_IN_PROCESSES
        else:
            executor, least = Processes(1 if asked == "auto" else asked), 2
        if self.ray is None and executor.n_workers == 1:
            return made
        return NlpInWorkers(made, executor, Recipe.of("nlp", self.settings.nlp, made), least)

    @cached_property
    def ray(self) -> OnRay | None:
        """The workers of Ray; None with executor=local."""
        settings = self.settings.ray
        if self.settings.executor == "local":
            return None
        return OnRay(settings.address, settings.workers, settings.gpus)

    @cached_property
    def cross_encoder(self) -> PassageScorer:
        """What scores passages for a question."""
        made: PassageScorer = self._bare("cross_encoder", self.settings.cross_encoder)
        return made

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """What budgets are counted with; follows from the name of the model, which is not made."""
        named = self.settings.llm.get("tokenizer"), self.identity("llm")
        return self.shared.once("tokenizer", named, lambda: tokenizer_of(*named))

    @cached_property
    def llm(self) -> LLM:
        """The model that answers, in its repeat; raises UserError when it cannot be repeated."""
        made = self._language_model("llm", self.settings.llm)
        if not self._trial:
            return made
        if not isinstance(made, FanOut):
            raise UserError("repeats: this model cannot be asked the same again.")
        return OnTrial(made, self._trial)

    @cached_property
    def llm_build(self) -> LLM:
        """The model that builds: the one that answers, unless another is set."""
        if self.settings.llm_build is None:
            return self._language_model("llm", self.settings.llm) if self._trial else self.llm
        return self._language_model("llm_build", self.settings.llm_build)

    @cached_property
    def llm_judge(self) -> LLM:
        """The model that judges; raises UserError when none is named: no other replaces it."""
        return self._language_model("llm_judge", self._judge)

    @property
    def _judge(self) -> Mapping[str, Any]:
        if self.settings.llm_judge is None:
            raise UserError(
                "No judge is named. Name one, better another model than those it judges: "
                "llm@llm_judge=openai_compatible llm_judge.model=NAME (llm_judge.base_url=ADDRESS "
                "for a server of your own), or llm@llm_judge=local llm_judge.model_path=FILE.gguf."
            )
        return self.settings.llm_judge

    def _language_model(self, group: str, config: Mapping[str, Any]) -> LLM:
        made: LLM = self._bare(group, config)
        if isinstance(made, Replay) or not isinstance(made, FanOut):
            return made
        mode = self.settings.cache.mode
        within = Budgeted(self._spread_llm(group, made, config), self.budget)
        return within if mode == "off" else Cached(within, self.replies, mode)

    def _spread_llm(self, group: str, made: FanOut, config: Mapping[str, Any]) -> FanOut:
        if self.ray is None or not isinstance(made, Local):
            return made
        settings, ray = self.settings.ray, self.ray
        gpus = settings.gpus if settings.llm_gpus is None else settings.llm_gpus
        own = _without_tokenizer(group, config)
        return self.shared.once(
            f"{group} on Ray",
            [own, settings.model_dump()],
            lambda: LocalOnRay.of(made, own, ray, n_servers=settings.llm_workers, gpus=gpus),
        )

    @cached_property
    def replies(self) -> ReplyStore:
        """The file of replies that were paid for."""
        path = self.replies_path
        return self._opened(ReplyStore, path, self.settings.cache.mode == "read" and path.is_file())

    @property
    def replies_path(self) -> Path:
        """Where that file is, or will be."""
        given, home = self.settings.cache.path, Path(self.settings.paths.home)
        return Path(given) if given else home / "cache" / "replies.sqlite"

    @cached_property
    def vectors(self) -> ReplyStore:
        """The file of vectors that embedders of this machine have made; nothing in it was paid."""
        return self._opened(ReplyStore, self._vectors_path, self.settings.cache.mode == "read")

    @cached_property
    def readings(self) -> ReadingStore:
        """The file of what taggers have read."""
        return self._opened(ReadingStore, self._readings_path, self.settings.cache.mode == "read")

    def _opened(self, kind: type[F], path: Path, reading: bool) -> F:
        journal = self.settings.cache.journal
        return self.shared.once(
            kind.__name__ + path.name,
            [path, journal, reading],
            lambda: kind(path, journal, reading=reading),
        )

    @property
    def _readings_path(self) -> Path:
        return Path(self.settings.paths.home) / "cache" / "sentences.sqlite"

    @property
    def _vectors_path(self) -> Path:
        return Path(self.settings.paths.home) / "cache" / "vectors.sqlite"

    @cached_property
    def ledger(self) -> Ledger:
        """Where this run's calls are written; a run has attached its own before any call."""
        return Ledger(self.ledger_path)

    @cached_property
    def budget(self) -> Budget:
        """What may be spent, less what this run's ledgers say it has cost."""
        limits = self.settings.budget
        if limits.tokens is None and limits.usd is None:
            return Budget()
        known = [path for path in (self.ledger_path, *self.earlier()) if path.is_file()]
        before = spent(read_ledger(*known))
        shared = self.account
        account = OwnAccount(before) if shared is None else SharedAccount(shared, before)
        return Budget(limits.tokens, limits.usd, account)

    @property
    def openie(self) -> Any:
        """The OpenIE file of the set; raises UserError when it has none."""
        if self.corpus.openie is None:
            raise UserError(
                f"Data set '{self.corpus.name}' has no OpenIE file; name one with "
                "dataset.openie=FILE, or build without: build.extraction=nlp."
            )
        return self.corpus.openie

    @property
    def training(self) -> TrainingSet:
        """Questions with gold to learn from, never the run's; raises UserError without any."""
        return training_set(self.corpus)

    @property
    def import_from(self) -> Path:
        """The file or folder of the graph to import; raises UserError when none is named."""
        if self.settings.graph.import_from is None:
            raise UserError("An imported graph needs its path: graph.import_from=PATH.")
        return file_of(Path(self.settings.graph.import_from))

    @property
    def checkpoint(self) -> Checkpoint:
        """The released weights of a graph network; nothing is read before it is asked."""
        graph = self.settings.graph
        return Checkpoint(graph.checkpoint or "", graph.checkpoint_revision)

    def bare(self, group: str) -> Any:
        """The model of a group without cache and budget: for its prices and limits."""
        return self._bare(group, getattr(self.settings, group))

    def _bare(self, group: str, config: Mapping[str, Any]) -> Any:
        own = _without_tokenizer(group, config)
        return self.shared.once(group, own, lambda: make(group, own))

    def calls_at_once(self) -> int:
        """How many calls of the answering model are made at a time, as far as the settings tell.

        They do not tell how many CPUs a cluster has, and none is joined to know.
        """
        model = self.bare("llm")
        at_once = model.concurrency if isinstance(model, FanOut) else 1
        if self.settings.executor == "local" or not isinstance(model, Local):
            return at_once
        return at_once * (self.settings.ray.llm_workers or self.settings.ray.workers or 1)

    def identity(self, name: str) -> str:
        """The object's part of keys: never an address, a key or a path.

        Opens no cache and loads no weights. Of a model that is not installed it is what stored
        runs and artifacts tell.
        """
        configs = {
            "llm": self.settings.llm,
            "llm_build": self.settings.llm_build,
            "embedder": self.settings.embedder,
            "nlp": self.settings.nlp,
        }
        if name == "llm_judge":
            return self._known(name, self._bare(name, self._judge))
        if name == "llm_build" and configs[name] is None:
            name = "llm"
        if (config := configs.get(name)) is not None:
            return self._known(name, self._bare(name, config))
        if name == "corpus":
            return self.corpus.corpus_digest
        if name == "openie":
            return file_digest(self.openie)
        if name == "import_from":
            return content_digest(self.import_from)
        return self._known(name, self[name])

    def _known(self, name: str, model: Any) -> str:
        paths = self.settings.paths
        shared = Path(paths.shared_artifacts) if paths.shared_artifacts else None
        return identity_of(model, name, Path(paths.home), shared)


def _without_tokenizer(group: str, config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if (group, name) != ("llm", "tokenizer")}
