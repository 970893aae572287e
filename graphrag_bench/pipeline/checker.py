"""Check a pipeline before it runs: track which slots are written and read, and collect problems."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from graphrag_bench.contract import operators
from graphrag_bench.values import slot_names


@dataclass
class Checker:
    """State of the check at a step of a pipeline: the slots so far, and the problems found.

    `written` contains the slots that earlier steps always write. `maybe` contains the slots that
    they write only sometimes. Only combinators may read these. `unread` contains the slots whose
    value no step has read, each with the step that wrote it. `resources` are the resources of the
    method, and `attributes` are the attributes of its graph. The value None turns off the check.
    """

    resources: frozenset[str] | None = None
    attributes: frozenset[str] | None = None
    written: set[str] = field(default_factory=lambda: {"question"})
    maybe: set[str] = field(default_factory=set)
    unread: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def copy(self) -> "Checker":
        """Return a copy of the checker, which shares the list of problems with the original."""
        return replace(self, written={*self.written}, maybe={*self.maybe}, unread={**self.unread})

    def unread_of(self, arm: "Checker") -> set[str]:
        """Return the slots that an arm wrote but did not read. `arm` is its checker."""
        return {slot for slot, writer in arm.unread.items() if self.unread.get(slot) != writer}

    def join(self, arms: "Sequence[Checker]", written: Iterable[str]) -> None:
        """Add the slots that the arms of a combinator wrote. `arms` are their checkers.

        A slot counts as unread if any arm wrote it without reading it. Slots in `written` are
        always written.
        """
        before = {s: w for s, w in self.unread.items() if all(a.unread.get(s) == w for a in arms)}
        after = {s: w for arm in arms for s, w in arm.unread.items() if self.unread.get(s) != w}
        self.unread = {**before, **after}
        self.maybe = self.maybe.union(*(arm.maybe | arm.written for arm in arms))
        self.written.update(written)

    def problem(self, text: str) -> None:
        """Add a problem, unless it was added before."""
        if text not in self.problems:
            self.problems.append(text)

    def read(self, label: str, slot: str) -> None:
        """Check that earlier steps always write a slot, and mark the slot as read."""
        self.unread.pop(slot, None)
        if slot not in self.written:
            writers = ", ".join(op.name for op in operators.all() if slot in op.returns) or "none"
            known = f"; operators that write it: {writers}" if slot in slot_names() else ""
            self.problem(f"{label} reads '{slot}', which no earlier step writes{known}.")
        self.written.add(slot)

    def read_maybe(self, label: str, slot: str) -> None:
        """Check that earlier steps write a slot at least sometimes, and mark the slot as read."""
        if slot in self.maybe:
            self.unread.pop(slot, None)
        else:
            self.read(label, slot)

    def need(self, label: str, resource: str) -> None:
        """Check that the method can use a resource."""
        if self.resources is not None and resource not in self.resources:
            self.problem(
                f"{label} needs '{resource}', which no builder makes. "
                f"Known resources: {', '.join(sorted(self.resources))}."
            )

    def require(self, label: str, attributes: Iterable[str]) -> None:
        """Check that the graph has all of these attributes."""
        missing = sorted(set(attributes) - self.attributes) if self.attributes is not None else []
        if missing:
            have = ", ".join(sorted(self.attributes or ())) or "none"
            self.problem(f"{label} requires {', '.join(missing)}; the graph has {have}.")

    def write(self, label: str, always: Iterable[str], sometimes: Iterable[str] = ()) -> None:
        """Mark slots as written. Report a slot if no step has read its previous value."""
        for slot in (*always, *sometimes):
            if slot in self.unread:
                self.problem(
                    f"{label} overwrites '{slot}', but no step has read the value that "
                    f"{self.unread[slot]} wrote. Merge both values in a `branch`, name one "
                    f"with `as`, or drop the first value with `as: {slot}`."
                )
            self.unread[slot] = label
        self.written.update(always)
        self.maybe.update(sometimes)
