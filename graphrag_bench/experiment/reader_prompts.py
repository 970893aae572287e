"""`reader_prompt=common`: every method answers with one prompt, and differs in what it retrieves.

The prompt takes the place of each method's own in the steps of `generate` that answer. What the
search asks a model for on its way stays the method's own, answers included.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from graphrag_bench.contract import Operator, operators
from graphrag_bench.pipeline.build import STAGES
from graphrag_bench.pipeline.edit import Item, every_list
from graphrag_bench.prompts import Prompt

COMMON = Prompt("methods:reader/prompts/common.j2")
_PROMPT = "prompt"


def with_common_reader(method: Mapping[str, Any]) -> dict[str, Any]:
    """The method with the common prompt in every step of `generate` that can answer with it.

    A step can when it answers, has a setting `prompt`, and gives prompts the variables of the
    common one. Operators must be registered.
    """
    made = copy.deepcopy(dict(method))
    for step in _answering(made["generate"] if made.get("generate") else []):
        if _can(operators.get(str(step["op"]))):
            step[_PROMPT] = COMMON.name
    return made


def own_answers(method: Mapping[str, Any]) -> list[str]:
    """The operators of a method that answer with its own prompt under `reader_prompt=common`.

    These are the answers that its search asks for, and those of steps that cannot take the prompt.
    """
    kept = []
    for stage in STAGES:
        for step in _answering(method.get(stage) or []):
            name = str(step["op"])
            if stage != "generate" or not _can(operators.get(name)):
                kept.append(f"{name} ({stage})")
    return list(dict.fromkeys(kept))


def _answering(items: list[Item]) -> Iterator[Item]:
    """The steps that write an answer; unknown names are passed over."""
    known = set(operators.names())
    for held in every_list([items]):
        for step in held:
            if step.get("op") in known and "answer" in operators.get(str(step["op"])).returns:
                yield step


def _can(operator: Operator) -> bool:
    return _PROMPT in operator.settings and COMMON.variables <= operator.supplies
