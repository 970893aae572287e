"""What the checker knows at one place of a pipeline: slots written, and problems so far."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from graphrag_bench.contract import operators
from graphrag_bench.values import slot_names


@dataclass
class Checker:
    """Slots written so far (`unread` maps unread ones to their writer), and needs.

    `maybe` holds the slots that a step may have written; only a combinator may look at those.

    `resources` holds what a method can be given; `attributes` what its graph has, or None when
    that is not known before it is built.
    Copies for the arms of a combinator share `problems`.
    """

    resources: frozenset[str] | None = None
    attributes: frozenset[str] | None = None
    written: set[str] = field(default_factory=lambda: {"question"})
    maybe: set[str] = field(default_factory=set)
    unread: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def copy(self) -> "Checker":
        """Return a checker that goes its own way but reports to the same list."""
        return replace(
            self, written=set(self.written), maybe=set(self.maybe), unread=dict(self.unread)
        )

    def new_unread(self, arm: "Checker") -> set[str]:
        """Return the slots that an arm wrote and did not read itself."""
        return {slot for slot, writer in arm.unread.items() if self.unread.get(slot) != writer}

    def join(self, arms: "Sequence[Checker]") -> None:
        """Slots unread before and read in any arm are read; what arms leave unread is unread."""
        before = {s: w for s, w in self.unread.items() if all(a.unread.get(s) == w for a in arms)}
        after = {s: w for arm in arms for s, w in arm.unread.items() if self.unread.get(s) != w}
        self.unread = {**before, **after}
        self.maybe = self.maybe.union(*(arm.maybe | arm.written for arm in arms))

    def problem(self, text: str) -> None:
        """Report a problem, once."""
        if text not in self.problems:
            self.problems.append(text)

    def read(self, label: str, slot: str) -> None:
        """A step reads a slot, which some earlier step must have written."""
        self.unread.pop(slot, None)
        if slot not in self.written:
            writers = [op.name for op in operators.all() if slot in op.returns]
            known = (
                f"; operators that do: {', '.join(writers) or 'none'}"
                if slot in slot_names()
                else ""
            )
            self.problem(f"{label} reads '{slot}', which no earlier step writes{known}.")
        self.written.add(slot)

    def look(self, label: str, slot: str) -> None:
        """A combinator looks whether a slot holds anything; one that may be written will do."""
        if slot in self.maybe:
            self.unread.pop(slot, None)
        else:
            self.read(label, slot)

    def need(self, label: str, resource: str) -> None:
        """A step needs a resource, which something must build or give."""
        if self.resources is not None and resource not in self.resources:
            self.problem(
                f"{label} needs '{resource}', which nothing builds; "
                f"there are: {', '.join(sorted(self.resources))}."
            )

    def require(self, label: str, attributes: Iterable[str]) -> None:
        """A step requires attributes that the graph must have."""
        missing = sorted(set(attributes) - self.attributes) if self.attributes is not None else []
        if missing:
            have = ", ".join(sorted(self.attributes or ())) or "none"
            self.problem(f"{label} requires {', '.join(missing)}; the graph has {have}.")

    def write(self, label: str, always: Iterable[str], sometimes: Iterable[str] = ()) -> None:
        """A step writes slots; overwriting an unread slot is a problem."""
        for slot in (*always, *sometimes):
            if slot in self.unread:
                self.problem(
                    f"{label} overwrites '{slot}', which {self.unread[slot]} wrote and no step has "
                    "read. Put the two in the arms of a branch to merge them, or name one with "
                    f"`as`; `as: {slot}` replaces the former."
                )
            self.unread[slot] = label
        self.written.update(always)
        self.maybe.update(sometimes)
