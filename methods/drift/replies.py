"""What the prompts of a DRIFT search return."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from graphrag_bench.values import unique
from methods.drift.trail import Finding

_LONGEST = 200


class Found(BaseModel):
    """An answer, how well it serves the question, and what to ask next.

    A server that enforces a schema ends a follow-up question at 200 characters.
    """

    answer: str
    score: int = 1
    follow_ups: list[Annotated[str, Field(json_schema_extra={"maxLength": _LONGEST})]] = []

    @field_validator("score", mode="before")
    @classmethod
    def _clamped(cls, given: object) -> int:
        try:
            return max(1, min(100, round(float(str(given)))))
        except (ValueError, OverflowError):
            return 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The answer with its score; nothing when the answer has no text."""
        return (Finding(self.answer.strip(), self.score),) if self.answer.strip() else ()


@lru_cache(maxsize=64)
def reply_of(most: int) -> type[Found]:
    """The reply type whose schema limits the number of follow-ups; a longer list is cut later."""

    class Bounded(Found):
        follow_ups: list[Annotated[str, Field(json_schema_extra={"maxLength": _LONGEST})]] = Field(
            default=[], json_schema_extra={"maxItems": most}
        )

    return Bounded


def asked_next(found: Sequence[Found], most: int) -> tuple[str, ...]:
    """The follow-ups of some replies, at most `most` of each, in order and each once."""
    return unique([text.strip() for one in found for text in one.follow_ups[:most] if text.strip()])
