"""A signature is a contract: what a plain function reads, needs, may be set to, and writes.

Positional parameters name the state an operator reads (by type), keyword-only parameters without
a default the resources it needs (by name), keyword-only parameters with a default its settings;
the return type names the slots it writes. Offline builders follow the same rule: their needs are
other artifacts, and their return type is the artifact. A keyword-only `Prompt` is a setting.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from graphrag_bench import fingerprint
from graphrag_bench.errors import UserError
from graphrag_bench.expected import CallsOf, ExpectedOf, Sizes, TokensOf
from graphrag_bench.prompts import Prompt
from graphrag_bench.registry import ContractError, Registry
from graphrag_bench.values import slot_of

REQUIRED: Any = inspect.Parameter.empty
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Read:
    """A slot that a parameter reads; an optional one is filled only when a step asks for it."""

    parameter: str
    slot: str
    optional: bool


@dataclass(frozen=True)
class Setting:
    """A setting with its type and default (`REQUIRED` when there is none)."""

    name: str
    annotation: Any
    default: Any

    def check(self, value: Any) -> Any:
        """The value as the function takes it; raises UserError when type or range is wrong."""
        from pydantic import TypeAdapter, ValidationError

        if self.annotation is Prompt:
            prompt = value if isinstance(value, Prompt) else Prompt(str(value))
            assert prompt.variables is not None  # reads the file, so that its faults are found here
            return prompt
        if isinstance(value, list):
            value = tuple(value)
        try:
            return TypeAdapter(self.annotation).validate_python(value, strict=True)
        except ValidationError as error:
            said = "; ".join(str(problem["msg"]) for problem in error.errors())
            raise UserError(f"setting '{self.name}' is {value!r}: {said}") from None


@dataclass(frozen=True)
class Operator:
    """A registered operator with its contract.

    `returns` names the slots in the order of the return type: those it `writes`, and those it
    `may_write`.
    """

    name: str
    function: Callable[..., Any]
    reads: tuple[Read, ...]
    needs: tuple[str, ...]
    settings: Mapping[str, Setting]
    returns: tuple[str, ...]
    writes: tuple[str, ...]
    may_write: tuple[str, ...]
    requires: frozenset[str]
    calls: int | Callable[[Mapping[str, Any]], int]
    unordered: str
    supplies: frozenset[str]
    tokens: TokensOf | None
    twin: Callable[..., Any] | None = None
    expected: ExpectedOf | None = None

    @cached_property
    def code(self) -> str:
        """The fingerprint of the code, the batched twin's included."""
        own = fingerprint.code(self.function)
        return fingerprint.digest(own, fingerprint.code(self.twin)) if self.twin else own

    @property
    def origin(self) -> str:
        """Where the function is defined, as module:name."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    def bound(self, settings: Mapping[str, Any]) -> int:
        """The most LLM calls one question can cost."""
        return self.calls if isinstance(self.calls, int) else self.calls(settings)

    def expected_calls(self, settings: Mapping[str, Any], sizes: Sizes) -> float:
        """The LLM calls that one question should cost: where nothing is said, without retries."""
        bound = self.bound(settings)
        if self.expected is not None:
            return min(self.expected(settings, sizes), bound)
        return max(1, bound // 2) if bound and bound % 2 == 0 else bound


@dataclass(frozen=True)
class Builder:
    """A registered offline builder: `graph.kg` builds the resource `graph`, variant `kg`."""

    name: str
    function: Callable[..., Any]
    needs: tuple[str, ...]
    settings: Mapping[str, Setting]
    produces: type
    provides: frozenset[str] = frozenset()
    calls: int | CallsOf = 0
    tokens: TokensOf | None = None

    @property
    def resource(self) -> str:
        """The name under which the artifact is needed."""
        return self.name.partition(".")[0]

    def expected_calls(self, settings: Mapping[str, Any], sizes: Sizes) -> int:
        """The LLM calls that building it should take, retries aside."""
        if isinstance(self.calls, int):
            return self.calls * sizes.n_chunks
        return self.calls(settings, sizes)

    @property
    def variant(self) -> str:
        """Which way of building it this is."""
        return self.name.partition(".")[2] or self.name

    @cached_property
    def code(self) -> str:
        """The fingerprint of the code."""
        return fingerprint.code(self.function)

    @property
    def origin(self) -> str:
        """Where the function is defined, as module:name."""
        return f"{self.function.__module__}:{self.function.__qualname__}"


operators: Registry[Operator] = Registry("operator")
builders: Registry[Builder] = Registry("builder")


class _OperatorDecorator:
    """`@operator(name)` registers a function; `@operator.batched(name)` its batched twin."""

    def __call__(
        self,
        name: str,
        *,
        requires: frozenset[str] | set[str] = frozenset(),
        calls: int | Callable[[Mapping[str, Any]], int] = 0,
        unordered: str = "",
        supplies: frozenset[str] | set[str] = frozenset(),
        tokens: TokensOf | None = None,
        expected: ExpectedOf | None = None,
    ) -> Callable[[F], F]:
        """Register an operator and return the function unchanged.

        `requires` names graph attributes, `calls` bounds the LLM calls of one question,
        `unordered` says in words which order the result has when it is not score order,
        `supplies` names the variables that its prompts are given, `tokens` estimates what one
        call costs, and `expected` how many there are where it is not half of an even bound.
        """

        def register(function: F) -> F:
            reads, needs, settings, hints = _read(function, reads_state=True)
            returns, writes, may_write = _written(function, hints.get("return"))
            made = Operator(
                name, function, reads, needs, settings, returns, writes, may_write,
                frozenset(requires), calls, unordered, frozenset(supplies), tokens,
                expected=expected,
            )  # fmt: skip
            operators.add(made)
            return function

        return register

    def batched(self, name: str) -> Callable[[F], F]:
        """Register the twin of an operator: it takes and returns a list for each value."""

        def register(function: F) -> F:
            single = operators.get(name)
            names = [read.parameter for read in single.reads]
            given = list(inspect.signature(function).parameters)
            want = [*names, *single.needs, *single.settings]
            if given != want:
                raise ContractError(f"the twin of '{name}' takes {given}, not {want}")
            operators.add(Operator(**{**_fields(single), "twin": function}))
            return function

        return register


operator = _OperatorDecorator()


def artifact(
    name: str,
    *,
    provides: frozenset[str] | set[str] = frozenset(),
    calls: int | CallsOf = 0,
    tokens: TokensOf | None = None,
) -> Callable[[F], F]:
    """Register an offline builder under `resource` or `resource.variant`.

    `provides` names the graph attributes that what it builds has; `calls` is the number of LLM
    calls for each chunk, or estimates that of all, and `tokens` what one of them costs.
    """

    def register(function: F) -> F:
        _, needs, settings, hints = _read(function, reads_state=False)
        produces = hints.get("return")
        if not isinstance(produces, type) or not hasattr(produces, "load"):
            raise ContractError(f"{function.__qualname__} must return a type with save and load")
        builders.add(
            Builder(name, function, needs, settings, produces, frozenset(provides), calls, tokens)
        )
        return function

    return register


def _fields(item: Operator) -> dict[str, Any]:
    return {name: getattr(item, name) for name in Operator.__dataclass_fields__}


def _read(
    function: Callable[..., Any], *, reads_state: bool
) -> tuple[tuple[Read, ...], tuple[str, ...], dict[str, Setting], dict[str, Any]]:
    """The reads, needs and settings of a signature, and its type hints."""
    hints = get_type_hints(function, include_extras=True)
    reads, needs, settings = [], [], {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name)
        if hint is None:
            raise ContractError(f"{function.__qualname__}: parameter '{name}' has no type")
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            if not reads_state:
                raise ContractError(f"{function.__qualname__}: '{name}' must be keyword-only")
            reads.append(_state_read(function, name, hint, parameter.default))
        elif hint is Prompt or parameter.default is not REQUIRED:
            settings[name] = Setting(name, hint, parameter.default)
        else:
            needs.append(name)
    return tuple(reads), tuple(needs), settings, hints


def _state_read(function: Callable[..., Any], name: str, hint: Any, default: Any) -> Read:
    inner, optional = _strip_none(hint)
    slot = slot_of(inner)
    if slot is None:
        raise ContractError(f"{function.__qualname__}: '{name}: {hint}' is not a value type")
    if optional != (default is None):
        raise ContractError(f"{function.__qualname__}: optional '{name}' must default to None")
    return Read(name, slot, optional)


def _written(function: Callable[..., Any], hint: Any) -> tuple[tuple[str, ...], ...]:
    """All slots of a return type in order, those always written, and those sometimes written."""
    parts = get_args(hint) if get_origin(hint) is tuple else (hint,)
    returns: list[str] = []
    sometimes: list[str] = []
    for part in parts:
        inner, optional = _strip_none(part)
        slot = slot_of(inner)
        if slot is None:
            raise ContractError(
                f"{function.__qualname__} returns {part}, which is not a value type"
            )
        returns.append(slot)
        sometimes += [slot] * optional
    if len(set(returns)) < len(parts):
        raise ContractError(f"{function.__qualname__} writes one slot twice")
    always = tuple(slot for slot in returns if slot not in sometimes)
    return tuple(returns), always, tuple(sometimes)


def _strip_none(hint: Any) -> tuple[Any, bool]:
    """The type without `| None`, and whether that stood there."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    parts = [part for part in get_args(hint) if part is not type(None)]
    return (parts[0], True) if len(parts) == 1 else (hint, False)
