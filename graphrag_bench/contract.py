"""A signature is a contract: what a plain function reads, needs, may be set to, and writes.

Positional parameters name the state an operator reads (by type), keyword-only parameters without
a default the resources it needs (by name), keyword-only parameters with a default its settings;
the return type names the slots it writes. Offline builders follow the same rule: their needs are
other artifacts, and their return type is the artifact. A keyword-only `Prompt` is a setting.
A batched operator is written for many questions, and its form for one is derived from it.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from graphrag_bench import fingerprint
from graphrag_bench.errors import UserError
from graphrag_bench.expected import CallsOf, Sizes, TokensOf
from graphrag_bench.prompts import Prompt
from graphrag_bench.registry import ContractError, Registered, Registry
from graphrag_bench.values import slot_of

REQUIRED: Any = inspect.Parameter.empty
F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


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
class Operator(Registered):
    """A registered operator with its contract.

    `function` takes the values of one question; `batch` is the function for many, which `function`
    is derived from. `returns` has the slots with their types in the order of the return type: those
    it `writes`, and those it `may_write`.
    """

    reads: tuple[Read, ...]
    needs: tuple[str, ...]
    settings: Mapping[str, Setting]
    returns: Mapping[str, Any]
    writes: tuple[str, ...]
    may_write: tuple[str, ...]
    requires: frozenset[str]
    calls: int | Callable[[Mapping[str, Any]], int]
    unordered: str
    supplies: frozenset[str]
    batch: Callable[..., Any] | None = None

    def required(self, settings: Mapping[str, Any]) -> frozenset[str]:
        """The attributes that the graph must have, those that settings ask for among them.

        `types` asks for node types, and `attributes`, how many of each node are told, for these.
        """
        asked = {"node.type"} if settings.get("types") else set()
        told = {"node.attributes"} if settings.get("attributes") else set()
        return self.requires | asked | told

    def bound(self, settings: Mapping[str, Any]) -> int:
        """The most LLM calls one question can cost."""
        return self.calls if isinstance(self.calls, int) else self.calls(settings)


@dataclass(frozen=True)
class Builder(Registered):
    """A registered offline builder: `graph.kg` builds the resource `graph`, variant `kg`."""

    needs: tuple[str, ...]
    settings: Mapping[str, Setting]
    produces: type
    provides: frozenset[str] = frozenset()
    calls: int | CallsOf = 0
    tokens: TokensOf | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def code(self) -> str:
        """The fingerprint of the code, and of the parameters that are fixed."""
        own = fingerprint.code(self.function)
        return fingerprint.digest(own, repr(sorted(self.fixed.items()))) if self.fixed else own

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


operators: Registry[Operator] = Registry("operator")
builders: Registry[Builder] = Registry("builder", "artifact")


def resources() -> frozenset[str]:
    """The names of all that builders build."""
    return frozenset(name.partition(".")[0] for name in builders.names())


def variants(resource: str) -> dict[str, str]:
    """The names of the builders of a resource, by variant."""
    names = [name for name in builders.names() if name.partition(".")[0] == resource]
    return {name.partition(".")[2] or name: name for name in names}


def operator(
    name: str,
    *,
    batched: bool = False,
    requires: frozenset[str] | set[str] = frozenset(),
    calls: int | Callable[[Mapping[str, Any]], int] = 0,
    unordered: str = "",
    supplies: frozenset[str] | set[str] = frozenset(),
) -> Callable[[F], F]:
    """Register an operator and return the function unchanged.

    A `batched` function takes a `Sequence[T]` for each value that it reads, one value for each
    question, and returns a list of results. `requires` names graph attributes, `calls` bounds the
    LLM calls of one question, `unordered` says in words which order the result has when it is not
    score order, and `supplies` names the variables that its prompts are given.
    """

    def register(function: F) -> F:
        single = alone(function) if batched else function
        reads, needs, settings, hints = _read(single, reads_state=True)
        returns, writes, may_write = _written(single, hints.get("return"))
        made = Operator(
            name, single, reads, needs, settings, returns, writes, may_write,
            frozenset(requires), calls, unordered, frozenset(supplies),
            function if batched else None,
        )  # fmt: skip
        operators.add(made)
        return function

    return register


def alone(batch: Callable[..., list[R]]) -> Callable[..., R]:
    """The single form of a batched function: one value for each sequence, and one result.

    An optional value, `Sequence[T | None]`, may be left out. Raises ContractError when a positional
    parameter is no Sequence or has a default, or when the return type is no list; the single form
    raises ValueError when it is given no result or several.
    """
    signature, hints = _for_one(batch)

    @wraps(batch)
    def single(*values: Any, **named: Any) -> R:
        given = signature.bind(*values, **named)
        given.apply_defaults()
        found = batch(*([value] for value in given.args), **given.kwargs)
        if len(found) != 1:
            raise ValueError(f"{batch.__qualname__} gave {len(found)} results for one question")
        return found[0]

    single.__annotations__ = hints
    single.__signature__ = signature  # type: ignore[attr-defined]
    return single


def _for_one(batch: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    hints = get_type_hints(batch, include_extras=True)
    batched = f"{batch.__qualname__} is batched"
    if get_origin(hints.get("return")) is not list:
        raise ContractError(f"{batched}: it must return a list, one result for each question")
    hints["return"] = get_args(hints["return"])[0]
    parameters = []
    for name, parameter in inspect.signature(batch).parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            if get_origin(hints.get(name)) is not Sequence:
                raise ContractError(f"{batched}: '{name}' must be a Sequence of values")
            if parameter.default is not REQUIRED:
                raise ContractError(f"{batched}: '{name}' must have no default")
            hints[name] = get_args(hints[name])[0]
            parameter = parameter.replace(default=None if _strip_none(hints[name])[1] else REQUIRED)
        parameters.append(parameter.replace(annotation=hints.get(name, REQUIRED)))
    try:
        return inspect.Signature(parameters, return_annotation=hints["return"]), hints
    except ValueError:
        raise ContractError(f"{batched}: values that may be None must come last") from None


def artifact(
    name: str,
    *,
    provides: frozenset[str] | set[str] = frozenset(),
    calls: int | CallsOf = 0,
    tokens: TokensOf | None = None,
    fixed: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[[F], F]:
    """Register an offline builder under `resource` or `resource.variant`.

    Several registrations of one function differ in their `fixed` parameters, which are neither
    needs nor settings: a twin without a language model fixes `llm_build` to None. `provides` names
    the graph attributes that what it builds has; `calls` is the number of LLM calls for each chunk,
    or estimates that of all, and `tokens` what one of them costs.
    """

    def register(function: F) -> F:
        own = _with(function, fixed) if fixed else function
        _, needs, settings, hints = _read(own, reads_state=False)
        produces = hints.get("return")
        if not isinstance(produces, type) or not hasattr(produces, "load"):
            raise ContractError(f"{function.__qualname__} must return a type with save and load")
        made = Builder(
            name, own, needs, settings, produces, frozenset(provides), calls, tokens, dict(fixed)
        )
        builders.add(made)
        return function

    return register


def _with(function: Callable[..., Any], fixed: Mapping[str, Any]) -> Callable[..., Any]:
    @wraps(function)
    def own(**given: Any) -> Any:
        return function(**given, **fixed)

    signature = inspect.signature(function)
    left = [one for name, one in signature.parameters.items() if name not in fixed]
    own.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    return own


def _read(
    function: Callable[..., Any], *, reads_state: bool
) -> tuple[tuple[Read, ...], tuple[str, ...], dict[str, Setting], dict[str, Any]]:
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


def _written(
    function: Callable[..., Any], hint: Any
) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    parts = get_args(hint) if get_origin(hint) is tuple else (hint,)
    returns: dict[str, Any] = {}
    sometimes: list[str] = []
    for part in parts:
        inner, optional = _strip_none(part)
        slot = slot_of(inner)
        if slot is None:
            raise ContractError(
                f"{function.__qualname__} returns {part}, which is not a value type"
            )
        returns[slot] = inner
        sometimes += [slot] * optional
    if len(returns) < len(parts):
        raise ContractError(f"{function.__qualname__} writes one slot twice")
    always = tuple(slot for slot in returns if slot not in sometimes)
    return returns, always, tuple(sometimes)


def _strip_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    parts = [part for part in get_args(hint) if part is not type(None)]
    return (parts[0], True) if len(parts) == 1 else (hint, False)
