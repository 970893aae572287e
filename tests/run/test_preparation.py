"""Preparation of a run in one pass."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graphrag_bench.config.settings import RunSettings
from graphrag_bench.run.method import Method
from graphrag_bench.run.models import Models
from scripts import measures


@pytest.mark.slow
def test_preparation_enters_few_folders_and_makes_objects_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measures.run(home)
    shutil.rmtree(home / "runs")
    made: Counter[str] = Counter()

    def count_calls(kind: type, name: str) -> None:
        make = getattr(kind, name)

        def counted(*values: Any, **named: Any) -> Any:
            made[kind.__name__] += 1
            return make(*values, **named)

        monkeypatch.setattr(kind, name, counted)

    count_calls(RunSettings, "model_validate")
    count_calls(Method, "__init__")
    count_calls(Models, "__init__")
    files = measures.files_of(lambda: measures.run(home), measures.FIRST_STEP)
    folders = {"/".join(file.split("/")[:2]) if file.count("/") > 1 else "" for file in files}
    assert len(folders) <= 12, folders
    assert made == {"RunSettings": 1, "Method": 1, "Models": 1}
