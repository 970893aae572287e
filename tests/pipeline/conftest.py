import pytest
import tiny_operators


@pytest.fixture(autouse=True)
def tiny(open_registries):
    """The tiny operators are known while a test of this folder runs."""
    tiny_operators.register()
    tiny_operators.blocks.clear()
