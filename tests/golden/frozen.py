"""What may not change while the code does: of every method the settings, rankings and prompts."""

import hashlib
import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench import api
from graphrag_bench.arrays import DECIMALS
from graphrag_bench.config.sources import IN_PLUGIN, names
from graphrag_bench.embedding.embedder import TextKind, Vectors
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.explain.names import ArtifactNames, named_value
from graphrag_bench.llm.calls import Chat
from graphrag_bench.pipeline.pipeline import QuestionResult, run
from graphrag_bench.pipeline.steps import Execution, Failure
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, start_state
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.record import summary
from graphrag_bench.values import Context, RowScores

FOLDER = Path(__file__).resolve().parent
PLUGIN = FOLDER.parents[1] / "docs" / "examples" / "graphrag_bench_more"
METHODS = [*names("method"), *IN_PLUGIN]
TOLERANCE = 1.5 * 10.0**-DECIMALS
"""A score may differ by its last decimal, which two processors may round apart."""
N_SCORES = 12
"""The best rows of a vector of scores that are frozen."""
OWN: dict[str, dict[str, Any]] = {
    "gfmrag": {"build": {"gnn_weights": {"world_size": 12, "questions": 6, "epochs": 1}}},
    "hirag": {"build": {"graph": {"reduction": "pca"}}},
}
"""What a method is run with where its own settings train for minutes or, as UMAP does, compile for
half of one and differ between processors; the configuration that is frozen is its own."""
OF_CASE = {
    "dataset", "profile", "fidelity", "limit", "llm", "embedder", "cache", "paths", "given",
    "workers", "plugins",
}  # fmt: skip
"""Run settings that are those of the case, or of this machine."""
OF_NAMES = (", question", ", step", ", artifact")
"""Parts of what is frozen whose own parts have names."""
READABLE = ("toy", "sample")
"""Cases that are stored as text, so that a pull request shows a changed ranking."""
SLOTS = {"node_scores": "nodes", "relationship_scores": "relationships", "chunk_scores": "chunks"}
SENT = ("context", "answer")
"""Slots that are frozen once, as they are in the end."""
Plain = Any  # JSON


class Minilm(SentenceEmbedder):
    """The packaged embedder, which keeps all vectors. Texts are read alone, as questions are."""

    def __init__(self) -> None:
        super().__init__(precision="float32", device="cpu")
        self.vectors: dict[tuple[str, str], Vectors] = {}

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if (kind, text) not in self.vectors]
        self.vectors |= {
            (kind, text): row
            for text, row in zip(new, super().encode(new, kind="question"), strict=True)
        }
        return np.array([self.vectors[kind, text] for text in texts])


minilm = cache(Minilm)
CASES: Mapping[str, Mapping[str, Any]] = {
    "toy": {},
    "toy, profile=paper": {"profile": "paper"},
    "toy, profile=zhou2025": {"profile": "zhou2025"},
    "toy, profile=upstream": {"profile": "upstream"},
    "toy, fidelity=paper": {"fidelity": "paper"},
    "sample": {"limit": 3},
    "toy, MiniLM": {"embedder": {"_target_": "frozen.minilm"}},
}
"""The data set is the first word. The rest of a name only describes its settings."""


def freeze(method: str, home: Path) -> dict[str, Plain]:
    """What every case gives; one with the run key and configuration of an earlier one is `as` that.

    Artifacts, readings of the tagger and vectors below `home` are used again. Where artifacts are
    built by prompts they are the method's own, so that all prompts are sent.
    """
    names_of: dict[tuple[str, str], str] = {}
    result: dict[str, Plain] = {}
    for name in CASES:
        experiment = _experiment(method, name, home, OWN.get(method, {}))
        resolved = _experiment(method, name, home, {}) if method in OWN else experiment
        configuration = _configuration(resolved)
        key = (experiment.key, json.dumps(configuration, default=str))
        if (same := names_of.setdefault(key, name)) != name:
            result[name] = f"as {same}"
        else:
            result[name] = {"configuration": configuration, **_frozen(experiment)}
    plain: dict[str, Plain] = json.loads(json.dumps(result, default=str))
    return {name: _best_rows(one) if name in READABLE else one for name, one in plain.items()}


def _best_rows(value: Plain) -> Plain:
    """Return a case with the best `N_SCORES` rows of each list and the number of other rows."""
    if isinstance(value, dict):
        return {name: _best_rows(one) for name, one in value.items()}
    if isinstance(value, list) and len(value) > N_SCORES:
        rest = f"{len(value) - N_SCORES} more"
        return [*value[:N_SCORES], [rest, 0.0] if _is_ranked(value) else rest]
    return value


def _experiment(method: str, case: str, home: Path, own: Mapping[str, Any]) -> Experiment:
    folder = home / (method if "fidelity" in CASES[case] else "shared")
    models = {
        "embedder": "hashing", "llm": {"_target_": "counting_reader.reader"}, "workers": 1,
        "paths": {"home": str(folder)}, "cache": {"path": str(home / "replies" / method)},
        "chunking": {"variant": "auto"},
    }  # fmt: skip
    plugins = {"plugins": [str(PLUGIN / PLUGIN.name)]} if method in IN_PLUGIN else {}
    settings = {**models, **own, **CASES[case], **plugins}
    return api.method(method, **settings).experiment(_dataset(case.partition(",")[0]))


_dataset = cache(api.dataset)


def _frozen(experiment: Experiment) -> Plain:
    reader = experiment.models.unwrapped("llm")
    resources = build_resources(experiment, experiment.models, Progress())
    prompts = {"while building": _sent(reader.prompts)}
    resources |= {name: reader for name in ("llm", "llm_build") if name in resources}
    names, questions = ArtifactNames.of(resources), {}
    for question in experiment.selection()[0]:
        reader.prompts.clear()
        table, pipeline = resources["chunk_table"], experiment.method.pipeline
        start = partial(start_state, experiment, table=table)
        (finished,) = run([question], pipeline, Execution(resources), start=start)
        sent = {"prompts": _sent(reader.prompts)}
        questions[question.id] = {**_question(finished, names), **sent}
    return {"prompts": prompts, "question": questions}


def _configuration(experiment: Experiment) -> Plain:
    """Return the method as resolved, the names of its steps and artifacts, the run's settings."""
    settings = experiment.settings.model_dump(exclude_defaults=True)
    if experiment.context_budget.mode == "equal":
        settings["fill_context"] = "on"
    for place in ("page", "file"):
        settings["method"].pop(place, None)
    pipeline = experiment.method.pipeline
    return {
        "method": settings.pop("method"),
        "step": [step.label for one in pipeline.steps() for step in one.operators()],
        "context budget": experiment.context_budget.identity,
        "artifact": {one.resource: one.builder.variant for one in experiment.plan},
        "run": {name: value for name, value in settings.items() if name not in OF_CASE},
    }


def _question(finished: QuestionResult, names: ArtifactNames) -> dict[str, Plain]:
    outcome = finished.outcome
    if isinstance(outcome, Failure):
        return {"failure": f"{outcome.step}: {outcome.kind}: {outcome.message}"}
    steps: dict[str, Plain] = {}
    for trace in finished.trace:
        n_before = sum(label.partition(" (")[0] == trace.step for label in steps)
        label = f"{trace.step} (round {n_before + 1})" if n_before else trace.step
        steps[label] = {}
        for slot, value in trace.wrote.items():
            kind, best = slot, value
            if isinstance(value, RowScores):
                kind, best = SLOTS[slot], value.top(N_SCORES)
            if slot not in SENT:
                steps[label][slot] = _labelled(named_value(kind, summary(best), names))
    answer, context = outcome.get("answer"), outcome.get("context")
    result = {"step": steps, "answer": getattr(answer, "text", None)}
    if isinstance(context, Context):
        result["context"] = {
            "pieces": [
                {"kind": one.kind, "id": one.id, "score": round(one.score, DECIMALS),
                 "tokens": one.n_tokens, "text": _digest(one.text), "also": list(one.also)}
                for one in context.pieces
            ],
            "text": _digest("\n".join(piece.text for piece in context.pieces)),
            "cut": [list(one) for one in context.cut],
        }  # fmt: skip
    return {**result, "fallbacks": list(finished.fallbacks)}


def _labelled(value: Plain) -> Plain:
    """A value in which what `named_value` says of a row is a text, or a pair of text and score."""
    if isinstance(value, list):
        return [_labelled(one) for one in value]
    if not isinstance(value, dict):
        return value
    if not isinstance(value.get("id"), int):
        return {name: _labelled(one) for name, one in value.items()}
    message = [value[part] for part in ("name", "head", "relation", "tail") if part in value]
    if "documents" in value:
        message = ["+".join(value["documents"]), str(value["id"])]
    label = " | ".join(message) or value.get("title") or f"row {value['id']}"
    rest = {name: value[name] for name in ("score", "step") if name in value}
    return [label, *rest.values()] if rest else label


def _sent(prompts: Sequence[Chat]) -> list[str]:
    return [_digest(json.dumps([[one.role, one.content] for one in chat])) for chat in prompts]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def difference(golden: Plain, current: Plain, where: str = "") -> str | None:
    """The first difference in words; None where there is none that counts."""
    whole = [
        {case: cases[one.removeprefix("as ")] if isinstance(one, str) else one
         for case, one in cases.items()} for cases in (golden, current)
    ]  # fmt: skip
    return next(_differences(*whole, where), None)


def _differences(golden: Plain, current: Plain, where: str) -> Iterator[str]:
    if isinstance(golden, dict) and isinstance(current, dict):
        for name in [*golden, *(one for one in current if one not in golden)]:
            inside = f"{where}{' ' if where.endswith(OF_NAMES) else ', '}{name}"
            if name not in current or name not in golden:
                yield f"{inside} is {'new' if name in current else 'gone'}"
            else:
                yield from _differences(golden[name], current[name], inside)
    elif _is_ranked(golden) and _is_ranked(current):
        yield from _differences_of_ranks(golden, current, where)
    elif isinstance(golden, list) and isinstance(current, list):
        for place, pair in enumerate(zip(golden, current, strict=False), 1):
            yield from _differences(*pair, f"{where} {place}")
        if len(golden) != len(current):
            yield f"{where}: there are {len(current)}, golden {len(golden)}"
    elif not _alike(golden, current):
        yield f"{where}: {current!r}, golden {golden!r}"


def _differences_of_ranks(golden: Plain, current: Plain, where: str) -> Iterator[str]:
    """Rows whose score is new, and rows that are ranked anew, unless golden scores them alike."""
    for rank, (row, expected) in enumerate(zip(current, golden, strict=False), 1):
        is_known = any(row[0] == label and _alike(row[1], score) for label, score in golden)
        if not is_known or not _alike(row[1], expected[1]):
            yield f"{where}: rank {rank} is {row}, golden {expected}"
    if len(golden) != len(current):
        yield f"{where}: there are {len(current)} rows, golden {len(golden)}"


def _is_ranked(value: Plain) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(one, list) and len(one) == 2 and isinstance(one[1], float) for one in value
    )  # fmt: skip


def _alike(one: Plain, other: Plain) -> bool:
    is_close = isinstance(one, float) and isinstance(other, float) and abs(one - other) <= TOLERANCE
    return is_close or bool(one == other)


def read(method: str) -> dict[str, Plain]:
    stored = lzma.decompress(path(method).with_suffix(".json.xz").read_bytes())
    cases = json.loads(path(method).read_text("utf-8")) | json.loads(stored)
    return {case: cases[case] for case in CASES if case in cases}


def write(method: str, cases: Mapping[str, Plain]) -> None:
    """Write the golden files of a method: `READABLE` cases as text, the others compressed."""
    readable = {case: one for case, one in cases.items() if case in READABLE}
    others = {case: one for case, one in cases.items() if case not in READABLE}
    path(method).write_text(_lines(readable) + "\n", encoding="utf-8")
    text = json.dumps(others, ensure_ascii=False, separators=(",", ":"))
    path(method).with_suffix(".json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def _lines(value: Plain, indent: str = "") -> str:
    """Return JSON with one line for a ranking, a prompt list or another value without names."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inside = indent + " "
    rows = (f"{inside}{json.dumps(key)}: {_lines(one, inside)}" for key, one in value.items())
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


def path(method: str) -> Path:
    return (PLUGIN / "tests" / "golden" if method in IN_PLUGIN else FOLDER) / f"{method}.json"


def files() -> list[Path]:
    folders = {path(one).parent for one in METHODS}
    return [file for folder in folders for file in folder.glob("*.json*")]
