"""What has changed in a corpus since the version before it was built, and what building it cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from graphrag_bench.data.history import Changes, History, Version, changes
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.models.ledger import read_ledger
from graphrag_bench.offline.plan import Planned
from graphrag_bench.offline.store import Store
from graphrag_bench.progress import Progress

ANEW = {
    "communities.leiden": "communities are found anew (build.communities=leiden_grown keeps those "
    "that the change does not touch)",
    "graph.tree": "the tree is clustered anew",
    "graph.tree_llm": "the tree is clustered anew; only clusters with other texts are summarised",
}
"""What a change reaches beyond its own documents, by the builder that makes it so."""


@dataclass(frozen=True)
class Growth:
    """The version before a corpus, how the corpus differs from it, and what is made anew."""

    before: Version
    changes: Changes
    anew: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As `12 of 6,119 documents new, 3 changed (since version 2, built 2026-11-23 09:14 UTC)`.

        The time is that of the history's file.
        """
        built = f"{self.before.built:%Y-%m-%d %H:%M} UTC"
        said = f"{self.changes} (since version {self.before.number}, built {built})"
        return "; ".join([said, *self.anew])


def grown(experiment: Experiment) -> Growth | None:
    """What has changed since the version before; None where nothing is told.

    Nothing is told where every artifact is there, where there is no version before or nothing has
    changed since, where graphs are made of scopes, and where all documents are new: those are of
    another corpus under the same name.
    """
    if experiment.settings.graph.per != "all" or not missing(experiment, experiment.store()):
        return None
    before = History(experiment.artifacts).before(experiment.dataset.corpus_digest)
    if before is None:
        return None
    found = changes(before, experiment.dataset)
    if not found or len(found.new) == found.total:
        return None
    names = [item.builder.name for item in experiment.plan]
    return Growth(before, found, tuple(ANEW[name] for name in names if name in ANEW))


def missing(experiment: Experiment, store: Store) -> list[Planned]:
    """The artifacts over the whole corpus that are not there yet."""
    return [item for item in experiment.plan if not store.holds(item)]


@contextmanager
def told_changes(experiment: Experiment, progress: Progress) -> Iterator[None]:
    """Say before the building inside what has changed in the corpus, and then what it cost.

    When the building has succeeded, the corpus is kept in its history; what has changed is said
    until then: by the first run of a sweep, and not by the others.
    """
    if experiment.settings.graph.per != "all":
        yield
        return
    store, history = experiment.store(), History(experiment.artifacts)
    to_build, growth = missing(experiment, store), grown(experiment)
    if growth and history.version(experiment.dataset.corpus_digest) is None:
        progress.say(f"{experiment.dataset.corpus_name}: {growth}")
    yield
    if growth and (line := _cost(store, to_build)):
        progress.say(line)
    history.keep(experiment.dataset)


def _cost(store: Store, built: list[Planned]) -> str:
    """The calls that building these took, and those it would have taken without stored replies.

    Empty where no reply was stored. A prompt that was asked twice counts once in the second number:
    it would have been stored by then.
    """
    n_paid, n_kept_nowhere, keys = 0, 0, set[str]()
    for item in built:
        for line in read_ledger(*store.ledgers(item)):
            n_paid += not line.cached
            n_kept_nowhere += not line.key and line.outcome in ("stop", "length")
            keys.add(line.key)
    n_whole = len(keys - {""}) + n_kept_nowhere
    return f"building: {n_paid:,} calls instead of {n_whole:,}" if n_paid < n_whole else ""
