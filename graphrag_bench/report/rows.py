"""Order and titles of runs in a table."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

from graphrag_bench.errors import UserError, unknown

IN_CONTEXT = "evidence_in_context"
EVIDENCE = "evidence_recall@"
_ANSWERS = ("accuracy", "f1", "hit@1", "list_f1")
RULE = ("normaliser", "containment")
"""Scoring settings that change the values of metrics. Together they are the rule of scoring."""
REFERENCE = "reference"
"""Word that marks reference methods in the table of a sweep."""
INFLATED = (
    "selected on this split: the best of several configurations on the same questions, so its "
    "value is biased upwards; report the value on split=test"
)
REFERENCE_ROLES = ("floor", "ceiling")
"""Roles of methods that are not compared with the baseline."""
_ROLES = ("floor", "baseline", "", "ceiling")
_SOURCES = ("profile", "fidelity")
_RECORDED = (*_SOURCES, "llm", "llm_build", "embedder", "extraction", "tokenizer", "corpus")
_EXTENT = ("regime", "limit", "answer", "fill_context")
_STAGES = ("convert.", "retrieve.", "generate.")
_STEPS = tuple(f"method.{stage}" for stage in _STAGES)
TOKENS = ("prompt_tokens", "completion_tokens")
RunMetrics = Mapping[str, Any]
Runs = Sequence[RunMetrics]
ItemT = TypeVar("ItemT")
KeyT = TypeVar("KeyT", bound=Hashable)


def usual_metrics(names: Iterable[str]) -> list[str]:
    """Return the metrics that tables compare by default, in the order of the columns.

    Evidence recall is at 5, or at the largest k if 5 is missing. Without evidence metrics,
    `answer_in_context` is the metric of retrieval.

    >>> usual_metrics(["f1", "mrr", "evidence_recall@2", "evidence_recall@10"])
    ['evidence_recall@10', 'f1']
    """
    known = dict.fromkeys(names)
    ends = (name.removeprefix(EVIDENCE) for name in known if name.startswith(EVIDENCE))
    cuts = [int(end) for end in ends if end.isdigit()]
    cut = 5 if 5 in cuts else max(cuts, default=0)
    evidence = [name for name in (f"{EVIDENCE}{cut}", IN_CONTEXT) if name in known]
    return [name for name in (*(evidence or ["answer_in_context"]), *_ANSWERS) if name in known]


def regime_of(run: RunMetrics) -> str:
    """Return the regime of a run, `house` or `published`; "" for an imported run."""
    return str(run.get("regime", "house"))


def rule_of(run: RunMetrics) -> dict[str, Any]:
    """Return the values of the `RULE` settings of a run, by path."""
    return {f"evaluation.{name}": run.get("evaluation", {}).get(name) for name in RULE}


def group_by(items: Iterable[ItemT], key: Callable[[ItemT], KeyT]) -> dict[KeyT, list[ItemT]]:
    """Group items by a key; groups and items keep their order."""
    groups: dict[KeyT, list[ItemT]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def different_corpora(first: RunMetrics, second: RunMetrics) -> bool:
    """Return whether two runs have different corpora; False if a corpus is unknown."""
    return len({first.get("corpus"), second.get("corpus")} - {None}) > 1


def runs_by_corpus(runs: Runs, of_each_set: bool = True) -> dict[str, dict[str, list[RunMetrics]]]:
    """Group runs by data set and corpus, and leave out data sets with only one corpus.

    Runs with an unknown corpus are left out. If `of_each_set` is false, the only data set is "".
    """
    known = (run for run in runs if run.get("corpus"))
    sets = group_by(known, lambda run: str(run["dataset"]) * of_each_set)
    by_corpus = {name: group_by(of, short_corpus) for name, of in sets.items()}
    return {name: corpora for name, corpora in by_corpus.items() if len(corpora) > 1}


def short_corpus(run: RunMetrics) -> str:
    """Return the start of the corpus digest for tables, or "" if the corpus is unknown."""
    return str(run.get("corpus") or "")[:8]


def check_one_corpus(runs: Runs, *, of_each_set: bool = True) -> None:
    """Raise UserError if two runs (with `of_each_set`, on one data set) differ in corpus."""
    for corpora in runs_by_corpus(runs, of_each_set).values():
        groups = "; ".join(
            f"corpus {name}: {one['title']} {one['key']} on {one['dataset']}"
            + f" and {len(others)} more" * bool(others)
            for name, (one, *others) in corpora.items()
        )
        reason = f"Runs over different corpora cannot be compared: {groups}"
        raise UserError(f"{reason}. Select runs over one corpus.")


def unverified(run: RunMetrics) -> str:
    """Return `partly` or `false` if a method is not fully checked against its paper, or else ""."""
    return str(run.get("verified", "true")).replace("true", "")


def best_run(runs: Runs, metric: str) -> tuple[int, dict[str, Any]]:
    """Return the position of the first run with the highest mean of a metric, and a record.

    Floor and ceiling methods and runs with failed questions are left out. The record has the number
    `n_equal` of other runs with this mean. Raises UserError if no run remains or has the metric.
    """
    tuned = [row for row, run in enumerate(runs) if run["role"] not in REFERENCE_ROLES]
    metrics = {row: runs[row]["metrics"] for row in tuned if not runs[row]["failed"]}
    if not metrics:
        raise UserError(
            f"objective={metric}: no configuration has scores for all questions; repeat the "
            "command to retry the failed questions."
        )
    means = {row: of_run[metric]["mean"] for row, of_run in metrics.items() if metric in of_run}
    if not means:
        raise unknown("objective", metric, set().union(*metrics.values()))
    best = max(means, key=means.__getitem__)
    return best, {
        "metric": metric, "split": runs[best].get("split", "all"),
        "dev_share": runs[best].get("dev_share"), "limit": runs[best]["limit"],
        "n_configurations": len(tuned), "n_equal": [*means.values()].count(means[best]) - 1,
    }  # fmt: skip


def selection_mark(run: RunMetrics) -> str:
    """Return a mark if a run was selected on the questions that it is scored on, or else ""."""
    split, share = run.get("split", "all"), run.get("dev_share")
    sizes = (
        one["n_configurations"]
        for one in run.get("selections", ())
        if {one["split"], split} != {"dev", "test"} or one["dev_share"] != share
    )
    n = max(sizes, default=1)
    return f"(selected on this split, {n} configurations)" if n > 1 else ""


def in_table_order(runs: Runs) -> list[RunMetrics]:
    """Sort the runs of a table, and give each run a unique title.

    The runs of a sweep come first, and their titles contain the settings that the sweep varies. All
    other runs are sorted by data set, context budget, and role from floor to ceiling. Next to a
    sweep, these runs are marked as references. Titles name the data set if there are several data
    sets. Equal titles are extended by the settings that differ, or by the keys of the runs. `(?)`
    marks a method that is not fully verified.
    """
    cells = [run for run in runs if "varied" in run]
    others = [run for run in runs if "varied" not in run]
    sets = list(dict.fromkeys(run["dataset"] for run in others))
    budgets = list(dict.fromkeys(run.get("budget_context") for run in others if _has_context(run)))

    def place(run: RunMetrics) -> tuple[int, int, int]:
        budget = budgets.index(run.get("budget_context")) if _has_context(run) else 0
        return sets.index(run["dataset"]), budget, _ROLES.index(run["role"])

    names = []
    for run in cells:  # `varied` already shows the edits of steps
        edits = run.get("edits", "") if any(stage in run["varied"] for stage in _STAGES) else ""
        names.append(f"{str(run['title']).removesuffix(edits).strip()} {run['varied']}".strip())
    alike = len(set(names)) < len({(run["method"], run["varied"]) for run in cells})
    ordered = sorted(others, key=place)
    titles = [f"{run['dataset']}: " * (len(sets) > 1) + str(run["title"]) for run in ordered]
    names += titles
    methods = [f"method={run['method']}" * alike for run in cells] + [""] * len(ordered)
    details = [""] * len(cells) + _by_group(titles, ordered, _details)
    titled: list[RunMetrics] = []
    for run, name, method, detail in zip([*cells, *ordered], names, methods, details, strict=True):
        mark = f"({REFERENCE})" * bool(cells and "varied" not in run)
        parts = (name, method, "(?)" * bool(unverified(run)), detail, selection_mark(run), mark)
        titled.append({**run, "title": " ".join(filter(None, parts))})
    return titled


def _has_context(run: RunMetrics) -> bool:
    return bool(run.get("usage", {}).get("context_tokens_per_question"))


def n_references(runs: Runs) -> int:
    """Return the number of reference runs in the table of a sweep, or 0 for other tables."""
    n_cells = sum("varied" in run for run in runs)
    return len(runs) - n_cells if n_cells else 0


def parameter_details(groups: Sequence[Hashable], runs: Runs) -> list[str]:
    """Return for each run the parameters in which it differs from the other runs of its group."""
    fields = [{**run["settings"], "fill_context": run.get("fill_context")} for run in runs]
    return _by_group(groups, fields, lambda of_group: _assignments(of_group, 1))


def _by_group(
    groups: Sequence[Hashable], runs: Runs, describe: Callable[[Runs], list[str]]
) -> list[str]:
    texts: dict[int, str] = {}
    for rows in group_by(range(len(groups)), groups.__getitem__).values():
        texts |= zip(rows, describe([runs[row] for row in rows]), strict=True)
    return [texts[row] for row in range(len(runs))]


def _details(runs: Runs) -> list[str]:
    """Return details that make titles unique: parameters, then settings of steps, then keys."""
    settings = [
        recorded_settings(run) | {name: run.get(name) for name in _EXTENT} |
        {name: run[name] for name in ("split", "dev_share") if name in run} |
        {f"evaluation.{name}": value for name, value in run.get("evaluation", {}).items()} |
        {"corpus": short_corpus(run), "budget_context": run.get("budget_context") or "native",
         "repeats": run["repeats"]["n"] if run.get("repeats") else None}
        for run in runs
    ]  # fmt: skip
    for level in range(3):
        details = _assignments(settings, level)
        if len(set(details)) == len(details):
            return details
    return [f"{detail} {run['key']}".strip() for detail, run in zip(details, runs, strict=True)]


def differing_settings(runs: Runs) -> list[str]:
    """Return the paths of the retrieval settings that differ between runs, except prompts."""
    names = _differing([run["settings"] for run in runs])
    others = ("method.title", "answers", "regime")
    return above_steps(one for one in names if one not in others and not one.endswith("prompt"))


def above_steps(names: Iterable[str]) -> list[str]:
    """Return the names of settings that do not belong to steps; if there are none, all names."""
    every = list(names)
    return [name for name in every if not name.startswith(_STEPS)] or every


def _differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    differ = {name for name, one in product(set().union(*settings), settings)
              if one.get(name) != settings[0].get(name)}  # fmt: skip
    return sorted(differ, key=lambda name: (_level(name), name))


def recorded_settings(run: RunMetrics) -> dict[str, Any]:
    """Return everything stored about a run that can change scores: settings, models and corpus."""
    return {**run["settings"], **{name: run.get(name) for name in _RECORDED}, **rule_of(run)}


def _level(name: str) -> int:
    return 0 if name in _SOURCES else 1 + name.startswith(_STEPS)


def _assignments(settings: Sequence[Mapping[str, Any]], level: int) -> list[str]:
    names = [name for name in _differing(settings) if _level(name) <= level]
    shown = {name: name.removeprefix("method.") for name in names}
    return [", ".join(f"{shown[name]}={one.get(name)}" for name in names) for one in settings]


def tokens_and_usd(run: RunMetrics) -> tuple[float, float]:
    """Return the tokens and the US dollars of all calls of a run, both paid and cached."""
    steps = run["cost"]["steps"].values()
    return sum(total_of(one, *TOKENS) for one in steps), sum(total_of(one, "usd") for one in steps)


def total_of(cost: Mapping[str, Mapping[str, float]], *names: str) -> float:
    """Return the sum of the named fields of a cost, such as `usd`, over paid and cached calls."""
    return sum((float(cost[part][name]) for part in ("paid", "cached") for name in names), 0.0)
