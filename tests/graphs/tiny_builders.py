"""Builders so small that every artifact is worked out by hand: lists of numbers.

numbers <- doubled <- total
numbers <- again (the same list under another name)
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.artifacts.plan import Planned, plan
from graphrag_bench.artifacts.store import Store
from graphrag_bench.contract import artifact
from graphrag_bench.progress import Progress

built: list[str] = []
"""The builders that were called, in order."""
loaded: list[str] = []
"""The resources that were read from disk, in order."""


@dataclass(frozen=True)
class Numbers:
    """A list of numbers that can be kept in a folder."""

    values: tuple[int, ...]

    def save(self, folder: Path) -> None:
        (folder / "values.json").write_text(json.dumps(self.values))

    @classmethod
    def load(cls, folder: Path) -> "Numbers":
        loaded.append(folder.parent.name)
        return cls(tuple(json.loads((folder / "values.json").read_text())))


def numbers(*, source: list[int], at_least: int = 0) -> Numbers:
    built.append("numbers")
    return Numbers(tuple(value for value in source if value >= at_least))


def twice(*, numbers: Numbers) -> Numbers:
    built.append("twice")
    return Numbers(tuple(2 * value for value in numbers.values))


def thrice(*, numbers: Numbers) -> Numbers:
    built.append("thrice")
    return Numbers(tuple(3 * value for value in numbers.values))


def total(*, doubled: Numbers, numbers: Numbers, scratch: Path, progress: Progress) -> Numbers:
    """The sum of all; what was summed stands in the scratch folder. 13 brings bad luck."""
    built.append("total")
    with (scratch / "steps").open("a") as file:
        file.write("begun\n")
    if 13 in numbers.values:
        raise ZeroDivisionError("unlucky")
    return Numbers((sum(doubled.values) + sum(numbers.values),))


def again(*, numbers: Numbers) -> Numbers:
    built.append("again")
    return numbers


def logged(*, log: Path) -> Numbers:
    return Numbers((7,))


def hen(*, egg: Numbers) -> Numbers:
    return egg


def egg(*, hen: Numbers) -> Numbers:
    return hen


def register() -> None:
    artifact("numbers")(numbers)
    artifact("doubled.twice")(twice)
    artifact("doubled.thrice")(thrice)
    for function in (total, again, logged, hen, egg):
        artifact(function.__name__)(function)


def forget() -> None:
    built.clear()
    loaded.clear()


def planned(
    *wanted: str, choices: Mapping[str, Any] | None = None, source: str = "1 2 3", **more: str
) -> dict[str, Planned]:
    """The plan, by resource; `source` is the identity of what the numbers are made from."""
    identities = {
        name: (lambda text=text: text) for name, text in {"source": source, **more}.items()
    }
    result = plan(wanted, {"doubled": "twice", **(choices or {})}, identities)
    return {one.resource: one for one in result}


def resources(store: Store, *wanted: str, source: list[int], **choices: Any) -> dict[str, Numbers]:
    plans = planned(*wanted, choices=choices, source=str(source))
    return store.resources(list(plans.values()), set(wanted), {"source": source})
