"""Fingerprints of content and of code, from which every run and artifact key is made.

A function's fingerprint covers its syntax tree without comments and docstrings, and in the same
way every function, class and constant of the same code base that it refers to, directly or through
others. Editing a line that can change a result changes it; editing a comment does not, and neither
does editing what registers functions, reports progress, counts long texts or words errors.
"""

import ast
import hashlib
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

KEY_LENGTH = 12
_CORE = ("graphrag_bench", "operators", "methods")
_APART = (
    "graphrag_bench.contract",
    "graphrag_bench.registry",
    "graphrag_bench.progress",
    "graphrag_bench.errors",
    "graphrag_bench.embedding.long_texts",
)
_REGISTER = ("operator", "artifact")
"""Decorators that say how a function is registered."""
_PLAIN = (str, int, float, bool, bytes, tuple, frozenset, type(None))


def digest(*parts: object) -> str:
    """The first 12 hex digits of the sha256 of the parts written as canonical JSON."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def file_digest(path: Path) -> str:
    """The first 12 hex digits of the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:KEY_LENGTH]


def code(function: Callable[..., Any]) -> str:
    """The fingerprint of a function or class and of all it refers to in the same code base."""
    root = (function.__module__ or "").partition(".")[0]
    roots = frozenset({*_CORE, root})
    parts: dict[str, str] = {}
    _collect(inspect.unwrap(function), roots, parts)
    return digest(sorted(parts.items()))


def _collect(item: Any, roots: frozenset[str], parts: dict[str, str]) -> None:
    name = f"{item.__module__}:{item.__qualname__}"
    if name not in parts and item.__module__ not in _APART:
        tree = _tree(item)
        namespace = _namespace(item, tree, roots)
        _follow(name, tree, item.__module__, namespace, roots, parts)


def _follow(
    name: str,
    tree: ast.AST,
    module: str,
    namespace: dict[str, Any],
    roots: frozenset[str],
    parts: dict[str, str],
) -> None:
    parts[name] = _dump(tree)
    for path in _references(tree):
        if path[0] == "__file__":
            continue  # where the project lies is not what it does
        target = _resolve(path, namespace)
        if isinstance(target, FunctionType | type) or hasattr(target, "__wrapped__"):
            target = inspect.unwrap(target)
            if (target.__module__ or "").partition(".")[0] in roots:
                _collect(target, roots, parts)
        elif isinstance(target, _PLAIN) and path[0] in namespace:
            parts[f"{name}/{'.'.join(path)}"] = repr(
                sorted(target, key=repr) if isinstance(target, frozenset) else target
            )
        elif not isinstance(target, ModuleType):
            for home, label, value in _assigned(module, path, namespace, roots):
                if f"{home}={label}" not in parts and home not in _APART:
                    inside = vars(sys.modules[home])
                    _follow(f"{home}={label}", value, home, inside, roots, parts)


def _assigned(
    module: str, path: tuple[str, ...], namespace: dict[str, Any], roots: frozenset[str]
) -> Iterator[tuple[str, str, ast.AST]]:
    if len(path) == 2:
        inside = namespace.get(path[0])
        if not isinstance(inside, ModuleType):
            return
        module, path = inside.__name__, path[1:]
    node = _definitions(module).get(path[0]) if module.partition(".")[0] in roots else None
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = {alias.asname or alias.name: alias.name for alias in node.names}
        yield from _assigned(node.module, (names[path[0]],), {}, roots)
    elif isinstance(node, ast.expr):
        yield module, path[0], node


def _namespace(item: Any, tree: ast.AST, roots: frozenset[str]) -> dict[str, Any]:
    module = sys.modules.get(item.__module__)
    names: dict[str, Any] = dict(vars(module)) if module else {}
    if isinstance(item, FunctionType):
        names.update(item.__globals__)
        cells = zip(item.__code__.co_freevars, item.__closure__ or (), strict=True)
        names.update({name: cell.cell_contents for name, cell in cells})
    for home, name, label in _imports(tree):
        if home.partition(".")[0] in roots:
            names[label] = getattr(importlib.import_module(home), name, None)
    return names


@lru_cache(maxsize=None)
def _nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


@lru_cache(maxsize=None)
def _imports(tree: ast.AST) -> tuple[tuple[str, str, str], ...]:
    nodes = [node for node in _nodes(tree) if isinstance(node, ast.ImportFrom)]
    return tuple(
        (node.module, alias.name, alias.asname or alias.name)
        for node in nodes
        if node.module and not node.level
        for alias in node.names
    )


@lru_cache(maxsize=None)
def _references(tree: ast.AST) -> tuple[tuple[str, ...], ...]:
    names: set[tuple[str, ...]] = set()
    for node in _nodes(tree):
        if isinstance(node, ast.Name):
            names.add((node.id,))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add((node.value.id, node.attr))
    return tuple(sorted(names))


def _resolve(path: tuple[str, ...], namespace: dict[str, Any]) -> Any:
    target = namespace.get(path[0], inspect)
    if len(path) == 2:
        return getattr(target, path[1], inspect) if isinstance(target, ModuleType) else inspect
    return target


def _tree(item: Any) -> ast.AST:
    node = _definitions(item.__module__).get(item.__qualname__)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return _bare(node)
    return _parsed(inspect.getsource(item))


@lru_cache(maxsize=None)
def _parsed(source: str) -> ast.AST:
    flush = inspect.cleandoc("\n" + source) if source[0].isspace() else source
    return _bare(ast.parse(flush))


@lru_cache(maxsize=None)
def _bare(tree: ast.AST) -> ast.AST:
    """The tree without docstrings, and without what registers functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
            node.decorator_list = [one for one in node.decorator_list if not _registers(one)]
    return tree


def _registers(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = getattr(function, "attr", None) or getattr(function, "id", None)
    return name in _REGISTER


@lru_cache(maxsize=None)
def _definitions(module_name: str) -> dict[str, ast.AST]:
    """The top-level definitions of a module, by name; nothing where it has no file.

    Functions and classes, the expressions that names are assigned, and `from` imports.
    """
    module = sys.modules.get(module_name)
    path = getattr(module, "__file__", None)
    if not path or module_name == "__main__":
        return {}
    definitions: dict[str, ast.AST] = {}
    for node in ast.parse(Path(path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            definitions.update({alias.asname or alias.name: node for alias in node.names})
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [part for target in targets for part in ast.walk(target)]
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            definitions.update(dict.fromkeys(names, node.value))
    return definitions


@lru_cache(maxsize=None)
def _dump(tree: ast.AST) -> str:
    return ast.dump(tree)
