"""Every method gives what its golden file holds: settings, rankings, contexts, prompts."""

from functools import cache

import pytest

from graphrag_bench import fingerprint
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import builders, operators

import frozen  # isort: skip

pytestmark = [pytest.mark.slow, pytest.mark.real]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("golden")


@pytest.fixture(scope="module", autouse=True)
def _registries():
    """Hash code once, and remove the plug-in's operators and builders after these tests."""
    load_plugins()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "code", cache(fingerprint.code))
        for registry in (operators, builders):
            patch.setattr(registry, "_items", dict(registry._items))
        yield


@pytest.mark.parametrize("method", frozen.METHODS)
def test_the_method_gives_what_its_golden_file_holds(method, home):
    result = frozen.difference(frozen.read(method), frozen.freeze(method, home), method)
    assert result is None, result


def test_every_golden_file_is_that_of_a_method():
    stored = {file.name.partition(".")[0] for file in frozen.files()}
    assert stored == set(frozen.METHODS)


RANKED = [["ada", 0.5], ["otto", 0.25], ["isk", 0.25]]


def test_a_difference_is_told_unless_it_is_a_last_decimal_or_a_tie():
    for rows, rank in (
        ([["ada", 0.500001], ["isk", 0.25], ["otto", 0.25]], None),
        ([["ada", 0.500003], ["otto", 0.25], ["isk", 0.25]], 1),
        ([["otto", 0.25], ["ada", 0.5], ["isk", 0.25]], 1),
        ([["ada", 0.5], ["otto", 0.25], ["mira", 0.25]], 3),
    ):
        message = frozen.difference({"case": {"nodes": RANKED}}, {"case": {"nodes": rows}}, "tog")
        assert (message or "").startswith(f"tog, case, nodes: rank {rank} " if rank else "")
        assert bool(message) == bool(rank)
    assert frozen.difference({"case": {"nodes": RANKED}}, {"case": {"nodes": RANKED[:2]}})
