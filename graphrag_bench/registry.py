"""Registries of operators and builders, by name."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from graphrag_bench import fingerprint
from graphrag_bench.errors import unknown


class ContractError(TypeError):
    """A signature or a name that breaks the contract; raised at registration."""


@dataclass(frozen=True)
class Registered:
    """A registered function and its name."""

    name: str
    function: Callable[..., Any]
    registered_code: str = field(init=False, repr=False, compare=False)
    """The fingerprint at registration, for code outside this project."""

    def __post_init__(self) -> None:
        own = fingerprint.is_core(self.function.__module__)
        object.__setattr__(self, "registered_code", "" if own else fingerprint.code(self.function))

    @property
    def code(self) -> str:
        """The fingerprint of the code.

        It changes if a module that the function reaches was reloaded after the registration,
        because the function may still use the old code.
        """
        now = fingerprint.code(self.function)
        return (
            now
            if self.registered_code in ("", now)
            else fingerprint.digest(self.registered_code, now)
        )

    @property
    def origin(self) -> str:
        """The module and name of the function, as module:name."""
        return f"{self.function.__module__}:{self.function.__qualname__}"


T = TypeVar("T", bound=Registered)


class Registry(Generic[T]):
    """Registered functions by name; a module may register a name again, e.g. on reload."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def add(self, item: T) -> None:
        """Register an item; raises ContractError for a name of another module."""
        known = self._items.get(item.name)
        if known is not None and known.function.__module__ != item.function.__module__:
            raise ContractError(
                f"{self.kind} '{item.name}' is already registered by {known.origin}; "
                f"{item.origin} must choose another name"
            )
        self._items[item.name] = item

    def get(self, name: str) -> T:
        """Return the item of a name; raises UserError with the nearest names."""
        if name not in self._items:
            raise unknown(self.kind, name, self.names())
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._items)

    def all(self) -> list[T]:
        """Return all items, by name."""
        return [self.get(name) for name in self.names()]


@cache
def import_below(package: str) -> None:
    """Import all modules below a package, so that they register their functions.

    Modules of compiled loops (`*_kernels`) are skipped, because they register nothing and load
    numba.
    """
    (folder,) = import_module(package).__path__
    for path in sorted(Path(folder).rglob("*.py")):
        if path.stem.endswith("_kernels"):
            continue
        parts = path.relative_to(folder).with_suffix("").parts
        import_module(".".join((package, *parts)).removesuffix(".__init__"))
