"""Every example in a docstring prints what stands below it."""

import doctest
import importlib
import pkgutil

import pytest

import graphrag_bench

MODULES = [
    module.name
    for module in pkgutil.walk_packages(graphrag_bench.__path__, "graphrag_bench.")
    if not module.name.endswith("__main__")
]
SAME = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str, tmp_path, monkeypatch) -> None:
    """Tests run in an empty folder, which is the home of the runs that an example makes."""
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name), optionflags=SAME).failed == 0
