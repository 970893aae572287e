"""The models of a run. A model is loaded on first use, so that a finished run loads no model."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from graphrag_bench.artifacts.importers.paths import content_digest, file_of
from graphrag_bench.artifacts.store import RECIPE, load_artifact
from graphrag_bench.config.settings import LEAST_IN_PROCESSES, RunSettings
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.readers.rog import training_set
from graphrag_bench.embedding.cached_models import CachedEmbedder, CachedTagger
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.model_files import Checkpoint, make_model
from graphrag_bench.embedding.nlp import Nlp, Spacy
from graphrag_bench.embedding.openai_embedder import OpenAIEmbedder
from graphrag_bench.embedding.tokenizer import tokenizer_of
from graphrag_bench.embedding.workers import ParallelEmbedder, ParallelTagger, WorkerModel, Workers
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import file_digest, identity_of
from graphrag_bench.llm.batch import BatchFile
from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.calls import FailureGate
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.ledger import Budget, Ledger, Spending, read_ledger
from graphrag_bench.llm.replay import Replay
from graphrag_bench.llm.server import Server
from graphrag_bench.llm.vllm import Vllm
from graphrag_bench.run.scoring import Datasets, dataset_key, dataset_of
from graphrag_bench.world.dataset import training_worlds

T = TypeVar("T")
Paths = Callable[[], Sequence[Path]]
MOST_OF_A_KIND = 2
"""Maximum number of cached objects of each kind, e.g. 2 embedders."""
MOST_BYTES = 2**30
"""Maximum total size of the artifacts in memory, measured on disk. An artifact counts as at
least 1/64 of this maximum, which limits the number of open memory maps."""
_OWN = ("corpus", "openie", "training")
"""Resources that depend on the corpus, so that each scope has its own."""
_CHARGED = ("embedder", "llm", "llm_build", "ledger", "budget")
"""Resources that count the model calls of a run."""
_CONFIGURED = ("llm", "llm_build", "llm_judge", "embedder", "nlp", "cross_encoder")
"""Models that may be classes of the user. Their identity is known without opening the cache."""


class Models(Mapping[str, Any]):
    """The models of a run, its corpus and the files that it imports, all loaded on first use."""

    NAMES = (
        "corpus", "openie", "import_from", "training", "embedder", "nlp",
        "llm", "llm_build", "tokenizer", "cross_encoder", "checkpoint",
    )  # fmt: skip

    def __init__(
        self, settings: RunSettings, dataset: Dataset, shared: "ProcessCache | None" = None
    ) -> None:
        self.settings, self.corpus, self.shared = settings, dataset, shared or ProcessCache()
        self._cache = Path(settings.paths.home) / "cache"
        self.ledger_path = self._cache / "ledger.jsonl"
        self.earlier: Paths = tuple
        self.others: Paths = tuple
        self.gates: dict[str, FailureGate] = {}
        self._first: Models | None = None
        self._trial = 0

    def over_corpus(self, dataset: Dataset) -> "Models":
        """Return the same models, cache, budget and ledger with another corpus."""
        other = copy.copy(self)
        other.corpus, other._first = dataset, self._first or self
        return other

    def on_trial(self, trial: int) -> "Models":
        """Return the models for a later repeat of the run, with a ledger of their own."""
        other = copy.copy(self)
        other.drop(_CHARGED)
        other.gates, other._trial = {}, trial
        return other

    def charge(self, ledger: Path, earlier: Paths, others: Paths = tuple) -> None:
        """Record calls in the file `ledger`, and reset the counts of failed calls.

        The budget also counts the costs in the `earlier` ledgers of the run, and in the ledgers of
        other processes that work on the run at the same time (`others`).
        """
        self.gates.clear()
        if self.ledger_path != ledger:
            self.drop(_CHARGED)
        self.ledger_path, self.earlier, self.others = ledger, earlier, others

    def drop(self, names: Sequence[str] = (*_CHARGED, "nlp", "llm_judge", "replies")) -> None:
        """Drop models, open files and the ledger. Objects in the process cache are kept."""
        for name in names:
            vars(self).pop(name, None)

    def __getitem__(self, name: str) -> Any:
        """Return a model or resource. Raises UserError for a resource that is not there."""
        if self._first is not None and name not in _OWN:
            return self._first[name]
        graph = self.settings.graph
        match name:
            case "openie":
                if self.corpus.openie is None:
                    of = f"Data set '{self.corpus.name}' has no OpenIE file."
                    raise UserError(f"{of} Set dataset.openie=FILE or build.extraction=nlp.")
                return self.corpus.openie
            case "training":  # questions with gold that the run does not ask
                return (training_worlds if self.corpus.synthetic else training_set)(self.corpus)
            case "import_from":
                if graph.import_from is None:
                    raise UserError("An imported graph needs graph.import_from=PATH.")
                return file_of(Path(graph.import_from))
            case "checkpoint":  # published weights of a graph neural network
                return Checkpoint(graph.checkpoint or "", graph.checkpoint_revision)
            case "tokenizer":  # of the answering model, for context budgets
                named = self.settings.llm.get("tokenizer"), self.identity("llm")
                return self.shared.get_or_make("tokenizer", named, lambda: tokenizer_of(*named))
            case "cross_encoder":
                return self.unwrapped("cross_encoder")
            case _ if name in self.NAMES:
                return getattr(self, name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.NAMES)

    def __len__(self) -> int:
        return len(self.NAMES)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder with its cache of vectors. The budget counts calls of an embedding API."""
        model: Embedder = self.unwrapped("embedder")
        if isinstance(model, OpenAIEmbedder):
            log = self.ledger.logger("embedding", "embedder", kind="embedding")
            return model.attached(store=self.replies, budget=self.budget, log=log)
        if self.settings.parallel == "ray":
            how = WorkerModel.of("embedder", self.settings.embedder, model)
            model = ParallelEmbedder(model, Workers(backend="ray"), how)
        store = self._store("vectors.sqlite")
        return CachedEmbedder(model, store) if store else model

    @cached_property
    def nlp(self) -> Nlp:
        """The tagger and parser with its cache of sentences."""
        tagger: Nlp = self.unwrapped("nlp")
        count, backend = self.settings.nlp_workers, self.settings.parallel
        n = None if count == "auto" else count
        several = isinstance(tagger, Spacy) and not tagger.on_gpu if n is None else n > 1
        if backend != "local" or several:
            how = WorkerModel.of("nlp", self.settings.nlp, tagger)
            least = 2 if backend == "local" and n else LEAST_IN_PROCESSES
            tagger = ParallelTagger(tagger, Workers(n, backend), how, least)
        store = self._store("sentences.sqlite")
        return CachedTagger(tagger, store) if store else tagger

    @cached_property
    def llm(self) -> ChatModel:
        """The model that answers questions."""
        return self._chat_model("llm", self._trial)

    @cached_property
    def llm_build(self) -> ChatModel:
        """The model that builds graphs and other artifacts, by default the answering model."""
        is_reader = self.settings.llm_build is None and not self._trial
        return self.llm if is_reader else self._chat_model("llm_build")

    @cached_property
    def llm_judge(self) -> ChatModel:
        """The model that judges answers. Raises UserError if no judge is set."""
        return self._chat_model("llm_judge")

    def _chat_model(self, group: str, trial: int = 0) -> ChatModel:
        model = self.unwrapped(group)
        if not isinstance(model, ChatModel):
            kind = f"{type(model).__module__}.{type(model).__name__}"
            raise UserError(f"{group}._target_ must create a ChatModel, but it creates a {kind}.")
        if isinstance(model, Replay):
            return model.attached(trial=trial)
        model = model.attached(store=self.replies, budget=self.budget, trial=trial)
        model.batch = self.batch
        return model

    @property
    def batch(self) -> BatchFile | None:
        """The file that requests are written to, or None if requests are sent to a server."""
        path = self.settings.cache.batch
        return self.shared.get_or_make("batch", path, lambda: BatchFile(path)) if path else None

    @cached_property
    def replies(self) -> Cache | None:
        """The cache of model replies, or None with `cache.mode=off`."""
        return self._store("replies.sqlite", self.settings.cache.path)

    def _store(self, name: str, other: str | None = None) -> Cache | None:
        path, mode = Path(other or self._cache / name), self.settings.cache.mode
        if mode == "off" or (mode == "read" and not path.is_file()):
            return None
        make = partial(Cache, path, reading=mode == "read")
        return self.shared.get_or_make(path.name, [path, mode], make)

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger that records each call. Its file is set by `charge`."""
        return Ledger(self.ledger_path)

    @cached_property
    def budget(self) -> Budget:
        """The budget of the run, minus the costs that are recorded in its ledgers."""
        limits = self.settings.budget
        if limits.tokens is None and limits.usd is None:
            return Budget()
        ledgers = dict.fromkeys([self.ledger_path, *self.earlier(), *self.others()])
        spent = Spending.of(*read_ledger(*ledgers))
        return Budget(limits.tokens, limits.usd, spent, self.others)

    def unwrapped(self, group: str) -> Any:
        """Return the model of a setting such as `llm_build`, without cache and budget."""
        if group == "llm_build" and self.settings.llm_build is None:
            group = "llm"
        if (config := getattr(self.settings, group)) is None:
            raise UserError(
                "No judge is set. Choose a model that did not write the answers: llm@llm_judge="
                "openai_compatible llm_judge.model=NAME, or llm@llm_judge=local "
                "llm_judge.model_path=FILE.gguf."
            )
        own = {name: of for name, of in config.items() if (group, name) != ("llm", "tokenizer")}
        model = self.shared.get_or_make(group, own, lambda: make_model(group, own))
        if isinstance(server := getattr(model, "server", None), Server):
            server.windows_file = self._cache / "windows.json"
        if isinstance(model, Vllm):
            model.folder = self.ledger_path.parent
        return model

    def identity(self, name: str) -> str:
        """Return the name of a model or the digest of a file, without address, API key or path."""
        match name:
            case "corpus":
                return self.corpus.corpus_digest
            case "openie":
                return file_digest(self["openie"])
            case "import_from":
                return content_digest(self["import_from"])
        return str((self.unwrapped(name) if name in _CONFIGURED else self[name]).identity)

    def identity_of(self, name: str) -> str:
        """Return a model's identity for keys. The identity of a user's class covers its code."""
        return identity_of(self.unwrapped(name)) if name in _CONFIGURED else self.identity(name)


class ProcessCache:
    """LRU caches of data sets, models and artifacts by settings. Evicted entries are closed."""

    def __init__(self) -> None:
        self.datasets: Datasets = {}
        self.finished: set[str] = set()
        self._recent: dict[str, dict[str, tuple[Any, int]]] = {}

    def dataset(self, settings: RunSettings) -> Dataset:
        """Return the data set of a run. Raises UserError if anything except its gold is invalid."""
        name = dataset_key(settings.dataset, settings.paths.home)
        if not isinstance(known := self.datasets.get(name), Dataset):
            known = dataset_of(settings.dataset, settings.paths.home, scored=False)
            self.datasets[name] = known
        return known

    def load(self, produces: Any, folder: Path) -> Any:
        """Return the artifact in a folder. A cached artifact is loaded again if it was rebuilt."""
        stat = (folder / RECIPE).stat()
        key = produces, folder.absolute(), stat.st_ino, stat.st_mtime_ns

        def n_bytes(_: object) -> int:
            return max(sum(path.stat().st_size for path in folder.rglob("*")), MOST_BYTES // 64)

        make = partial(load_artifact, produces, folder)
        return self.get_or_make("artifact", key, make, n_bytes, MOST_BYTES)

    def close(self) -> None:
        """Empty the caches, and close the models and files in them."""
        self.datasets.clear()
        self.finished.clear()
        for kind in self._recent:
            self._shrink(kind, 0)

    def get_or_make(
        self, kind: str, settings: object, make: Callable[[], T],
        weigh: Callable[[T], int] = lambda model: 1 + isinstance(model, Vllm),
        most: int = MOST_OF_A_KIND,
    ) -> T:  # fmt: skip
        """Return the cached object, or make it. A vLLM counts as two objects, as it fills a GPU."""
        recent, key = self._recent.setdefault(kind, {}), key_of(settings)
        if (known := recent.pop(key, None)) is None:
            value = make()
            known = value, weigh(value)
            self._shrink(kind, most - known[1])
        recent[key] = known  # at the end
        return cast(T, known[0])

    def _shrink(self, kind: str, most: int) -> None:
        recent = self._recent[kind]
        while recent and sum(weight for _, weight in recent.values()) > most:
            gone, _ = recent.pop(next(iter(recent)))
            if hasattr(gone, "close"):
                gone.close()


@cache
def process_cache() -> ProcessCache:
    """Return the cache that all runs of this process share."""
    return ProcessCache()


def key_of(settings: object) -> str:
    """Return settings as JSON with sorted keys, for use as a key of a cache."""
    return json.dumps(settings, sort_keys=True, default=str)
