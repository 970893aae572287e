"""The benchmark's cases at small scale, with their checks against the plain searches."""

import importlib
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
    module = importlib.import_module("bench_paths")
    kept = {name: getattr(module, name) for name in SMALL}
    vars(module).update(SMALL)
    yield module
    vars(module).update(kept)


SMALL = {
    "N_NODES": 800,
    "N_RELATIONSHIPS": 4000,
    "N_QUESTIONS": 2,
    "N_STEP_NODES": 6,
    "MOST_PAIRS": 30,
}


@pytest.mark.parametrize(
    "case",
    ["flow_prune_40", "flow_prune_40_theta_001", "k_shortest_150_by_degree", "path_pool_500"],
)
def test_both_searches_give_the_same_paths(bench, case):
    ours, reference, unit, more = bench.CASES[case]()
    assert reference > 0 and unit == "questions/s"
    assert ours == more["p50"] >= more["p95"] > 0


def test_another_result_is_an_error_and_no_row(bench):
    with pytest.raises(AssertionError, match="differs"):
        bench.same([1], [2])
