import pytest
import tiny_builders

from graphrag_bench.artifacts.store import Store
from graphrag_bench.progress import Progress


@pytest.fixture(autouse=True)
def tiny(open_registries):
    """The tiny builders are known while a test of this folder runs."""
    tiny_builders.register()
    tiny_builders.forget()


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    return Store(tmp_path / "artifacts", Progress(quiet=True))
