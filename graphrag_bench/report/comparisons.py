"""Differences between runs: every method against one baseline, and two runs against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphrag_bench.evaluation.detection import detectable_difference
from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.evaluation.significance import holm
from graphrag_bench.evaluation.statistics import Difference, paired_difference
from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.corpora import differ
from graphrag_bench.report.notes import drawn_over
from graphrag_bench.report.rendering import MISSING, Table, p_head, shown_p
from graphrag_bench.report.selection import REFERENCE_ROLES

_ABOUT = (
    ("detectable", "the smallest true difference that so many questions, spread as these, show at "
     "5 % in 4 runs of 5; no difference found says nothing of smaller ones"),
)  # fmt: skip
_ANSWERS = ("accuracy", "f1", "hit@1", "list_f1")
_EVIDENCE, IN_CONTEXT = "evidence_recall@", "evidence_in_context"
_USUAL_CUT = 5
_OF_TWO = ("metric", "n", "A", "B", "B - A [95 %]", "p", "B higher", "same", "A higher")
_MOST_SHOWN = 20
_ALIKE = ("llm", "embedder", "tokenizer", "budget_context", "profile", "fidelity", "llm_build",
          "limit", "reader_prompt")  # fmt: skip
"""What a run and its baseline should share, as far as there is such a run of the baseline."""
Run = Mapping[str, Any]
Scores = Mapping[str, Mapping[str, float]]
"""The metrics of each question."""


@dataclass(frozen=True)
class Compared:
    """A run as comparisons see it: what `metrics.json` holds, and the metrics of each question.

    `scopes` are the scopes by question, where questions have one.
    """

    metrics: Mapping[str, Any]
    scores: Scores
    scopes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """A method's run, by title and by its `place` among those compared, minus its baseline's run.

    `subtracted` is the title of the baseline without the settings that tell its runs apart.
    `detectable` is the smallest true difference that would show; None where none would. `n` are the
    questions of the method's run. `p` is Holm's over the `n_tests` tests of the metric; tests whose
    two runs say the same of every question as those of another are one test.
    """

    place: int
    method: str
    baseline: str
    subtracted: str
    metric: str
    found: Difference
    detectable: float | None
    n: int
    p: float = 1.0
    n_tests: int = 1


def comparisons(
    runs: Sequence[Compared], baseline: str, metrics: Sequence[str] = ()
) -> list[Comparison]:
    """Each method and metric, method minus baseline, in the order of a table; [] without any.

    `baseline` is the name of a method; of several runs of it see `baseline_of`. Floor and ceiling
    are not competitors. Unless `metrics` names others they are accuracy, F1 (Hit@1 and list F1 of
    lists), evidence recall at 5, or at the largest cut, and evidence in the context. Each metric is
    corrected by itself.
    """
    named = arranged([{**run.metrics, "row": row} for row, run in enumerate(runs)])
    rows = []
    pairs: dict[int, tuple[int, int]] = {}
    for held in named:
        other = baseline_of(held, named, baseline)
        if other is not None and held["role"] not in REFERENCE_ROLES:
            pair = runs[other["row"]], runs[held["row"]]
            title, against = str(held["title"]), str(other["title"])
            sides = int(held["row"]), title, against, str(pair[0].metrics["title"])
            n = int(held.get("n", len(pair[1].scores)))
            rows += [Comparison(*sides, *one, n) for one in _between(*pair, metrics)]
            pairs[sides[0]] = _first_alike(pair[0], runs), _first_alike(pair[1], runs)
    return _corrected(rows, pairs)


def _first_alike(run: Compared, runs: Sequence[Compared]) -> int:
    contexts = run.metrics.get("contexts")
    return next(
        place
        for place, one in enumerate(runs)
        if one.metrics.get("contexts") == contexts and one.scores == run.scores
    )


def _corrected(
    rows: Sequence[Comparison], pairs: Mapping[int, tuple[int, int]]
) -> list[Comparison]:
    tests: dict[str, dict[tuple[int, int], float]] = {}
    for row in rows:
        tests.setdefault(row.metric, {})[pairs[row.place]] = row.found.p
    corrected = {
        metric: dict(zip(held, holm([*held.values()]), strict=True))
        for metric, held in tests.items()
    }
    return [
        replace(row, p=corrected[row.metric][pairs[row.place]], n_tests=len(tests[row.metric]))
        for row in rows
    ]


def comparison_table(rows: Sequence[Comparison]) -> Table | None:
    """A row for each comparison, with the p of `comparisons`; None without any."""
    if not rows:
        return None
    cells = tuple(map(_cells, rows))
    heads = ("method", "against", "metric", "n", "difference [95 %]",
             p_head(row.n_tests for row in rows), "win/tie/loss", "detectable")  # fmt: skip
    caption = f"differences from {', '.join(dict.fromkeys(row.baseline for row in rows))}"
    texts = ("method", "against", "metric")
    return Table(caption, heads, cells, _notes(rows), texts, about=_ABOUT)


def baseline_of(run: Run, runs: Sequence[Run], baseline: str) -> Run | None:
    """The run of the method `baseline` on the same set and corpus that shares most with this one.

    Models, context budget and sources are what counts; the first of equals is taken. None without
    any, and when that is the run itself.
    """

    def shared(other: Run) -> int:
        return sum(run.get(name) == other.get(name) for name in _ALIKE)

    able = [
        one
        for one in runs
        if one["method"] == baseline and one["dataset"] == run["dataset"] and not differ(one, run)
    ]
    found = max(able, key=shared, default=None)
    return None if found is run else found


def _between(
    first: Compared, second: Compared, metrics: Sequence[str]
) -> Iterator[tuple[str, Difference, float | None]]:
    held = (name for scores in second.scores.values() for name in scores)
    for metric in metrics or usual_metrics(held):
        if shared := _shared(metric, first.scores, second.scores):
            before, after = ([one.scores[q][metric] for q in shared] for one in (first, second))
            scopes = [second.scopes.get(question) for question in shared]
            spread = [b - a for a, b in zip(before, after, strict=True)]
            found = paired_difference(before, after, scopes=scopes)
            yield metric, found, detectable_difference(spread, scopes)


def usual_metrics(names: Iterable[str]) -> list[str]:
    """Those of the metrics that are compared unless others are named: evidence first."""
    held = dict.fromkeys(names)
    cuts = [name.removeprefix(_EVIDENCE) for name in held if name.startswith(_EVIDENCE)]
    numbers = sorted(int(cut) for cut in cuts if cut.isdigit())
    cut = _USUAL_CUT if _USUAL_CUT in numbers else (numbers or [0])[-1]
    return [name for name in (f"{_EVIDENCE}{cut}", IN_CONTEXT, *_ANSWERS) if name in held]


def _shared(metric: str, first: Scores, second: Scores) -> list[str]:
    return [q for q, held in first.items() if metric in held and metric in second.get(q, {})]


def _interval(found: Difference) -> str:
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _cells(row: Comparison) -> tuple[str, ...]:
    found = row.found
    detectable = MISSING if row.detectable is None else f"{row.detectable:.3f}"
    return (
        row.method,
        row.baseline,
        row.metric,
        str(found.n),
        _interval(found),
        shown_p(row.p),
        f"{found.wins}/{found.ties}/{found.losses}",
        detectable,
    )


def _notes(rows: Sequence[Comparison]) -> tuple[str, ...]:
    drawn = drawn_over(row.found.clusters for row in rows)
    return (
        "difference: method minus baseline over the questions that both have, with its paired 95 % "
        f"bootstrap interval over {drawn}; win/tie/loss: questions",
        f"p: two-sided paired permutation test (mid-p){_family(rows)}; below 0.05 chance alone is "
        "a poor explanation",
        *fewer_questions(rows),
    )


def _family(rows: Sequence[Comparison]) -> str:
    numbers = {row.metric: row.n_tests for row in rows}
    if {*numbers.values()} == {1}:
        return ""
    said = ", ".join(f"{n} of {metric}" for metric, n in numbers.items())
    return f", Holm-corrected for the tests of each metric ({said}; rows of equal records are one)"


def fewer_questions(rows: Sequence[Comparison]) -> list[str]:
    """Why a difference is over fewer questions than its row, for each number of them."""
    told = dict.fromkeys((row.found.n, row.n, row.metric) for row in rows if row.found.n != row.n)
    return [
        f"difference over {n:,} of {whole:,} questions: those that {metric} has in both runs"
        for n, whole, metric in told
    ]


def difference_table(
    caption: str, first: Scores, second: Scores, scopes: Mapping[str, str | None]
) -> Table:
    """A row for each metric that both runs have, over the questions that both have.

    Questions of one scope (`scopes`, by question) are drawn and swapped together.
    """
    rows = []
    for name in dict.fromkeys(name for held in first.values() for name in held):
        if shared := _shared(name, first, second):
            before, after = ([one[q][name] for q in shared] for one in (first, second))
            found = paired_difference(before, after, scopes=[scopes.get(q) for q in shared])
            means = (f"{found.first:.3f}", f"{found.second:.3f}", _interval(found))
            counts = map(str, (found.wins, found.ties, found.losses))
            rows.append((name, str(found.n), *means, shown_p(found.p), *counts))
    notes = (
        "over the questions that both runs have; interval: paired bootstrap; p: two-sided paired "
        "permutation test (mid-p), questions that share a scope together, of one metric at a time "
        "and not corrected for looking at several; of "
        f"{', '.join(UNDIRECTED)} more is not better",
    )
    return Table(caption, _OF_TWO, tuple(rows), notes, texts=("metric",))


def flipped_line(name: str, first: Scores, second: Scores) -> str:
    """`name: gained q1, q2; lost q3`: what the second run does in a metric, at most 20 of each."""
    both = _shared(name, first, second)
    gained = [q for q in both if second[q][name] > first[q][name]]
    lost = [q for q in both if second[q][name] < first[q][name]]
    said = []
    for word, found in (("gained", gained), ("lost", lost)):
        more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
        said.append(f"{word} {', '.join(found[:_MOST_SHOWN]) or MISSING}{more}")
    return f"{name}: {'; '.join(said)}"


def settings_that_differ(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> list[tuple[str, str, str]]:
    """(path, value in A, value in B) of every setting that is not the same; – for none."""
    names = sorted({*first, *second})
    said = [(name, *(_setting(held, name) for held in (first, second))) for name in names]
    return [(name, a, b) for name, a, b in said if a != b]


def _setting(held: Mapping[str, Any], name: str) -> str:
    return MISSING if held.get(name) == "" else str(held.get(name, MISSING))
