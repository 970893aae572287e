"""Load the conditions of the papers' experiments from `printed_tables/<paper>/conditions.yaml`."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, model_validator

from graphrag_bench.files import read_yaml
from graphrag_bench.papers.printed import FOLDER, load_paper

NOT_STATED = "not stated"


class Condition(BaseModel, extra="forbid", frozen=True):
    """Statement of a paper about some rows of its tables, and the setting that follows from it.

    `tables`, `rows` and `setting` are glob patterns. `paper` is the quoted sentence and `place` its
    section. If `paper` is NOT_STATED, `by` gives the source of the value. A condition has no
    `value` if the setting differs between rows.
    """

    name: str
    tables: tuple[str, ...] = ("*",)
    rows: tuple[str, ...] = ("*",)
    setting: str = ""
    value: Any = None
    paper: str
    place: str = ""
    by: str = ""

    @model_validator(mode="after")
    def _stated_or_sourced(self) -> "Condition":
        if (self.paper == NOT_STATED) == bool(self.place) or not (self.place or self.by):
            raise ValueError("needs a `place`, or `paper: not stated` and the source in `by`")
        return self

    def applies_to(self, row: str) -> bool:
        """Return whether the condition applies to the row with this name (as in `row=NAME`)."""
        _, table, own = row.split(".", 2)
        places = (table.partition("+")[0], self.tables), (own, self.rows)
        return all(any(fnmatchcase(name, one) for one in globs) for name, globs in places)

    def differs(self, resolved: Mapping[str, object]) -> bool:
        """Return whether the value of the condition differs from a run's settings (`resolved`)."""
        return "value" in self.model_fields_set and resolved.get(self.setting) != self.value

    @property
    def source(self) -> str:
        """The quoted sentence and its section; for NOT_STATED, the source of the value."""
        stated = f'"{self.paper}" ({self.place})' if self.place else self.paper
        return "; ".join(filter(None, [stated, self.by]))


@cache
def load_conditions(paper_name: str) -> tuple[Condition, ...]:
    """Return the conditions of a paper, or of the paper that its `like` names."""
    name = load_paper(paper_name).like or paper_name
    text = (FOLDER / name / "conditions.yaml").read_text("utf-8")
    rows = read_yaml(text, f"the conditions of '{name}'")
    return TypeAdapter(tuple[Condition, ...]).validate_python(rows)


def conditions_of(row: str) -> list[Condition]:
    """Return the conditions that apply to the row with this name (as in `row=NAME`)."""
    return [one for one in load_conditions(row.partition(".")[0]) if one.applies_to(row)]
