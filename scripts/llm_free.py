"""Retrieval without a language model: methods and the parts of the entity-passage graph compared.

Runs each method on each set with the packaged embedder and tagger, no OpenIE file and no answers,
a process for each, and writes docs/results/llm_free.md. What is stored is not run again.

Usage: python scripts/llm_free.py [--musique FOLDER] [--mix FOLDER] [--home FOLDER] [--sets a,b]
  --musique  a folder with corpus.json and questions.json in HippoRAG's layout; left out without it
  --mix      a folder with UltraDomain's corpus.jsonl; asked are specific questions that are made
             of it by a template; left out without it
  --sets     only these of musique, sample, mix, world_300, world_1000, world_3000
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.config.compose import composed
from graphrag_bench.evaluation.statistics import paired_difference
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import RunResult, execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.results import scores_over_repeats

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results" / "llm_free.md"
GRAPHRAG_BENCH = (sys.executable, "-m", "graphrag_bench.cli.main")
NLP = "build.extraction=nlp"
VECTORS = "method.linking=[vectors]"
NAMES = "method.linking=[dictionary,mentions,vectors]"
TITLES = "build.graph.titles=about"
WALK = ("method=entitypassage", "method.retrieve.2.n_parents=0", "method.retrieve.2.title_bonus=0")
"""The entity-passage graph without routes, which docs/results/routes.md adds to each method."""
PRUNED = ("build.extraction.variant=nlp", "build.extraction.prune=unjoined")
ROWS: Mapping[str, tuple[str, ...]] = {
    "VanillaRAG": ("method=vanilla",),
    "BM25": ("method=bm25",),
    "hybrid": ("method=hybrid",),
    "RAPTOR": ("method=raptor",),
    "FastGraphRAG": ("method=fastgraphrag",),
    "LightRAG, hybrid": ("method=hlightrag",),
    "LightRAG, linked by vectors": ("method=hlightrag", "method.linking=[]"),
    "LinearRAG": ("method=linearrag",),
    "LinearRAG, linked by names first": ("method=linearrag", NAMES),
    "HippoRAG": ("method=hipporag", NLP),
    "HippoRAG, linked by vectors": ("method=hipporag", NLP, VECTORS),
    "HippoRAG, unjoined phrases pruned": ("method=hipporag", *PRUNED),
    "HippoRAG, titles as entities": ("method=hipporag", NLP, TITLES),
    "HippoRAG 2": ("method=hipporag2", NLP),
    "HippoRAG 2, facts alone": ("method=hipporag2", NLP, "method.linking=[]"),
    "HippoRAG 2, titles as entities": ("method=hipporag2", NLP, TITLES),
    "HippoRAG 2, NER to node": ("method=hipporag2_ner", NLP),
    "entity-passage graph": WALK,
    "– without titles": (*WALK, "build.graph.title_weight=0"),
    "– titles weigh as other names": (*WALK, "build.graph.title_weight=1"),
    "– without the dictionary": (*WALK, "method.linking=[mentions]"),
    "– without the tagger's mentions": (*WALK, "method.linking=[dictionary]"),
    "– without resolution": (*WALK, "build.graph.resolve=[]"),
    "– single words always": (*WALK, "method.single_words=any"),
    "– without dense weight": (*WALK, "method.dense_weight=0.0"),
    "– names in one passage left out": (*WALK, "build.graph.min_chunks=2"),
}
"""The rows of the page; those that begin with a dash change one part of the one above them."""
FIRST, BEST = "VanillaRAG", "entity-passage graph"
METRICS = ("evidence_recall@2", "evidence_recall@5", "evidence_recall@10", "all_evidence@8")
HEADS = (
    "", "recall@2", "recall@5", "recall@10", "all evidence@8", "seconds", "MB", "nodes",
)  # fmt: skip
SETS = ("musique", "sample", "mix", "world_300", "world_1000", "world_3000")
COMPARED = "evidence_recall@5"
ABOUT = """\
# Retrieval without a language model

Written by `python scripts/llm_free.py --musique FOLDER --mix FOLDER`: 100 MuSiQue questions with
their 1,890 passages in HippoRAG's layout, `sample`, the 61 documents of UltraDomain's Mix with
questions made from chains of facts (`questions kind=specific wording=template`), and the made world
in three sizes. all-MiniLM-L6-v2, entities by the packaged spaCy model, no OpenIE file, no language
model, no answers; defaults but for what a row says. `seconds`: to build all that a row retrieves
from, on two cores; what rows share is counted in each, and nothing comes from the stores of vectors
and readings (`cache.mode=off`), but in the rows with a dash, which change one part of the
entity-passage graph, which ends with its walk here ([routes](routes.md) came later). `MB`: the most
memory that the process which built held; – where all of it was there already.
"""
DIFFERENCES = """\
Paired bootstrap over questions; p by a paired permutation test (mid-p), not corrected for the
number of rows.
"""


@dataclass(frozen=True)
class Row:
    """One run: means, seconds to build, peak memory, nodes, and the scores of each question.

    The memory is that of a process which built something; None where all was stored. `n_tokens` are
    the mean tokens of a context.
    """

    name: str
    means: tuple[float, ...]
    seconds: float
    megabytes: float | None
    n_nodes: int | None
    scores: Mapping[str, Mapping[str, float]]
    n_tokens: float

    def cells(self) -> list[str]:
        """The cells of its line."""
        nodes = "–" if self.n_nodes is None else f"{self.n_nodes:,}"
        megabytes = "–" if self.megabytes is None else f"{self.megabytes:,.0f}"
        cost = (f"{self.seconds:.0f}", megabytes, nodes)
        return [self.name, *(f"{mean:.3f}" for mean in self.means), *cost]


def sets(musique: str, mix: str, home: str) -> dict[str, tuple[str, ...]]:
    """The words of every set by its name."""
    result: dict[str, tuple[str, ...]] = {"sample": ("dataset=sample",)}
    if musique:
        result = {"musique": ("dataset=musique", f"dataset.root={musique}"), **result}
    if mix:
        words = ("dataset=ultradomain_mix", f"dataset.root={mix}", "chunking=token")
        folder = Path(home) / "specific"
        if not folder.is_dir():
            product = ("kind=specific", "wording=template", f"out={folder}", f"paths.home={home}")
            subprocess.run([*GRAPHRAG_BENCH, "questions", *words[:2], *product], check=True)
        result["mix"] = (*words, "chunking.size=300", f"dataset.questions={folder}")
    sizes = (300, 1000, 3000)
    return result | {f"world_{n}": ("dataset=world", f"dataset.size={n}") for n in sizes}


def prepared(name: str, words: Sequence[str], home: str) -> Experiment:
    """The experiment of a row; nothing comes from the stores, unless a word or a dash says so."""
    stores = [word for word in words if word.startswith("cache.mode=")]
    config = [
        *words,
        "answer=off",
        "reference_rows=off",
        "evaluation.cuts=[2,5,8,10]",
        f"paths.home={home}",
        *(() if stores else [f"cache.mode={'write' if name.startswith('–') else 'off'}"]),
    ]
    return Experiment.prepare(composed(config))


def run(name: str, words: Sequence[str], home: str) -> Row:
    """The row of one run, which is made where it is not stored."""
    experiment = prepared(name, words, home)
    builds = not all(experiment.store().folder(item).is_dir() for item in experiment.plan)
    ended = execute(experiment, Progress())
    stored = ended.metrics["metrics"]
    means = tuple(float(stored[metric]["mean"]) for metric in METRICS)
    scores = {
        question: result
        for question, result in scores_over_repeats(ended.experiment).items()
        if COMPARED in result
    }
    seconds, n_nodes = _built(ended)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    n_tokens = float(ended.metrics["usage"]["context_tokens_per_question"])
    return Row(name, means, seconds, peak if builds else None, n_nodes, scores, n_tokens)


def run_alone(name: str, words: Sequence[str], home: str) -> Row:
    """The row of one run, in a process of its own, whose memory is measured; kept in the home."""
    requests = json.dumps([name, list(words), home])
    rows = Path(home) / "llm_free" / f"{prepared(name, words, home).key}.json"
    if rows.is_file():
        return Row(**{**json.loads(rows.read_text(encoding="utf-8")), "name": name})
    done = subprocess.run(
        [sys.executable, __file__, "--one", requests], check=True, stdout=subprocess.PIPE, text=True
    )
    message = done.stdout.splitlines()[-1]
    rows.parent.mkdir(exist_ok=True)
    rows.write_text(message, encoding="utf-8")
    return Row(**json.loads(message))


def _built(ended: RunResult) -> tuple[float, int | None]:
    """The seconds that the artifacts of a run took, and the nodes of its graph."""
    store, seconds, nodes = ended.experiment.store(), 0.0, None
    for item in ended.experiment.plan:
        seconds += float(store.recipe(item).get("seconds", 0.0))
        if item.resource == "graph":
            nodes = Graph.load(store.folder(item)).n_nodes
    return seconds, nodes


def page(by_set: Mapping[str, Sequence[Row]]) -> str:
    """The page: for each set its figures, then the differences."""
    lines = ABOUT.splitlines()
    if absent := [name for name in SETS if name not in by_set]:
        lines += ["", f"Not run: {', '.join(absent)}."]
    for name, rows in by_set.items():
        n = len(rows[0].scores)
        lines += ["", f"## {name}", "", f"{n} questions with evidence.", "", _line(HEADS)]
        lines += [_line(["---"] * len(HEADS)), *(_line(row.cells()) for row in rows)]
    lines += ["", "## Differences in recall@5, with 95 % intervals", "", *DIFFERENCES.splitlines()]
    for first, others in ((FIRST, False), (BEST, True)):
        lines += ["", f"Minus {first}:", "", *_differences(by_set, first, ablations=others)]
    return "\n".join(lines) + "\n"


def _differences(by_set: Mapping[str, Sequence[Row]], first: str, *, ablations: bool) -> list[str]:
    """A line for each row: its difference from one row, set by set."""
    heads = ["", *by_set]
    lines = [_line(heads), _line(["---"] * len(heads))]
    for name in ROWS:
        if name != first and name.startswith("–") == ablations:
            cells = [_difference(rows, first, name) for rows in by_set.values()]
            lines.append(_line([name, *cells]))
    return lines


def _difference(rows: Sequence[Row], first: str, second: str) -> str:
    stored = {row.name: row.scores for row in rows}
    if first not in stored or second not in stored:
        return "–"
    questions = list(stored[first])
    pairs = [[stored[name][one][COMPARED] for one in questions] for name in (first, second)]
    result = paired_difference(*pairs)
    return f"{result.mean:+.3f} [{result.low:+.3f}, {result.high:+.3f}] p {result.p:.3f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Run what is missing and write the page; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--musique", default="")
    parser.add_argument("--mix", default="")
    parser.add_argument("--home", default=".")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    parser.add_argument("--sets", default="")
    requests = parser.parse_args()
    if requests.one:
        print(json.dumps(asdict(run(*json.loads(requests.one)))))
        return 0
    known = sets(requests.musique, requests.mix, requests.home)
    chosen = requests.sets.split(",") if requests.sets else list(known)
    result = {
        one: [run_alone(name, (*known[one], *words), requests.home) for name, words in ROWS.items()]
        for one in chosen
    }
    PAGE.write_text(page(result), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
