"""The plan of an experiment in words, before any model is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from graphrag_bench.config.sources import file_of
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.long_texts import Fit
from graphrag_bench.evaluation.statistics import detectable_share
from graphrag_bench.graphs.asking import MOST_TOKENS, reply_limits
from graphrag_bench.llm.windows import LEAST as LEAST_REPLY
from graphrag_bench.pipeline.combinators import Switch
from graphrag_bench.pipeline.pipeline import Pipeline
from graphrag_bench.pipeline.reader_prompts import READERS, common_forms, own_answers, unlicensed
from graphrag_bench.pipeline.steps import OperatorStep
from graphrag_bench.prompts import FormName, answer_form
from graphrag_bench.run.budgets import (
    ASSUMED_WINDOW,
    CHUNKS,
    LEAST,
    Block,
    context_blocks,
    context_budget,
    empty_blocks,
    map_steps,
)
from graphrag_bench.run.estimate import Estimate, estimates
from graphrag_bench.run.experiment import Experiment, answering_steps, forms_of
from graphrag_bench.values import Question


def describe(experiment: Experiment) -> str:
    """Return the plan: artifacts to build or reuse, steps, questions that remain, LLM calls."""
    return "\n".join(_lines(experiment))


def _lines(experiment: Experiment) -> Iterator[str]:
    method, pipeline = experiment.method, experiment.method.pipeline
    settings = experiment.settings
    sources = f"profile {settings.profile}, fidelity {settings.fidelity}"
    yield f"method {method.name} on {experiment.dataset.name} ({sources})"
    for name, value in method.parameters.items():
        yield f"  method.{name} = {value}"
    for name, value in (settings.pooling or {}).items():
        yield f"  pooling.{name} = {value}"
    yield ""
    yield "artifacts"
    store = experiment.store()
    if settings.graph.per == "partition":
        yield f"  one set of artifacts for each of {len(experiment.dataset.scopes())} scopes:"
    for item in experiment.plan:
        state = "reuse" if store.holds(item) else "build"
        own = ", ".join(f"{k}={v}" for k, v in item.own_settings.items())
        yield f"  {state}  {item.builder.name:<26} {item.key}  {own}"
        limits = [item.settings[name] for name in reply_limits(item.settings)]
        if item.builder.calls and None in limits:
            yield f"         replies: at most {MOST_TOKENS:,} tokens, or what the window leaves"
    yield from _embedder_lines(experiment)
    yield ""
    yield "steps"
    for op in pipeline.operators(settings.answering):
        reads = [r.slot for r in op.operator.reads if not r.optional or r.slot in op.use]
        writes = [*op.operator.writes, *op.operator.may_write]
        yield f"  {op.label:<58} {', '.join(reads)} -> {', '.join(writes)}"
    for step in pipeline.steps(settings.answering):
        if isinstance(step, Switch):
            yield from (f"  fallback: {reason}" for reason in step.fallback.values())
    yield ""
    yield from _extent(experiment)


def _extent(experiment: Experiment) -> Iterator[str]:
    pipeline = experiment.method.pipeline
    selected, to_answer = experiment.selection()
    answered = experiment.folder.done(True)
    done = experiment.folder.done(False)
    todo = [q for q in selected if q.id not in (answered if q.id in to_answer else done)]
    calls = sum(pipeline.bound(question.id in to_answer) for question in todo)
    yield f"questions: {len(selected)} selected, {len(selected) - len(todo)} done, {len(todo)} left"
    each = f" ({pipeline.bound()} for each answered question)" if to_answer else ""
    yield f"LLM calls: at most {calls}{each}"
    if to_answer:
        answering = [question for question in selected if question.id in to_answer]
        yield from form_lines(pipeline, answering)
        yield from _reader(experiment, forms_of(answering))
    yield from _comparable(experiment, len(selected))
    n_answers = sum(question.id in to_answer for question in todo)
    yield from _estimate_lines(estimates(experiment, len(todo), n_answers))
    yield f"run: {experiment.folder.path}"


def _reader(experiment: Experiment, forms: Iterable[FormName]) -> Iterator[str]:
    reader = experiment.settings.reader_prompt
    yield f"reader prompt: {READERS[reader]} (reader_prompt={reader})"
    if common := common_forms(reader, forms):
        if reader == "auto":
            yield f"  one for all methods: {', '.join(common)}"
        if own := own_answers(experiment.method.pipeline):
            yield f"  the method's own for answers inside its search: {', '.join(own)}"
    if reader == "own":
        return
    yield from dict.fromkeys(f'  "{answer_form(form).licence}"' for form in forms)
    for name in unlicensed(experiment.method.pipeline):
        yield f"  without that clause, as it has no variable 'licence': {name}"


def _comparable(experiment: Experiment, n_questions: int) -> Iterator[str]:
    yield from context_lines(experiment)
    if n_questions:
        of, when = "questions with all evidence found", "all evidence is found"
        if experiment.settings.answering:
            of, when = "right answers", "the answer is right"
        least = detectable_share(n_questions)
        yield f"detectable: a difference of {least:.3f} between two methods' shares of {of}"
        yield f"  (4 runs of 5 show it at 5 %, when {when} by just one of the two for half of the"
        yield "  questions; smaller with fewer of them)"


def _estimate_lines(rows: Sequence[Estimate]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    head = "at most; building: as expected"
    yield f"{head:<44} {'calls':>8} {'prompt':>10} {'completion':>10} {'USD':>9} {'time':>8}"
    for row in rows:
        seconds = "?" if row.seconds is None else f"{row.seconds:.0f} s"
        basis = " (measured)" if row.measured else ""
        yield (
            f"  {row.step + basis:<42} {row.calls:>8,} {row.prompt_tokens:>10,} "
            f"{row.completion_tokens:>10,} {row.usd:>9.4f} {seconds:>8}"
        )
    if any(row.seconds is None for row in rows):
        yield "  time is known once a step has made its first calls"
    yield ""


def context_lines(experiment: Experiment) -> Iterator[str]:
    """Yield the context budget with its reason, and what each block of the prompt has of it."""
    method, budget, room = experiment.method, experiment.models.context_budget, experiment.room
    blocks = context_blocks(method.pipeline, budget, room)
    if not blocks:
        return
    yield f"context: {_budget(experiment)}"
    chunk = room.chunk
    if chunk.typical:
        yield f"  a chunk takes {chunk.typical:,} tokens (median; 90 %: {chunk.long:,}), as a row"
    for block in blocks:
        yield f"  {block.op.operator.name:<24} {', '.join(_words(experiment, block))}"
    for op in map_steps(method.pipeline):
        most = budget.group_tokens or op.settings["group_tokens"]
        each = "one report or chunk each"
        if op.settings["group"] == "packed":
            each = f"{most:,} tokens each, in the order {op.settings['order']}"
        yield (
            f"  {op.operator.name:<24} reads at most {op.settings['max_groups']:,} groups, {each}; "
            "reports beyond them are left unread, counted in the record and in the table"
        )
    if reason := empty_blocks(method, budget, room):
        yield f"  ! {reason}"


def _words(experiment: Experiment, block: Block) -> Iterator[str]:
    budget, settings = experiment.models.context_budget, block.op.settings
    kind = block.op.operator.name.removeprefix("context.").removesuffix("s")
    top_k = budget.most_rows(kind, settings.get("top_k"), 0)
    if top_k is not None:
        yield f"top_k={top_k or 'auto'}"
    if settings.get("form") is not None:
        yield f"form={settings['form']}"
    if block.alone:
        yield f"{block.n_tokens:,} tokens of its own"
    elif block.n_tokens is not None:
        yield f"{block.share:g} of {budget.tokens:,} = {block.n_tokens:,} tokens"
    if block.whole is not None:
        yield f"{block.whole} whole chunks"


def _budget(experiment: Experiment) -> str:
    room, n_tokens = experiment.room, context_budget(experiment.settings, experiment.method)
    window = (
        f"the reader's window of {room.window:,}"
        if room.window
        else f"a window that is taken to be {ASSUMED_WINDOW:,} (llm.window tells the reader's)"
    )
    if n_tokens is not None:
        bound = f"at most {n_tokens:,} tokens (budget_context)"
        if n_tokens != room.auto:
            return bound
        why = f"{LEAST:,} at least"
        if room.wanted > LEAST:
            why = f"{room.wanted:,} have room for {CHUNKS} whole chunks in every method"
        return f"{bound}; auto: {why}" + (f"; within {window}" if n_tokens < room.wanted else "")
    budget = experiment.models.context_budget
    if budget.tokens is None:
        return "each method's own; this one has no bound"
    if budget.tokens == budget.whole:
        return f"at most {budget.tokens:,} tokens (the method's own)"
    own = f"the method's own {budget.whole:,} tokens" if budget.whole else "no budget"
    return f"at most {budget.tokens:,} tokens: {own}, within {window}"


COUNTED = 4_000_000
"""Characters whose tokens a plan counts: of more texts it counts every second, third and so on."""


def _embedder_lines(experiment: Experiment) -> Iterator[str]:
    """What the embedder reads, and how much of each kind of text is longer, before any is embedded.

    Chunks are counted; of other texts an index says it once it is there. Nothing for a run that
    embeds nothing. Loads no weights. Raises UserError for longer chunks under
    `embedder.long_texts=refuse`.
    """
    if "embedder" not in experiment.used:
        return
    embedder: Embedder = experiment.models.bare("embedder")
    yield f"embedder: {embedder.reading}"
    if embedder.window is None:
        return
    store = experiment.store()
    for item in (item for item in experiment.plan if "embedder" in item.builder.needs):
        stored = store.holds(item) and experiment.settings.graph.per == "all"
        row = store.recipe(item).get("statistics", {}) if stored else {}
        if row.get("window") is not None:
            yield f"  {Fit.of(row).message(row['what']) or item.resource}"
        elif item.resource == "chunk_index":
            yield f"  {chunk_line(experiment)}"
        else:
            yield f"  {item.resource}: how long its texts are is not known before it is built"


def chunk_line(experiment: Experiment) -> str:
    """Say how many chunks are longer than the embedder reads; "" where no window is known."""
    chunks = next(item for item in experiment.plan if item.resource == "chunk_table")
    key = [experiment.models.identity("embedder"), chunks.key]
    line: str = experiment.models.shared.once("long chunks", key, lambda: _chunks(experiment))
    return line


def _chunks(experiment: Experiment) -> str:
    embedder: Embedder = experiment.models.bare("embedder")
    if not embedder.window:
        return ""
    store, whole = experiment.store(), experiment.settings.graph.per == "all"
    item = next(one for one in experiment.plan if one.resource == "chunk_table")
    if whole and store.holds(item) and "same_as" not in store.recipe(item):
        table: ChunkTable = store.resources(experiment.plan, {"chunk_table"}, {})["chunk_table"]
    elif set(item.builder.needs) == {"corpus"}:
        table = item.builder.function(corpus=experiment.dataset, **item.settings)
    else:
        return "chunks: how long they are is not known before they are made"
    texts = table.passages
    step = -(-sum(map(len, texts)) // COUNTED) or 1
    fit = embedder.fit(texts[::step], load=False)
    fit.refuse("chunks")
    sampled = f" (one of {step} counted; a run counts all)" if step > 1 else ""
    unknown = "chunks: how long they are is not known before the model is loaded"
    return f"{fit.message('chunks')}{sampled}" if fit.window else unknown


def form_lines(pipeline: Pipeline, questions: Sequence[Question]) -> Iterator[str]:
    """Yield for each form that the questions want how many do, its words, and the most tokens."""
    for name, n in forms_of(questions).items():
        form = answer_form(name, questions[0].open_tokens)
        limits = sorted({_limit(op, form.max_tokens) for op in answering_steps(pipeline)})
        most = ", ".join(f"{limit:,}" for limit in limits)
        most += " tokens" + (" or what the window leaves" if form.max_tokens > LEAST_REPLY else "")
        yield f"answers: {name} ({n:,} of {len(questions):,} questions, at most {most})"
        yield f'  "{form.manner}"'


def _limit(op: OperatorStep, of_form: int) -> int:
    limit = op.settings.get("max_tokens")
    return of_form if limit is None else int(limit)


def method_files(experiment: Experiment) -> list[Path]:
    """Return the files that make a method, in reading order, each once.

    Its YAML file and page, the builders of its artifacts as they are built, then the operators in
    the order of its steps, without what these call.
    """
    name = experiment.method.name
    file = file_of("method", name)
    spec = find_spec("methods")
    folders = spec.submodule_search_locations if spec else None
    page = Path(next(iter(folders or ["methods"])), name, "README.md")
    functions = [item.builder.function for item in experiment.plan]
    functions += [op.operator.function for op in experiment.method.pipeline.operators()]
    code = [Path(inspect.getfile(inspect.unwrap(function))) for function in functions]
    return list(dict.fromkeys(path for path in (file, page, *code) if path and path.is_file()))
