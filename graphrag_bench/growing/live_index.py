"""A live index: documents come, change and go, and questions are asked meanwhile."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphrag_bench.analysis.explaining.answer import Answered
from graphrag_bench.analysis.explaining.own_question import (
    AnsweringFailed,
    answered_with,
    question_of,
)
from graphrag_bench.data.dataset import Document
from graphrag_bench.data.history import Changes, History
from graphrag_bench.errors import UserError, did_you_mean, shown_plainly
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.incomplete import building_store
from graphrag_bench.growing.documents import Given, as_document
from graphrag_bench.growing.sweeping import Uses, drop_artifacts, drop_versions
from graphrag_bench.growing.versions import Version, Versions
from graphrag_bench.models.ledger import read_ledger
from graphrag_bench.offline.plan import Planned
from graphrag_bench.offline.store import NotBuilt
from graphrag_bench.progress import Progress
from graphrag_bench.text import short

Make = Callable[[tuple[Document, ...], bool], Experiment]
"""The checked experiment over some documents; whether its stores are written to."""


@dataclass(frozen=True)
class Committed:
    """What a change did: which documents, the calls that it took and those of a whole build.

    `seconds` is how long it took, `version` the number of the state that it made.
    """

    version: int
    documents: Changes
    calls: int
    calls_of_all: int
    seconds: float

    def __str__(self) -> str:
        """As `12 of 6,119 documents new, 1 gone; 41 calls instead of 18,402; 3.1 s`."""
        said = [str(self.documents)]
        if self.calls_of_all:
            said.append(f"{self.calls:,} calls instead of {self.calls_of_all:,}")
        return "; ".join([*said, f"{self.seconds:.1f} s"])

    def __repr__(self) -> str:
        """The same, with the version."""
        return f"<Version {self.version}: {self}>"


class Draft:
    """Documents as they will be; nothing is built before the change is whole.

    `committed` says what the change did, and raises UserError before it is whole.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        """Begin with these."""
        self.documents = {row.id: row for row in documents}
        self._committed: Committed | None = None

    @property
    def committed(self) -> Committed:
        """What the change did."""
        if self._committed is None:
            raise UserError("The change is not built yet: it is when its `with` block has ended.")
        return self._committed

    def add(self, *documents: Given) -> None:
        """Add documents at the end; raises UserError for an id that is there."""
        for given in documents:
            row = as_document(given)
            if row.id in self.documents:
                raise UserError(
                    f"The document '{row.id}' is there already; update(...) changes it."
                )
            self.documents[row.id] = row

    def update(self, *documents: Given) -> None:
        """Replace documents at their places; raises UserError for an id that is not there."""
        for given in documents:
            row = as_document(given)
            self._check(row.id)
            self.documents[row.id] = row

    def remove(self, *ids: str) -> None:
        """Take documents out; raises UserError for an id that is not there."""
        for name in ids:
            self._check(name)
            del self.documents[name]

    def _check(self, name: str) -> None:
        if name not in self.documents:
            hint = did_you_mean(name, list(self.documents)[:20000])
            raise UserError(f"There is no document '{name}'. {hint}")


@dataclass(frozen=True)
class _Opened:
    version: Version
    experiment: Experiment
    resources: Mapping[str, Any]


@dataclass(repr=False)
class LiveIndex:
    """The index of one method in a folder: one process changes it, any number ask.

    A change is built beside the state that holds and takes its place at once; until then everybody
    is answered from the old one, also when the process that builds is killed. What a build read,
    embedded or asked a model for is kept by content, so that the next one does the work of the
    change alone, and the result is that of a clean build of the same documents. What the new state
    does not need is removed with its bytes: replies, vectors and readings before it takes its
    place, documents and artifacts of the old state right after; if the process is killed between
    the two, by the next change or `rebuild()`. Answering stores nothing.
    """

    folder: Path
    make: Make
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))
    _held: _Opened | None = field(default=None, init=False)
    _built: Experiment | None = field(default=None, init=False)

    @property
    def _versions(self) -> Versions:
        return Versions(self.folder)

    @shown_plainly
    def add(self, *documents: Given) -> Committed:
        """Add documents, each a mapping with id and text, and title or aliases if it has them."""
        with self.change() as draft:
            draft.add(*documents)
        return draft.committed

    @shown_plainly
    def update(self, *documents: Given) -> Committed:
        """Replace documents by others of the same ids."""
        with self.change() as draft:
            draft.update(*documents)
        return draft.committed

    @shown_plainly
    def remove(self, *ids: str) -> Committed:
        """Take documents out, and everything that they alone said."""
        with self.change() as draft:
            draft.remove(*ids)
        return draft.committed

    @contextmanager
    def change(self) -> Iterator[Draft]:
        """Several changes as one: `with index.change() as draft: draft.add(...)`.

        The state is built when the block ends, and not at all when it raises; `draft.committed`
        then says what was done. Raises UserError where another process is changing the index.
        """
        with self._versions.writing():
            before = self._versions.current()
            held = self._versions.documents(before)
            draft = Draft(held)
            yield draft
            draft._committed = self._committed(before, held, tuple(draft.documents.values()))

    @shown_plainly
    def rebuild(self) -> Committed:
        """Build the documents again: where the program or its models have changed."""
        with self.change() as draft:
            pass
        return draft.committed

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents of the state that holds, in the order in which they were added."""
        while True:
            current = self._versions.current()
            try:
                return self._versions.documents(current)
            except FileNotFoundError:
                if self._versions.current() == current:
                    raise

    @property
    def version(self) -> int:
        """The number of the state that holds; 0 for an empty index."""
        current = self._versions.current()
        return current.number if current else 0

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.documents)

    def __repr__(self) -> str:
        """The folder, the documents and the version."""
        return (
            f"<LiveIndex {short(str(self.folder))}: {len(self)} documents, version {self.version}>"
        )

    @shown_plainly
    def ask(self, question: str) -> Answered:
        """The answer to a question from the state that holds, with its context and steps.

        Raises UserError for an empty index, and when a step fails.
        """
        while True:
            opened = self._opened()
            try:
                finished = answered_with(
                    opened.resources, opened.experiment, question_of(opened.experiment, question)
                )
                return Answered.of(opened.experiment, finished, opened.resources)
            except (AnsweringFailed, OSError):
                if self._versions.current() == opened.version:
                    raise  # else the state was replaced, and its files removed, meanwhile

    def _opened(self) -> _Opened:
        """The state that holds, opened; one that is replaced meanwhile is not."""
        while True:
            current = self._versions.current()
            if current is None or not current.artifacts:
                raise UserError(f"The index in {self.folder} has no documents: index.add(...).")
            if self._held is not None and self._held.version == current:
                return self._held
            try:
                self._held = self._open(current)
            except (NotBuilt, OSError):
                if self._versions.current() == current:
                    raise
            else:
                return self._held

    def _open(self, version: Version) -> _Opened:
        experiment = self._experiment(self._versions.documents(version), writes=False)
        if _keys(experiment.plan) != dict(version.artifacts):
            raise UserError(
                f"The index in {self.folder} was built by another version of the program, its "
                "models or settings: index.rebuild() builds it from its documents."
            )
        store = replace(building_store(experiment, self.progress), reading=True)
        found = store.resources(experiment.plan, set(experiment.wanted), experiment.models)
        needed = experiment.method.pipeline.needs() & set(experiment.models.NAMES)
        models = {name: experiment.models[name] for name in needed}
        return _Opened(version, experiment, found | models)

    def _experiment(self, documents: tuple[Document, ...], *, writes: bool) -> Experiment:
        """The experiment over these documents; models that were loaded before stay loaded."""
        made = self.make(documents, writes)
        reader = self._held.experiment if self._held else None
        same, other = (self._built, reader) if writes else (reader, self._built)
        if same is not None:
            return replace(made, models=same.models.over(made.dataset))
        return replace(made, models=made.models.sharing(other.models)) if other else made

    def _committed(
        self, before: Version | None, old: tuple[Document, ...], new: tuple[Document, ...]
    ) -> Committed:
        """Build the state of the new documents, make it the one that holds, and tidy up."""
        began = time.perf_counter()
        held = dict(before.artifacts) if before else {}
        self._tidy(held)  # what a killed change has left
        if not new and not old:
            raise UserError("An index without documents has nothing to build: index.add(...).")
        experiment = self._built = self._experiment(new or old, writes=True)
        keys = _keys(experiment.plan) if new else {}
        if before is not None and (old, held) == (new, keys):
            _drop_versions(experiment)
            return Committed(before.number, _changes(old, new), 0, 0, 0.0)
        uses = Uses(experiment.models.stores)
        calls, calls_of_all = self._build(experiment) if new else (0, 0)
        if new != old:  # else what is not built again was not used either, and belongs to it
            uses.drop_others()
        version = self._versions.commit(new, keys)
        self._tidy(keys)
        if new:
            _drop_versions(experiment)
        seconds = time.perf_counter() - began
        return Committed(version.number, _changes(old, new), calls, calls_of_all, seconds)

    def _tidy(self, kept: Mapping[str, str]) -> None:
        """Remove the documents of other states, and the artifacts that are not `kept`."""
        self._versions.drop_others()
        drop_artifacts(self.folder / "artifacts", kept)
        if not kept:
            shutil.rmtree(self.folder / "artifacts", ignore_errors=True)

    def _build(self, experiment: Experiment) -> tuple[int, int]:
        """Build what is not there; the calls that this took, and those of a whole build."""
        store = replace(building_store(experiment, self.progress), explains=False)
        there = {item.key for item in experiment.plan if store.holds(item)}
        store.resources(experiment.plan, set(experiment.wanted), experiment.models)
        lines = {item.key: [*read_ledger(*store.ledgers(item))] for item in experiment.plan}
        paid = [row for key, rows in lines.items() if key not in there for row in rows]
        return sum(not row.cached for row in paid), sum(map(len, lines.values()))


def _drop_versions(experiment: Experiment) -> None:
    """Keep the version of this corpus, and no other."""
    version = History(experiment.artifacts).keep(experiment.dataset)
    drop_versions(experiment.artifacts, experiment.plan, version)


def _keys(plan: Iterable[Planned]) -> dict[str, str]:
    return {item.resource: item.key for item in plan}


def _changes(old: tuple[Document, ...], new: tuple[Document, ...]) -> Changes:
    """What became of the documents, by their ids."""
    before = {row.id: row for row in old}
    now = {row.id: row for row in new}
    return Changes(
        tuple(name for name in now if name not in before),
        tuple(name for name, row in now.items() if name in before and before[name] != row),
        tuple(name for name in before if name not in now),
        len(new),
    )
