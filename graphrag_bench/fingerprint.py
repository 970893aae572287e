"""Fingerprints of content and code, which are used in every run key and artifact key.

The fingerprint of a function covers the syntax trees, without docstrings, of its module and of all
modules that this module imports directly or indirectly, except installed libraries. Code without a
file, e.g. in a notebook cell, is covered by its instructions and the globals that they use.
"""

import ast
import dis
import hashlib
import inspect
import json
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from importlib.machinery import ModuleSpec
from importlib.util import resolve_name, spec_from_file_location
from itertools import accumulate
from operator import is_
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from graphrag_bench.errors import result_or_error
from graphrag_bench.files import read_cache, user_cache, write_cache

KEY_LENGTH = 12
_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
CORE = ("graphrag_bench", "operators", "methods")
"""The packages of this project."""
_SITE_FOLDERS = {"site-packages", "dist-packages"}
_LOADERS = {"import_module", "__import__"}
_IMPORT_FUNCTIONS = _LOADERS | {
    "spec_from_file_location", "SourceFileLoader", "run_path", "run_module", "iter_modules",
    "walk_packages", "resolve_name",
}  # fmt: skip
"""Functions that import computed names. A plug-in that uses them depends on its whole package."""
_IGNORED_ATTRIBUTES = {"__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__"}
_LITERALS = (str, int, float, complex, bool, bytes, type(None), type(...))
_ModuleCode = tuple[str, Sequence[str]]
"""The digest of a module, and the names of the modules that it imports."""
_Parsed = tuple[str, Sequence[tuple[str, Sequence[str]]], Sequence[str], bool]
"""The digest of a module, its imports as (module, names), the names in `__all__`, and whether names
of imported modules are computed. Relative imports keep their leading dots."""
_loaded: dict[str, tuple[list[object], _ModuleCode]] = {}
_stored_parses, _read = lru_cache(read_cache), lru_cache(Path.read_bytes)


def digest(*parts: object) -> str:
    """Return the first 12 hex digits of the sha256 of some values, written as canonical JSON."""
    return hashlib.sha256(_JSON.encode(parts).encode()).hexdigest()[:KEY_LENGTH]


def digest_rows(rows: Iterable[object]) -> str:
    """Return `digest(list(rows))`, but keep only one row in memory at a time."""
    content = hashlib.sha256(b"[[")
    for number, row in enumerate(rows):
        content.update(("," * bool(number) + _JSON.encode(row)).encode())
    content.update(b"]]")
    return content.hexdigest()[:KEY_LENGTH]


def file_digest(path: Path) -> str:
    """Return the first 12 hex digits of the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:KEY_LENGTH]


def stored_digest(path: Path) -> str:
    """Return the `file_digest` of a file. It is cached until the size or a time stamp changes."""
    stat = path.stat()
    return _cached_digest(path.resolve(), (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))


@lru_cache(maxsize=1024)
def _cached_digest(path: Path, stamp: tuple[int, int, int]) -> str:
    file = user_cache("weights.json")
    row = read_cache(file).get(str(path), [])
    if row[:3] != [*stamp]:
        row = [*stamp, file_digest(path)]
        write_cache(file, str(path), row)
    return str(row[3])


def code(item: Callable[..., Any]) -> str:
    """Return the fingerprint of a function or class and of all modules that it depends on."""
    reached = ReachedCode(item)
    return digest(reached.description, sorted(reached.modules.items()))


def is_core(module: str) -> bool:
    """Return whether a module is part of this project."""
    return module.partition(".")[0] in CORE


def identity_of(model: Any) -> str:
    """Return the identity of a model. The identity of a plug-in includes the code of its class."""
    while (own := is_core(type(model).__module__)) and hasattr(model, "inner"):
        model = model.inner
    return str(model.identity) if own else f"{model.identity}:{code(type(model))}"


class ReachedCode:
    """JSON `description` of a function or class, and digests of the `modules` that it needs."""

    def __init__(self, item: Callable[..., Any]) -> None:
        self.modules: dict[str, str] = {}
        package = (item.__module__ or "").partition(".")[0]
        self._included = dict.fromkeys([*CORE, "__main__", package], True)
        self._seen: dict[int, Any] = {}
        self.description = self._value(item)

    def _module(self, name: str) -> None:
        """Add a module and all modules that it imports, except modules of installed libraries."""
        todo = [name]
        while todo:
            name = todo.pop()
            if name in self.modules or not self._is_included(name):
                continue
            if (module := _module(name)) is not None:
                self.modules[name], imported = module
                todo += imported

    def _is_included(self, name: str) -> bool:
        top = name.partition(".")[0]
        if top not in self._included:
            spec = None if top in sys.stdlib_module_names else _spec(top)
            places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec else []
            installed = any(_SITE_FOLDERS & {*Path(place).parts} for place in places)
            self._included[top] = bool(spec) and not installed
        return self._included[top]

    def _value(self, value: Any) -> Any:
        """Return a description of a value as JSON, and add the modules that it depends on."""
        value = inspect.unwrap(value) if callable(value) else value
        if isinstance(value, _LITERALS):
            return repr(value)
        if id(value) in self._seen:
            return ["again", [*self._seen].index(id(value))]
        self._seen[id(value)] = value  # keep a reference, so that the id is not reused
        if isinstance(value, ModuleType):
            self._module(value.__name__)
            return value.__name__
        if isinstance(value, FunctionType):
            return [value.__module__, value.__qualname__, *self._function(value)]
        if isinstance(value, type):
            return [value.__module__, value.__qualname__, *self._class(value)]
        if isinstance(value, MethodType | staticmethod | classmethod):
            return self._value(value.__func__)
        if isinstance(value, property):
            return self._value((value.fget, value.fset))
        if isinstance(value, partial):
            return self._value((value.func, value.args, value.keywords))
        if isinstance(value, Mapping):
            return [[self._value(name), self._value(one)] for name, one in value.items()]
        if isinstance(value, Set):
            return sorted(map(self._value, value), key=repr)
        if isinstance(value, Sequence):
            return [self._value(one) for one in value]
        return [self._value(type(value)), self._content(value)]

    def _function(self, function: FunctionType) -> Iterator[Any]:
        file = _file(function.__module__ or "")
        self._module(function.__module__ or "")
        if file is None or Path(function.__code__.co_filename).resolve() != file:
            yield self._instructions(function.__code__, function)
        elif "<locals>" not in function.__qualname__:
            return  # the digest of the module covers the function
        assigned = (cell for cell in function.__closure__ or () if cell != CellType())
        values = [cell.cell_contents for cell in assigned]
        yield self._value((function.__defaults__, function.__kwdefaults__, *values))

    def _class(self, kind: type) -> Iterator[Any]:
        self._module(kind.__module__)
        without_file = kind.__module__ in sys.modules and _file(kind.__module__) is None
        if without_file and self._is_included(kind.__module__):
            own = {name: one for name, one in vars(kind).items() if name not in _IGNORED_ATTRIBUTES}
            yield self._value((own, kind.__bases__))

    def _content(self, value: Any) -> Any:
        kind = type(value)
        if self._is_included(kind.__module__) and hasattr(value, "__dict__"):
            cached = dict(inspect.getmembers_static(kind, lambda o: isinstance(o, cached_property)))
            return self._value({name: o for name, o in vars(value).items() if name not in cached})
        content = result_or_error(lambda: pickle.dumps(value, 4))
        return hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else "unknown"

    def _instructions(self, of: CodeType, function: FunctionType) -> list[Any]:
        lines: list[Any] = [of.co_exceptiontable.hex(), of.co_varnames]
        home, scope = "", function.__globals__
        for one in dis.get_instructions(of):
            argument = one.argval
            if isinstance(argument, CodeType):
                argument = self._instructions(argument, function)
            elif one.opname in ("LOAD_GLOBAL", "LOAD_NAME") and argument in scope:
                argument = [argument, self._value(scope[argument])]
            elif one.opname == "LOAD_CONST":
                if isinstance(argument, str) and _LOADERS & {*of.co_names}:
                    self._module(argument)
                argument = self._value(argument)
            elif one.opname == "IMPORT_NAME":
                home = str(argument)
                self._module(home)
            elif one.opname == "IMPORT_FROM":
                self._module(f"{home}.{argument}")
            lines.append([one.opname, argument if isinstance(argument, list) else repr(argument)])
        return lines


def _module(name: str) -> _ModuleCode | None:
    """Return the code of a module when it was last loaded, or None for a module without a file."""
    if (spec := _spec(name)) is None:
        return None
    objects: list[object] = []  # a reload or an edit replaces the spec, a value or its code
    if (loaded := sys.modules.get(name)) is not None:  # None blocks an import
        own = [*vars(loaded).values()]
        kinds = [one for one in own if isinstance(one, type) and one.__module__ == name]
        own += [one for kind in kinds for one in vars(kind).values()]
        objects = [getattr(one, "__code__", one) for one in own]
    before, module = _loaded.get(name, ([], None))
    if module and len(before) == len(objects) and all(map(is_, before, objects)):
        return module
    if (file := _file(name)) is None:
        return None
    content, imports, exported, computed = _cached_parse(file.read_bytes())
    names = _packages(name)
    names += [one for base in imports for one in _imported_names(*base, spec)]
    names += [f"{name}.{one}" for one in exported]
    if is_core(name):
        names = [one for one in names if is_core(one) and _file(one)]
    elif computed:
        names += _package_modules(name, Path(str(spec.origin)))  # not the target of a link
    module = content, list(dict.fromkeys(names))
    if objects:
        _loaded[name] = objects, module
    return module


def _imported_names(base: str, names: Sequence[str], spec: ModuleSpec) -> Iterator[str]:
    """Yield the names of possible modules in an import, and the packages that contain them."""
    with suppress(ImportError):  # beyond the top-level package
        base = resolve_name(base, spec.parent)
        inside = [f"{base}.{name}" for name in names]
        if not inside or base not in CORE or None in map(_spec, inside):
            yield base  # of a package of this project, only the submodules count
        yield from (*inside, *_packages(base))


@lru_cache(maxsize=None)
def _cached_parse(source: bytes) -> _Parsed:
    """Parse a source and cache the result on disk, because parsing slows down every command."""
    file, version = user_cache("modules.json"), sys.implementation.cache_tag.encode()
    key = hashlib.sha256(_read(Path(__file__)) + version + source).hexdigest()
    parsed: _Parsed | None = _stored_parses(file).get(key)
    if parsed is None:
        parsed = _parse(source)
        write_cache(file, key, parsed)
    return parsed


def _parse(source: bytes) -> _Parsed:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # compiled, or broken
        return hashlib.sha256(source).hexdigest(), (), (), False
    imports: list[tuple[str, Sequence[str]]] = []
    exported: list[str] = []
    read = b"__doc__" in source or b"getdoc" in source
    loaders, n_computed = set(_IMPORT_FUNCTIONS), 0
    for node in list(ast.walk(tree)):
        match node:
            case ast.Import(names):
                imports += [(alias.name, ()) for alias in names]
            case ast.ImportFrom(module, names, level):
                imports.append(("." * (level or 0) + (module or ""), [one.name for one in names]))
                known = (one for one in names if one.name in _IMPORT_FUNCTIONS)
                loaders |= {one.asname or one.name for one in known}
            case ast.Name() | ast.Attribute():
                n_computed += _last_name(node) in loaders
            case ast.Call(called, [ast.Constant(name), *_]):
                if _last_name(called) in loaders - _IMPORT_FUNCTIONS | _LOADERS:
                    imports.append((str(name), ()))
                    n_computed -= 1
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if "__all__" in map(_last_name, targets):
                    parts = ast.walk(node)
                    exported += [str(one.value) for one in parts if isinstance(one, ast.Constant)]
        if isinstance(body := getattr(node, "body", None), list) and not read:
            statements = [one for one in body if isinstance(one, ast.Expr)]
            texts = [one for one in statements if isinstance(one.value, ast.Constant)]
            node.body = [one for one in body if one not in texts]  # type: ignore[attr-defined]
    content = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return content, imports, exported, n_computed > 0


def _last_name(node: ast.expr) -> str:
    return getattr(node, "attr", None) or getattr(node, "id", None) or ""


def _packages(name: str) -> list[str]:
    """Return the packages above a module, except the three top-level packages of this project."""
    above = accumulate(name.split(".")[:-1], "{}.{}".format)
    return [one for one in above if one not in CORE]


def _package_modules(name: str, file: Path) -> list[str]:
    """Return all modules of a module's top-level package, or of its folder if it has no package."""
    top = name.partition(".")[0]
    spec = _spec(top)
    if not (folders := spec.submodule_search_locations if spec else None):
        return [path.stem for path in sorted(file.parent.glob("*.py"))]
    paths = [path.relative_to(at) for at in folders for path in sorted(Path(at).rglob("*.py"))]
    named = [".".join((top, *path.with_suffix("").parts)) for path in paths]
    return [one.removesuffix(".__init__") for one in named]


def _spec(name: str) -> ModuleSpec | None:
    """Return the spec of a module without importing it."""
    module = sys.modules.get(name)
    if isinstance(spec := getattr(module, "__spec__", None), ModuleSpec):
        return spec
    if file := getattr(module, "__file__", None):  # a script
        return spec_from_file_location(name, file)
    parent = name.rpartition(".")[0]
    above = _spec(parent) if parent else None
    if parent and (above is None or above.submodule_search_locations is None):
        return None
    places = above.submodule_search_locations if above else None
    finders = [finder.find_spec for finder in sys.meta_path if hasattr(finder, "find_spec")]
    try:
        return next(filter(None, (find(name, places) for find in finders)), None)
    except KeyError:  # a folder without `__init__` in a package that was not imported
        spec = ModuleSpec(name, None, is_package=True)
        folders = [Path(place, name.rpartition(".")[2]) for place in places or ()]
        spec.submodule_search_locations = [str(folder) for folder in folders if folder.is_dir()]
        return spec


def _file(name: str) -> Path | None:
    origin = spec.origin if (spec := _spec(name)) else None
    return Path(origin).resolve() if origin and Path(origin).is_file() else None
