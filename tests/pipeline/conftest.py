from collections.abc import Iterator

import pytest
import tiny_operators

from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import operator, operators


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    """Register the tiny operators for the tests of a file."""
    load_plugins()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operators, "_items", dict(operators._items))
        for function, options in tiny_operators.functions.items():
            operator(f"tiny.{function.__name__}", **options)(function)
        yield


@pytest.fixture(autouse=True)
def _no_blocks() -> None:
    tiny_operators.blocks.clear()
