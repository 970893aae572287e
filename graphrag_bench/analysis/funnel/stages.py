"""The evidence funnel: counts for each stage of the gold evidence that was lost there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

STAGES = (
    "corpus", "chunk", "extracted", "linked", "retrieved", "cut", "prompt", "replied", "answered",
)  # fmt: skip
"""The stages of a run in order, each named by what a piece of evidence must pass."""

_FOUND = ("retrieved", "cut", "prompt")
"""Where evidence that an earlier stage has lost may turn up again, found on another way."""

Verdicts = Mapping[str, bool | None]
"""For each stage that a method has whether it was passed; None where that cannot be told."""


@dataclass(frozen=True)
class Fate:
    """The fate of one document in a question's evidence.

    `right` says whether the question was answered right, None where it was not answered.
    """

    question: str
    document: str
    verdicts: Verdicts
    right: bool | None = None

    @property
    def lost(self) -> str | None:
        """The first stage that it did not pass, None when it passed all that can be told.

        A stage that was not passed does not count when a later one, up to the prompt, was: the
        evidence was found on another way.
        """
        found = [row for row, stage in enumerate(STAGES) if self.found_at(stage)]
        after = STAGES[found[-1] + 1 :] if found else STAGES
        return next((stage for stage in after if self.verdicts.get(stage) is False), None)

    def found_at(self, stage: str) -> bool:
        """Whether a stage of finding shows it."""
        return stage in _FOUND and self.verdicts.get(stage) is True

    @property
    def found_otherwise(self) -> tuple[str, ...]:
        """The stages that it did not pass, and which did not lose it."""
        lost = self.lost
        return tuple(
            stage
            for stage in STAGES
            if self.verdicts.get(stage) is False
            and (lost is None or STAGES.index(stage) < STAGES.index(lost))
        )


@dataclass(frozen=True)
class StageCount:
    """One stage: what was lost there, and what is left behind it.

    `lost` and `left` count documents of evidence; `questions` those whose first loss is here;
    `otherwise` documents that did not pass and were found on another way; `anyway` lost ones whose
    question was answered right all the same; `unknown` those of which nothing can be told.
    """

    stage: str
    lost: int
    left: int
    questions: int
    otherwise: int
    anyway: int
    unknown: int


@dataclass(frozen=True)
class Funnel:
    """The fates of all evidence of a run, over the stages that its method has."""

    stages: tuple[str, ...]
    fates: tuple[Fate, ...]

    @property
    def n_documents(self) -> int:
        """Number of pairs of a question and a document in its evidence."""
        return len(self.fates)

    @property
    def n_questions(self) -> int:
        """Questions with evidence."""
        return len({fate.question for fate in self.fates})

    def counts(self) -> tuple[StageCount, ...]:
        """A row for each stage; the losses and what is left at the end sum to all documents."""
        first = self.of_questions()
        return tuple(self._counts(first))

    def _counts(self, first: Mapping[str, str | None]) -> Iterator[StageCount]:
        left = self.n_documents
        for stage in self.stages:
            gone = [fate for fate in self.fates if fate.lost == stage]
            left -= len(gone)
            yield StageCount(
                stage,
                len(gone),
                left,
                sum(lost == stage for lost in first.values()),
                sum(stage in fate.found_otherwise for fate in self.fates),
                sum(fate.right is True for fate in gone),
                sum(_untold(fate, stage) for fate in self.fates),
            )

    def of_questions(self) -> dict[str, str | None]:
        """The earliest stage at which a question lost any of its evidence, None for no loss."""
        found: dict[str, str | None] = {}
        for fate in self.fates:
            before = found.setdefault(fate.question, fate.lost)
            if fate.lost is not None and (before is None or _order(fate.lost) < _order(before)):
                found[fate.question] = fate.lost
        return found

    def questions_at(self, stage: str | None) -> list[str]:
        """The questions whose first loss is at a stage; those without a loss for None."""
        return [name for name, lost in self.of_questions().items() if lost == stage]


def funnel(stages: Sequence[str], fates: Sequence[Fate]) -> Funnel:
    """The funnel over the stages that the method has, in order.

    `replied` is left out when no question failed. Raises ValueError for a name that is not a stage.
    """
    if unknown := set(stages) - set(STAGES):
        raise ValueError(f"{sorted(unknown)} are not stages of the funnel")
    failed = any(fate.verdicts.get("replied") is False for fate in fates)
    had = [stage for stage in STAGES if stage in stages and (stage != "replied" or failed)]
    return Funnel(tuple(had), tuple(fates))


def _order(stage: str) -> int:
    return STAGES.index(stage)


def _untold(fate: Fate, stage: str) -> bool:
    """Whether nothing can be told of a stage, though the evidence was not lost before it."""
    before = fate.lost is not None and _order(fate.lost) < _order(stage)
    failed = fate.verdicts.get("replied") is False
    return fate.verdicts.get(stage) is None and not before and not failed
