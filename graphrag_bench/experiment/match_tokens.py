"""`match_tokens=METHOD`: a baseline gets METHOD's mean context size as its budget."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from graphrag_bench.config.compose import compose, load, readable
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.profiles import SELECTORS
from graphrag_bench.config.settings import check_settings
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.experiment.budgets import budgeted, packing
from graphrag_bench.experiment.execute import execute, selection
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.method import Method, read_method
from graphrag_bench.progress import Progress
from graphrag_bench.runs.question_scores import context_tokens

PACKER = "context.chunks"

Values = Mapping[str, Any]


def fits(values: Values) -> bool:
    """Whether a method can take another's context size: `context.chunks` alone writes its context.

    A method never takes its own.
    """
    method = _method(values)
    return _packers(method) == [PACKER] and method.name != values.get("match_tokens")


def matched(
    values: Values,
    dataset: Dataset | None = None,
    progress: Progress | None = None,
    *,
    measure: bool = True,
    swept: bool = False,
) -> dict[str, Any]:
    """The settings with the budget from `match_tokens`, which is no longer in them.

    The budget is METHOD's mean number of context tokens over the same questions, with the same
    settings otherwise and the parameters of its file. A METHOD that has not run yet is run first,
    up to its contexts, or with `measure=False` refused. A cell of a sweep
    (`swept`) that takes no budget stays as it is. Raises UserError for what is not a method,
    packs no context, or could not pack one for any question.
    """
    name = values.get("match_tokens")
    if name is None:
        return dict(values)
    settings = check_settings(values)
    if isinstance(settings.budget_context, int):
        raise UserError(
            f"match_tokens={name} and budget_context={settings.budget_context} both set the "
            "context budget: leave one of them out."
        )
    plain = {**values, "match_tokens": None, "budget_context": "native"}
    if not fits(values):
        if swept:
            return plain
        raise _misfit(values)
    reference = _reference(plain, str(name), dataset)
    n_tokens = _mean_tokens(reference, progress or Progress(), measure, settings.shard)
    method = _with_budget(values["method"], n_tokens)
    title = f"{_method(values).title} (tokens of {reference.method.title}: {n_tokens:,})"
    return {**plain, "method": {**method, "title": title}}


def _method(values: Values) -> Method:
    load_plugins(check_settings(values).plugins)
    return read_method(values["method"])


def _packers(method: Method) -> list[str]:
    """The operators of a method that write its context, in order."""
    steps = [op for step in method.pipeline.steps() for op in step.operators()]
    return [op.operator.name for op in steps if "context" in op.operator.returns]


def _misfit(values: Values) -> UserError:
    method, name = _method(values), values["match_tokens"]
    if method.name == name:
        return UserError(f"match_tokens={name}: that is the method itself; name another one.")
    every = [other for other in readable("method") if _packers(_known(other)) == [PACKER]]
    made = ", ".join(_packers(method)) or "nothing"
    return UserError(
        f"match_tokens={name}: the context of '{method.name}' is made by {made}; only a method "
        f"whose context is made by {PACKER} alone can be given a budget: {', '.join(every)}."
    )


def _known(name: str) -> Method:
    return read_method(compose({"method": name}, {})["method"])


def _reference(plain: Values, name: str, dataset: Dataset | None) -> Experiment:
    """The run whose contexts are counted; raises UserError for a name that is not such a method."""
    try:
        load("method", name)
    except UserError as error:
        raise UserError(f"match_tokens={name}: {error}") from None
    if not _packers(_known(name)):
        packing = [other for other in readable("method") if _packers(_known(other))]
        hint = did_you_mean(name, packing)
        raise UserError(f"match_tokens={name}: '{name}' packs no context. {hint}")
    sources = {key: plain[key] for key in SELECTORS if key in plain}
    method = compose({"method": name}, sources)["method"]
    values = {**plain, "method": method, "answer": "off", "reference_rows": "off", "shard": None}
    return Experiment.prepare(values, dataset, swept=True)


def _mean_tokens(
    reference: Experiment, progress: Progress, measure: bool, shard: str | None
) -> int:
    """The mean tokens of the reference's contexts, rounded; failed questions are skipped."""
    selected = [question.id for question in selection(reference)[0]]
    held = reference.folder.rows()
    name = reference.method.name
    if any(question not in held for question in selected):
        if not measure or shard is not None:
            raise UserError(
                f"match_tokens={name}: its tokens are known once it has run on these questions; "
                f"run it first: the same settings with method={name} answer=off "
                "budget_context=native, and no shard."
            )
        progress.say(f"match_tokens: running {name} first, up to its contexts (answer=off)")
        held = execute(reference, progress).folder.rows()
    rows = [held[question] for question in selected if "context" in held[question]]
    n_tokens = round(fmean(context_tokens(row) for row in rows)) if rows else 0
    if not n_tokens:
        raise UserError(
            f"match_tokens={name}: none of its {len(selected)} questions has a context with a "
            f"token in it; see {reference.folder.path}."
        )
    return n_tokens


def _with_budget(method: Values, n_tokens: int) -> dict[str, Any]:
    """The method with that budget for its chunks, which fill it."""
    made = budgeted(method, n_tokens, fill=True)
    for step in packing(made):
        step["share"] = 1.0
    return made
