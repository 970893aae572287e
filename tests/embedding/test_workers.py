"""Worker processes of the tagger and the embedder, on this machine and on Ray."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy_runs import Capitals, metrics, records, run_folder

from graphrag_bench.embedding.cached_models import CachedTagger
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.embedding.workers import ParallelEmbedder, ParallelTagger, WorkerModel, Workers
from graphrag_bench.errors import UserError
from graphrag_bench.llm.cache import Cache

TEXTS = [f"Ada met Grace in Town{number}. Nobody came." for number in range(300)]
HASHING = {"_target_": "graphrag_bench.embedding.embedder.Hashing"}


def tagger(inner: Nlp, target: str, least: int = 2) -> ParallelTagger:
    how = WorkerModel.of("nlp", {"_target_": target}, inner)
    return ParallelTagger(inner, Workers(2), how, least)


def test_worker_processes_tag_like_one_process(tmp_path: Path) -> None:
    inner, texts = Capitals(), [*TEXTS[:200], *TEXTS]
    caches = [Cache(tmp_path / name) for name in ("two.sqlite", "one.sqlite")]
    for one, cache in zip((tagger(inner, "toy_runs.Capitals"), inner), caches, strict=True):
        cached = list(CachedTagger(one, cache).sentences(texts))
        assert cached == list(inner.sentences(texts))
    assert list(caches[0].rows()) == list(caches[1].rows())
    assert len(list(caches[0].rows())) == 300
    with pytest.raises(UserError, match="nlp_workers"):  # a killed worker
        list(Workers(2).map(os._exit, [9, 9]))


class Here(Workers):
    """Workers that work in this process, one block after the other."""

    def map(self, work, blocks):
        return map(work, blocks)


def test_short_lists_start_no_process_and_a_worker_with_another_model_is_an_error() -> None:
    inner = Capitals()
    few = tagger(inner, "toy_runs.Nothing", least=300)
    few.workers = Here(2)
    assert list(few.sentences(TEXTS[:299])) == list(inner.sentences(TEXTS[:299]))
    with pytest.raises(UserError, match="Nothing"):
        list(few.sentences(TEXTS))
    few.how = replace(tagger(inner, "toy_runs.Capitals").how, identity="of another version")
    with pytest.raises(UserError, match="another version"):
        list(few.sentences(TEXTS))


def test_workers_embed_like_one_process() -> None:
    inner = Hashing()
    parallel = ParallelEmbedder(inner, Here(2), WorkerModel.of("embedder", HASHING, inner))
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
