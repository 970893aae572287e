"""The registry: names to registered functions, typed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
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
    loaded: str = field(init=False, repr=False, compare=False)
    """The fingerprint of code outside this project when it was registered."""

    def __post_init__(self) -> None:
        own = fingerprint.is_core(self.function.__module__)
        object.__setattr__(self, "loaded", "" if own else fingerprint.code(self.function))

    @property
    def code(self) -> str:
        """The fingerprint of the code; one of its own where a module it reaches was reloaded.

        What the function holds of that module may be of before.
        """
        now = fingerprint.code(self.function)
        return now if self.loaded in ("", now) else fingerprint.digest(self.loaded, now)

    @property
    def origin(self) -> str:
        """Where the function is defined, as module:name."""
        return f"{self.function.__module__}:{self.function.__qualname__}"


T = TypeVar("T", bound=Registered)


class Registry(Generic[T]):
    """Names to registered functions; a module may register a name again, as a reload does."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def add(self, item: T) -> None:
        """Register an item; raises ContractError for a name that another module has."""
        known = self._items.get(item.name)
        if known is not None and known.function.__module__ != item.function.__module__:
            raise ContractError(
                f"{self.kind} '{item.name}' is already registered by {known.origin}; "
                f"{item.origin} must choose another name"
            )
        self._items[item.name] = item

    def get(self, name: str) -> T:
        """The item of that name; raises UserError naming the nearest ones."""
        if name not in self._items:
            raise unknown(self.kind, name, self.names())
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._items)

    def all(self) -> list[T]:
        """All items, by name."""
        return [self.get(name) for name in self.names()]


@cache
def import_below(package: str) -> None:
    """Import every module below a package of this project, so that each registers what it holds.

    Modules of compiled loops (`*_kernels`) register nothing and load numba; who calls them imports
    them.
    """
    (folder,) = import_module(package).__path__
    for path in sorted(Path(folder).rglob("*.py")):
        if path.stem.endswith("_kernels"):
            continue
        parts = path.relative_to(folder).with_suffix("").parts
        import_module(".".join((package, *parts)).removesuffix(".__init__"))
