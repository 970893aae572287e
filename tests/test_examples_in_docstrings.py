"""Every example in a docstring prints what stands below it."""

import doctest
import importlib
from pathlib import Path

import pytest

import graphrag_bench

ROOT = Path(graphrag_bench.__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in [*ROOT.glob("graphrag_bench/**/*.py"), *ROOT.glob("operators/**/*.py")]
    if path.stem not in {"__init__", "__main__"}
)
SAME = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.usefixtures("open_registries")
@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str, tmp_path, monkeypatch) -> None:
    """Tests run in an empty folder, which is the home of the runs that an example makes."""
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name), optionflags=SAME).failed == 0
