"""Run each command in its own folder and a wide terminal, with fresh models."""

import shutil
from contextlib import chdir

import planted_judges
import pytest
import toy_runs


@pytest.fixture(autouse=True)
def _here(home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    yield
    for module in (toy_runs, planted_judges):
        for name in ("reader_prompts", "prompts", "fails_on", "stops_on"):
            getattr(module, name, set()).clear()


@pytest.fixture(scope="module")
def built(request, tmp_path_factory):
    """A home with a run for each entry of the module's `BUILT`."""
    home = tmp_path_factory.mktemp("built")
    with chdir(home):
        for words in request.module.BUILT:
            toy_runs.run_folder(*words)
    return home


@pytest.fixture
def copied(built, home):
    shutil.copytree(built, home, dirs_exist_ok=True)
