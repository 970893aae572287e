"""Fixtures for several folders. This file puts the folder on the import path."""

import copy
import gc
import os
import sys
from functools import cache
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy loads: two workers share two cores

gc.set_threshold(50_000, 20, 50)  # the modules of models are many objects to look through

import pytest
import tested
from fake_openai import running
from hypothesis import HealthCheck, settings

from graphrag_bench.config import compose, sources
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import builders, operators
from graphrag_bench.files import project_folder

if tested.PLUGIN:
    tested.load()
settings.register_profile("busy cores", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy cores")
OURS = [*sources._own, project_folder("configs").resolve()]


def pytest_collection_modifyitems(items):
    """Sort tests of models and slow tests first, so that none is left for the end."""
    items.sort(key=lambda one: (not _loads_models(one.path), not one.get_closest_marker("slow")))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let one worker run all files with packaged models, so that torch is imported once."""
    from xdist.scheduler import LoadFileScheduling

    class ModelsTogether(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "models" if _loads_models(config.rootpath / file) else file

    return ModelsTogether(config, log) if config.getoption("dist") == "loadfile" else None


@cache
def _loads_models(file):
    return "mark.real" in file.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _folders(monkeypatch, tmp_path_factory):
    """Remove the folders of choices and the packages that a test has added."""
    monkeypatch.setattr(sources, "_own", list(sources._own) if tested.PLUGIN else [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(tmp_path_factory.getbasetemp())):
            del sys.modules[name]


@pytest.fixture(autouse=True, scope="session")
def _compositions():
    """Let Hydra compose each combination of our own choices only once; callers copy it."""
    by_hydra, read = compose.composition, compose.settings_of
    remembered, settings = cache(by_hydra), dict[int, Any]()

    def composition(words=(), name=compose.PRIMARY):
        if sources.folders() != OURS or any(".yaml" in word for word in words):
            return by_hydra(words, name)
        config = remembered(tuple(words), name)
        settings.setdefault(id(config), {})
        return config

    def settings_of(config, hydra):
        if id(config) not in settings:
            return read(config, hydra)
        settings[id(config)] = settings[id(config)] or read(config, hydra)
        return copy.deepcopy(settings[id(config)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compose, "composition", composition)
        patch.setattr(compose, "settings_of", settings_of)
        yield


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def open_registries(monkeypatch):
    """Registries with the built-in items, from which new items are removed after the test."""
    load_plugins()
    for registry in (operators, builders):
        registry.all()
        monkeypatch.setattr(registry, "_items", dict(registry._items))


@pytest.fixture(scope="session")
def fake():
    with running() as server:
        yield server
