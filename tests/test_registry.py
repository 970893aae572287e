"""Names to registered functions: clashes, nearest names, and the freeze after start-up."""

import pytest

from graphrag_bench import contract
from graphrag_bench.contract import Operator, operator
from graphrag_bench.errors import UserError
from graphrag_bench.registry import ContractError, Registry
from graphrag_bench.values import Query, Question


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


def test_the_same_module_may_define_a_name_again():
    operator("question.echo")(echo_of("lab"))
    newer = echo_of("lab")
    operator("question.echo")(newer)
    assert registered("question.echo").function is newer


def test_an_unknown_name_is_answered_with_the_nearest_ones():
    operator("question.echo")(echo_of("lab"))
    with pytest.raises(UserError, match="No operator 'question.ecko'. Did you mean 'question.ec"):
        registered("question.ecko")


def test_an_unknown_name_that_resembles_none_is_answered_with_all():
    operator("question.echo")(echo_of("lab"))
    with pytest.raises(UserError, match="There are: question.echo."):
        registered("zzz")


def test_nothing_is_added_after_start_up():
    contract.operators.freeze()
    with pytest.raises(ContractError, match="comes after start-up"):
        operator("question.echo")(echo_of("lab"))


def test_a_notebook_may_add_and_replace_at_any_time():
    contract.operators.freeze()
    for _ in range(2):
        operator("question.echo")(echo_of("__main__"))
    assert contract.operators.names() == ["question.echo"]


def test_a_notebook_may_not_replace_what_a_module_holds():
    operator("question.echo")(echo_of("lab"))
    with pytest.raises(ContractError, match="already registered by lab"):
        operator("question.echo")(echo_of("__main__"))
