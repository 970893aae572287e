"""The reference rows of every table unless switched off: closed-book, BM25, VanillaRAG, oracle."""

from __future__ import annotations

import re
from typing import Any

from graphrag_bench.config.compose import method_of
from graphrag_bench.config.sources import built_in, file_of
from graphrag_bench.experiment.experiment import Experiment


def references(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the settings of the reference runs of an experiment: the methods with a `role`.

    The floor, the baselines and the ceiling, each with the settings of its file and the models,
    questions and context budget of this run. None with `reference_rows=off`. The baselines alone
    when nothing is answered, which calls no LLM. No ceiling for a data set without evidence, no
    baseline for one without texts.
    """
    settings = experiment.settings
    if settings.reference_rows == "off":
        return []
    has_gold = any(gold.evidence for gold in experiment.dataset.gold.values())
    wanted = {"floor": settings.answering, "baseline": bool(experiment.dataset.documents),
              "ceiling": settings.answering and has_gold}  # fmt: skip
    values = {**settings.model_dump(), "build": {}, "pooling": None}
    roles = {name: _role(name) for name in built_in("method")}
    return [
        {**values, "method": method_of(name, settings.profile, settings.fidelity)}
        for role, asked in wanted.items()
        for name, role_of_method in roles.items()
        if asked and role_of_method == role
    ]


def _role(name: str) -> str:
    file = file_of("method", name)
    found = re.search(r"^role: *(\w+)", file.read_text("utf-8"), re.MULTILINE) if file else None
    return found[1] if found else ""
