"""The page docs/parity.md from the results of the cases."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.comparison import KINDS, Case, Difference, Kind, badge, worst_kind
from scripts.markdown import table, with_part

UNEXPLAINED = "**No reason is known.**"
PAGE = Path(__file__).parents[2] / "docs" / "parity.md"


@dataclass(frozen=True)
class Result:
    """The result of a case: the engine's version, and the differences of every question."""

    case: Case
    version: str
    differences: Mapping[str, Sequence[Difference]]

    @property
    def kinds(self) -> list[Kind]:
        """The kind of each question."""
        return [worst_kind(result) for result in self.differences.values()]

    def first(self) -> list[Difference]:
        """Return the first difference of every stage and kind, in the order of the questions."""
        result: dict[tuple[str, str], Difference] = {}
        for one in (found[0] for found in self.differences.values() if found):
            result.setdefault((one.stage, one.kind), one)
        return list(result.values())

    def counts(self) -> str:
        """Return the number of questions of each kind as text."""
        counts = Counter(self.kinds)
        return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])

    def line(self) -> str:
        """Return the case on one line."""
        return (
            f"{self.case.name}: {badge(self.kinds)}; {self.counts()} of {len(self.kinds)} questions"
        )


def unexplained(results: Sequence[Result]) -> list[str]:
    """Return case, stage and question of each first difference without a reason."""
    return [
        f"{result.case.name}, {one.stage} of {one.question}: place {one.place}, ours {one.ours}, "
        f"theirs {one.theirs} ({one.kind})"
        for result in results
        for one in result.first()
        if one.stage not in result.case.reasons
    ]


def with_results(page: str, results: Sequence[Result]) -> str:
    """Return the page with the table of badges and the first differences between its markers."""
    page = with_part(page, "badges", "parity.py", _table(results))
    return with_part(page, "differences", "parity.py", _differences(results))


def _table(results: Sequence[Result]) -> list[str]:
    rows = []
    for result in results:
        case = result.case
        lists = ", ".join(f"{one} (first {n})" if n else one for one, n in case.stages.items())
        changed = "".join(f" {name}={value}" for name, value in case.settings.items())
        ours = f"`{case.method}`" + (f" with{changed}" if changed else "")
        engine = f"{case.distribution} {result.version}, {case.mode}"
        rows.append((case.name, ours, engine, lists, badge(result.kinds), result.counts()))
    return table(("case", "our method", "engine", "lists", "badge", "questions"), rows)


def _differences(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        yield f"\n### {result.case.name}\n"
        yield "\n".join(f"- {note}" for note in result.case.notes)
        if not result.first():
            yield "\nNo list of any question differs."
        for one in result.first():
            why = result.case.reasons.get(one.stage, UNEXPLAINED)
            tied = ", a tie" if one.kind == "ties" else ""
            yield (
                f"\n**{one.stage}** of {one.question}, place {one.place}{tied}: ours {one.ours}, "
                f"the engine {one.theirs}. {why.strip()}"
            )
