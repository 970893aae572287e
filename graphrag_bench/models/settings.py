"""The settings of a model behind an API, in four groups, as YAML gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphrag_bench.errors import UserError, unknown

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Decoding(_Group):
    """How a reply is drawn; all of it is part of the model's identity and of every cache key.

    `seed` is sent as `seed + trial`, so that repeats of one prompt differ. `extra` is sent
    verbatim with the other fields (`reasoning_effort`, `top_k`, ...).
    """

    temperature: Annotated[float, Field(ge=0)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: int | None = 0
    extra: Mapping[str, Any] = Field(default_factory=dict)


class Limits(_Group):
    """What the server allows; none of it changes a reply.

    `concurrency` is the most calls under way at once; it is cut when the server answers 429 and
    grows again. `count_tokens` says what `tokens_per_minute` counts: `reserved` is prompt plus
    `max_tokens` at the time of asking (OpenAI, Azure), `used` is what the reply used.
    """

    concurrency: Count = 16
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    count_tokens: Literal["reserved", "used"] = "reserved"


class Patience(_Group):
    """How long to wait, in seconds. `total` bounds one call with all its retries and pauses."""

    connect: Positive = 10.0
    read: Positive = 300.0
    total: Positive = 900.0
    first_pause: Positive = 1.0
    longest_pause: Positive = 60.0


class Prices(_Group):
    """US dollars per million tokens, as the server's price list says on the day of the run."""

    prompt: Annotated[float, Field(ge=0)] = 0.0
    completion: Annotated[float, Field(ge=0)] = 0.0

    def usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """The price of one call."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


GroupT = TypeVar("GroupT", bound=_Group)


def group(kind: type[GroupT], given: GroupT | Mapping[str, Any] | None) -> GroupT:
    """The settings of one kind; raises UserError on an unknown name or a wrong value."""
    if isinstance(given, kind):
        return given
    settings = {str(name): _plain(value) for name, value in dict(given or {}).items()}
    for name in settings:
        if name not in kind.model_fields:
            raise unknown(f"{kind.__name__.lower()} setting", name, kind.model_fields)
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in (kind.__name__.lower(), *first["loc"]))
        raise UserError(f"{where}: {first['msg']}; given was {first['input']!r}.") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(inner) for inner in value]
    return value
