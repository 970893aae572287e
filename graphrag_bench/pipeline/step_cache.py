"""A cache of steps: one is computed once for the same operator and values.

The key of a result is made of the step (operator, code, settings), the artifacts and models that it
needs, and the values that it reads. So pipelines that begin alike share what they have in
common, wherever they are; after a change only the changed step is computed, and those whose values
it changes. Steps that call a language model are left out: their replies are stored already.
"""

import hashlib
import pickle
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from graphrag_bench.fingerprint import digest
from graphrag_bench.pipeline.steps import Done, Execution, Failure, OperatorStep, Outcome
from graphrag_bench.values import RetrievalState, RowScores

_MOST = 2**14
"""Digests of values, and results, that stay in memory: those of some thousand questions."""

Results = OrderedDict[str, dict[str, Any]]
"""What steps wrote, by key, least recently written first."""


class StepCache:
    """Results of the steps of one corpus, in memory; `results` may be shared with others.

    `identities` are the keys of artifacts and the identities of models, by the names of needs.
    `computed` and `reused` count the results of each step, by its label.
    """

    def __init__(self, identities: Mapping[str, str], results: Results | None = None) -> None:
        self.identities = identities
        self.computed: Counter[str] = Counter()
        self.reused: Counter[str] = Counter()
        self._results: Results = OrderedDict() if results is None else results
        self._digests: OrderedDict[int, tuple[Any, str]] = OrderedDict()
        self._steps: dict[int, tuple[OperatorStep, str]] = {}

    def run(
        self, step: OperatorStep, states: Sequence[RetrievalState], execution: Execution
    ) -> list[Outcome]:
        """Return the outcomes of a step: stored ones, and those of the states that lack one."""
        keys = [self._key(step, state) for state in states]
        stored = {row: self._results[k] for row, k in enumerate(keys) if k in self._results}
        missing = [row for row in range(len(states)) if row not in stored]
        self.reused[step.label] += len(stored)
        self.computed[step.label] += len(missing)
        new = step.compute([states[row] for row in missing], execution) if missing else []
        done = {row: Done(result) for row, result in stored.items()}
        for row, one in zip(missing, new, strict=True):
            done[row], key = one, keys[row]
            if key and not isinstance(one.result, Failure):
                _remember(self._results, key, one.result)
        return [step.noted(state, done[row], execution) for row, state in enumerate(states)]

    def _key(self, step: OperatorStep, state: RetrievalState) -> str:
        """The key of a result; "" where a value has no digest."""
        parts = [self._of_step(step)]
        try:
            for read in step.operator.reads:
                used = not read.optional or read.slot in step.use
                parts.append(self._digest(state.get(read.slot)) if used else "-")
        except TypeError:
            return ""
        return hashlib.sha256("|".join(parts).encode()).hexdigest()

    def _of_step(self, step: OperatorStep) -> str:
        if id(step) not in self._steps:
            needs = {name: self.identities[name] for name in step.operator.needs}
            self._steps[id(step)] = (step, digest(step.describe(), needs))
        return self._steps[id(step)][1]

    def _digest(self, value: Any) -> str:
        if id(value) not in self._digests:
            _remember(self._digests, id(value), (value, value_digest(value)))
        return self._digests[id(value)][1]


def _remember(memory: OrderedDict[Any, Any], key: object, value: object) -> None:
    memory[key] = value
    if len(memory) > _MOST:
        memory.popitem(last=False)


class _Contents(pickle.Pickler):
    """Writes equal values alike: whatever they share, and wherever and however arrays lie."""

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return NotImplemented
        content = hashlib.sha256(value.tobytes()).hexdigest()
        return np.ndarray, (value.shape, value.dtype.str, content)


def value_digest(value: Any) -> str:
    """Return a digest of a value of a state, by its contents alone.

    Raises TypeError for what cannot be pickled.
    """
    if isinstance(value, RowScores):
        rows = value.some_rows
        value = type(value), len(value), value.values if rows is None else rows
    written = BytesIO()
    pickler = _Contents(written)
    pickler.fast = True  # no references to what was written before
    try:
        pickler.dump(value)
    except (pickle.PicklingError, AttributeError, ValueError) as error:  # a lambda, an inner one,
        raise TypeError(f"{type(value).__name__} has no digest") from error  # or a cycle
    return hashlib.sha256(written.getbuffer()).hexdigest()
