"""Registries of operators and builders, and the signatures of registered functions."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from graphrag_bench import fingerprint
from graphrag_bench.errors import unknown

T = TypeVar("T", bound="Registered")


class ContractError(TypeError):
    """A function cannot be registered, because of its signature or its name."""


def signature_of(function: Callable[..., Any], *, evaluate: bool = True) -> inspect.Signature:
    """Return a signature, by default with evaluated type hints. Undefined names raise NameError."""
    is_function = inspect.isfunction(function)
    found = inspect.signature(function, eval_str=evaluate and not is_function)
    if not (evaluate and is_function):
        return found
    hints = get_type_hints(function, include_extras=True)  # also evaluates quotes in brackets
    every = found.parameters.values()
    evaluated = [one.replace(annotation=hints.get(one.name, one.empty)) for one in every]
    return found.replace(parameters=evaluated, return_annotation=hints.get("return", found.empty))


@dataclass(frozen=True)
class Registered:
    """A registered function and its name."""

    name: str
    function: Callable[..., Any]
    registered_code: str = field(init=False, repr=False, compare=False)
    """The fingerprint of the code at registration, or "" for code of this project."""

    def __post_init__(self) -> None:
        own = fingerprint.is_core(self.function.__module__)
        object.__setattr__(self, "registered_code", "" if own else fingerprint.code(self.function))

    @property
    def code(self) -> str:
        """The fingerprint of the code. After a reload, it includes the code at registration."""
        now = fingerprint.code(self.function)
        before = self.registered_code
        return now if before in ("", now) else fingerprint.digest(before, now)

    @property
    def docstring(self) -> str:
        """The docstring of the function, without its indentation."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def origin(self) -> str:
        """The module and the name of the function, as `module:name`."""
        return f"{self.function.__module__}:{self.function.__qualname__}"


class Registry(Generic[T]):
    """Operators or builders by name. A module may register a name again when it is reloaded."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def add(self, item: T) -> None:
        """Register an operator or builder. Raises ContractError if another module uses its name."""
        known = self._items.get(item.name)
        if known is not None and known.function.__module__ != item.function.__module__:
            taken = f"{self.kind} '{item.name}' is already registered by {known.origin}"
            raise ContractError(f"{taken}; {item.origin} must choose another name")
        self._items[item.name] = item

    def get(self, name: str) -> T:
        """Return the operator or builder with this name. Raises UserError if it does not exist."""
        if name not in self._items:
            raise unknown(self.kind, name, self._items)
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def all(self) -> list[T]:
        """Return the registered operators or builders, sorted by name."""
        return [self._items[name] for name in sorted(self._items)]


@cache
def import_below(package: str) -> None:
    """Import all modules of a package, so that they register their operators and builders."""
    (folder,) = import_module(package).__path__
    for path in sorted(Path(folder).rglob("*.py")):
        if path.stem.endswith("_kernels"):  # they register nothing, and loading numba takes time
            continue
        parts = path.relative_to(folder).with_suffix("").parts
        import_module(".".join((package, *parts)).removesuffix(".__init__"))
