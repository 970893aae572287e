"""The space of a search: graphs, operators with the values of their settings, ways to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError

from graphrag_bench.contract import Operator, operators
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.locations import project_folder
from graphrag_bench.plain_yaml import read_yaml

Values = Mapping[str, Sequence[Any]]
Item = Mapping[str, Any]
_OWN = ("operators.", "methods.", "graphrag_bench.")
_CHUNKS = "chunks"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Guard(_Strict):
    """What a question takes where `slot` is empty: `steps`, and the reason that is told."""

    slot: Literal["nodes"] = "nodes"
    reason: str
    steps: list[dict[str, Any]]


class Forking(_Strict):
    """Two ways to the same rows: the names of the arms, and the rules that may merge them."""

    arms: tuple[str, str]
    merge: list[str]


class Ending(_Strict):
    """How a pipeline with these slots, and with these last operators if any, makes its answer.

    `retrieve` are steps that end its retrieval; each keeps as many chunks as the scores see.
    """

    slots: list[str]
    steps: list[dict[str, Any]]
    operators: list[str] = []
    retrieve: list[dict[str, Any]] = []


class SpaceFile(_Strict):
    """The form of a space's file."""

    graphs: dict[str, dict[str, Any]]
    operators: dict[str, dict[str, list[Any]]]
    uses: dict[str, list[list[str]]] = {}
    guard: Guard | None = None
    forks: dict[Literal["nodes", "chunks"], Forking] = {}
    n_retrieved: PositiveInt = 10
    top_k: PositiveInt = 4
    generate: list[Ending]


@dataclass(frozen=True)
class Part:
    """An operator of the space: the values of its settings, and the optional slots it may read."""

    operator: Operator
    values: Values
    uses: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Space:
    """A checked space; `parts` are in the order of the file, those of plug-ins last, by name."""

    name: str
    file: SpaceFile
    graphs: Mapping[str, Mapping[str, Any]]
    parts: tuple[Part, ...]

    def within(self, graphs: Sequence[str]) -> Space:
        """The space over these graphs alone; raises UserError for one that it does not have."""
        for name in graphs:
            if name not in self.graphs:
                raise unknown("graph of the space", name, self.graphs)
        return replace(self, graphs={name: self.graphs[name] for name in dict.fromkeys(graphs)})

    def describe(self) -> list[Any]:
        """What the key of a search is made of."""
        parts = [(one.operator.name, dict(one.values), one.uses) for one in self.parts]
        return [self.file.model_dump(mode="json"), sorted(self.graphs), parts]


def read_space(name: str) -> Space:
    """The space of a name (`configs/search/NAME.yaml`) or a file; operators have to be loaded.

    Raises UserError, with the nearest, for names of spaces, operators, settings and slots that
    there are not, for values that a setting does not take, and for an operator that asks a model.
    """
    path = _path(name)
    held = read_yaml(path.read_text(encoding="utf-8"), str(path))
    try:
        file = SpaceFile.model_validate(held)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {place}: {first['msg']}.") from None
    for one in file.uses:
        if one not in file.operators:
            raise UserError(f"{path}: uses.{one}: not among the operators of the space.")
    parts = [_part(path, one, values, file) for one, values in file.operators.items()]
    return Space(name, file, file.graphs, (*parts, *_of_plugins(file)))


def _path(name: str) -> Path:
    if name.endswith((".yaml", ".yml")):
        if not Path(name).is_file():
            raise UserError(f"space={name}: there is no such file.")
        return Path(name)
    folder = project_folder("configs") / "search"
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in names:
        raise unknown("space", name, names)
    return folder / f"{name}.yaml"


def _part(path: Path, name: str, values: Values, file: SpaceFile) -> Part:
    found = operators.get(name)
    for setting, choices in values.items():
        if setting not in found.settings:
            raise unknown(f"setting of {name}", setting, found.settings)
        if not choices:
            raise UserError(f"{path}: {name}.{setting} has no value.")
        for value in choices:
            found.settings[setting].check(value)
    defaults = {one: setting.default for one, setting in found.settings.items()}
    if found.bound({**defaults, **{one: choices[0] for one, choices in values.items()}}):
        raise UserError(f"{path}: {name} asks a language model, which a search never does.")
    uses = tuple(map(tuple, file.uses.get(name, [[]])))
    optional = {read.slot for read in found.reads if read.optional}
    for slot in (slot for use in uses for slot in use):
        if slot not in optional:
            raise unknown(f"optional slot of {name}", slot, sorted(optional))
    return Part(found, _counted(found, values, file), uses)


def _counted(found: Operator, values: Values, file: SpaceFile) -> Values:
    """The values, with as many chunks as are scored where nothing else is said."""
    if _CHUNKS in found.writes and "top_k" in found.settings and "top_k" not in values:
        return {**values, "top_k": [file.n_retrieved]}
    return values


def _of_plugins(file: SpaceFile) -> list[Part]:
    """The operators of the user's packages that ask no model and need no setting."""
    found = []
    for one in sorted(operators.all(), key=lambda operator: operator.name):
        own = one.function.__module__.startswith(_OWN)
        defaults = {name: setting.default for name, setting in one.settings.items()}
        if own or one.name in file.operators or any(map(_is_required, defaults.values())):
            continue
        if not one.bound(defaults) and not {"context", "answer"} & set(one.writes):
            found.append(Part(one, _counted(one, {}, file), ((),)))
    return found


def _is_required(default: Any) -> bool:
    from graphrag_bench.contract import REQUIRED

    return default is REQUIRED
