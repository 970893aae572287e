"""Settings given as `NAME=VALUE` texts: read, composed, and looked for in stored runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.data.dataset import card_names, load_card
from graphrag_bench.errors import UserError, nearest
from graphrag_bench.experiment.groups import GROUPS, compose, names
from graphrag_bench.experiment.results import deciding
from graphrag_bench.experiment.settings import RunSettings, check_settings

CHUNK_SIZE = 1200
"""The tokens of a chunk where a run says nothing: the default of `chunk_table.token`."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def value_of(text: str) -> Any:
    """The value that the command line reads: true, false, null, a number, or the text itself."""
    words = {"true": True, "false": False, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    if _NUMBER.fullmatch(text):
        return float(text) if set(text) & set(".eE") else int(text)
    return text


def composed_of(given: Sequence[str]) -> dict[str, Any]:
    """The resolved settings of one run; raises UserError for what is no setting of a run.

    It comes to the same as the command line makes of the same words, for plain values.
    """
    choices: dict[str, str | Mapping[str, Any]] = {}
    rest: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError(f"'{text}' is no setting; settings are NAME=VALUE.")
        known = sorted({*RunSettings.model_fields, *GROUPS})
        if name.partition(".")[0] not in known:
            close = ", ".join(nearest(name, known) or known)
            raise UserError(f"There is no setting '{name}'. Nearest: {close}.")
        if name in GROUPS:
            choices[name] = value
        else:
            *folders, last = name.split(".")
            held = rest
            for folder in folders:
                held = held.setdefault(folder, {})
            held[last] = value_of(value)
    return compose(choices, rest)


def decided(given: Sequence[str], dataset: str | None) -> dict[str, Any]:
    """The settings by path that such a run would store; those of models and data set left aside.

    A chunking that follows the data set is that of the card `dataset`.
    """
    apart = ("dataset", "llm", "llm_build", "embedder")
    own = [text for text in given if re.split(r"[.=]", text, maxsplit=1)[0] not in apart]
    return stated(deciding(check_settings(composed_of(own))), dataset)


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


def check_choices(given: Sequence[str]) -> None:
    """Refuse a choice that its group lacks; raises UserError with the nearest names."""
    for text in given:
        name, _, value = text.partition("=")
        if name in GROUPS and value not in names(name):
            close = ", ".join(nearest(value, names(name)) or names(name))
            raise UserError(f"No {name} '{value}'. Nearest: {close}.")
