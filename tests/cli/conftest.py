"""Every command is in a folder of its own, wide enough for any table; models forget what was."""

from collections.abc import Iterator
from pathlib import Path

import planted_judges
import pytest
import toy_runs


@pytest.fixture(autouse=True)
def _here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "400")
    yield
    for module in (toy_runs, planted_judges):
        for name in ("asked", "fails_on", "stops_on", "prose_on"):
            getattr(module, name, set()).clear()
