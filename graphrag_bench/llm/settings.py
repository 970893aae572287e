"""Settings of models behind an API, and a list of providers with prices and context windows."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphrag_bench.errors import UserError
from graphrag_bench.terminal import is_local

Count = Annotated[int, Field(gt=0)]
GroupT = TypeVar("GroupT", bound="_Group")


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Decoding(_Group):
    """Decoding settings, which are part of the model's identity and of every cache key.

    `seed` is increased in each repetition. `extra` contains further fields of the request.
    """

    temperature: Annotated[float, Field(ge=0)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: int | None = 0
    extra: Mapping[str, Any] = Field(default_factory=dict)


class Dialect(_Group):
    """Fields of a request that a server supports. They are not part of cache keys.

    `length` is the server's name for `max_tokens`. `schema_as` says how a JSON schema is sent:
    `json_schema` sends it in `response_format`, and `words` adds it to the prompt. `json_object`
    adds it to the prompt, and requests a JSON object in `response_format`.
    """

    length: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    schema_as: Literal["json_schema", "json_object", "words"] = "json_schema"
    temperature: bool = True
    seed: bool = True
    stop: bool = True


class Limits(_Group):
    """Rate limits of a server. They are not part of cache keys.

    When a call starts, its prompt and its `max_tokens` count toward `tokens_per_minute`.
    """

    concurrency: Count = 16
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None


class Prices(_Group):
    """Prices in US dollars per million tokens."""

    prompt: Annotated[float, Field(ge=0)] = 0.0
    completion: Annotated[float, Field(ge=0)] = 0.0

    def usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of one call."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


def parse_settings(kind: type[GroupT], values: GroupT | Mapping[str, Any] | None) -> GroupT:
    """Check settings. Raises UserError if a name is unknown or a value is invalid."""
    if isinstance(values, kind):
        return values
    try:
        return kind.model_validate(dict(values or {}))
    except ValidationError as error:
        name, fault = kind.__name__.lower(), error.errors()[0]
        where = ".".join(map(str, (name, *fault["loc"])))
        known = ", ".join(kind.model_fields)
        problem = f"{where}={fault['input']!r}: {fault['msg']}"
        raise UserError(f"{problem}. Settings of {name}: {known}.") from None


def check_variable(variable: str | None) -> None:
    """Raise UserError if a text is not a valid name of a variable. The text is not shown."""
    if variable is not None and not (variable.isascii() and variable.isidentifier()):
        raise UserError(
            "api_key_env must be the name of the environment variable that holds the API key, e.g. "
            "OPENAI_API_KEY. The given text is not shown, because it may be the key itself."
        )


@cache
def provider_facts(model: str, base_url: str) -> tuple[int | None, Prices | None]:
    """Return the context window and the prices of a provider's model. Unknown values are None."""
    if is_local(base_url):
        return None, None
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=1000, output_tokens=1000)  # longer prompts may cost more
    try:
        price = calc_price(usage, model, provider_api_url=base_url)
    except LookupError:
        return None, None
    usd = [float(one) * 1_000_000 / 1000 for one in (price.input_price, price.output_price)]
    return price.model.context_window, Prices(prompt=usd[0], completion=usd[1])


def prices_of(model: str, base_url: str, settings: Prices | Mapping[str, Any] | None) -> Prices:
    """Return prices from the settings or the list of known models. An unknown model costs 0."""
    if settings is not None:
        return parse_settings(Prices, settings)
    return provider_facts(model, base_url)[1] or Prices()
