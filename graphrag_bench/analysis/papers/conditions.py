"""The settings of a table's row as words, `NAME=VALUE`, looked for in stored runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.words import read_words, value_of
from graphrag_bench.data.card import card_names, load_card
from graphrag_bench.experiment.results import deciding

CHUNK_SIZE = 1200
"""The tokens of a chunk where a run says nothing: the default of `chunk_table.token`."""


def decided(given: Sequence[str], dataset: str | None) -> dict[str, Any]:
    """The settings by path that such a run would store; those of models and data set left aside.

    A chunking that follows the data set is that of the card `dataset`.
    """
    apart = ("dataset", "llm", "llm_build", "embedder")
    own = [text for text in given if re.split(r"[.=]", text, maxsplit=1)[0] not in apart]
    return stated(deciding(check_settings(composed(read_words(own)))), dataset)


def stated(settings: Mapping[str, Any], dataset: str | None) -> dict[str, Any]:
    """The settings of a run with the chunking said outright: that of the card, with its size."""
    made = dict(settings)
    if made.get("chunking.variant") == "auto" and dataset in card_names():
        made["chunking.variant"] = load_card(str(dataset)).chunking
    if made.get("chunking.variant") == "token":
        made.setdefault("chunking.size", CHUNK_SIZE)
    return made


def holds(settings: Mapping[str, Any], given: str) -> bool:
    """Whether the stored settings of a run (`stated`) have a setting as given, e.g. `a.b=3`."""
    name, _, text = given.partition("=")
    if name == "pooling":
        return bool(settings.get("pooling.mode", "off") == text)
    paths = {"method": "method.name", "chunking": "chunking.variant"}
    path = paths.get(name, name)
    held = settings.get(path)
    if path.startswith("build.") and held is None:
        held = settings.get(f"method.{path}", settings.get(f"method.{path}.variant"))
    return bool(held == value_of(text))
