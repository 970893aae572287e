"""The conditions of a paper's rows: `printed_tables/<paper>/conditions.yaml`, read and checked.

Each says what the paper states of a row's run, or that it does not, and the value of ours.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, model_validator

from graphrag_bench.files import read_yaml
from graphrag_bench.papers.printed import FOLDER, load_paper

NOT_STATED = "not stated"


class Condition(BaseModel):
    """What a paper says of some of its rows, and the value that a setting of theirs resolves to.

    `tables` and `rows` are globs over the names of tables, and over those of rows without paper and
    table. `paper` is at most one sentence of it with its `place`, or NOT_STATED; `by` says where
    the value is from where that is not the sentence itself. Without a value the setting varies
    between rows, and their names say how. A glob as `setting` covers what a profile sets.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

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
        if (self.paper == NOT_STATED) == bool(self.place):
            raise ValueError("a sentence needs its place, and what is not stated has none")
        if self.paper == NOT_STATED and not self.by:
            raise ValueError("what is not stated needs `by`: where its value is from")
        return self

    def is_of(self, row: str) -> bool:
        """Return whether it is about a row of its paper, as `row=` names it."""
        _, table, own = row.split(".", 2)
        places = (table.partition("+")[0], self.tables), (own, self.rows)
        return all(any(fnmatchcase(name, one) for one in globs) for name, globs in places)

    def covers(self, setting: str) -> bool:
        """Return whether it says whose a setting is."""
        return setting == self.setting or fnmatchcase(setting, self.setting)

    def differs(self, resolved: Mapping[str, object]) -> bool:
        """Return whether a run's setting has not the value, null included, of its rows."""
        return "value" in self.model_fields_set and resolved.get(self.setting) != self.value

    @property
    def source(self) -> str:
        """The sentence and its place, or that there is none, and whose the value is."""
        stated = f'"{self.paper}" ({self.place})' if self.place else self.paper
        return "; ".join(filter(None, [stated, self.by]))


@cache
def load_conditions(paper_name: str) -> tuple[Condition, ...]:
    """Return the conditions of a paper, in the order of its file, after those it is `like`."""
    inherited = load_conditions(like) if (like := load_paper(paper_name).like) else ()
    file = FOLDER / paper_name / "conditions.yaml"
    if not file.is_file():
        return inherited
    rows = read_yaml(file.read_text("utf-8"), f"the conditions of '{paper_name}'")
    return (*inherited, *TypeAdapter(tuple[Condition, ...]).validate_python(rows))


def conditions_of(row: str) -> list[Condition]:
    """Return the conditions of a row, as `row=` names it."""
    return [one for one in load_conditions(row.partition(".")[0]) if one.is_of(row)]
