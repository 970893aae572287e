"""The evidence funnel: counts for each stage of the gold evidence that was lost there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        found = [STAGES.index(stage) for stage in _FOUND if self.verdicts.get(stage) is True]
        after = STAGES[found[-1] + 1 :] if found else STAGES
        return next((stage for stage in after if self.verdicts.get(stage) is False), None)

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
        left, rows = self.n_documents, []
        for stage in self.stages:
            gone = [fate for fate in self.fates if fate.lost == stage]
            left -= len(gone)
            otherwise = sum(stage in fate.found_otherwise for fate in self.fates)
            anyway = sum(fate.right is True for fate in gone)
            unknown = sum(_untold(fate, stage) for fate in self.fates)
            n_questions = len(self.questions_at(stage))
            rows.append(StageCount(stage, len(gone), left, n_questions, otherwise, anyway, unknown))
        return tuple(rows)

    def of_questions(self) -> dict[str, str | None]:
        """The earliest stage at which a question lost any of its evidence, None for no loss."""
        lost: dict[str, list[str]] = {}
        for fate in self.fates:
            lost.setdefault(fate.question, []).extend([fate.lost] if fate.lost else [])
        return {name: min(held, key=STAGES.index, default=None) for name, held in lost.items()}

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


def _untold(fate: Fate, stage: str) -> bool:
    before = fate.lost is not None and STAGES.index(fate.lost) < STAGES.index(stage)
    failed = fate.verdicts.get("replied") is False
    return fate.verdicts.get(stage) is None and not before and not failed
