"""The settings of a model behind an API, in three groups, as YAML gives them."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphrag_bench.errors import UserError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
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


class Dialect(_Group):
    """Which fields of a request the server takes; none of it is part of a key.

    `length` is the name of the field for `max_tokens`. A schema is sent as `response_format` of the
    type `schema_as`, or in words; the reply is validated in any case.
    """

    length: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    schema_as: Literal["json_schema", "json_object", "words"] = "json_schema"
    temperature: bool = True
    seed: bool = True
    stop: bool = True


class Limits(_Group):
    """What the server allows; none of it changes a reply.

    `concurrency` is the most calls under way at once. `tokens_per_minute` counts prompt plus
    `max_tokens` at the time of asking, as OpenAI and Azure do.
    """

    concurrency: Count = 16
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None


class Prices(_Group):
    """US dollars per million tokens, as the server's price list says on the day of the run."""

    prompt: Annotated[float, Field(ge=0)] = 0.0
    completion: Annotated[float, Field(ge=0)] = 0.0

    def usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of one call."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


GroupT = TypeVar("GroupT", bound=_Group)


def group(kind: type[GroupT], values: GroupT | Mapping[str, Any] | None) -> GroupT:
    """Return the settings of one kind; raises UserError on an unknown name or a wrong value."""
    if isinstance(values, kind):
        return values
    try:
        return kind.model_validate(dict(values or {}))
    except ValidationError as error:
        name, fault = kind.__name__.lower(), error.errors()[0]
        where = ".".join(map(str, (name, *fault["loc"])))
        known = ", ".join(kind.model_fields)
        raise UserError(
            f"{where}={fault['input']!r}: {fault['msg']}. {name} has {known}."
        ) from None


def check_variable(variable: str | None) -> None:
    """Raise UserError for what is not a name of a variable: mostly the key itself, so not shown."""
    if variable is not None and not _VARIABLE.fullmatch(variable):
        raise UserError(
            "api_key_env is the NAME of the environment variable that holds the key, e.g. "
            "OPENAI_API_KEY. What was given is not such a name (and not shown: it may be the key)."
        )
