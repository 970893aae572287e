from collections.abc import Iterator

import pytest
import tiny_operators

from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import operators


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    """Register the tiny operators for the tests of a file."""
    load_plugins()
    operators.all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operators, "_items", dict(operators._items))
        tiny_operators.register()
        yield


@pytest.fixture(autouse=True)
def _no_blocks() -> None:
    tiny_operators.blocks.clear()
