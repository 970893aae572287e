"""The Python interface: data sets, methods as editable pipelines, and runs."""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_bench.config import sources
from graphrag_bench.config.compose import compose_settings, method_values
from graphrag_bench.config.plugins import config_folders
from graphrag_bench.config.settings import NO_SETTINGS, RunSettings, as_list
from graphrag_bench.data.dataset import COLLECTIONS, Dataset
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.explain.question import RunQuestions, TracedAnswer
from graphrag_bench.files import plain_value
from graphrag_bench.fingerprint import digest
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.pipeline.pipeline import STAGES
from graphrag_bench.report.rendering import Table, markdown, show
from graphrag_bench.report.tables import checked_columns
from graphrag_bench.run import stored
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import RunFolder, paths_of, write_rows
from graphrag_bench.run.method import RESERVED, references
from graphrag_bench.run.models import ProcessCache
from graphrag_bench.run.stored import differing_settings
from graphrag_bench.text import counted, short
from graphrag_bench.view.page import full_question, question_tables

if TYPE_CHECKING:
    import pandas

_OF_COMMANDS = {"dataset", "method", "objective", *NO_SETTINGS}
_RUN_SETTINGS = tuple(sorted(set(RunSettings.model_fields) - _OF_COMMANDS))
_SELECTORS = ("profile", "fidelity")


def dataset(
    card: str,
    /,
    root: str | Path | None = None,
    openie: str | Path | None = None,
    *,
    home: str | Path = ".",
    questions: str | Path | None = None,
    **settings: object,
) -> Dataset:
    """Read a data set from `root`. The default is its card's folder, else `home`/data/<name>.

    `questions` is a file or folder of generated questions, which replace the questions of the data
    set. `settings` are the settings of a synthetic data set, or the `name` and the `split` of a
    data set in a collection. Raises UserError for an unknown name and for invalid rows.

    >>> toy = dataset("toy")
    >>> len(toy.documents), toy.questions[0].text, toy.gold["q1"].answers
    (8, 'Who founded the Norvik Observatory?', ('Ada Marsh',))
    >>> len(dataset("world", size=20, n_questions=3).questions)
    3
    """
    own = plain_value(settings)
    return read_dataset(str(card), root, openie, own, home=home, questions=questions)


def dataset_of(
    documents: Sequence[str | Mapping[str, Any]],
    questions: Sequence[str | Mapping[str, Any]] = (),
    *,
    home: str | Path = ".",
) -> Dataset:
    """Make a data set from lists of documents and questions, and store it below `home`/data.

    A document is a text, or a mapping with `text` and optionally `id` and `title`. A question is a
    text, or a mapping with `text`. For scoring, it also needs `answers` and `evidence`, which is a
    list of document ids. Missing ids become d0, d1, ... and q0, q1, ... Raises UserError for an
    invalid field, and the message names the row.

    >>> mine = dataset_of(
    ...     ["Ada built the mill.", {"id": "otto", "text": "Otto sold it."}],
    ...     [{"text": "Who built the mill?", "answers": ["Ada"], "evidence": ["d0"]}],
    ... )
    >>> [document.id for document in mine.documents], mine.gold["q0"].evidence
    (['d0', 'otto'], ('d0',))
    """
    corpus = [_row("document", n, one) for n, one in enumerate(as_list(documents))]
    asked = [_row("question", n, one) for n, one in enumerate(as_list(questions))]
    root = Path(home, "data", f"lists-{digest(corpus, asked)}").absolute()
    write_rows(root / "corpus.jsonl", corpus)
    write_rows(root / "questions.jsonl", asked)
    return read_dataset("jsonl", root, home=home)


def _row(kind: str, n: int, item: object) -> dict[str, Any]:
    if not isinstance(item, str | Mapping):
        raise UserError(f"{kind} {n}: expected a text or {{'text': TEXT}}, not {item!r:.60}.")
    return {"id": f"{kind[0]}{n}", **({"text": item} if isinstance(item, str) else item)}


def method(source: str | Path | Mapping[str, Any], **settings: Any) -> "EditablePipeline":
    """Return the pipeline of a method, with the given settings.

    `source` is the name of a method, the path of a YAML file, or a mapping. A setting is a
    parameter of the method (`damping=0.3`) or a run setting (`workers=2`, `llm="local"`). The value
    of a group of run settings may be a mapping (`embedder={...}`). The value of `llm`, `llm_build`
    and `llm_judge` may be a `ChatModel`. Raises a UserError that lists every unknown name.

    >>> pipeline = method("bm25", top_k=2, embedder="hashing", answer="off")
    >>> pipeline
    <Pipeline bm25: 3 steps; print(pipeline) shows them>
    >>> pipeline.steps["retrieve"]
    [{'op': 'chunk.bm25', 'top_k': 10}]
    >>> method("hipporag", dampng=0.3)
    Traceback (most recent call last):
    graphrag_bench.errors.UserError: There is no setting 'dampng'. Did you mean 'damping'?
    """
    source, settings = plain_value(source), plain_value(settings)
    sources.add_folders(config_folders(as_list(settings.get("plugins"))))
    file = source if isinstance(source, Mapping) else sources.method_file(str(source))
    profile, fidelity = (str(settings.get(name, "default")) for name in _SELECTORS)
    raw = sources.with_profile(file, profile, fidelity, settings.get("pooling"))
    known = [name for name in raw if name not in RESERVED]
    if unknown := [name for name in settings if name not in (*known, *_RUN_SETTINGS)]:
        hints = (did_you_mean(name, [*known, *_RUN_SETTINGS], known) for name in unknown)
        pairs = zip(unknown, hints, strict=True)
        raise UserError("\n".join(f"There is no setting '{name}'. {hint}" for name, hint in pairs))
    own = settings.keys() & known
    raw |= {name: settings[name] for name in own}
    rest = {name: value for name, value in settings.items() if name not in own}
    plain: dict[str, Any] = method_values(raw)
    steps = paths_of({stage: raw.get(stage) for stage in STAGES}, lists=True)
    given = tuple(f"method.{name}" for name in sorted(own))
    readers = tuple(f"method.{at}" for at, value in steps.items() if references(value) & own)
    run_settings = {"chunking": sources.chunking_of(raw), **rest}
    return EditablePipeline(plain, run_settings, given, copy.deepcopy(plain), readers)


@dataclass(repr=False)
class EditablePipeline:
    """A method whose steps can be read and edited. It is made by `gb.method`.

    A run may change settings so that the context fills its budget, except settings that the user
    has chosen. These are the parameters in `given`, and all settings of a step that differs from
    `original`. `readers` lists the paths of step settings that use the parameters in `given`.
    """

    method: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    original: Mapping[str, Any] = field(default_factory=dict, repr=False)
    readers: tuple[str, ...] = ()

    @property
    def steps(self) -> dict[str, list[dict[str, Any]]]:
        """The steps of each stage, as lists that can be edited.

        >>> pipeline = method("bm25", embedder="hashing")
        >>> pipeline.steps["retrieve"].append({"op": "chunk.head", "top_k": 1})
        >>> print(pipeline)
        bm25
        retrieve.0: {"op": "chunk.bm25", "top_k": 10}
        retrieve.1: {"op": "chunk.head", "top_k": 1}
        generate.0: {"op": "context.chunks", "top_k": 4}
        generate.1: {"op": "answer.direct", ...}
        """
        return {stage: self.method.setdefault(stage, []) for stage in STAGES}

    def renamed(self, name: str) -> "EditablePipeline":
        """Return a copy with another name, which is shown in run folders and tables.

        >>> method("bm25").renamed("mine")
        <Pipeline mine: 3 steps; print(pipeline) shows them>
        """
        method = copy.deepcopy(self.method) | {"name": name, "title": name}
        given = (*self.given, *self.readers)  # the new name has no file with the parameters
        return replace(self, method=method, settings=dict(self.settings), given=given)

    def experiment(self, data: Dataset | str, **settings: Any) -> Experiment:
        """Return the checked experiment of this method on a data set, without running it.

        Raises a UserError that lists every problem.

        >>> pipeline = method("vanilla", embedder="hashing", llm="scripted")
        >>> experiment = pipeline.experiment(dataset("toy"), answer="off")
        >>> [artifact.resource for artifact in experiment.plan]
        ['chunk_table', 'chunk_index']
        """
        for name in _SELECTORS:
            if name in settings:
                raise UserError(f"{name} cannot be set here. Use gb.method(NAME, {name}=...).")
        data = data if isinstance(data, Dataset) else dataset(data)
        rest = plain_value({**self.settings, **settings})
        chosen, shared = [], ProcessCache()
        for name in (*sources.GROUPS, *sources.ROLES):
            if isinstance(model := rest.get(name), ChatModel):
                kind = f"{type(model).__module__}.{type(model).__qualname__}"
                rest[name] = own = {"_target_": kind, "identity": model.identity}
                shared.get_or_make(name, own, model.attached)
            if isinstance(rest.get(name), str):
                chosen.append(f"{'llm@' if name in sources.ROLES else ''}{name}={rest.pop(name)}")
        source = {"name": data.card.name, "root": data.root, **data.settings}
        if data.card.name in COLLECTIONS:
            source["card"] = data.card.name
        files = {"openie": data.openie if data.root else None, "questions": data.questions_file}
        source |= {name: str(path) for name, path in files.items() if path is not None}
        settings = compose_settings(chosen, {**rest, "dataset": source, "method": self.method})
        changed = [
            f"method.{stage}.{row}.{name}"
            for stage, steps in self.steps.items()
            for row, step in enumerate(steps)
            if step not in (self.original.get(stage) or [])
            for name in step
        ]
        settings["given"] = [*self.given, *changed]
        return Experiment.prepare(settings, data, shared=shared)

    def run(self, data: Dataset | str, **settings: Any) -> "Run":
        """Run the method on a data set. A stored run with the same settings is resumed.

        `settings` are further run settings, e.g. `limit=20`.

        >>> pipeline = method("bm25", top_k=2, embedder="hashing", llm="scripted")
        >>> pipeline.run("toy", limit=2, answer="off")
        <Run bm25 on toy: 2 questions, 0 answered, 0 failed; runs/toy/bm25/...>
        """
        experiment = self.experiment(data, **settings)
        return Run(experiment, experiment.folder.path, execute(experiment))

    def ask(self, question: str, data: Dataset | str = "sample") -> TracedAnswer:
        """Answer one question, and return the answer with its context and trace.

        Nothing is stored. If a step fails, its error is raised.

        >>> from graphrag_bench.llm.scripted import Scripted
        >>> reader = Scripted({"Norvik": "Ada Marsh"})
        >>> pipeline = method("bm25", top_k=2, embedder="hashing", llm=reader)
        >>> answered = pipeline.ask("Who founded the Norvik Observatory?", "toy")
        >>> answered.answer, [piece.id for piece in answered.context.pieces]
        ('Ada Marsh', ['ada', 'norvik'])
        """
        return TracedAnswer.of(self.experiment(data), question)

    def __repr__(self) -> str:
        name, n_steps = short(self.method["name"]), sum(map(len, self.steps.values()))
        return f"<Pipeline {name}: {counted(n_steps, 'step')}; print(pipeline) shows them>"

    def __str__(self) -> str:
        lines = [self.method["name"]]
        for stage, steps in self.steps.items():
            lines += [f"{stage}.{n}: {json.dumps(o, default=str)}" for n, o in enumerate(steps)]
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run, made by `EditablePipeline.run`.

    >>> pipeline = method("bm25", top_k=2, embedder="hashing", llm="scripted")
    >>> run = pipeline.run("toy", limit=2, answer="off")
    >>> run.metrics["metrics"]["evidence_recall@2"]
    {'mean': 1.0, 'low': 1.0, 'high': 1.0, 'n': 2}
    >>> run.folder.name == run.key
    True
    """

    experiment: Experiment
    """The experiment of the run: its checked settings, data set and pipeline."""
    folder: Path
    """The folder of the run. Its name is the key of the run."""
    metrics: Mapping[str, Any]
    """The content of the run's `metrics.json`."""

    def __repr__(self) -> str:
        named = f"{short(self.experiment.method.name)} on {short(self.experiment.dataset.name)}"
        counts = f"{counted(self.metrics['n'], 'question')}, "
        counts += "{answered} answered, {failed} failed".format(**self.metrics)
        return f"<Run {named}: {counts}; {short(str(self.folder), 120)}>"

    @property
    def key(self) -> str:
        """The key of the run, which is the name of its folder."""
        return self.experiment.key

    def show(self, *others: "Run", columns: str = "main") -> None:
        """Print the table of this run and of other runs. `columns="all"` prints every column.

        >>> pipeline = method("bm25", top_k=2, embedder="hashing", llm="scripted")
        >>> pipeline.run("toy", limit=2, answer="off").show()
        toy (regime: house; limit: 2; context budgets: 2,400 tokens for all)
        ...
        │ BM25   │ 2 │                    1.000 │             49 │
        ...
        """
        for table in self._tables(others, columns):
            show(table)

    def _tables(self, others: Sequence["Run"], columns: str) -> Sequence[Table]:
        runs = []
        for run in (self, *others):
            extent = run.experiment.settings.model_dump(mode="json", include=stored.EXTENT)
            runs.append(stored.StoredRun(RunFolder(run.folder), run.experiment.dataset, extent))
        same = stored.with_one_rule(runs)
        return stored.tables_of(same, stored.stored_differences(same), checked_columns(columns))

    def _repr_markdown_(self) -> str:
        return "\n".join(map(markdown, self._tables((), "main")))

    def question(self, name: str) -> "StoredQuestion":
        """Return the stored result of a question. A notebook shows the result with its graph.

        Raises UserError for an unknown id.

        >>> pipeline = method("bm25", top_k=2, embedder="hashing", llm="scripted")
        >>> question = pipeline.run("toy", limit=2, answer="off").question("q1")
        >>> question.values["gold"]["evidence"]
        ['ada']
        """
        run = stored.StoredRun(RunFolder(self.folder), self.experiment.dataset)
        if name not in run.rows:
            raise UserError(f"The run has no question '{name}'. {did_you_mean(name, run.rows)}")
        return StoredQuestion(full_question(name, RunQuestions(run, self.experiment.home)))


@dataclass(frozen=True, repr=False)
class StoredQuestion:
    """Stored result of a question. `values` contains answer, context, steps and gold."""

    values: Mapping[str, Any]

    def __repr__(self) -> str:
        question, answer = short(self.values["question"], 80), short(str(self.values["answer"]), 80)
        return f"<Question {question!r}: {answer!r}; a notebook shows its graph>"

    def _repr_markdown_(self) -> str:
        return "\n".join(map(markdown, question_tables(self.values)))


def stored_runs(home: str | Path = ".") -> "pandas.DataFrame":
    """Return a data frame with a row for each question of each stored run.

    The columns include the run, the answer, the metrics (if the data set is available), and every
    setting that differs between the runs, named by its path (e.g. `method.damping`).

    >>> settings = {"embedder": "hashing", "llm": "scripted", "paths": {"home": "two"}}
    >>> for top_k in (1, 4):
    ...     run = method("bm25", top_k=top_k, **settings).run("toy", limit=2, answer="off")
    >>> frame = stored_runs("two")
    >>> frame.groupby("method.top_k")["evidence_in_context"].mean().to_dict()
    {1: 0.75, 4: 1.0}
    """
    import pandas

    rows, columns = [], ("status", "answer", "calls", "prompt_tokens")
    runs = stored.stored_runs(home)
    for run, settings in zip(runs, differing_settings(runs), strict=True):
        known = {name: run.metrics.get(name) for name in ("dataset", "method")}
        known |= {"key": run.folder.path.name, **settings}
        known.pop("answer", None)  # the setting `answer`, as the column has the answer's text
        for name, row in run.rows.items():
            plain = {column: row.get(column) for column in columns}
            if gold := run.gold.get(name):
                plain |= {"type": gold.type, "hops": gold.hops}
            rows.append({**known, "question": name, **plain, **run.scores.get(name, {})})
    return pandas.DataFrame(rows)
