"""`prompts=original`: prompts of the released engine in the steps of a method that has a map."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from graphrag_bench.config.settings import RunSettings
from graphrag_bench.engines.prompts import EnginePrompt, Originals, read_originals
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.method import Method
from graphrag_bench.pipeline.edit import operator_steps, stages
from graphrag_bench.prompts import Prompt

ORIGINALS = "originals"
"""The key of a method's file that names its map."""


def with_originals(method: Mapping[str, Any], engines: str) -> dict[str, Any]:
    """The method with the engine's prompt in every step whose prompt the map names.

    A method without a map stays as it is. Raises UserError where the engine is not installed, and
    where the method has prompts of a folder too. Operators must be registered.
    """
    made = copy.deepcopy(dict(method))
    originals = _map(method)
    if originals is None:
        return made
    if method.get("prompts") is not None:
        raise UserError("method.prompts=FOLDER and prompts=original: one of them, not both.")
    for items in stages(made):
        for operator, step in operator_steps(items):
            for name, setting in operator.settings.items():
                if setting.annotation is not Prompt:
                    continue
                ours = str(step.get(name, setting.default))
                if ours in originals.prompts:
                    step[name] = prompt_of(ours, originals, engines)
    return made


def original_lines(settings: RunSettings, method: Method) -> Iterator[str]:
    """What `plan` says of the prompts under prompts=original."""
    originals = _map(settings.method)
    if originals is None:
        yield "prompts: the method's own; it has no map of a released engine's (prompts=original)"
        return
    yield f"prompts: of {originals.distribution}, as installed (prompts=original)"
    steps = [op for step in method.pipeline.steps() for op in step.operators()]
    for step in steps:
        for value in step.settings.values():
            if isinstance(value, EnginePrompt) and value.original is not None:
                held = value.original.chat or ", ".join(
                    part.at for part in value.original.messages if part.at
                )
                yield f"  {step.operator.name}: {value.original.file}, {held}; {value.digest}"
            elif isinstance(value, Prompt):
                why = originals.left.get(value.name, "the map names no other")
                yield f"  {step.operator.name}: our own, {why}"


def _map(method: Mapping[str, Any]) -> Originals | None:
    name = method.get(ORIGINALS)
    return None if name is None else read_originals(str(name))


def prompt_of(ours: str, originals: Originals, engines: str) -> EnginePrompt:
    """The engine's prompt in the place of ours; KeyError where the map has none."""
    return EnginePrompt(
        ours,
        None,
        originals.prompts[ours],
        originals.distribution,
        engines,
    )
