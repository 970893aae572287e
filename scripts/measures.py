"""Measure the code: size, imports, names, settings, and the files that three operations use.

docs/architecture.md shows the results and describes the three operations. `tests/test_layering.py`
checks the measures that must be zero. `--files` lists the files of the operations.
Usage: python scripts/measures.py [--files]
"""

import ast
import contextlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import networkx as nx
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from fake_openai import running  # noqa: E402

from graphrag_bench.cli.main import GROUPS, main  # noqa: E402
from graphrag_bench.config.plugins import load_plugins  # noqa: E402
from graphrag_bench.contract import builders, operators  # noqa: E402
from graphrag_bench.llm.cache import Cache  # noqa: E402
from graphrag_bench.llm.ledger import Budget, Ledger  # noqa: E402
from graphrag_bench.llm.openai_compatible import OpenAICompatible  # noqa: E402
from graphrag_bench.prompts import Message, Prompt  # noqa: E402

CODE = ("graphrag_bench", "operators", "methods")
COMMAND = ("run", "dataset=toy", "method=bm25", "limit=1", "answer=off", "reference_rows=off")
FIRST_STEP = "graphrag_bench/pipeline/steps.py", "run_steps"
READERS = {"getsource", "getsourcelines", "getcomments", "getdoc", "get_docstring"}
"""Functions that read source text or docstrings, in addition to `ast.parse`."""


def files(*folders: str) -> list[Path]:
    """Return the Python files in some folders of the project, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def n_lines(*folders: str) -> int:
    """Return the number of lines of the Python files in some folders."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in files(*folders))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"))


def module_of(path: Path) -> str:
    """Return the dotted module name of a file of the project."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, also in functions and for type checking."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, f"{path} imports relatively"
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def part_of(module: str) -> str:
    """Return the top-level module or folder inside `graphrag_bench`; "" for other packages."""
    package, *rest = module.split(".")
    return rest[0] if package == "graphrag_bench" and rest else ""


@cache
def import_cycles() -> list[list[str]]:
    """Return the groups of modules, and of folders of `graphrag_bench`, that import each other."""
    modules = {module_of(path): path for path in files(*CODE)}
    every = [
        (module, target) for module, path in modules.items()
        for target in {*imports(path)} & modules.keys() - {module, "graphrag_bench"}
    ]  # fmt: skip
    folders = [(part_of(one), part_of(other)) for one, other in every]
    folders = [(own, part) for own, part in folders if own and part]
    graphs = map(nx.DiGraph, (every, folders))
    groups = (group for graph in graphs for group in nx.strongly_connected_components(graph))
    return sorted(sorted(group) for group in groups if len(group) > 1)


def classes_defined_twice() -> dict[str, list[str]]:
    """Return the public classes that several modules define, with these modules."""
    places = defaultdict(list)
    for path in files(*CODE):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module_of(path))
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def source_readers() -> list[str]:
    """Return the places outside `fingerprint` that read source text or docstrings."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files(*CODE) if path.stem != "fingerprint" for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute)
        and (node.attr in READERS or ast.unparse(node) == "ast.parse")
    ]  # fmt: skip


def unvaried_settings() -> list[str]:
    """Return the settings of operators and builders, except prompts, that no file sets.

    YAML sets a setting by a key, code by a keyword or a key, and a page by `.NAME=` in a command.
    """
    load_plugins()
    words = ["git", "ls-files", "*.yaml", "*.md"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    varied = set()
    for path in map(ROOT.joinpath, listed.splitlines()):
        text, is_page = path.read_text("utf-8"), path.suffix == ".md"
        varied |= {*(re.findall(r"\.(\w+)=", text) if is_page else _names(yaml.safe_load(text)))}
    for path in files(*CODE, "tests", "scripts"):
        own = path.relative_to(ROOT).parts[0] in CODE
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.keyword):
                varied.add(str(node.arg))
            elif isinstance(node, ast.Dict) and not own:
                varied |= {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
    return [
        f"{one.name}.{name}"
        for one in [*operators.all(), *builders.all()] for name, setting in one.settings.items()
        if name not in varied and not isinstance(setting.default, Prompt)
    ]  # fmt: skip


def _names(value: Any) -> Iterator[str]:
    """Yield the keys inside a value of YAML; dotted keys are split."""
    if isinstance(value, Mapping):
        yield from ".".join(map(str, value)).split(".")
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from _names(one)


def files_of(work: Callable[[], object], until: tuple[str, str] = ("", "")) -> set[str]:
    """Return the files whose functions `work` calls, up to the first call of `until`."""
    called: set[tuple[str, str]] = set()
    folders = tuple(f"{ROOT / folder}/" for folder in CODE)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(folders) and until not in called:
            called.add((str(Path(code.co_filename).relative_to(ROOT)), code.co_name))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {file for file, _ in called}


def run(home: Path) -> None:
    """Run the command in `COMMAND` in this process, and discard its output."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main([*COMMAND, f"paths.home={home}"]) == 0


def call(home: Path) -> set[str]:
    """Return the files of one uncached model call with cache, budget and ledger."""
    ledger, budget = Ledger(home / "ledger.jsonl"), Budget(tokens=1_000_000)
    with running() as server:
        client = OpenAICompatible("fake", server.scenario(text="yes"), None)
        log = ledger.logger("answer", "step")
        model = client.attached(store=Cache(home / "replies.sqlite"), budget=budget, log=log)
        model.complete([(Message("user", "warm?"),)], max_tokens=5)
        return files_of(lambda: model.complete([(Message("user", "ready?"),)], max_tokens=5))


if __name__ == "__main__":
    print(f"lines of graphrag_bench, operators, methods: {n_lines(*CODE):,}")
    print(f"files of these: {len(files(*CODE))}")
    print(f"lines of tests / scripts: {n_lines('tests'):,} / {n_lines('scripts'):,}")
    print(f"commands: {sum(map(len, GROUPS.values()))}")
    print(f"import cycles of modules or folders: {len(import_cycles())}")
    print(f"public classes defined twice: {len(classes_defined_twice())}")
    print(f"places that read source text, without the fingerprint: {len(source_readers())}")
    print(f"settings of operators and builders that no file varies: {len(unvaried_settings())}")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(home)
        shutil.rmtree(home / "runs")
        before = files_of(lambda: run(home), FIRST_STEP)
        places = {tuple(file.split("/")[:2][: file.count("/")]) for file in before}
        print(f"folders from the command of a run to its first step: {len(places)}")
        shutil.rmtree(home / "runs")
        ways = {"a question, warm": files_of(lambda: run(home))}
        ways |= {"a finished run": files_of(lambda: run(home)), "a model call": call(home)}
    for way, called in ways.items():
        print(f"{way}: {len(called)} files")
        if "--files" in sys.argv:
            print("", *sorted(called), sep="\n  ")
