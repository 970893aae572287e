"""The registry: names to registered functions, typed, frozen once the plug-ins are loaded."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from graphrag_bench import fingerprint
from graphrag_bench.errors import UserError, not_loaded, unknown

_REGISTERED = re.compile(r'^@(\w+)\(\s*"([\w.]+)"', re.MULTILINE)


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
    or script; the same module may define a name again. `decorator` is what registers a function in
    a module that is imported when one of its names is first asked for (`import_modules`).
    """

    def __init__(self, kind: str, decorator: str = "") -> None:
        self.kind = kind
        self.decorator = decorator or kind
        self._items: dict[str, T] = {}
        self._homes: dict[str, str] = {}
        self._frozen = False

    def add(self, item: T) -> None:
        """Register an item; raises ContractError for a clash or after the freeze."""
        module = item.function.__module__
        home = self._homes.get(item.name, module)
        known = self._items.get(item.name) if home == module else self.get(item.name)
        if known is not None and known.function.__module__ != module:
            raise ContractError(
                f"{self.kind} '{item.name}' is already registered by {known.origin}; "
                f"{item.origin} must choose another name"
            )
        if self._frozen and module != "__main__" and item.name not in self._homes:
            raise ContractError(f"{self.kind} '{item.name}' comes after start-up ({item.origin})")
        self._items[item.name] = item

    def get(self, name: str) -> T:
        """The item of that name; raises UserError naming the nearest ones."""
        if name not in self:
            raise self._not_loaded(name) or unknown(self.kind, name, self.names())
        if name not in self._items:
            import_module(self._homes[name])
        return self._items[name]

    def _not_loaded(self, name: str) -> UserError | None:
        """Return the error for a name that a package in the working directory would register."""
        for init in sorted(Path().glob("*/__init__.py")):
            modules = _modules(init.parent.name, init.parent)
            if any((self.decorator, name) in registered for _, registered in modules):
                return not_loaded(self.kind, name, init.parent.name)
        return None

    def __contains__(self, name: object) -> bool:
        return name in self._items or name in self._homes

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted({*self._items, *self._homes})

    def all(self) -> list[T]:
        """All items, by name."""
        return [self.get(name) for name in self.names()]

    def expect(self, name: str, module: str) -> None:
        """Let a module register a name when it is asked for."""
        self._homes[name] = module

    @contextmanager
    def open(self) -> Iterator[None]:
        """Take what plug-ins add while they are loaded, and freeze afterwards."""
        self._frozen = False
        _open.append(self)
        try:
            yield
        finally:
            _open.remove(self)
            self.freeze()

    def freeze(self) -> None:
        """Refuse whatever imported modules would still add."""
        self._frozen = True


_open: list[Registry[Any]] = []


def import_modules(package: str, folder: Path) -> None:
    """Let every module below the folder of a package register what it holds.

    While registries are open, that is when one of a module's names is first asked for; names are
    read from its text. Else every module is imported.
    """
    for module, names in _modules(package, folder):
        if not _open:
            import_module(module)
        for registry in _open:
            for decorator, name in names:
                if decorator == registry.decorator:
                    registry.expect(name, module)


@cache
def _modules(package: str, folder: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    modules = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        module = ".".join((package, *parts)).removesuffix(".__init__")
        modules.append((module, _REGISTERED.findall(path.read_text(encoding="utf-8"))))
    return modules
