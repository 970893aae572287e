"""API keys: read from the environment by name, and removed from every text that is shown."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from graphrag_bench.errors import UserError

HIDDEN = "<api key>"
_NO_KEY = "no-key-needed"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ApiKey:
    """The key of one server; its value is never part of a repr."""

    variable: str | None
    value: str = field(repr=False, default=_NO_KEY)

    @classmethod
    def from_environment(cls, variable: str | None) -> ApiKey:
        """The key the variable holds; none is needed for `None`. Raises UserError when unset."""
        if variable is None:
            return cls(None)
        if not (value := os.environ.get(variable, "").strip()):
            raise UserError(
                f"The environment variable {variable} is not set. It holds the API key: "
                f"export {variable}=..., or api_key_env=null for a server that needs none."
            )
        return cls(variable, value)

    def hide(self, text: str) -> str:
        """The text with the key, should it occur in it, replaced."""
        if self.variable is None or self.value not in text:
            return text
        return text.replace(self.value, HIDDEN)


def check_variable(variable: str | None) -> None:
    """Raise UserError for what is not a name of a variable: mostly the key itself, so not shown."""
    if variable is not None and not _NAME.fullmatch(variable):
        raise UserError(
            "api_key_env is the NAME of the environment variable that holds the key, e.g. "
            "OPENAI_API_KEY. What was given is not such a name (and not shown: it may be the key)."
        )
