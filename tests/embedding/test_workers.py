import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from toy_runs import Capitals, metrics, records, run_folder

from graphrag_bench.embedding.cached_models import CachedEmbedder, CachedTagger
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.embedding.workers import ParallelEmbedder, ParallelTagger, WorkerModel, Workers
from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import Cache

HERE = SimpleNamespace(size=2, map=map)
"""Workers that work in this process, one block after the other."""
TEXTS = [f"Ada met Grace in Town{number}. Nobody came." for number in range(300)]
HASHING = {"_target_": "graphrag_bench.embedding.embedder.Hashing"}


def tagger(inner: Nlp, target: str, least: int = 2) -> ParallelTagger:
    how = WorkerModel.of("nlp", {"_target_": target}, inner)
    return ParallelTagger(inner, Workers(2), how, least)


def test_worker_processes_tag_like_one_process(tmp_path: Path) -> None:
    inner, texts = Capitals(), [*TEXTS[:200], *TEXTS]
    caches = [Cache(tmp_path / name) for name in ("two.sqlite", "one.sqlite")]
    for one, cache in zip((tagger(inner, "toy_runs.Capitals"), inner), caches, strict=True):
        assert list(CachedTagger(one, cache).sentences(texts)) == list(inner.sentences(texts))
    two, one = (list(cache.rows()) for cache in caches)
    assert two == one and len(one) == 300
    with pytest.raises(UserError, match="nlp_workers"):  # a killed worker
        list(Workers(2).map(os._exit, [9, 9]))


def test_short_lists_start_no_process_and_a_worker_with_another_model_is_an_error() -> None:
    inner = Capitals()
    few = tagger(inner, "toy_runs.Nothing", least=300)
    few.workers = HERE
    assert list(few.sentences(TEXTS[:299])) == list(inner.sentences(TEXTS[:299]))
    with pytest.raises(UserError, match="Nothing"):
        list(few.sentences(TEXTS))
    few.how = replace(tagger(inner, "toy_runs.Capitals").how, identity="of another version")
    with pytest.raises(UserError, match="another version"):
        list(few.sentences(TEXTS))


def test_workers_embed_like_one_process() -> None:
    inner = Hashing()
    parallel = ParallelEmbedder(inner, HERE, WorkerModel.of("embedder", HASHING, inner))
    many = [f"{text} {'and so on ' * 20}" for text in TEXTS]
    for kind in ("passage", "question"):
        assert np.array_equal(parallel.encode(many, kind=kind), inner.encode(many, kind=kind))  # type: ignore[arg-type]


def test_ray_workers_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster of two workers here: `make test-ray` installs Ray."""
    ray = pytest.importorskip("ray")
    folders = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        words = ["dataset=sample", "method=hipporag", "embedder=hashing", "limit=5", "answer=off",
                 "reference_rows=off"]  # fmt: skip
        how = WorkerModel.of("nlp", {"_target_": "toy_runs.Capitals"}, Capitals())
        tagger = ParallelTagger(Capitals(), Workers(backend="ray"), how, 2)
        assert list(tagger.sentences(TEXTS)) == list(Capitals().sentences(TEXTS))
        one = run_folder(*words, f"paths.home={tmp_path / 'one'}")
        two = run_folder(*words, f"paths.home={tmp_path / 'two'}", "parallel=ray")
        assert records(one) == records(two)
        assert metrics(one)["metrics"] == metrics(two)["metrics"]
    finally:
        ray.shutdown()


NAMES = ["Ada", "Norvik", "the old queen", "Ada"]
SENTENCES = ["Ada met Grace in Norvik.", "Nobody came.", "Ada met Grace in Norvik.", ""]


class Other(Hashing):
    """A class of a user with an identity that is ours."""


def spied(model, name):
    """Return the list of all texts that the model will read with this method."""
    seen, own = [], getattr(model, name)

    def reads(texts, **how):
        seen.extend([texts] if isinstance(texts, str) else texts)
        return own(texts, **how)

    setattr(model, name, reads)
    return seen


def test_a_text_is_embedded_once_per_kind_and_model_and_its_code(tmp_path: Path) -> None:
    store = Cache(tmp_path / "vectors.sqlite")
    rows = CachedEmbedder(Hashing(8), store).encode(NAMES, kind="passage")
    assert rows.dtype == np.float32
    assert np.array_equal(rows, Hashing(8).encode(NAMES, kind="passage"))
    other = Other(8)
    seen = spied(other, "encode")
    assert other.identity == Hashing(8).identity
    for texts in (NAMES, ["a new one", *NAMES]):
        more = CachedEmbedder(other, store).encode(texts, kind="passage")
        assert np.array_equal(more[-4:], rows)
    assert seen == ["Ada", "Norvik", "the old queen", "a new one"]
    CachedEmbedder(other, store).encode(["Ada"], kind="question")
    assert seen[4:] == ["Ada"]
    assert CachedEmbedder(Other(16), store).encode(["Ada"], kind="passage").shape == (1, 16)


def test_a_text_is_tagged_once_per_tagger(tmp_path: Path) -> None:
    tagger, store = Capitals(), Cache(tmp_path / "sentences.sqlite")
    seen, names = spied(tagger, "sentences"), spied(tagger, "entities")
    rows = CachedTagger(tagger, store)
    expected = list(Capitals().sentences(SENTENCES))
    assert list(rows.sentences(SENTENCES)) == expected
    assert list(rows.sentences(["Max came.", *SENTENCES]))[1:] == expected
    assert seen == [*SENTENCES[:2], "", "Max came."]
    for _ in range(2):
        assert rows.entities(SENTENCES[0]) == Capitals().entities(SENTENCES[0])
    assert names == [SENTENCES[0]]
    other = Capitals()
    other.identity, seen = "other", spied(other, "sentences")
    list(CachedTagger(other, store).sentences(SENTENCES))
    assert len(seen) == 3
