"""The registry: names to registered functions, typed, frozen once the plug-ins are loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from graphrag_bench import fingerprint
from graphrag_bench.errors import unknown


class ContractError(TypeError):
    """A function's signature or name breaks the contract; raised when it is registered."""


@dataclass(frozen=True)
class Registered:
    """What a registry holds: a function and the name it goes by."""

    name: str
    function: Callable[..., Any]

    @cached_property
    def code(self) -> str:
        """The fingerprint of the code."""
        return fingerprint.code(self.function)

    @property
    def origin(self) -> str:
        """Where the function is defined, as module:name."""
        return f"{self.function.__module__}:{self.function.__qualname__}"


T = TypeVar("T", bound=Registered)


class Registry(Generic[T]):
    """Names to registered functions.

    A clash between modules is refused, and so is anything new once frozen, except from a notebook
    or script; the same module may define a name again.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}
        self._frozen = False

    def add(self, item: T) -> None:
        """Register an item; raises ContractError for a clash or after the freeze."""
        module = item.function.__module__
        held = self._items.get(item.name)
        if held is not None and held.function.__module__ != module:
            raise ContractError(
                f"{self.kind} '{item.name}' is already registered by {held.origin}; "
                f"{item.origin} must choose another name"
            )
        if self._frozen and module != "__main__":
            raise ContractError(f"{self.kind} '{item.name}' comes after start-up ({item.origin})")
        self._items[item.name] = item

    def get(self, name: str) -> T:
        """The item of that name; raises UserError naming the nearest ones."""
        if name not in self._items:
            raise unknown(self.kind, name, self._items)
        return self._items[name]

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._items)

    def all(self) -> list[T]:
        """All items, by name."""
        return [self._items[name] for name in self.names()]

    @contextmanager
    def open(self) -> Iterator[None]:
        """Take what plug-ins add while they are loaded, and freeze afterwards."""
        self._frozen = False
        try:
            yield
        finally:
            self.freeze()

    def freeze(self) -> None:
        """Refuse whatever imported modules would still add."""
        self._frozen = True


def import_modules(package: str, folder: Path) -> None:
    """Import every module below the folder of a package, so that each registers what it holds."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        import_module(".".join((package, *parts)).removesuffix(".__init__"))
