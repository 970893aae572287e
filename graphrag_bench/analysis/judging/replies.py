"""What the prompts of the judged metrics return."""

from __future__ import annotations

from pydantic import BaseModel


class Offered(BaseModel):
    """What the first prompt of judged correctness returns."""

    offered: list[str]


class Agreed(BaseModel):
    """What the second prompt of judged correctness returns."""

    agrees: bool


class Statements(BaseModel):
    """What the statements prompt returns."""

    statements: list[str]


class Supported(BaseModel):
    """One verdict of the second step of faithfulness."""

    number: int
    supported: bool


class SupportVerdicts(BaseModel):
    """What the second step of faithfulness returns."""

    verdicts: list[Supported]


class AskedBack(BaseModel):
    """What the prompt of answer relevance returns."""

    questions: list[str]
    evasive: bool


class Found(BaseModel):
    """A statement of the gold answer."""

    text: str
    found: bool


class Recalled(BaseModel):
    """What the prompt of context recall returns."""

    statements: list[Found]


class Useful(BaseModel):
    """What the prompt of context precision returns."""

    useful: list[int]
