"""What steps found, kept by content: a step is computed once for the same operator and values.

The key of a result is made of the step (operator, code, settings), the artifacts and models that it
needs, and the values that it reads. So pipelines that begin alike share what they have in
common, wherever they are; after a change only the changed step is computed, and those whose values
it changes. Steps that call a language model are left out: their replies are stored already.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from graphrag_bench.fingerprint import digest
from graphrag_bench.models.marked_file import MarkedFile, never
from graphrag_bench.models.marked_rows import MarkedRows, create
from graphrag_bench.models.sqlite_file import Journal
from graphrag_bench.pipeline.failure import Failure
from graphrag_bench.pipeline.packed import Unpackable, compressed, decompressed, packed
from graphrag_bench.pipeline.steps import Done, Execution, OperatorStep, Outcome
from graphrag_bench.values import RetrievalState

VERSION = 1
_DIGITS = 32
_REMEMBERED = 4096
"""Values whose digest is remembered, and results in memory: those of some blocks of questions."""


@dataclass(frozen=True)
class StoredStep:
    """What one step wrote for one question, as compressed bytes; `identity` names the operator."""

    key: str
    identity: str
    found: bytes


class StepStore(MarkedFile):
    """Results of steps by key."""

    def __init__(
        self, path: str | Path, journal: Journal = "auto", *, reading: bool = False
    ) -> None:
        own = ("steps", tuple(field.name for field in fields(StoredStep)))
        super().__init__(path, _create, VERSION, journal, own=own, reading=reading)
        self._steps = MarkedRows(self.path, StoredStep, "steps")
        self._tables = (self._steps,)

    def some(self, keys: Sequence[str]) -> dict[str, bytes]:
        """What steps wrote, by key; keys without a row that is whole are missing."""
        return {row.key: row.found for row in self._steps.some(self._read, keys)}

    def put(self, rows: Sequence[StoredStep]) -> None:
        """Store rows; one that is there already stays."""
        self._put_all(self._steps, rows, never)


def _create(connection: sqlite3.Connection) -> None:
    create(connection, StoredStep, "steps")


class KeptSteps:
    """Results of the steps of one corpus, in memory, and in a store where there is one.

    `identities` are the keys of artifacts and the identities of models, by the names of needs.
    `computed` and `taken` count the results of each step, by its label.
    """

    def __init__(self, identities: Mapping[str, str], store: StepStore | None = None) -> None:
        self.identities = identities
        self.store = store
        self.computed: Counter[str] = Counter()
        self.taken: Counter[str] = Counter()
        self._held: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._digests: OrderedDict[int, tuple[Any, str]] = OrderedDict()
        self._steps: dict[int, tuple[OperatorStep, str]] = {}

    def run(
        self, step: OperatorStep, states: Sequence[RetrievalState], execution: Execution
    ) -> list[Outcome]:
        """The outcomes of a step: kept ones, and those of the states that lack one."""
        keys = [self._key(step, state) for state in states]
        held = self._some([key for key in keys if key is not None])
        lacking = [row for row, key in enumerate(keys) if key not in held]
        self.taken[step.label] += len(states) - len(lacking)
        self.computed[step.label] += len(lacking)
        made = step.compute([states[row] for row in lacking], execution) if lacking else []
        done = dict(zip(lacking, made, strict=True))
        self._keep(step, [(keys[row], one.result) for row, one in done.items()])
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
            self._steps[id(step)] = (step, digest(VERSION, step.describe(), needs))
        return self._steps[id(step)][1]

    def _digest(self, value: Any) -> str:
        found = self._digests.get(id(value))
        if found is None:
            found = (value, hashlib.sha256(packed(value)).hexdigest())
            self._digests[id(value)] = found
            if len(self._digests) > _REMEMBERED:
                self._digests.popitem(last=False)
        return found[1]

    def _some(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        found = {key: self._held[key] for key in keys if key in self._held}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if self.store is None or not missing:
            return found
        for key, held in self.store.some(missing).items():
            try:
                found[key] = decompressed(held)
            except ValueError:  # of a value type that has changed since
                continue
            self._remember(key, found[key])
        return found

    def _keep(self, step: OperatorStep, results: Sequence[tuple[str | None, Any]]) -> None:
        rows = []
        for key, result in results:
            if key is None or isinstance(result, Failure):
                continue
            try:
                found = compressed(result) if self.store is not None else b""
            except Unpackable:
                continue
            self._remember(key, result)
            rows.append(StoredStep(key, step.operator.name, found))
        if self.store is not None and rows:
            self.store.put(rows)

    def _remember(self, key: str, result: dict[str, Any]) -> None:
        self._held[key] = result
        if len(self._held) > _REMEMBERED:
            self._held.popitem(last=False)
