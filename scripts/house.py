"""Measures of the code: size, imports, names, settings. `python scripts/ways.py` prints them.

`tests/test_layering.py` holds those that must be zero.
"""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import yaml

from graphrag_bench.cli.main import GROUPS
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import builders, operators
from graphrag_bench.prompts import Prompt

ROOT = Path(__file__).resolve().parent.parent
CODE = ("graphrag_bench", "operators", "methods")
READERS = {"getsource", "getsourcelines", "getcomments", "getdoc", "get_docstring"}
"""Functions that read source text or docstrings; `ast.parse` is one more."""


def measures() -> list[tuple[str, str]]:
    """Return the name and the value of each measure of the sources."""
    settings = sum(map(len, unvaried_settings().values()))
    return [
        ("lines of graphrag_bench, operators, methods", f"{lines(*CODE):,}"),
        ("files of these", f"{len(files(*CODE))}"),
        ("lines of tests / scripts", f"{lines('tests'):,} / {lines('scripts'):,}"),
        ("commands", f"{sum(map(len, GROUPS.values()))}"),
        ("circles of imports, of modules or folders", f"{len(circles())}"),
        ("public classes defined twice", f"{len(classes_defined_twice())}"),
        ("places that read source text, but for the fingerprint", f"{len(readers_of_source())}"),
        ("settings of operators and builders that no file varies", f"{settings}"),
    ]


def files(*folders: str) -> list[Path]:
    """Return the Python files below some folders of the project, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def lines(*folders: str) -> int:
    """Return the number of lines of the Python files below some folders."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in files(*folders))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"))


def module_of(path: Path) -> str:
    """Return the dotted name of a file of the project."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, in functions and for type checkers too."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, f"{path} imports relatively"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part_of(module: str) -> str:
    """Return the module or folder of `graphrag_bench` that a dotted name is in; "" for others."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "graphrag_bench" else ""


@cache
def circles() -> list[list[str]]:
    """Return the groups of modules, and of parts of the core, that import each other."""
    modules = {module_of(path): path for path in files(*CODE)}
    every, parts = nx.DiGraph(), nx.DiGraph()
    for module, path in modules.items():
        for target in set(imports(path)) & (modules.keys() - {module, "graphrag_bench"}):
            every.add_edge(module, target)
            if (own := part_of(module)) != (part := part_of(target)) and own and part:
                parts.add_edge(own, part)
    groups = [*nx.strongly_connected_components(every), *nx.strongly_connected_components(parts)]
    return sorted(sorted(group) for group in groups if len(group) > 1)


def classes_defined_twice() -> dict[str, list[str]]:
    """Return the public classes that several modules define, with these modules."""
    places = defaultdict(list)
    for path in files(*CODE):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module_of(path))
    return {name: modules for name, modules in sorted(places.items()) if len(modules) > 1}


def readers_of_source() -> list[str]:
    """Return the places, but for the fingerprint's, that read source text or docstrings."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files(*CODE) if path.stem != "fingerprint"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute)
        and (node.attr in READERS or ast.unparse(node) == "ast.parse")
    ]  # fmt: skip


def unvaried_settings() -> dict[str, list[str]]:
    """Return the settings of operators and builders that no file of the project sets.

    YAML files set them by a key, code by a keyword or a key, commands of pages by a word.
    Prompts are left out: they are settings so that their content gets into keys.
    """
    load_plugins()
    varied = {name for path in _tracked("*.yaml") for name in _names(path)}
    varied |= {
        str(node.arg)
        for path in files(*CODE, "tests", "scripts")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.keyword)
    }
    varied |= {
        str(key.value)
        for path in files("tests", "scripts")
        for node in ast.walk(tree_of(path)) if isinstance(node, ast.Dict)
        for key in node.keys if isinstance(key, ast.Constant)
    }  # fmt: skip
    pages = _tracked("*.md")
    varied |= {name for page in pages for name in re.findall(r"\.(\w+)=", page.read_text("utf-8"))}
    unvaried = defaultdict(list)
    for one in [*operators.all(), *builders.all()]:
        for name, setting in one.settings.items():
            if name not in varied and not isinstance(setting.default, Prompt):
                unvaried[one.name].append(name)
    return dict(unvaried)


def _tracked(pattern: str) -> list[Path]:
    words = ["git", "ls-files", pattern]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines()]


def _names(path: Path) -> Iterator[str]:
    """Yield the keys of a YAML file, and the parts of dotted keys."""

    def inside(value: Any) -> Iterator[str]:
        if isinstance(value, Mapping):
            for key, one in value.items():
                yield from str(key).split(".")
                yield from inside(one)
        elif isinstance(value, list):
            for one in value:
                yield from inside(one)

    yield from inside(yaml.safe_load(path.read_text("utf-8")))
