"""The plan of a run: its artifacts, steps, calls and costs, before any model is loaded."""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from graphrag_bench.config.sources import file_of
from graphrag_bench.embedding.long_texts import TextLengths
from graphrag_bench.evaluation.statistics import detectable_share
from graphrag_bench.graphs.build_calls import MOST_TOKENS
from graphrag_bench.llm.chat import MIN_REPLY
from graphrag_bench.pipeline import reader_prompts
from graphrag_bench.pipeline.combinators import Switch
from graphrag_bench.pipeline.pipeline import Pipeline
from graphrag_bench.prompts import FormName, Prompt, answer_form
from graphrag_bench.run import budgets
from graphrag_bench.run import estimates as costs
from graphrag_bench.run.conditions import condition_lines
from graphrag_bench.run.experiment import Experiment, answering_steps, forms_of
from graphrag_bench.values import Question


def describe(experiment: Experiment) -> str:
    """Return the plan as text: artifacts to build or reuse, steps, remaining questions, calls."""
    method, settings, data = experiment.method, experiment.settings, experiment.dataset
    sources = f"regime {settings.regime}, profile {settings.profile}, fidelity {settings.fidelity}"
    lines = [f"method {method.name} on {data.name} ({sources})"]
    if data.name.endswith(costs.SIZES):
        lines += ["  ! The data set is not on disk. Its size is from papers. The keys will differ."]
    lines += [f"  method.{name} = {value}" for name, value in method.parameters.items()]
    lines += [f"  pooling.{name} = {value}" for name, value in (settings.pooling or {}).items()]
    lines += ["", "artifacts", *_artifact_lines(experiment), "", "steps"]
    for op in method.pipeline.operators(settings.answering):
        reads = ", ".join(source for _, source in op.reads)
        writes = ", ".join(map(op.writes, op.operator.returns))
        lines.append(f"  {op.label:<58} {reads} -> {writes}")
    for step in method.pipeline.steps(settings.answering):
        reasons = step.fallback.values() if isinstance(step, Switch) else ()
        lines += [f"  fallback: {reason}" for reason in reasons]
    lines += ["", *_extent(experiment)]
    if settings.row:
        tokens = experiment.context_budget.tokens
        lines += ["", *condition_lines(settings.row, settings, method.pipeline, tokens)]
    return "\n".join(lines)


def plan_values(experiment: Experiment) -> dict[str, Any]:
    """Return the plan as JSON values: the key of the run, its artifacts, questions and costs."""
    store, (selected, _), left = experiment.store(), experiment.selection(), remaining(experiment)
    return {
        "key": experiment.key,
        "dataset": experiment.dataset.name,
        "method": experiment.method.name,
        "artifacts": [
            {"resource": item.resource, "builder": item.builder.name, "key": item.key,
             "stored": store.holds(item)}
            for item in experiment.plan
        ],
        "questions": {"selected": len(selected), "left": left[0], "left_to_answer": left[1]},
        "costs": [asdict(one) for one in costs.estimates(experiment, *left)],
    }  # fmt: skip


def _artifact_lines(experiment: Experiment) -> Iterator[str]:
    store, shared = experiment.store(), experiment.settings.graph.per == "all"
    if not shared:
        yield f"  one set of artifacts for each of {len(experiment.dataset.scopes())} scopes:"
    for item in experiment.plan:
        state = "reuse" if store.holds(item) else "build"
        own = ", ".join(f"{k}={v}" for k, v in {**item.settings, **item.thinning}.items())
        yield f"  {state}  {item.builder.name:<26} {item.key}  {own}"
        if item.trained_on:
            yield f"         trained on {item.trained_on}"
        if item.builder.calls and item.settings.get("max_tokens", 0) is None:
            yield f"         replies: at most {MOST_TOKENS:,} tokens, within the window"
    if "embedder" not in experiment.used_resources:
        return
    lengths: TextLengths = experiment.models.unwrapped("embedder").text_lengths(())
    yield f"embedder: {lengths.description}; {experiment.models.identity('embedder')}"
    for item in experiment.plan:
        if "embedder" in item.builder.needs and lengths.window is not None and shared:
            row = store.recipe(item).get("statistics", {}) if store.holds(item) else {}
            known = "text lengths are known after the build"
            if row.get("window") is not None:
                known = TextLengths.from_row(row).message(row["what"]) or f"no {row['what']}"
            yield f"  {item.resource}: {known}"


def remaining(experiment: Experiment) -> tuple[int, int]:
    """Return the number of unfinished questions of a run, and how many of them will be answered."""
    selected, to_answer = experiment.selection()
    done = [experiment.folder.finished_questions(answering) for answering in (False, True)]
    rest = [one.id in to_answer for one in selected if one.id not in done[one.id in to_answer]]
    return len(rest), sum(rest)


def _extent(experiment: Experiment) -> Iterator[str]:
    pipeline, answers = experiment.method.pipeline, experiment.settings.answering
    selected, to_answer = experiment.selection()
    n, n_answers = remaining(experiment)
    calls = n_answers * pipeline.max_calls(True) + (n - n_answers) * pipeline.max_calls(False)
    yield f"questions: {len(selected)} selected, {len(selected) - n} done, {n} left"
    each = f" ({pipeline.max_calls()} for each answered question)" if to_answer else ""
    yield f"LLM calls for questions: at most {calls}{each}"
    if to_answer:
        answering = [question for question in selected if question.id in to_answer]
        yield from form_lines(pipeline, answering)
        yield from _reader(experiment, forms_of(answering))
    yield from context_lines(experiment)
    if selected:
        of = "correct answers" if answers else "questions with all evidence"
        least = detectable_share(len(selected))
        yield f"detectable difference of two methods in the fraction of {of}: {least:.3f}"
        yield "  (power 80 %, alpha 5 %, if the methods disagree on half of the questions)"
    yield from costs.estimate_lines(experiment, costs.estimates(experiment, n, n_answers))
    if not experiment.dataset.questions:
        steps = [row for row in costs.estimates(experiment, 1, 1) if row.stage != "build"]
        yield from costs.estimate_table("expected", {"each question of `ask`": steps})
    yield f"run: {experiment.folder.path}"


def _reader(experiment: Experiment, forms: Iterable[FormName]) -> Iterator[str]:
    regime, operators = experiment.settings.regime, experiment.method.pipeline.operators()
    yield f"reader prompt: {reader_prompts.READERS[regime]} (regime={regime})"
    if common := reader_prompts.common_forms(regime, forms):
        yield f"  one prompt for all methods: {', '.join(common)}"
        if own := reader_prompts.own_answers(operators):
            yield f"  the method's own prompt during retrieval: {', '.join(own)}"
    if regime == "house":
        yield from dict.fromkeys(f'  "{answer_form(form).licence}"' for form in forms)
        for name in reader_prompts.prompts_without_licence(operators):
            yield f"  not in this prompt, because it has no variable 'licence': {name}"


def form_lines(pipeline: Pipeline, questions: Sequence[Question]) -> Iterator[str]:
    """Yield lines on each answer form: its number of questions, token limit and instruction."""
    own = [op.settings.get("max_tokens") for op in answering_steps(pipeline)]
    for name, n in forms_of(questions).items():
        form = next(one for one in questions if one.form == name).answer_form
        limits = sorted({form.max_tokens if limit is None else int(limit) for limit in own})
        most = f"{', '.join(map('{:,}'.format, limits))} tokens"
        most += ", within the window" * (form.max_tokens > MIN_REPLY)
        yield f"answers: {name} ({n:,} of {len(questions):,} questions, at most {most})"
        yield f'  "{form.manner}"'


def context_lines(experiment: Experiment) -> Iterator[str]:
    """Yield lines on the context budget and its origin, and on each block of the prompt."""
    pipeline, budget = experiment.method.pipeline, experiment.context_budget
    median, long = experiment.window.median_chunk, experiment.window.long_chunk
    if not (blocks := budgets.context_blocks(pipeline, budget, median)):
        return
    yield f"context: {_budget(experiment)}"
    if median:
        yield f"  tokens per chunk in the context: median {median:,}, 90 % {long:,}"
    for block in blocks:
        stated = {name: block.op.settings.get(name) for name in ("top_k", "form")}
        notes = [f"{name}={value}" for name, value in stated.items() if value is not None]
        if block.own_tokens:
            notes.append(f"{block.n_tokens:,} tokens, fixed")
        elif block.n_tokens is not None:
            notes.append(f"{block.share:g} of {budget.tokens:,} = {block.n_tokens:,} tokens")
        if block.whole is not None:
            notes.append(f"{block.whole} whole chunks")
        yield f"  {block.op.operator.name:<24} {', '.join(notes)}"
    for op in pipeline.operators():
        if (n_tokens := (own := op.settings).get("group_tokens")) is not None:
            packed = f"{n_tokens:,} tokens each, in the order {own['order']}"
            each = packed if own["group"] == "packed" else "one report or chunk each"
            yield f"  {op.operator.name:<24} at most {own['max_groups']:,} groups, {each}"
    if budgets.holds_corpus(experiment.dataset, pipeline, budget):
        yield "  ! The whole corpus fits into the context, so that retrieval makes no difference."
    if reason := budgets.empty_blocks(pipeline, budget, experiment.window):
        yield f"  ! {reason}"


def _budget(experiment: Experiment) -> str:
    reader, budget, settings = experiment.window, experiment.context_budget, experiment.settings
    if budget.tokens is None:
        return "native: no limit"
    bound = f"at most {budget.tokens:,} tokens"
    window = f"an assumed window of {budgets.ASSUMED_WINDOW:,} (set llm.window)"
    if reader.tokens:
        window = f"the model's window of {reader.tokens:,}"
    if budget.mode == "native":
        whole, shared = budgets.own_budget(settings), settings.budget_context
        own = f"the method's own {whole:,} tokens" if whole else "no budget"
        own += f", within budget_context={shared}" if isinstance(shared, int) else ""
        return f"{bound}: {own}, within {window}"
    if budget.tokens != reader.auto:
        return f"{bound} (budget_context)"
    reason = f"for {budgets.CHUNKS} chunks in every method"
    wanted = f"{reader.wanted:,} {'(minimum)' if reader.wanted == budgets.LEAST else reason}"
    return f"{bound} (budget_context=auto: {wanted}, within {window})"


def method_files(experiment: Experiment) -> list[Path]:
    """Return the files of a method: YAML file, page, builders, operators, then prompts."""
    keys, steps = experiment.method.keys, experiment.method.pipeline.operators()
    built = [item for item in experiment.plan if item.builder.resource != "chunk_table"]
    parts = [(item.builder.function, item.settings) for item in built]
    parts += [(step.operator.function, step.settings) for step in steps]
    code = [Path(inspect.getfile(inspect.unwrap(function))) for function, _ in parts]
    values = [value for _, settings in parts for value in settings.values()]
    inside = [f"methods:{keys.page or keys.name}/README.md"]
    inside += [value.name for value in values if isinstance(value, Prompt)]
    places = (name.split(":", 1) for name in inside)
    page, *prompts = (Path(str(files(package).joinpath(path))) for package, path in places)
    paths = [file_of("method", keys.name), page, *code, *prompts]
    return list(dict.fromkeys(path for path in paths if path and path.is_file()))
