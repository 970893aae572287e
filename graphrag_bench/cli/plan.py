"""Prints what a run with the same words would build, read, write and call.

It touches no model. Replace `run` by `plan` in any command.

examples
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench plan experiment=zhou2025/table5
  graphrag-bench plan -m dataset=sample method=hipporag method.damping=0.1,0.5 answer=off
    every cell of the sweep, and the builds, calls, tokens and money of all, summed
  graphrag-bench plan --corpus dataset=sample
    does the corpus need a graph? Its links by names, the gain to expect, the method to begin with;
    reads the corpus by the tagger and the embedder, calls no language model
"""

from collections.abc import Sequence

from graphrag_bench.cli import run as application
from graphrag_bench.cli.parsing import Parser
from graphrag_bench.errors import UserError
from graphrag_bench.explain.corpus import described, known, linkage
from graphrag_bench.progress import Progress
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import Estimate, describe, estimates, remaining
from graphrag_bench.run.session import Identity, Outcomes, identity, session

_WIDTH = 44
_CORPUS = "--corpus"


def declare(parser: Parser) -> None:
    """Show what a run takes, and the look at a corpus."""
    application.declare(parser)
    parser.rows("corpus", [(_CORPUS, "does it need a graph? Expected gain in evidence recall")])


def run(arguments: Sequence[str]) -> int:
    """Print the plan of a run, or of each cell of a sweep, equal ones once; 1 where one fails.

    With `--corpus`, print what a graph may gain on each corpus.
    """
    if _CORPUS not in arguments:
        return application.run(arguments, _print)
    rest = [word for word in arguments if word not in (_CORPUS, "-m", "--multirun")]
    if any(word.startswith("method=") for word in rest):
        raise UserError(f"{_CORPUS} compares two methods of its own: leave out method=.")
    methods = f"method={known().vectors},{known().graph}"
    return application.run([*rest, "-m", methods, "answer=off", "reference_rows=off"], _corpora)


def _corpora(outcomes: Outcomes) -> None:
    pairs: dict[tuple[str, ...], list[Experiment]] = {}
    for words, outcome in outcomes:
        if isinstance(outcome, UserError):
            raise outcome
        corpus = tuple(word for word in words if not word.startswith("method="))
        pairs.setdefault(corpus, []).append(outcome)
    for vectors, graph in pairs.values():
        links = linkage(vectors, graph, Progress())
        print(described(links, graph.dataset.name, known()), end="\n\n")


def _print(outcomes: Outcomes) -> None:
    seen: dict[Identity, Experiment] = {}
    n_failed = 0
    for overrides, outcome in outcomes:
        if isinstance(outcome, UserError):
            n_failed += 1
            print(f"{' '.join(overrides)}\n  failed: {outcome}\n")
        elif identity(outcome) not in seen:
            seen[identity(outcome)] = outcome
            print(describe(outcome), end="\n\n")
    if seen and outcomes[0][0]:
        rows = [one for cell in seen.values() for one in session().with_references(cell)]
        print(_work_ahead(list({identity(one): one for one in rows}.values())))
        n_same = len(outcomes) - n_failed - len(seen)
        counts = f"{len(outcomes)}, different runs: {len(seen)}, same: {n_same}"
        print(f"cells: {counts}" + (f", failed: {n_failed}" if n_failed else ""))


def _work_ahead(experiments: Sequence[Experiment]) -> str:
    builds: dict[str, Estimate] = {}
    questions: list[Estimate] = []
    for experiment in experiments:
        keys = {item.resource: item.key for item in experiment.plan}
        for row in estimates(experiment, *remaining(experiment)):
            if row.stage != "build":
                questions.append(row)
            elif row.calls:
                builds[keys[row.step]] = row
    built = list(builds.values())
    head = f"left to do in {len(experiments)} runs, at most"
    text = f"{head:<{_WIDTH}} {'calls':>9} {'prompt':>12} {'completion':>12} {'USD':>10}\n"
    for name, rows in (
        (f"{len(built)} artifacts read by a language model", built),
        ("questions", questions),
        ("all", [*built, *questions]),
    ):
        calls, prompt = sum(row.calls for row in rows), sum(row.prompt_tokens for row in rows)
        completion, usd = sum(row.completion_tokens for row in rows), sum(row.usd for row in rows)
        text += f"  {name:<{_WIDTH - 2}} {calls:>9,} {prompt:>12,} {completion:>12,} {usd:>10.4f}\n"
    return text
