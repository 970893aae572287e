"""`reader_prompt=common`: every method answers with one prompt, and differs in what it retrieves.

The prompt takes the place of each method's own in the steps of `generate` that answer. What the
search asks a model for on its way stays the method's own, answers included.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from graphrag_bench.contract import Operator
from graphrag_bench.pipeline.build import STAGES
from graphrag_bench.pipeline.edit import Item, operator_steps, stages
from graphrag_bench.prompts import Prompt

COMMON = Prompt("methods:reader/prompts/common.j2")
_PROMPT = "prompt"


def with_common_reader(method: Mapping[str, Any]) -> dict[str, Any]:
    """The method with the common prompt in every step of `generate` that can answer with it.

    A step can when it answers, has a setting `prompt`, and gives prompts the variables of the
    common one. Operators must be registered.
    """
    made = copy.deepcopy(dict(method))
    for operator, step in _answering(made.get("generate") or []):
        if _can(operator):
            step[_PROMPT] = COMMON.name
    return made


def own_answers(method: Mapping[str, Any]) -> list[str]:
    """The operators of a method that answer with its own prompt under `reader_prompt=common`.

    These are the answers that its search asks for, and those of steps that cannot take the prompt.
    """
    kept = [
        f"{operator.name} ({stage})"
        for stage, items in zip(STAGES, stages(method), strict=True)
        for operator, _ in _answering(items)
        if stage != "generate" or not _can(operator)
    ]
    return list(dict.fromkeys(kept))


def _answering(items: list[Item]) -> Iterator[tuple[Operator, Item]]:
    """The operators that write an answer, with their steps."""
    return ((one, step) for one, step in operator_steps(items) if "answer" in one.returns)


def _can(operator: Operator) -> bool:
    return _PROMPT in operator.settings and COMMON.variables <= operator.supplies
