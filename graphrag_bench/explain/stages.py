"""The evidence funnel: what each stage of a run lost of the gold evidence, counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graphrag_bench.report.rendering import Table

LABELS = {
    "corpus": "in corpus",
    "chunk": "in a chunk",
    "extracted": "extracted",
    "linked": "linked",
    "retrieved": "retrieved",
    "cut": "not cut",
    "prompt": "in the prompt",
    "replied": "not failed",
    "answered": "answered",
}
"""The stages of a run in order, and what a piece of evidence that passed each of them is."""
STAGES = tuple(LABELS)
_ORDER = {stage: place for place, stage in enumerate(STAGES)}
_RETRIEVAL = ("retrieved", "cut", "prompt")
"""Where evidence that an earlier stage has lost may turn up again, found on another way."""
Verdicts = Mapping[str, bool | None]
"""For each stage that a method has whether it was passed; None where that cannot be told."""


@dataclass(frozen=True)
class Fate:
    """The fate of one document in a question's evidence."""

    question: str
    document: str
    verdicts: Verdicts

    @property
    def lost(self) -> str | None:
        """The first stage that it did not pass, None when it passed all that can be told.

        A stage that was not passed does not count when a later one, up to the prompt, was: the
        evidence was found on another way.
        """
        passed = [_ORDER[stage] for stage in _RETRIEVAL if self.verdicts.get(stage) is True]
        after = STAGES[passed[-1] + 1 :] if passed else STAGES
        return next((stage for stage in after if self.verdicts.get(stage) is False), None)

    @property
    def reached_otherwise(self) -> tuple[str, ...]:
        """The stages that it did not pass, and which did not lose it."""
        before = STAGES[: _ORDER[self.lost]] if self.lost else STAGES
        return tuple(stage for stage in before if self.verdicts.get(stage) is False)

    def is_unknown(self, stage: str) -> bool:
        """Return whether nothing can be told of a stage that it came to."""
        came = self.lost is None or _ORDER[self.lost] >= _ORDER[stage]
        replied = self.verdicts.get("replied") is not False
        return came and replied and self.verdicts.get(stage) is None


@dataclass(frozen=True)
class StageCount:
    """One stage: what was lost there, and what is left behind it.

    `lost` and `rest` count documents of evidence, `otherwise` those that did not pass and were
    found on another way, `unknown` those of which nothing can be told.
    """

    stage: str
    lost: int
    rest: int
    otherwise: int
    unknown: int

    @property
    def is_unknown(self) -> bool:
        """Whether nothing can be told of any document that came to the stage."""
        return bool(self.unknown) and self.unknown == self.rest + self.lost


@dataclass(frozen=True)
class Funnel:
    """The fates of all evidence of a run, over the stages that its method `has`.

    `unknown` says which stages cannot be told, and why.
    """

    has: frozenset[str]
    fates: tuple[Fate, ...]
    title: str = ""
    dataset: str = ""
    folder: Path = Path()
    n_rows: int = 0
    unknown: tuple[str, ...] = ()

    @property
    def stages(self) -> list[str]:
        """The stages in order; `replied` is left out when no question failed."""
        failed = any(fate.verdicts.get("replied") is False for fate in self.fates)
        return [one for one in STAGES if one in self.has and (one != "replied" or failed)]

    @cached_property
    def lost(self) -> dict[str, str | None]:
        """The earliest stage at which each question lost any evidence, None for no loss."""
        lost: dict[str, list[str]] = {}
        for fate in self.fates:
            lost.setdefault(fate.question, []).extend([fate.lost] if fate.lost else [])
        return {name: min(stages, key=STAGES.index, default=None) for name, stages in lost.items()}

    def counts(self) -> tuple[StageCount, ...]:
        """Return a row for each stage; the losses and what is left in the end sum to all."""
        rest, rows = len(self.fates), []
        for stage in self.stages:
            lost = sum(fate.lost == stage for fate in self.fates)
            otherwise = sum(stage in fate.reached_otherwise for fate in self.fates)
            unknown = sum(fate.is_unknown(stage) for fate in self.fates)
            rest -= lost
            rows.append(StageCount(stage, lost, rest, otherwise, unknown))
        return tuple(rows)


def stage_table(of_run: Funnel) -> Table:
    """Return a row for each stage: the documents left behind it, and those that it lost."""
    rows = []
    for one in of_run.counts():
        cells = [str(one.rest), *(str(n or "") for n in (one.lost, one.otherwise, one.unknown))]
        rows.append((LABELS[one.stage], *(["?"] * 4 if one.is_unknown else cells)))
    n = f"{len(of_run.fates)} documents of evidence, {len(of_run.lost)} of {of_run.n_rows}"
    caption = f"{of_run.title} on {of_run.dataset}: {n} questions have some"
    notes = (
        "documents, each lost at the first stage that it did not pass",
        *(f"not known: {reason}" for reason in of_run.unknown),
    )
    heads = ("stage", "left", "lost", "found otherwise", "not known")
    return Table(caption, heads, tuple(rows), notes, texts=heads[:1])
