"""What limits have found, for continuous integration: JUnit's XML, and a summary in markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from graphrag_bench.analysis.limits.outcomes import Outcome, broken
from graphrag_bench.report.rendering import Table, markdown
from graphrag_bench.terminal import clean_line

_HEADS = ("outcome", "limit", "found")


def table(title: str, outcomes: Sequence[Outcome]) -> Table:
    """A row for each limit, those that are not kept first."""
    rows = [("ok" if one.kept else "FAILED", one.limit, one.found) for one in _ordered(outcomes)]
    n_broken = len(broken(outcomes))
    said = (
        f"{n_broken} of {len(outcomes)} limits are not kept" if n_broken else "all limits are kept"
    )
    return Table(f"{title}: {said}", _HEADS, tuple(rows), (), texts=_HEADS)


def junit(title: str, outcomes: Sequence[Outcome]) -> str:
    """The outcomes as one test suite, a test for each limit, by the schema of JUnit."""
    counts = {"tests": str(len(outcomes)), "failures": str(len(broken(outcomes)))}
    suite = ElementTree.Element("testsuite", {"name": clean_line(title), "errors": "0", **counts})
    for one in outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", classname="graphrag-bench.check", name=clean_line(one.limit)
        )
        if not one.kept:
            ElementTree.SubElement(case, "failure", message=clean_line(one.found))
    root = ElementTree.Element("testsuites", counts)
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def add_summary(path: Path, title: str, outcomes: Sequence[Outcome]) -> None:
    """Append the table in markdown, as GitHub's step summaries want it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(markdown(table(title, outcomes)) + "\n")


def _ordered(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return sorted(outcomes, key=lambda one: one.kept)
