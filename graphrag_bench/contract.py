"""Contracts of operators and builders, which are read from their signatures.

An operator reads its positional parameters from the slots of their types, and its return type says
which slots it writes. A keyword-only parameter is a setting if it has a default or the type
`Prompt`, and otherwise a resource. Builders have only keyword-only parameters.
"""

import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from inspect import Parameter
from types import MappingProxyType
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np

from graphrag_bench import fingerprint
from graphrag_bench.errors import UserError
from graphrag_bench.prompts import Prompt
from graphrag_bench.registry import ContractError, Registered, Registry, signature_of
from graphrag_bench.text import count_tokens
from graphrag_bench.values import Ranked, RowScores, Subgraph, slot_of

REQUIRED: Any = Parameter.empty
F = TypeVar("F", bound=Callable[..., Any])
TABLE3 = {
    "node": ("VDB", "RelNode", "PPR", "Agent", "Onehop", "Link", "TF-IDF"),
    "relationship": ("VDB", "Onehop", "Aggregator", "Agent"),
    "chunk": ("Aggregator", "FromRel", "Occurrence"),
    "subgraph": ("KhopPath", "Steiner", "AgentPath"),
    "community": ("Entity", "Layer"),
}
"""The operators in Table 3 of Zhou et al. (2025), in the order of the table."""
_MARKS = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
Settings = Mapping[str, Any]
TokensOf = Callable[[Settings, "Sizes"], tuple[float, float]]
"""Function that returns the prompt and completion tokens of a call."""
CallsOf = Callable[[Settings, "Sizes"], int]
"""Function that returns the number of calls to build an artifact."""


@dataclass(frozen=True)
class Read:
    """A parameter and its slot. If optional, it is only read if the step's key `use` names it."""

    parameter: str
    slot: str
    optional: bool


@dataclass(frozen=True)
class Setting:
    """A setting of an operator or builder. `default` is `REQUIRED` if there is no default."""

    name: str
    annotation: Any
    default: Any

    def check(self, value: Any) -> Any:
        """Convert a value to the setting's type. Raises UserError for a wrong type or range."""
        from pydantic import TypeAdapter, ValidationError

        if self.annotation is Prompt:
            prompt = value if isinstance(value, Prompt) else Prompt(str(value))
            assert prompt.variables is not None  # reads and parses the file
            return prompt
        if isinstance(value, list):
            value = tuple(value)
        try:
            return TypeAdapter(self.annotation).validate_python(value, strict=True)
        except ValidationError as error:
            reasons = "; ".join(str(problem["msg"]) for problem in error.errors())
            raise UserError(f"setting '{self.name}' is {value!r}: {reasons}") from None


@dataclass(frozen=True)
class Operator(Registered):
    """Registered operator with its contract. See the decorator `operator` for the last six fields.

    `returns` maps slots to types, in the order of the return type. The slots in `writes` are always
    written. Values of slots in `may_write` may be None.
    """

    reads: tuple[Read, ...]
    needs: tuple[str, ...]
    settings: Mapping[str, Setting]
    returns: Mapping[str, Any]
    writes: tuple[str, ...]
    may_write: tuple[str, ...]
    requires: frozenset[str]
    calls: int | Callable[[Settings], int]
    order: str
    supplies: frozenset[str]
    batched: bool
    table3: str

    def __call__(self, rows: Sequence[Sequence[Any]], **named: Any) -> list[Any]:
        """Return one result per question (row). Raises ValueError for a wrong number of results."""
        if not self.batched:
            return [self.function(*row, **named) for row in rows]
        results: list[Any] = self.function(*map(list, zip(*rows, strict=True)), **named)
        if len(results) != len(rows):
            raise ValueError(f"{self.origin}: {len(results)} results for {len(rows)} questions")
        return results

    @property
    def main(self) -> str:
        """The slot that the first returned value is written to."""
        return next(iter(self.returns))

    def required(self, settings: Settings) -> frozenset[str]:
        """Return the graph attributes that the operator requires with these settings."""
        kinds = {"types": "node.type", "attributes": "node.attributes"}
        return self.requires | {kinds[name] for name in kinds if settings.get(name)}

    def max_calls(self, settings: Settings) -> int:
        """Return the maximum number of LLM calls for one question."""
        return self.calls if isinstance(self.calls, int) else self.calls(settings)


@dataclass(frozen=True)
class Sizes:
    """Size of a chunk table: the mean number of tokens of a chunk, and the number of chunks."""

    chunk: float
    n_chunks: int = 0


@dataclass(frozen=True)
class Builder(Registered):
    """A registered builder, e.g. `graph.kg` for the variant `kg` of the resource `graph`."""

    needs: tuple[str, ...]
    settings: Mapping[str, Setting]
    produces: type
    provides: frozenset[str]
    calls: int | CallsOf
    tokens: TokensOf | None
    fixed: Mapping[str, Any]
    trained_on: Callable[[Settings], str] | None

    @property
    def code(self) -> str:
        """The fingerprint of the builder's code and of its fixed parameters."""
        fixed = {name: str(value) for name, value in self.fixed.items()}
        return fingerprint.digest(super().code, fixed) if fixed else super().code

    @property
    def resource(self) -> str:
        """The name of the resource that is built, e.g. `graph`."""
        return self.name.partition(".")[0]

    def expected_calls(self, settings: Settings, sizes: Sizes) -> int:
        """Return the expected number of LLM calls for one build, without retries."""
        calls = self.calls
        return calls * sizes.n_chunks if isinstance(calls, int) else calls(settings, sizes)

    @property
    def variant(self) -> str:
        """The name of the variant that is built, e.g. `kg`."""
        return self.name.partition(".")[2] or self.name


operators: Registry[Operator] = Registry("operator")
builders: Registry[Builder] = Registry("builder")


def template_tokens(prompt: Prompt) -> int:
    """Return the number of tokens (cl100k) of a template without its variables and comments."""
    return count_tokens(_MARKS.sub("", prompt.text).strip())


def paper_first(items: Iterable[Operator]) -> list[Operator]:
    """Return the operators of `TABLE3` in the paper's order, then all other operators by name."""
    order = [(family, name) for family, names in TABLE3.items() for name in names]

    def place(item: Operator) -> tuple[int, str]:
        mark = (item.name.partition(".")[0], item.table3)
        return (order.index(mark) if item.table3 else len(order), item.name)

    return sorted(items, key=place)


def resources() -> frozenset[str]:
    """Return the names of the resources that have a registered builder."""
    return frozenset(builder.resource for builder in builders.all())


def variants(resource: str) -> dict[str, str]:
    """Map each variant of a resource to the name of its builder."""
    return {one.variant: one.name for one in builders.all() if one.resource == resource}


def operator(
    name: str,
    *,
    batched: bool = False,
    requires: Set[str] = frozenset(),
    calls: int | Callable[[Settings], int] = 0,
    order: str = "",
    supplies: Set[str] = frozenset(),
    table3: str = "",
) -> Callable[[F], F]:
    """Register an operator and return its function unchanged.

    - `batched` means that the function takes a `Sequence[T]` for each value that it reads, with one
      value per question, and returns a list of results.
    - `requires` names the graph attributes that the operator needs.
    - `calls` is the maximum number of LLM calls for one question.
    - `order` describes the order of the result, if the result is not ordered by score.
    - `supplies` names the variables that the operator fills in its prompts.
    - `table3` is the operator's name in Table 3 of Zhou et al. (2025).

    Raises ContractError for a signature that is not a contract.

    >>> import graphrag_bench as gb
    >>> @gb.operator("chunk.by_length")
    ... def by_length(
    ...     question: gb.Question, *, chunk_table: gb.ChunkTable, top_k: int = 4
    ... ) -> gb.Ranked[gb.Chunk]:
    ...     return gb.Ranked.top([len(text) for text in chunk_table.texts], k=top_k)
    >>> step = operators.get("chunk.by_length")
    >>> step.needs, step.writes, list(step.settings)
    (('chunk_table',), ('chunks',), ['top_k'])
    """

    def register(function: F) -> F:
        reads, needs, settings, hint = _parameters(function, batched=batched)
        if batched:
            if get_origin(hint) is not list:
                raise ContractError(f"{function.__qualname__} is batched and must return a list")
            (hint,) = get_args(hint)
        parts = get_args(hint) if get_origin(hint) is tuple else (hint,)
        slots = [_slot(part, f"{function.__qualname__} returns") for part in parts]
        returns = {slot: kind for slot, kind, _ in slots}
        if len(returns) < len(parts):
            raise ContractError(f"{function.__qualname__} returns two values for the same slot")
        may_write = tuple(slot for slot, _, optional in slots if optional)
        writes = tuple(slot for slot in returns if slot not in may_write)
        operators.add(Operator(
            name, function, reads, needs, settings, returns, writes, may_write,
            frozenset(requires), calls, order, frozenset(supplies), batched, table3,
        ))  # fmt: skip
        return function

    return register


def artifact(
    name: str,
    *,
    provides: Set[str] = frozenset(),
    calls: int | CallsOf = 0,
    tokens: TokensOf | None = None,
    fixed: Mapping[str, Any] = MappingProxyType({}),
    trained_on: Callable[[Settings], str] | None = None,
) -> Callable[[F], F]:
    """Register a builder as `resource` or `resource.variant` and return its function unchanged.

    - `provides` names the graph attributes of the artifact.
    - `calls` is the number of LLM calls per chunk, or a function that estimates the total number.
    - `tokens` is a function that estimates the tokens of a call.
    - `fixed` sets parameters that are neither resources nor settings, so that one function
      can be registered several times with different values.
    - `trained_on` is a function that takes the settings and describes the training data.

    Raises ContractError for a signature that is not a contract.

    >>> import graphrag_bench as gb
    >>> @gb.artifact("graph.chain")
    ... def chain(*, chunk_table: gb.ChunkTable, step: int = 1) -> gb.Graph:
    ...     rows = range(len(chunk_table) - step)
    ...     return gb.Graph.from_arrays(rows, [row + step for row in rows])
    >>> builders.get("graph.chain").needs
    ('chunk_table',)
    """

    def register(function: F) -> F:
        _, needs, settings, produces = _parameters(function, fixed=fixed)
        if not isinstance(produces, type) or not hasattr(produces, "load"):
            raise ContractError(f"{function.__qualname__} must return a class with save and load")
        builders.add(Builder(
            name, function, needs, settings, produces, frozenset(provides), calls, tokens,
            dict(fixed), trained_on,
        ))  # fmt: skip
        return function

    return register


def _parameters(
    function: Callable[..., Any], *, batched: bool = False, fixed: Mapping[str, Any] | None = None
) -> tuple[tuple[Read, ...], tuple[str, ...], dict[str, Setting], Any]:
    reads, needs, settings = [], [], {}
    signature = signature_of(function)
    for name, parameter in signature.parameters.items():
        if fixed and name in fixed:
            continue
        hint = parameter.annotation
        if hint is Parameter.empty:
            raise ContractError(f"{function.__qualname__}: parameter '{name}' has no type")
        if parameter.kind is not Parameter.KEYWORD_ONLY:
            place = f"{function.__qualname__}: '{name}'"
            if fixed is not None:
                raise ContractError(f"{place} must be keyword-only")
            if batched:
                if get_origin(hint) is not Sequence:
                    raise ContractError(f"{place} must be a Sequence of values")
                (hint,) = get_args(hint)
            slot, _, optional = _slot(hint, f"{place} is")
            default = None if optional and not batched else REQUIRED
            if parameter.default is not default:
                wanted = "no default" if default is REQUIRED else "the default None"
                raise ContractError(f"{place} must have {wanted}")
            reads.append(Read(name, slot, optional))
        elif hint is Prompt or parameter.default is not REQUIRED:
            settings[name] = Setting(name, hint, parameter.default)
        else:
            needs.append(name)
    returned = signature.return_annotation
    return tuple(reads), tuple(needs), settings, None if returned is Parameter.empty else returned


def _slot(hint: Any, place: str) -> tuple[str, Any, bool]:
    """Return the slot and the type of a value, and whether the value may be None."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    kinds = [part for part in parts if part is not type(None)]
    slot = slot_of(kinds[0]) if len(kinds) == 1 else None
    if slot is None:
        raise ContractError(f"{place} {hint}, which is not a value type")
    return slot, kinds[0], len(parts) > 1


class WrongReturn(ValueError):
    """An operator returned a value that does not match its signature."""


def by_slot(operator: Operator, result: Any, resources: Mapping[str, Any]) -> dict[str, Any]:
    """Map each slot to the value that an operator returned for it. None values are left out.

    Raises WrongReturn for a wrong type, for ids that do not exist, and for scores that are not
    finite or of the wrong length. Values of lazy scores are not checked. Ids and lengths are not
    checked if they belong to a graph other than `graph`.
    """
    values = result if isinstance(result, tuple) else (result,)
    if len(values) != len(operator.returns):
        wanted = ", ".join(sorted(operator.returns))
        raise WrongReturn(f"{operator.origin} returned {len(values)} values for {wanted}")
    pairs = zip(operator.returns, values, strict=True)
    written = {slot: v for slot, v in pairs if v is not None or slot in operator.writes}
    for slot, value in written.items():
        if problem := _misfit(operator, slot, value, resources):
            raise WrongReturn(f"{operator.origin} returned {problem}")
    return written


def _misfit(operator: Operator, slot: str, value: Any, resources: Mapping[str, Any]) -> str:
    kind = operator.returns[slot]
    if not isinstance(value, get_origin(kind) or kind):
        wanted = getattr(kind, "__name__", kind)
        return f"{type(value).__name__} for '{slot}' instead of {wanted}"
    table, n_rows = slot.replace("_scores", "s"), None
    if table == "chunks" and "chunk_table" in resources:
        n_rows = len(resources["chunk_table"])
    elif "graph" in operator.needs or not any(name.endswith("_graph") for name in operator.needs):
        n_rows = getattr(resources.get("graph"), f"n_{table}", None)
    scores: Any = ()
    if isinstance(value, Ranked):
        scores = value.scores
        outside = value.ids[(value.ids < 0) | (value.ids >= (np.inf if n_rows is None else n_rows))]
        if len(outside):
            return f"the id {outside[0]} for '{slot}', which has {n_rows} rows"
    elif isinstance(value, RowScores):
        if n_rows not in (None, len(value)):
            return f"{len(value)} scores for '{slot}', which has {n_rows} rows"
        scores = value.some_rows[1] if value.some_rows else () if value.lazy else value.values
    elif isinstance(value, Subgraph):
        scores = [path.score for path in value.paths]
    if n_wrong := np.count_nonzero(~np.isfinite(scores)):
        return f"{n_wrong} of {len(scores)} scores for '{slot}' that are NaN or infinite"
    return ""
