"""Expected and maximum cost of a run, estimated before any model is loaded.

The maximum assumes that every step makes all its calls, that prompts fill the context budget or
the window, that replies reach their limit, and that each call of a build is repeated once.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from graphrag_bench.contract import Sizes, template_tokens
from graphrag_bench.data.dataset import ABSTRACT, Dataset, Document, Gold, load_card
from graphrag_bench.data.readers import is_on_disk
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.build_calls import MOST_TOKENS
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.settings import Prices
from graphrag_bench.papers.printed import load_paper, paper_names, printed_sizes
from graphrag_bench.pipeline.combinators import Each, Repeat, Resolve
from graphrag_bench.pipeline.steps import OperatorStep, Step
from graphrag_bench.prompts import Prompt, answer_form
from graphrag_bench.run import budgets
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.text import count_tokens
from graphrag_bench.values import Question

SHORT_ANSWER_TOKENS = {"short": 16, "choice": 24, "list": 64}
"""Usual number of tokens of an answer, by answer form. For other forms, it is `PROSE_TOKENS`."""
PROSE_TOKENS, REPLY_TOKENS, ROW_TOKENS, REPORT_TOKENS = 300, 150, 1000, 300
"""Usual numbers of tokens of an answer in prose, of a reply during retrieval, of the texts in a
retrieval prompt without a context budget, and of a community report."""
ROUNDS_SHARE = 0.5
"""Typical fraction of the maximum number of rounds that a search with early stopping uses."""
_SAMPLE = 200
_UNKNOWN = (500.0, 100.0)
_LISTS = frozenset({"chunks", "nodes", "relationships", "subgraph", "exploration"})
"""Slots whose items fill the prompt up to the reader's window if no context budget limits them."""
_TOKENS_OF_COMMUNITY = 100
"""Minimum number of corpus tokens per community: 105 on `sample`, 185 on UltraDomain."""


@dataclass(frozen=True)
class Load:
    """Model calls with their tokens and cost. `usd` is None if the model's price is unknown."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None


@dataclass(frozen=True)
class Estimate:
    """Expected and maximum (`most`) cost of a step or an artifact (with the stage "build")."""

    stage: str
    step: str
    expected: Load
    most: Load


def total(loads: Iterable[Load]) -> Load:
    """Return the sum of calls, tokens and dollars. Dollars are None if any price is unknown."""
    rows = list(loads)
    usd = None if any(one.usd is None for one in rows) else sum(one.usd or 0.0 for one in rows)
    prompt = sum(one.prompt_tokens for one in rows)
    completion = sum(one.completion_tokens for one in rows)
    return Load(sum(one.calls for one in rows), prompt, completion, usd)


_ESTIMATE = "{:<32} {:>9} {:>12} {:>11} {:>9}  {:>10} {:>10}"


def estimate_table(head: str, rows: Mapping[str, Sequence[Estimate]]) -> Iterator[str]:
    """Yield the lines of a table. The row of a name has the sum of the estimates of this name."""
    yield _ESTIMATE.format(head, "calls", "prompt", "completion", "USD", "at most", "USD")
    for name, each in rows.items():
        expected, most = total(one.expected for one in each), total(one.most for one in each)
        usd = ["–" if load.usd is None else f"{load.usd:.4f}" for load in (expected, most)]
        numbers = (expected.calls, expected.prompt_tokens, expected.completion_tokens, most.calls)
        *likely, at_most = map("{:,}".format, numbers)
        yield _ESTIMATE.format(f"  {name}", *likely, usd[0], at_most, usd[1])


def estimate_lines(experiment: Experiment, rows: Sequence[Estimate]) -> Iterator[str]:
    """Yield a table of estimates, followed by the prices of the models."""
    if not rows:
        return
    yield ""
    yield from estimate_table("expected", {row.step: [row] for row in rows})
    models = experiment.models
    roles = sorted({"llm_build" if row.stage == "build" else "llm" for row in rows})
    for name, role in {models.identity(role): role for role in roles}.items():
        if isinstance(model := models.unwrapped(role), OpenAICompatible):
            prompt, completion = model.prices.prompt, model.prices.completion
            stated = f"{prompt:g} and {completion:g} USD per million tokens"
            if model.prices == Prices():
                stated = "the price is unknown; set llm.prices={prompt: N, completion: N}"
            yield f"  {name.rpartition(':')[0]}: {stated}"
    yield ""


def estimates(
    experiment: Experiment, n_early: int, n_answers: int, *, unpaid: bool = True
) -> list[Estimate]:
    """Return the estimated cost of each step and artifact that calls a model.

    Retrieval runs for `n_early` questions, of which `n_answers` are also answered. If `unpaid` is
    true, stored artifacts cost nothing.
    """
    rows, store = list[Estimate](), experiment.store()
    sizes = cache(partial(_sizes, experiment))
    lengths = cache(partial(_lengths, experiment.dataset.questions))
    for item in (item for item in experiment.plan if item.builder.calls):
        stored, tokens = unpaid and store.holds(item), item.builder.tokens
        calls = 0 if stored else item.builder.expected_calls(item.settings, sizes())
        prompt, reply = tokens(item.settings, sizes()) if tokens else _UNKNOWN
        longest = max(reply, item.settings.get("max_tokens", reply) or MOST_TOKENS)
        expected = _load(experiment, "llm_build", calls, prompt, reply)
        most = _load(experiment, "llm_build", 2 * calls, prompt, longest)
        rows.append(Estimate("build", item.resource, expected, most))
    for op, times, usual in _weighted(experiment.method.pipeline.steps(n_answers > 0)):
        if bound := op.max_calls():
            n = n_answers if op.label.startswith("generate") else n_early
            grouped = "group_tokens" in op.settings
            groups = _groups(experiment, op, sizes()) if grouped else (bound, bound)
            most_calls = n * times * min(bound, 2 * groups[1])
            calls = min(most_calls, math.ceil(n * usual * groups[0]))
            usually, at_most = _tokens(experiment, op, sizes(), *lengths())
            expected = _load(experiment, "llm", calls, *usually)
            most = _load(experiment, "llm", most_calls, *at_most)
            rows.append(Estimate(op.label.partition(".")[0], op.label, expected, most))
    return rows


def _weighted(
    steps: Sequence[Step], times: int = 1, usual: float = 1.0
) -> Iterator[tuple[OperatorStep, int, float]]:
    """Yield each step with its maximum and its expected number of executions per question."""
    for step in steps:
        if isinstance(step, Repeat | Each):
            most = step.times if isinstance(step, Repeat) else step.at_most
            yield from _weighted(step.steps, times * most, usual * max(1.0, most * ROUNDS_SHARE))
        elif isinstance(step, Resolve):
            often = usual * max(1.0, step.at_most * ROUNDS_SHARE)
            yield from _weighted(step.steps, times * (step.at_most + 1), often + usual)
            yield from _weighted(step.answer, times * step.at_most, often)
        else:
            yield from ((op, times, usual) for op in step.operators())


def _load(experiment: Experiment, role: str, calls: int, prompt: float, completion: float) -> Load:
    model, usd = experiment.models.unwrapped(role), None
    n_prompt, n_completion = round(calls * prompt), round(calls * completion)
    is_priced = not (isinstance(model, OpenAICompatible) and model.prices == Prices())
    if not calls or is_priced:
        usd = model.prices.usd(n_prompt, n_completion) if isinstance(model, ChatModel) else 0.0
    return Load(calls, n_prompt, n_completion, usd)


class _Lengths(NamedTuple):
    question: float
    answer: float


def _lengths(questions: Sequence[Question]) -> tuple[_Lengths, _Lengths]:
    """Return the mean and the maximum tokens of questions (with instructions) and of answers."""
    if not questions:
        most = _Lengths(ROW_TOKENS, answer_form("paragraph").max_tokens)
        return _Lengths(ROW_TOKENS, PROSE_TOKENS), most
    forms = list(dict.fromkeys(question.answer_form for question in questions))
    words = [count_tokens(f"{form.manner} {form.licence} {form.cue}") for form in forms]
    texts = [count_tokens(one.text) for one in questions]
    short = ((SHORT_ANSWER_TOKENS.get(q.form, PROSE_TOKENS), q.answer_form) for q in questions)
    usual = fmean(min(n_tokens, form.max_tokens) for n_tokens, form in short)
    most = _Lengths(max(texts) + max(words), max(form.max_tokens for form in forms))
    return _Lengths(fmean(texts) + fmean(words), usual), most


def _tokens(
    experiment: Experiment, op: OperatorStep, sizes: Sizes, usual: _Lengths, longest: _Lengths
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the expected and the maximum tokens of the prompt and the reply of one call."""
    prompts = [one for one in op.settings.values() if isinstance(one, Prompt)]
    own = max((template_tokens(file) for one in prompts for file in one.files), default=0)
    reply = op.settings.get("max_tokens") or longest.answer
    likely = min(reply, usual.answer if "answer" in op.operator.returns else REPLY_TOKENS)
    window = experiment.window.tokens or budgets.ASSUMED_WINDOW
    budget, slots = experiment.context_budget, {read.slot for read in op.operator.reads}
    context: int | None = 0
    if slots & {"context", "points"} or "context_budget" in op.operator.needs:
        context = op.settings.get("group_tokens") or budget.tokens
    elif slots & _LISTS or "graph" in op.operator.needs:
        context = None
    most = window if context is None else own + longest.question + reply + context
    typical, packed = experiment.window.median_chunk, 0.0
    for block in budgets.context_blocks(experiment.method.pipeline, budget, typical):
        tokens = ROW_TOKENS if block.n_tokens is None else block.n_tokens
        top_k = block.op.settings.get("top_k")
        if top_k and block.op.operator.name == "context.chunks":
            tokens = min(tokens, typical * (budgets.CHUNKS if top_k == "auto" else top_k))
        packed += tokens
    packed = ROW_TOKENS if "group_tokens" in op.settings else packed
    usually = ROW_TOKENS if context is None else min(context, packed) if context else 0
    shown = min(usually, sizes.n_chunks * sizes.chunk * budgets.ROW)
    return (min(window, own + usual.question + shown), likely), (min(window, most), reply)


def _groups(experiment: Experiment, op: OperatorStep, sizes: Sizes) -> tuple[int, int]:
    """Return the expected and the maximum number of prompts that a map step sends."""
    store, settings = experiment.store(), op.settings
    most = math.ceil(sizes.n_chunks * (1 + sizes.chunk / _TOKENS_OF_COMMUNITY))
    for item in experiment.plan:
        if item.resource == "reports" and store.holds(item):
            most = int(store.recipe(item).get("statistics", {}).get("communities") or most)
    packed = settings["group"] == "packed"
    usual = math.ceil(most * REPORT_TOKENS / settings["group_tokens"]) if packed else most
    return min(usual, settings["max_groups"]), most


def _sizes(experiment: Experiment) -> Sizes:
    documents = experiment.dataset.documents
    chunks = n_tokens = [count_tokens(row.passage) for row in documents[:_SAMPLE]]
    table = next(item.settings for item in experiment.plan if item.resource == "chunk_table")
    if (size := table.get("size")) is not None:
        stride = size - table.get("overlap", 0)
        chunks = [min(size, n - at) for n in n_tokens for at in range(0, max(n, 1), stride)]
    n_chunks = round(len(documents) * len(chunks) / max(len(n_tokens), 1))
    return Sizes(fmean(chunks) if chunks else 0.0, n_chunks)


SIZES = " (sizes)"
"""Suffix of the name of a stand-in for a data set."""
_WORD = " word"
"""Text that is one token of the tokenizer cl100k."""


def stand_in(values: Mapping[str, Any]) -> Dataset | None:
    """Return a stand-in with the sizes that papers state, or None if the data set is on disk."""
    source = values["dataset"]
    card = load_card(str(source["name"]))
    if source.get("root") or is_on_disk(card, Path(str(values["paths"]["home"]))):
        return None
    return _of_sizes(str(values["row"]).partition(".")[0], card.name, bool(source.get("questions")))


@cache
def _of_sizes(paper: str, name: str, abstract: bool) -> Dataset:
    card, kind = load_card(name), ABSTRACT if abstract else ""
    papers = [*paper_names(), paper]  # the last one has precedence
    sizes = {size.what: size.value for one in papers for size in printed_sizes(one, name)}
    if not {"documents", "tokens"} <= set(sizes):
        raise UserError(f"Data set '{name}' is not on disk, and no paper states its size.")
    places = [one for one in load_paper(paper).datasets.values() if one.run_card == name]
    places.sort(key=lambda one: one.abstract != abstract)
    n_asked = next((one.questions for one in places if one.questions), 1)
    text = _WORD * max(1, round(sizes["tokens"] / sizes["documents"]))
    documents = tuple(Document(str(n), "", f"{n}{text}") for n in range(sizes["documents"]))
    form, question = card.form_of(kind), 20 * _WORD  # MuSiQue: 19.7 tokens on average
    questions = tuple(Question(str(n), question, form=form) for n in range(n_asked))
    gold = {one.id: Gold(("-",), type=kind) for one in questions}
    return Dataset(f"{name}{SIZES}", documents, questions, gold, card)
