import pytest
import tiny_operators


@pytest.fixture(autouse=True)
def tiny(open_registries):
    """Register the tiny operators for each test of this folder."""
    tiny_operators.register()
    tiny_operators.blocks.clear()
