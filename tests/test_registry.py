"""Names to registered functions: clashes, nearest names, and the freeze after start-up."""

import re
import sys
from pathlib import Path

import pytest

from graphrag_bench import contract
from graphrag_bench.contract import Operator, operator
from graphrag_bench.errors import UserError
from graphrag_bench.registry import ContractError, Registry, import_modules
from graphrag_bench.values import Query, Question

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch):
    monkeypatch.setattr(contract, "operators", Registry("operator"))


def registered(name: str) -> Operator:
    return contract.operators.get(name)


def echo_of(module: str):
    """An operator as that module would define it, another object every time."""

    def echo(question: Question) -> Query:
        raise NotImplementedError

    echo.__module__ = module
    return echo


def test_a_name_that_another_module_holds_is_refused_and_says_who_holds_it():
    operator("question.echo")(echo_of("first"))
    with pytest.raises(ContractError, match="already registered by first:.*second:.* must choose"):
        operator("question.echo")(echo_of("second"))


def test_an_unknown_name_is_answered_with_the_nearest_ones():
    operator("question.echo")(echo_of("lab"))
    with pytest.raises(UserError, match="No operator 'question.ecko'. Did you mean 'question.ec"):
        registered("question.ecko")


def test_nothing_is_added_after_start_up():
    contract.operators.freeze()
    with pytest.raises(ContractError, match="comes after start-up"):
        operator("question.echo")(echo_of("lab"))


def test_a_notebook_may_add_and_replace_at_any_time():
    contract.operators.freeze()
    for _ in range(2):
        operator("question.echo")(echo_of("__main__"))
    assert contract.operators.names() == ["question.echo"]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose one module registers `question.late`, noted in an open registry."""
    folder = tmp_path / "late_steps"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "late.py").write_text(
        "from graphrag_bench.contract import operator\n"
        "from graphrag_bench.values import Query, Question\n\n\n"
        '@operator(\n    "question.late", calls=0\n)\n'
        "def late(question: Question) -> Query:\n    raise NotImplementedError\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with contract.operators.open():
        import_modules("late_steps", folder)
    yield "late_steps.late"
    sys.modules.pop("late_steps.late", None)


def test_a_module_is_imported_when_one_of_its_names_is_asked_for(package):
    assert contract.operators.names() == ["question.late"]
    assert package not in sys.modules
    assert registered("question.late").function.__module__ == package


def test_a_name_of_a_module_that_is_not_imported_yet_is_taken(package):
    with contract.operators.open(), pytest.raises(ContractError, match="already registered by lat"):
        operator("question.late")(echo_of("lab"))


def test_every_built_in_name_is_written_out_in_the_text_of_its_module():
    for folder in ("graphrag_bench", "operators", "methods"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            decorated = re.findall(r"^@(?:operator|artifact)\b(.*\n.*)", text, re.MULTILINE)
            assert all(re.match(r'\(\s*"', after) for after in decorated), path
