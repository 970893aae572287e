"""The reference rows of every table unless switched off: closed-book, BM25, VanillaRAG, oracle."""

from __future__ import annotations

import re
from typing import Any

from graphrag_bench.config.choices import built_in, path_of
from graphrag_bench.config.compose import compose, load
from graphrag_bench.config.profiles import SELECTORS
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment


def references(experiment: Experiment) -> list[dict[str, Any]]:
    """The settings of the reference runs of an experiment: the methods with a `role`.

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
    sources = {name: values[name] for name in SELECTORS}
    return [
        {**values, "method": compose({"method": name}, sources)["method"]}
        for role, asked in wanted.items()
        for name, held in roles.items()
        if asked and held == role
    ]


def _role(name: str) -> object:
    """The role of a method; None for an unreadable file, unless it has a line `role:`."""
    try:
        return load("method", name).get("role")
    except UserError:
        if re.search(rb"^role:", path_of("method", name).read_bytes(), re.MULTILINE):
            raise
        return None
