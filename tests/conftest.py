"""What tests of several folders share; its being here puts this folder on the import path."""

import pytest

from graphrag_bench.contract import builders, operators


@pytest.fixture
def open_registries(monkeypatch):
    """Registries that take new operators and builders, and are put back after the test."""
    for registry in (operators, builders):
        monkeypatch.setattr(registry, "_items", dict(registry._items))
        monkeypatch.setattr(registry, "_frozen", False)
