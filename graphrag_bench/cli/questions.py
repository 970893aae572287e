r"""Generate questions for a corpus, and write the questions and the corpus to a folder.

With dataset.questions=FOLDER, a run answers the new questions on the same data set and reuses its
graphs. The folder is also a data set of its own (dataset=jsonl dataset.root=FOLDER). The model
llm@llm_build=NAME writes the questions. The default is the model of llm=.

examples
  graphrag-bench questions dataset=sample kind=specific wording=template n=30
  graphrag-bench questions dataset=ultradomain_mix kind=abstract \
      llm@llm_build=openai_compatible llm_build.model=gpt-4o
  graphrag-bench run dataset=sample dataset.questions=questions/sample/specific-0a1b2c3d
"""

from argparse import Namespace
from collections import Counter
from pathlib import Path

from graphrag_bench.cli.parsing import Parser, integer, refuse_other_settings
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.fingerprint import digest
from graphrag_bench.llm.calls import FailureGate
from graphrag_bench.questions import generated
from graphrag_bench.questions.generated import QA, is_english, specific_questions, write_set
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.text import counted, safe_name

_SETTINGS = (
    "dataset", "method", "llm", "llm_build", "embedder", "nlp", "chunking", "build", "graph",
    "profile", "fidelity", "seed", "cache", "budget", "failures", "paths", "plugins", "experiment",
)  # fmt: skip
_OWN = ("kind", "n", "hops", "wording", "out")
_DEFAULT_N = {"abstract": generated.MAX_QUESTIONS, "specific": 60}
"""The default number of questions of each kind. For abstract questions, it is also the maximum."""


def declare(parser: Parser) -> None:
    parser.set_usage("dataset=NAME kind=abstract|specific [SETTING=VALUE ...]")
    parser.add_word("words", "WORD", f"settings of a run: {', '.join(_SETTINGS)}", "*")
    parser.add_settings([
        ("kind", "|".join(_DEFAULT_N), None, "`abstract` questions are about the whole corpus, "
         "and follow the papers' protocol (users, tasks, questions per task). `specific` questions "
         "are about chains of facts in a graph, and have answers and gold documents"),
        ("n", "N", None, f"the maximum number (default: {_DEFAULT_N['specific']} specific, or "
         f"{_DEFAULT_N['abstract']} abstract questions: 5 users with 5 tasks of 5 questions)"),
        ("hops", "1,2,3", "1,2,3", "the lengths of the chains, which are equally frequent"),
        ("wording", "llm|template", "llm", "what words specific questions, a model or a template"),
        ("out", "FOLDER", None, "the new folder (default: HOME/questions/<dataset>/<kind>-<key>)"),
    ])  # fmt: skip


def main(options: Namespace) -> None:
    refuse_other_settings("questions", options.words, _SETTINGS, _OWN)
    hops = _check(options)
    values = compose_settings(options.words)
    if options.kind == "specific":
        values["build"] = {"graph": "kg", **(values.get("build") or {})}
    experiment = Experiment.prepare(values)
    if options.kind == "specific" and "graph" not in experiment.needed_artifacts:
        raise UserError(f"method={experiment.method.name} builds no graph. Leave out method=.")
    folder = _folder(options, hops, experiment)
    experiment.models.charge(folder / "ledger.jsonl", tuple)
    questions, refused = _make_questions(options, hops, experiment)
    if not questions:
        raise UserError(
            f"No question could be generated ({refused} wordings were rejected). Change hops= or "
            "build.extraction=, or use a larger model."
        )
    write_set(folder, experiment.dataset, questions)
    counts = ", ".join(f"{n} {type}" for type, n in Counter(one.type for one in questions).items())
    more = f"; {counted(refused, 'wording')} refused" if refused else ""
    dataset = experiment.settings.dataset
    root = f" dataset.root={dataset.root}" if dataset.root else ""
    source = f"dataset={dataset.name}{root} dataset.questions={folder}"
    if experiment.dataset.synthetic:
        source = f"dataset=jsonl dataset.root={folder}"
    chunking = experiment.choices["chunk_table"]["variant"]
    print(f"generated: {counted(len(questions), 'question')} ({counts}){more}")
    print(f"set: {folder.resolve()}")
    print(f"run: graphrag-bench run {source} chunking={chunking} method=entitypassage")
    if len(questions) < options.n:
        of_hops = Counter(one.hops for one in questions)
        found = ", ".join(f"{of_hops[n]} of {n}" for n in hops)
        why = f"the graph has no more chains with a unique answer ({found} hops)"
        if options.kind == "abstract":
            why = "the other questions of the model were empty or duplicates"
        print(f"fewer than n={options.n}: {why}")


def _check(options: Namespace) -> tuple[int, ...]:
    if options.kind is None:
        raise UserError("`graphrag-bench questions` needs kind=abstract or kind=specific.")
    for name, valid in (("kind", _DEFAULT_N), ("wording", ("llm", "template"))):
        if (value := getattr(options, name)) not in valid:
            raise unknown(name, value, valid)
    most = _DEFAULT_N[options.kind]
    limit = most if options.kind == "abstract" else None
    options.n = most if options.n is None else integer("n=", options.n, limit)
    lengths = options.hops.strip("()[]").split(",")
    return tuple(dict.fromkeys(integer("hops=", length, 3) for length in lengths))


def _folder(options: Namespace, hops: tuple[int, ...], experiment: Experiment) -> Path:
    if options.out is not None:
        return Path(options.out)
    model = "" if options.wording == "template" else experiment.models.identity("llm_build")
    graph = [item.key for item in experiment.plan if item.resource == "graph"]
    prompts = (generated.USERS, generated.TASKS, generated.ABSTRACT, generated.SPECIFIC)
    key = digest(
        experiment.dataset.corpus_digest, options.kind, options.n, hops, options.wording, model,
        experiment.settings.seed, graph if options.kind == "specific" else [],
        [prompt.digest for prompt in prompts],
    )  # fmt: skip
    name = safe_name(experiment.dataset.name)
    return experiment.home / "questions" / name / f"{options.kind}-{key[:8]}"


def _make_questions(
    options: Namespace, hops: tuple[int, ...], experiment: Experiment
) -> tuple[list[QA], int]:
    models, failures = experiment.models, experiment.settings.failures
    gate = FailureGate("questions", failures.limit, failures.after)
    log = models.ledger.logger("questions", options.kind)
    if options.kind == "abstract":
        llm = models.llm_build.attached(log=log, gate=gate)
        about = generated.describe(experiment.dataset)
        return generated.abstract_questions(llm, about, options.n), 0
    if not is_english(document.passage for document in experiment.dataset.documents):
        raise UserError(
            "kind=specific needs an English corpus. Use kind=abstract with a model that writes the "
            "language of the corpus."
        )
    by_model = options.wording != "template"
    writer = models.llm_build.attached(log=log, gate=gate) if by_model else None
    built = experiment.store().resources(experiment.plan, {"graph", "chunk_table"}, models)
    seed = experiment.settings.seed
    return specific_questions(built["graph"], built["chunk_table"], hops, options.n, writer, seed)
