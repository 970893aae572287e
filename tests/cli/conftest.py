"""Every command is in a folder of its own, wide enough for any table; models forget what was."""

from collections.abc import Iterator
from pathlib import Path

import planted_judges
import pytest
import toy_runs


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    yield
    for module in (toy_runs, planted_judges):
        for name in ("asked", "fails_on", "stops_on", "prose_on"):
            getattr(module, name, set()).clear()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of work."""
    return tmp_path
