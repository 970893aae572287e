"""Names to registered functions: clashes, nearest names, reloads."""

import importlib
import sys
from pathlib import Path
from types import FunctionType

import pytest

from graphrag_bench import contract
from graphrag_bench.contract import Operator, operator
from graphrag_bench.errors import UserError
from graphrag_bench.registry import ContractError, Registry
from graphrag_bench.values import Query, Question

LAB = """
from graphrag_bench.contract import operator
from graphrag_bench.values import Query, Question
from words import word


@operator("question.echo")
def echo(question: Question) -> Query:
    return Query((word(question.text),))
"""
WORDS = "def word(text):\n    return text.upper()\n"


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch):
    monkeypatch.setattr(contract, "operators", Registry("operator"))


def registered(name: str = "question.echo") -> Operator:
    return contract.operators.get(name)


def echo_of(module: str):
    """An operator as that module would define it, another object every time."""

    def echo(question: Question) -> Query:
        raise NotImplementedError

    echo.__module__ = module
    return echo


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the loose modules `lab` and `words`; `lab` is imported."""
    (tmp_path / "lab.py").write_text(LAB)
    (tmp_path / "words.py").write_text(WORDS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.import_module("lab")
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def echoed() -> str:
    return str(registered().function(Question("q", "Ada")).texts[0])


def test_a_name_that_another_module_holds_is_refused_and_says_who_holds_it():
    operator("question.echo")(echo_of("first"))
    with pytest.raises(ContractError, match="first:.*second:"):
        operator("question.echo")(echo_of("second"))


def test_an_unknown_name_is_answered_with_the_nearest_ones():
    operator("question.echo")(echo_of("first"))
    with pytest.raises(UserError, match=r"question.ecko.*question.echo"):
        registered("question.ecko")


def test_a_reloaded_module_registers_again_with_the_fingerprint_of_its_new_code(lab):
    before = registered().code
    edit(lab / "lab.py", "word(question.text)", "word(question.text) + '!'")
    assert registered().code == before  # the old code is what runs
    importlib.reload(sys.modules["lab"])
    after = registered().code
    assert echoed() == "ADA!" and after != before
    edit(lab / "lab.py", " + '!'", "")
    importlib.reload(sys.modules["lab"])
    assert registered().code == before


def test_an_operator_that_may_hold_an_older_helper_has_a_fingerprint_of_its_own(lab):
    before = registered().code
    edit(lab / "words.py", "upper", "lower")
    importlib.reload(sys.modules["words"])
    between = registered().code
    assert echoed() == "ADA"
    importlib.reload(sys.modules["lab"])
    assert echoed() == "ada" and len({before, between, registered().code}) == 3


def test_a_helper_edited_before_it_is_first_asked_for_is_not_taken_for_what_runs(lab):
    edit(lab / "words.py", "upper", "lower")
    stale = registered().code
    for name in ("lab", "words"):
        del sys.modules[name]
    contract.operators._items.clear()
    importlib.import_module("lab")
    assert echoed() == "ada" and registered().code != stale


def test_code_that_is_replaced_in_place_as_autoreload_does_has_another_fingerprint(lab):
    before = registered().code
    edit(lab / "words.py", "upper", "lower")
    space: dict[str, FunctionType] = {}
    exec((lab / "words.py").read_text(), space)
    sys.modules["words"].word.__code__ = space["word"].__code__
    assert echoed() == "ada" and registered().code != before
