"""Changes of code that change its fingerprint, and the modules that an operator runs."""

import importlib
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import count
from pathlib import Path
from types import FrameType, ModuleType

import pytest
from toy_runs import TOY

from graphrag_bench import contract, fingerprint
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.fingerprint import ReachedCode, code, digest
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment

HELPERS = '''
def sign(x):
    """The sign."""
    return x  # as it is


class Scale:
    factor = 1.0
'''
FORMS = {
    "import a.b as c": "import lab.helpers as h\ndef op(x):\n    return h.sign(x)",
    "from .b import c as d": "from .helpers import sign as s\ndef op(x):\n    return s(x)",
    "from b import *": "from lab.helpers import *\ndef op(x):\n    return sign(x)",
    "a parent class": "from .helpers import Scale\nclass A(Scale): ...\ndef op(x): return A()",
    "in a try": (
        "try:\n    from nowhere_ import sign\nexcept ImportError:\n    from .helpers import sign\n"
        "def op(x):\n    return sign(x)"
    ),
    "import_module of a level": (
        "from importlib import import_module as load\n"
        "def op(x):\n    return load('.helpers', __package__).sign(x)"
    ),
    "import_module of a computed name": (
        "from importlib import import_module\nNAME = 'helpers'\n"
        "def op(x):\n    return import_module(f'lab.{NAME}').sign(x)"
    ),
    "__import__": "def op(x):\n    return __import__('lab.helpers').helpers.sign(x)",
    "a chain": "from .middle import again\ndef op(x):\n    return again(x)",
    "exported by a package": "from lab.inner import exported\ndef op(x):\n    return exported(x)",
}
PACKAGE = {
    "__init__.py": "",
    "middle.py": "def again(x):\n    from lab import helpers\n    return helpers.sign(x)\n",
    "inner/__init__.py": "from ..helpers import sign as exported\n",
    "other.py": "def sign(x):\n    return 1\n",
    "helpers.py": HELPERS,
}


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    numbers = count()

    def imported(ops, **edited):
        folder = tmp_path / str(next(numbers))
        for name, text in {**PACKAGE, "ops.py": ops, **edited}.items():
            path = folder / "lab" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(folder))
            result = code(importlib.import_module("lab.ops").op)
            for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
                del sys.modules[name]
        return result

    return imported


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_import_is_in_the_fingerprint(laboratory, form):
    first = laboratory(FORMS[form])
    edited = HELPERS.replace("return x", "return -x")
    assert laboratory(FORMS[form], **{"helpers.py": edited}) != first
    other = laboratory(FORMS[form], **{"other.py": "def sign(x):\n    return 2\n"})
    assert (other == first) == ("computed" not in form)


def test_modules_in_all_are_in_the_fingerprint(laboratory):
    ops = "from lab.inner import *\ndef op(x):\n    return again.sign(x)"
    for text in (
        "__all__ =",
        "names = __all__ =",
        "__all__: list[str] =",
        "__all__ = []\n__all__ +=",
    ):
        package = {"inner/__init__.py": f"{text} ['again']\n"}
        first, other = (laboratory(ops, **package, **{"inner/again.py": f"X = {n}"}) for n in "12")
        assert first != other


def test_all_code_of_a_module_counts_except_comments_and_docstrings(laboratory):
    form = FORMS["a chain"]
    first = laboratory(form)
    for old, new in (("factor = 1.0", "factor = 2.0"), ("sign(x)", "sign(x=0)")):
        assert laboratory(form, **{"helpers.py": HELPERS.replace(old, new)}) != first
    for old, new in (("The sign.", "1 or -1."), ('"""The sign."""', ""), ("# as it", "# a")):
        assert laboratory(form, **{"helpers.py": f"{HELPERS.replace(old, new)}\n\n"}) == first
    read = 'def op(x):\n    """{}"""\n    return op.__doc__'
    assert laboratory(read.format("Answer.")) != laboratory(read.format("Answer briefly."))


def test_unparsable_files_count_by_their_bytes(laboratory):
    ops = "try:\n    from . import bad\nexcept SyntaxError:\n    pass\ndef op(x):\n    return x"
    latin = [f"# -*- coding: latin-1 -*-\nE = '{sign}'\n".encode("latin-1") for sign in "éè"]
    assert len({laboratory(ops, **{"bad.py": text}) for text in [*latin, "a b", "a c"]}) == 4


def scaled(by):
    def scale(x):
        return x * by() if callable(by) else x * by

    return scale


def test_closures_are_in_the_fingerprint_and_digests_of_canonical_json():
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    assert digest(1) != digest("1") and len(digest()) == 12
    assert code(scaled(2)) == code(scaled(2)) != code(scaled(3))
    assert code(scaled(scaled(2))) != code(scaled(scaled(3)))


def defined(text, **known):
    module = ModuleType("cell")
    vars(module).update(known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cell", module)
        exec(text, vars(module))
        return code(module.op)


CELL = """
import json
from graphrag_bench import text
K, STOP = 1, {"the", "a"}
class Scale:
    factor = 1.0
    def of(self, x): return helper(x) * self.factor
def helper(x):
    return x + K
def op(x, *, top=3):
    "Scale."
    return op if x in STOP else Scale().of(x), text, "a" in {"b", "c"}
"""


def test_notebook_code_counts_with_its_globals():
    first = defined(CELL)
    edits = ["x + K/x - K", "K, STOP = 1/K, STOP = 2", '"a"}/"an"}', "factor = 1/factor = 2",
             "helper(x) */helper(x) +", "top=3/top=4", '{"b"/{"d"']  # fmt: skip
    assert all(defined(CELL.replace(*edit.split("/"))) != first for edit in edits)
    same = CELL.replace('    "Scale."\n', "    # a scale\n\n").replace("import json", "import re")
    assert defined(same) == first == defined(CELL, unread=2)
    # an attribute that replaces a cached property
    text = (
        "from functools import cached_property\nclass A:\n    n = cached_property(len)\n"
        "class B(A):\n    n = 0\nb = B()\nb.n = {}\ndef op(): return b.n"
    )
    assert defined(text.format(1)) != defined(text.format(2))


def test_a_linked_module_depends_on_its_neighbours_and_may_block_imports(tmp_path, monkeypatch):
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "linked_.py").write_text(
        "from importlib import import_module\ntry:\n    import blocked_\nexcept ImportError: ...\n"
        "def op(x): return import_module(x)\n"
    )
    (tmp_path / "linked_.py").symlink_to(tmp_path / "away" / "linked_.py")
    for name in ("blocked_", "beside_"):
        (tmp_path / f"{name}.py").write_text("X = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "blocked_", None)
    reached = ReachedCode(importlib.import_module("linked_").op).modules
    assert {"linked_", "blocked_", "beside_"} <= reached.keys()


def test_no_operator_reaches_the_command_line_or_runs():
    """Otherwise each edit of a command would change every key."""
    load_plugins()
    for item in [*contract.operators.all(), *contract.builders.all()]:
        names = ReachedCode(item.function).modules
        assert {item.function.__module__, "graphrag_bench.values"} <= names.keys()
        outside = ("graphrag_bench.cli", "graphrag_bench.run")
        assert not [name for name in names if name.startswith(outside)]


def test_the_first_statement_of_a_script_may_define_an_operator(tmp_path):
    """No folder of the core that has no `__init__` was imported before."""
    script = tmp_path / "own.py"
    script.write_text(
        "import graphrag_bench as gb\n@gb.operator('chunk.own')\n"
        "def own(chunks: gb.Ranked[gb.Chunk]) -> gb.Ranked[gb.Chunk]:\n    return chunks\n"
    )
    subprocess.run([sys.executable, str(script)], check=True)


ROOT = Path(fingerprint.__file__).parents[1]
OURS = tuple(f"{ROOT / name}/" for name in fingerprint.CORE)
APART = ("graphrag_bench/llm/scripted.py", "graphrag_bench/pipeline/reader_prompts.py")
"""A model with its own identity, and a prompt whose class is in the step's key."""
METHODS = ("hipporag2", "hlightrag", "tog")
N_TRACED = 50


@pytest.mark.slow
def test_keys_cover_every_module_that_runs(home):
    load_plugins()
    every = [*contract.operators.all(), *contract.builders.all()]
    functions = {item.name: item.function for item in every}
    names = {id(function.__code__): name for name, function in functions.items()}
    ran_by: dict[str, set[str]] = defaultdict(set)
    """The files that ran on the toy set, each with the operators and builders that ran it."""
    seen: Counter[int] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code, above = frame.f_code, frame
        seen[id(code)] += 1
        if seen[id(code)] > N_TRACED or not code.co_filename.startswith(OURS):
            return
        while id(above.f_code) not in names:
            if above.f_back is None or above.f_back.f_code.co_qualname.startswith("RowScores."):
                return  # lazy scores belong to the operator that returned them
            above = above.f_back
        ran_by[code.co_filename].add(names[id(above.f_code)])

    for method in METHODS:
        words = [*TOY, "cache.mode=off", "workers=1", "limit=2", f"method={method}"]
        experiment = Experiment.prepare(compose_settings(words))
        sys.settrace(note)
        try:
            execute(experiment)
        finally:
            sys.settrace(None)
    ran = {file: users for file, users in ran_by.items() if not file.endswith(APART)}
    users = set().union(*ran.values())
    assert len(ran) > 40 and len(users) > 25
    covered = {name: ReachedCode(functions[name]).modules for name in users}
    modules = {file: ".".join(Path(file).relative_to(ROOT).with_suffix("").parts) for file in ran}
    pairs = [(name, modules[file]) for file, users in ran.items() for name in users]
    assert [(name, module) for name, module in pairs if module not in covered[name]] == []
