"""Preparation of a run in one pass."""

import shutil
from pathlib import Path

import pytest

from scripts import ways


@pytest.mark.slow
def test_preparation_enters_few_modules_and_makes_objects_once(home: Path) -> None:
    ways.run(home)
    shutil.rmtree(home / "runs")
    rooms, made = ways.preparation(home)
    assert len(rooms) <= 12, rooms
    assert made == {"RunSettings": 1, "Method": 1, "Models": 1}
