"""What changes the fingerprint of code: whatever can change a result, and nothing else."""

import importlib
import sys
from pathlib import Path

import pytest

from graphrag_bench import contract, fingerprint
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.fingerprint import KEY_LENGTH, code, digest
from graphrag_bench.graphs.chunking import token
from graphrag_bench.registry import Registry

LAB = '''
"""A laboratory's plug-in: `pick` stands for an operator."""

import re
from collections.abc import Callable

from graphrag_bench.contract import operator
from graphrag_bench.values import Query, Question
from lab import words
from lab.words import STOP, cut as cut_words

WEIGHT = 2
NAMES = ("a", "b")
PATTERN = re.compile("[a-z]+")
RULES = {"longest": lambda found: max(found), "first": lambda found: first(found)}


def first(found):
    """The first word."""
    return found[0]


def pick(text, rule: Callable = first):
    """The picked word.

    It is picked by a rule.
    """
    from lab.late import last

    # why: the rule decides
    found = [word for word in cut_words(text, words.SEPARATOR) if word not in STOP]
    named = PATTERN.findall(rule(found)) or RULES["longest"](found)
    return named * WEIGHT, last(found), Picker().names


class Picker:
    """Picks."""

    names = NAMES

    def shout(self, text):
        """A loud word."""
        return text.upper()


@operator("question.picked", unordered="as picked")
def picked(question: Question) -> Query:
    """The picked word as a query."""
    return Query((str(pick(question.text)),))


def unused(text):
    return text.lower()
'''
WORDS = '''
SEPARATOR = ","
STOP = ["the"]


def cut(text, separator):
    """The parts of a text."""
    return [strip(part) for part in text.split(separator)]


def strip(text):
    return text.strip()
'''
LATE = """
def last(found):
    return found[-1]
"""


@pytest.fixture
def fingerprint_of(tmp_path, monkeypatch):
    """The fingerprint of something in the plug-in, with one text of its files replaced."""

    def compute(name: str, old: str = "", new: str = "") -> str:
        folder = tmp_path / digest(old, new) / "lab"
        folder.mkdir(parents=True, exist_ok=True)
        sources = {"__init__": LAB, "words": WORDS, "late": LATE}
        assert any(old in source for source in sources.values())
        for stem, source in sources.items():
            edited = source.replace(old, new) if old else source
            (folder / f"{stem}.py").write_text(edited)
        monkeypatch.setattr(contract, "operators", Registry("operator"))
        monkeypatch.syspath_prepend(str(folder.parent))
        for module in [module for module in sys.modules if module.partition(".")[0] == "lab"]:
            monkeypatch.delitem(sys.modules, module)
        fingerprint._definitions.cache_clear()
        return code(getattr(importlib.import_module("lab"), name))

    yield compute
    fingerprint._definitions.cache_clear()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("named * WEIGHT", "WEIGHT * named", id="a line of the function"),
        pytest.param("rule: Callable = first", "rule: Callable = max", id="a default"),
        pytest.param("return found[0]", "return found[1]", id="a function it calls"),
        pytest.param("text.split(", "text.rsplit(", id="an imported function"),
        pytest.param("text.strip()", "text.rstrip()", id="a function that one calls"),
        pytest.param("found[-1]", "found[-2]", id="a function it imports for itself"),
        pytest.param("text.upper()", "text.title()", id="a class it makes"),
        pytest.param("WEIGHT = 2", "WEIGHT = 3", id="a number"),
        pytest.param('("a", "b")', '("a", "c")', id="a tuple in a class it makes"),
        pytest.param("[a-z]+", "[a-y]+", id="a pattern"),
        pytest.param("max(found)", "min(found)", id="a table of functions"),
        pytest.param('SEPARATOR = ","', 'SEPARATOR = ";"', id="a constant of another module"),
        pytest.param('["the"]', '["the", "an"]', id="an imported list"),
    ],
)
def test_an_edit_that_can_change_the_result_changes_the_fingerprint(fingerprint_of, old, new):
    assert fingerprint_of("pick", old, new) != fingerprint_of("pick")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("# why: the rule decides", "# because", id="a comment"),
        pytest.param("It is picked by a rule.", "By a rule.", id="its docstring"),
        pytest.param("The parts of a text.", "Parts.", id="the docstring of what it calls"),
        pytest.param('"""Picks."""', '"""A picker."""', id="the docstring of a class"),
        pytest.param("    return text.lower()", "    return 7", id="a function it does not call"),
        pytest.param("text.split(separator)", "text.split( separator )", id="spaces"),
    ],
)
def test_an_edit_that_cannot_change_the_result_changes_nothing(fingerprint_of, old, new):
    assert fingerprint_of("pick", old, new) == fingerprint_of("pick")


def test_functions_that_differ_in_what_they_close_over_differ():
    def scaled(by: int):
        def scale(x: int) -> int:
            return x * by

        return scale

    assert code(scaled(2)) != code(scaled(3))
    assert code(scaled(2)) == code(scaled(2))


def test_how_an_operator_is_registered_is_no_part_of_it(fingerprint_of):
    same = fingerprint_of("picked")
    assert fingerprint_of("picked", "as picked", "by luck") == same
    assert fingerprint_of("picked", "str(pick", "repr(pick") != same


def test_the_registry_the_progress_bar_and_the_wording_of_errors_are_no_part_of_a_builder():
    texts: dict[str, str] = {}
    fingerprint._collect(token, frozenset({"graphrag_bench"}), texts)
    modules = {name.partition(":")[0].partition("=")[0] for name in texts}
    assert "graphrag_bench.text" in modules
    assert not modules & {"graphrag_bench.contract", "graphrag_bench.registry"}
    assert not modules & {"graphrag_bench.progress", "graphrag_bench.errors"}


def test_a_digest_is_twelve_hex_digits_of_the_canonical_json():
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    assert digest(1) != digest("1")
    assert len(digest()) == KEY_LENGTH == 12


def test_no_fingerprint_depends_on_where_the_project_lies() -> None:
    load_plugins()
    here = str(Path(fingerprint.__file__).parents[1])
    for item in [*contract.operators.all(), *contract.builders.all()]:
        function = getattr(item, "batch", None) or item.function
        texts: dict[str, str] = {}
        fingerprint._collect(function, frozenset({"graphrag_bench", "operators", "methods"}), texts)
        assert texts
        assert not [name for name, text in texts.items() if here in text], item.name
