"""The benchmark's cases at small scale, with their check against igraph."""

import importlib
import sys
from pathlib import Path

import pytest

SMALL = {
    "N_MILLION": (800, 3000),
    "N_300K": (600, 2000),
    "N_16K": (300, 500),
    "N_CHUNKS": 400,
    "N_QUESTIONS": 2,
    "N_BATCH": 20,
    "N_BATCH_300K": 3,
    "N_REPEATS": 1,
}


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
    module = importlib.import_module("bench_ppr")
    kept = {name: getattr(module, name) for name in SMALL}
    vars(module).update(SMALL)
    yield module
    vars(module).update(kept)


@pytest.mark.parametrize(
    "case", ["top100_1m", "top100_1m_085", "batch_16k", "batch_300k", "networkx_16k",
             "chunk_ppr_100k"]
)  # fmt: skip
def test_every_case_gives_both_rates(bench, case):
    ours, reference, unit, more = bench.CASES[case]()
    assert ours > 0 and reference > 0 and unit == "questions/s"
    assert more["p50"] <= more["p95"]
    assert more.get("overlap", 1.0) > 0.9
