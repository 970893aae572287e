"""Every method gives what its golden file holds: settings, rankings, contexts, prompts."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from graphrag_bench import fingerprint
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import builders, operators

import frozen  # isort: skip

pytestmark = [pytest.mark.slow, pytest.mark.real]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where artifacts are shared by all methods."""
    return tmp_path_factory.mktemp("golden")


@pytest.fixture(scope="module", autouse=True)
def _registries() -> Iterator[None]:
    """Hash code once, and remove the plug-in's operators and builders after these tests."""
    load_plugins()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "code", cache(fingerprint.code))
        for registry in (operators, builders):
            patch.setattr(registry, "_items", dict(registry._items))
        yield


@pytest.mark.parametrize("method", frozen.METHODS)
def test_the_method_gives_what_its_golden_file_holds(method: str, home: Path) -> None:
    result = frozen.difference(frozen.read(method), frozen.freeze(method, home), method)
    assert result is None, result


def test_every_golden_file_is_that_of_a_method() -> None:
    stored = {file.name.partition(".")[0] for file in frozen.files()}
    assert stored == set(frozen.METHODS)


RANKED = {"step": {"node.ppr": {"node_scores": [["ada", 0.5], ["otto", 0.25], ["isk", 0.25]]}}}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["ada", 0.500001], ["isk", 0.25], ["otto", 0.25]], None),
        ([["ada", 0.500003], ["otto", 0.25], ["isk", 0.25]], "'ada' has 0.500003, golden 0.5"),
        ([["otto", 0.25], ["ada", 0.5], ["isk", 0.25]], "'otto' has rank 1, golden 2"),
        ([["ada", 0.5], ["otto", 0.25], ["mira", 0.25]], "rank 3 is 'mira', golden 'isk'"),
        ([["ada", 0.5], ["otto", 0.25]], "'isk' of rank 3 is gone"),
    ],
)
def test_a_difference_is_told_unless_it_is_a_last_decimal_or_a_tie(
    rows: list[list[object]], words: str | None
) -> None:
    current = {"step": {"node.ppr": {"node_scores": rows}}}
    message = frozen.difference(RANKED, current, "hipporag")
    assert message == (words and f"hipporag, step node.ppr, node_scores: {words}")
