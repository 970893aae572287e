"""What steps found, kept by content: a step is computed once for the same operator and values.

The key of a result is made of the step (operator, code, settings), the artifacts and models that it
needs, and the values that it reads. So pipelines that begin alike share what they have in
common, wherever they are; after a change only the changed step is computed, and those whose values
it changes. Steps that call a language model are left out: their replies are stored already.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.fingerprint import digest
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.packed import Unpackable, packed
from graphrag_bench.pipeline.steps import Done, Execution, OperatorStep, Outcome
from graphrag_bench.values import RetrievalState

_DIGITS = 32
_REMEMBERED = 2**14
"""Digests of values, and results, that stay in memory: those of some thousand questions."""


Results = OrderedDict[str, dict[str, Any]]
"""What steps wrote, by key, least recently written first."""


class KeptSteps:
    """Results of the steps of one corpus, in memory; `results` may be shared with others.

    `identities` are the keys of artifacts and the identities of models, by the names of needs.
    `computed` and `taken` count the results of each step, by its label.
    """

    def __init__(self, identities: Mapping[str, str], results: Results | None = None) -> None:
        self.identities = identities
        self.computed: Counter[str] = Counter()
        self.taken: Counter[str] = Counter()
        self._held: Results = OrderedDict() if results is None else results
        self._digests: OrderedDict[int, tuple[Any, str]] = OrderedDict()
        self._steps: dict[int, tuple[OperatorStep, str]] = {}

    def run(
        self, step: OperatorStep, states: Sequence[RetrievalState], execution: Execution
    ) -> list[Outcome]:
        """The outcomes of a step: kept ones, and those of the states that lack one."""
        keys = [self._key(step, state) for state in states]
        held = {key: self._held[key] for key in keys if key is not None and key in self._held}
        lacking = [row for row, key in enumerate(keys) if key not in held]
        self.taken[step.label] += len(states) - len(lacking)
        self.computed[step.label] += len(lacking)
        made = step.compute([states[row] for row in lacking], execution) if lacking else []
        done = dict(zip(lacking, made, strict=True))
        for row, one in done.items():
            if (key := keys[row]) is not None and not isinstance(one.result, Failure):
                self._remember(key, one.result)
        done |= {row: Done(held[str(keys[row])]) for row in range(len(states)) if row not in done}
        return [step.noted(state, done[row], execution) for row, state in enumerate(states)]

    def _key(self, step: OperatorStep, state: RetrievalState) -> str | None:
        of_step = self._of_step(step)
        told = [of_step]
        try:
            for read in step.operator.reads:
                given = not read.optional or read.slot in step.use
                told.append(self._digest(state.get(read.slot)) if given else "-")
        except Unpackable:
            return None
        return hashlib.sha256("|".join(told).encode()).hexdigest()[:_DIGITS]

    def _of_step(self, step: OperatorStep) -> str:
        if id(step) not in self._steps:
            needs = {name: self.identities[name] for name in step.operator.needs}
            self._steps[id(step)] = (step, digest(step.describe(), needs))
        return self._steps[id(step)][1]

    def _digest(self, value: Any) -> str:
        found = self._digests.get(id(value))
        if found is None:
            found = (value, hashlib.sha256(packed(value)).hexdigest())
            self._digests[id(value)] = found
            if len(self._digests) > _REMEMBERED:
                self._digests.popitem(last=False)
        return found[1]

    def _remember(self, key: str, result: dict[str, Any]) -> None:
        self._held[key] = result
        if len(self._held) > _REMEMBERED:
            self._held.popitem(last=False)
