"""Build a pipeline from a method file, find all problems in the file, and run the pipeline."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from graphrag_bench.contract import REQUIRED, Operator, operators
from graphrag_bench.errors import UserError, did_you_mean, nearest
from graphrag_bench.pipeline import combinators
from graphrag_bench.pipeline.pool import PooledPacker, with_pooling
from graphrag_bench.pipeline.reader_prompts import reader_prompt
from graphrag_bench.pipeline.steps import (
    Checker,
    Execution,
    Failure,
    OperatorStep,
    Outcome,
    Step,
    Steps,
    StepTrace,
    run_steps,
)
from graphrag_bench.prompts import Prompt, Regime
from graphrag_bench.text import counted
from graphrag_bench.values import SLOTS, Question, RetrievalState

STAGES = ("convert", "retrieve", "generate")
BLOCK = 64
"""Number of questions that retrieval steps process at once."""
_OF_STEPS = ("op", "use", "as", "path_pooling")
"""Keys of a step in a method file that are not settings of its operator."""


@dataclass(frozen=True)
class Pipeline:
    """Pipeline of a method: its steps in three stages."""

    convert: Steps = ()
    retrieve: Steps = ()
    generate: Steps = ()

    def steps(self, answering: bool = True) -> Steps:
        """Return all steps in order. If not `answering`, `packing` replaces `generate`."""
        return (*self.convert, *self.retrieve, *(self.generate if answering else self.packing))

    @property
    def packing(self) -> Steps:
        """The steps of `generate` before the first step that writes the answer or may call a model.

        A `PooledPacker` is included even if it may call a model.
        """

        def packs(step: Step) -> bool:
            answers = any("answer" in op.operator.returns for op in step.operators())
            pooled = isinstance(step, PooledPacker)  # it packs even if it may call a model
            return not answers and (not step.max_calls() or pooled)

        return tuple(takewhile(packs, self.generate))

    def operators(self, answering: bool = True) -> list[OperatorStep]:
        """Return the operator steps in order, including those inside combinators."""
        return [op for step in self.steps(answering) for op in step.operators()]

    def mapped(self, change: Callable[[OperatorStep], OperatorStep]) -> "Pipeline":
        """Return a copy of the pipeline with `change` applied to every operator step."""
        stages = (self.convert, self.retrieve, self.generate)
        return Pipeline(*(tuple(step.mapped(change) for step in steps) for steps in stages))

    def needs(self, answering: bool = True) -> set[str]:
        """Return the names of the resources that the steps need, e.g. `graph`."""
        return {need for op in self.operators(answering) for need in op.operator.needs}

    def describe(self) -> list[Any]:
        """Return the parts of the run key that describe the steps."""
        return [step.describe() for step in self.steps()]

    def max_calls(self, answering: bool = True) -> int:
        """Return the maximum number of LLM calls for one question."""
        return sum(step.max_calls() for step in self.steps(answering))

    def check(
        self,
        resources: frozenset[str] | None = None,
        attributes: frozenset[str] | None = None,
        slots: frozenset[str] = frozenset(),
    ) -> list[str]:
        """Return the problems of the pipeline. `slots` are written before the first step."""
        checker = Checker(resources, attributes, {"question", *slots})
        for step in self.steps():
            step.check(checker)
        for name in sorted(checker.unread.keys() - SLOTS.keys()):
            parameters = {one.parameter for op in self.operators() for one in op.operator.reads}
            hint = did_you_mean(name, sorted(parameters - {name}))
            checker.problem(f"{checker.unread[name]}: no step reads its list '{name}'. {hint}")
        if "answer" not in checker.written:
            checker.problem("No step writes 'answer'. The last step of `generate` must write it.")
        return checker.problems


@dataclass(frozen=True)
class StepOptions:
    """Settings of a run that change the steps of every method.

    Files in the folder `prompts` replace prompts with the same file name. `pooling` has the
    settings of path pooling. `regime` selects the answering prompt (see `reader_prompts`). If it is
    None, the method's prompt is kept. If `all_rows` is true and the method does not limit the
    number of relationships, path pooling keeps all of them.
    """

    prompts: str | None = None
    pooling: Mapping[str, Any] | None = None
    regime: Regime | None = None
    all_rows: bool = False


@dataclass
class _Builder:
    options: StepOptions
    problems: list[str] = field(default_factory=list)
    lists: dict[str, str] = field(default_factory=dict)
    """The slot of each named list. Earlier steps named these lists with `as`."""

    def steps(self, items: Any, path: str) -> Steps:
        if not isinstance(items, Sequence) or isinstance(items, str):
            self.problems.append(f"{path}: expected a list of steps, not {items!r}.")
            return ()
        steps = (self.step(item, f"{path}.{row}") for row, item in enumerate(items))
        return tuple(step for step in steps if step is not None)

    def step(self, item: Any, path: str) -> Step | None:
        if not isinstance(item, Mapping):
            self.problems.append(f"{path}: expected a step such as {{op: NAME}}, not {item!r}.")
            return None
        if "op" in item:
            return self._operator(item, path)
        if combinators.combinator_key(item):
            return self._combinator(item, path)
        forms, found = ", ".join(["op", *sorted(combinators.registered)]), ", ".join(map(str, item))
        self.problems.append(f"{path} needs one of the keys {forms}; it has {found}.")
        return None

    def _combinator(self, item: Mapping[str, Any], path: str) -> Step | None:
        form = combinators.combinator_key(item) or ""
        label, settings = f"{path} {form}", combinators.combinator_settings(form)
        keys = sorted(one.name for one in settings.values())
        wrong = (f"'{key}'. Keys: {', '.join(keys)}" for key in item if key not in keys)
        self.problems += [f"{path} ({form}) has no key {one}." for one in wrong]
        values: dict[str, Any] = {"label": label}
        for field_name, one in settings.items():
            value, inside = item.get(one.name), combinators.inner_path(path, one.name, item)
            if one.annotation == Steps:
                values[field_name] = self.steps(value, inside)
            elif one.annotation == combinators.Arms and isinstance(value, Mapping) and value:
                lists = {str(name): self.steps(v, f"{inside}.{name}") for name, v in value.items()}
                values[field_name] = lists
            elif one.annotation == combinators.Arms:
                self.problems.append(f"{inside}: expected named lists of steps, not {value!r}.")
            elif one.default is REQUIRED or one.name in item:
                try:
                    values[field_name] = one.check(value)
                except UserError as error:
                    self.problems.append(f"{label}: {error}")
        required = {name for name, one in settings.items() if one.default is REQUIRED}
        return combinators.registered[form](**values) if required <= values.keys() else None

    def _operator(self, item: Mapping[str, Any], path: str) -> Step | None:
        name = str(item["op"])
        try:
            operator = operators.get(name)
        except UserError as error:
            self.problems.append(f"{path}: {error}")
            return None
        label = f"{path} {name}"
        settings = {key: value for key, value in item.items() if key not in _OF_STEPS}
        use = self._lists_read(operator, item.get("use", ()), label)
        name = self._list_name(operator, item.get("as", ""), label)
        step = OperatorStep(label, operator, self._settings(operator, settings, label), use, name)
        if "path_pooling" not in item or self.options.pooling is None:
            return step
        lists = dict(self.lists)
        try:
            return with_pooling(item, step, self.options.pooling, self.steps, self.options.all_rows)
        except UserError as error:
            self.problems.append(f"{label}: {error}")
            return step
        finally:
            self.lists = lists

    def _lists_read(self, operator: Operator, items: Any, label: str) -> dict[str, str]:
        if isinstance(items, str) or not isinstance(items, Sequence):
            self.problems.append(f"{label}: use: expected a list, not {items!r}.")
            items = ()
        reads = {read.slot: read for read in reversed(operator.reads)}
        reads |= {read.parameter: read for read in operator.reads}
        needed = (read.parameter for read in operator.reads if not read.optional)
        use = {name: name for name in needed if name in self.lists}
        for item in items:
            pairs = item.items() if isinstance(item, Mapping) else [(str(item), None)]
            for wanted, source in pairs:
                usable = {name: one for name, one in reads.items() if one.optional or source}
                if read := usable.get(wanted):
                    own = read.parameter if read.parameter in self.lists else read.slot
                    use[read.parameter] = source or own
                else:
                    known = ", ".join(sorted(usable)) or "none"
                    self.problems.append(f"{label} cannot use '{wanted}'; it can use {known}.")
        for parameter, source in use.items():
            slot = reads[parameter].slot
            if source not in {*self.lists, slot}:
                hint = did_you_mean(source, sorted({*self.lists, slot}))
                self.problems.append(f"{label}: no earlier step names a list '{source}'. {hint}")
            elif (kind := self.lists.get(source, source)) != slot:
                self.problems.append(f"{label} reads {slot} from '{source}', a list of {kind}.")
        return use

    def _list_name(self, operator: Operator, name: Any, label: str) -> str:
        kind = operator.main
        if not isinstance(name, str) or (name and not name.isidentifier()):
            self.problems.append(f"{label}: as: expected a name, not {name!r}.")
            return ""
        if name in ("", kind):
            return name
        if name in SLOTS:
            self.problems.append(f"{label}: as: '{name}' is a slot; choose another name.")
        elif (known := self.lists.setdefault(name, kind)) != kind:
            self.problems.append(f"{label}: as: '{name}' is a list of {known}, not of {kind}.")
        return name

    def _settings(self, operator: Operator, own: Mapping[str, Any], label: str) -> dict[str, Any]:
        settings = {}
        for name in own:
            if name not in operator.settings:
                hint = did_you_mean(name, sorted(operator.settings))
                self.problems.append(f"{label} has no setting '{name}'. {hint}")
        for name, setting in operator.settings.items():
            if name not in own and setting.default is REQUIRED:
                self.problems.append(f"{label} needs the setting '{name}'.")
                continue
            value = own.get(name, setting.default)
            if isinstance(value, str) and "${" in value:
                continue  # an unresolved reference, reported once for the method
            try:
                if setting.annotation is Prompt:
                    prompt = value if isinstance(value, Prompt) else Prompt(str(value))
                    value = replace(prompt, folder=self.options.prompts)
                    if self.options.regime and name == "prompt" and "answer" in operator.returns:
                        stage = label.partition(".")[0]
                        value = reader_prompt(value, operator, stage, self.options.regime)
                settings[name] = setting.check(value)
            except UserError as error:
                self.problems.append(f"{label}: {error}")
        return settings


def unknown_stages(method: Mapping[str, Any]) -> list[str]:
    """Return the keys of a method file that have a list of steps but are not names of stages."""

    def is_step(item: Any) -> bool:
        return isinstance(item, Mapping) and bool("op" in item or combinators.combinator_key(item))

    others = ((key, items) for key, items in method.items() if key not in STAGES)
    return [key for key, one in others if isinstance(one, list | tuple) and any(map(is_step, one))]


def build(
    method: Mapping[str, Any], options: StepOptions | None = None
) -> tuple[Pipeline, list[str]]:
    """Return the pipeline of a method file, and the problems found in the file."""
    builder = _Builder(options or StepOptions())
    keys = {stage: stage for stage in STAGES if stage in method}
    for key in unknown_stages(method):
        close = nearest(key, [stage for stage in STAGES if stage not in keys], n=1)
        hint = f"Did you mean '{close[0]}'?" if close else f"There are: {', '.join(STAGES)}."
        builder.problems.append(f"Unknown stage '{key}'. {hint}")
        keys |= dict.fromkeys(close, key)
    there = [(stage, keys[stage]) for stage in STAGES if stage in keys]
    stages = {stage: builder.steps(method[key], key) for stage, key in there}
    return Pipeline(**stages), builder.problems


def raise_problems(problems: Sequence[str], what: str) -> None:
    """Raise one UserError with all problems, if there are any."""
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UserError(f"{counted(len(problems), 'problem')} in {what}:\n{lines}")


@dataclass(frozen=True)
class QuestionResult:
    """Result of a question, traces of its steps, and reasons for fallbacks, in order."""

    question: Question
    outcome: Outcome
    trace: tuple[StepTrace, ...]
    fallbacks: tuple[str, ...] = ()

    @property
    def failure(self) -> Failure | None:
        """The failure of the question, or None."""
        return self.outcome if isinstance(self.outcome, Failure) else None


def run(
    questions: Sequence[Question],
    pipeline: Pipeline,
    execution: Execution,
    *,
    answering: bool = True,
    start: Callable[[Question], RetrievalState] = RetrievalState,
) -> Iterator[QuestionResult]:
    """Run the pipeline and yield the result of each question, in the given order.

    `start` returns the first state of a question. If `answering` is false, the run ends when the
    context is packed. The stage `generate` handles `execution.workers` questions at once, so that
    few results are lost if the process is killed. Earlier stages handle up to `BLOCK` questions at
    once, or `execution.workers` if a step in these stages calls a model.
    """
    early = (*pipeline.convert, *pipeline.retrieve)
    late = pipeline.generate if answering else pipeline.packing
    small = max(1, execution.workers)
    block = BLOCK if not any(step.max_calls() for step in early) else small
    for first in range(0, len(questions), block):
        part = questions[first : first + block]
        outcomes = run_steps(early, [start(question) for question in part], execution)
        for near in range(0, len(part), small):
            rows = slice(near, near + small)
            final = run_steps(late, outcomes[rows], execution)
            for question, outcome in zip(part[rows], final, strict=True):
                trace = tuple(execution.traces.pop(question.id, ()))
                fallbacks = tuple(execution.fallbacks.pop(question.id, ()))
                yield QuestionResult(question, outcome, trace, fallbacks)
