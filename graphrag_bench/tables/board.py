"""Export a stored run as an entry of the results board, and check such an entry.

An entry is a JSON file without texts, paths or API keys, and a CSV file of question metrics.
"""

import csv
import hashlib
import io
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.config.compose import compose_settings, value_of
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import built_in_names, file_of, read_mapping
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import ENVIRONMENT, paths_of, read_json, write_whole
from graphrag_bench.run.stored import StoredRun, scored_questions
from graphrag_bench.text import safe_name

BOARD = "docs/results/board"
"""The folder of the board's entries in the repository."""
_METRIC_FIELDS = (
    "dataset", "card", "corpus", "method", "title", "key", "profile", "fidelity", "regime", "limit",
    "split", "answer", "selected", "n", "answered", "failed", "llm", "llm_build", "embedder",
    "tokenizer", "budget_context", "metrics", "usage",
)  # fmt: skip
FIELDS = {*_METRIC_FIELDS, "command", "settings", "environment", "records", "questions", "sha256"}
_GROUPS = ("chunking", "pooling", "llm", "embedder")
_WITHOUT_EFFECT = re.compile(
    r"(paths|workers|nlp_workers|parallel|cache|columns|trace|reference_rows|objective|failures"
    r"|budget|llm_judge|given)(\..*)?"
    r"|.*\.(base_url|api_key_env|timeout|retries|limits\..*|parallel|threads)"
)
"""Settings that do not change the results, and settings that contain addresses."""
_STEPS = re.compile(r"method\.(convert|retrieve|generate)\b.*")
_PATH_OR_ADDRESS = re.compile(r"(?<![\w.-])(~?/\w|~|[A-Za-z]:[\\/]|\\\\\w|[a-z]+://).*", re.DOTALL)
_SECRET = re.compile(r"(?i)\b(sk|hf|gsk|ghp|xai|pk)[-_][\w-]{16,}|\bbearer\s")


def result_of(run: StoredRun, home: str | Path) -> dict[str, Any]:
    """Return the board entry of a run: its settings, metrics, and a `command` that repeats it.

    Raises UserError if the run is imported or unfinished, or if no command can repeat it.
    """
    run.require_steps()
    run.require_dataset()
    records = run.folder.files("records")
    if len(records) != 1 or run.folder.files("journal"):
        raise UserError(f"{run.folder.path} is unfinished. Repeat the command of the run.")
    about = read_json(run.folder.path / ENVIRONMENT)
    values = public({
        **{name: run.metrics[name] for name in _METRIC_FIELDS},
        "llm": run.metrics["llm"] if run.metrics["answered"] else "",
        "command": "graphrag-bench run " + shlex.join(public(_overrides(run, Path(home)))),
        "settings": {name: one for name, one in run.metrics["settings"].items() if one is not None},
        "environment": about | {"platform": str(about["platform"]).partition("-")[0]},
        "records": _sha256(records[0].read_bytes()),
        "questions": _sha256(question_metrics(run).encode()),
    })  # fmt: skip
    return {**values, "sha256": _digest(values)}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def question_metrics(run: StoredRun) -> str:
    """Return, as CSV, the metrics of every question that did not fail. Numbers replace scopes."""
    heads = sorted(run.metrics["metrics"])
    numbers: dict[str | None, object] = {None: ""}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["question", "scope", *heads])
    for name in filter(run.scores.__contains__, scored_questions(run)):
        scope = numbers.setdefault(run.scopes.get(name), len(numbers) - 1)
        writer.writerow([name, scope, *(run.scores[name].get(head, "") for head in heads)])
    return text.getvalue()


def write_result(run: StoredRun, home: str | Path, folder: str | Path) -> Path:
    """Write and check the board entry of a run and its CSV file; return the path of the entry."""
    values = result_of(run, home)
    path = Path(folder) / _name(values)
    write_whole(path.with_suffix(".csv"), question_metrics(run))
    write_whole(path, json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    read_result(path)
    return path


def read_result(path: Path) -> dict[str, Any]:
    """Check an entry, recompute its means from its CSV file, and return it.

    Raises UserError if a file is missing, if a file has changed since `write_result` wrote it, if a
    file contains a path, an address or an API key, or if the numbers in `metrics` differ from the
    CSV file.
    """
    text = path.read_text(encoding="utf-8")
    try:
        values = json.loads(text)
        wrong = sorted(FIELDS ^ values.keys())
        same = not wrong and values["sha256"] == _digest(values) and path.name == _name(values)
    except (ValueError, AttributeError, TypeError) as error:
        raise UserError(f"{path.name} is not an entry of the board: {error}.") from None
    if wrong:
        raise UserError(f"{path.name} has missing or unknown fields: {', '.join(wrong)}.")
    if not same:
        raise UserError(f"{path.name} has changed since `runs export --result` wrote it.")
    items = paths_of(values, lists=True)
    texts = (one for one in (*items, *items.values()) if isinstance(one, str))
    for one in (*texts, *_check_metrics(path, values)):
        if _PATH_OR_ADDRESS.search(one) or _SECRET.search(one) or "\n" in one:
            reason = "must not contain a path, address, key or line break"
            raise UserError(f"{path.name}: '{one}' {reason}.")
    return dict(values)


def _check_metrics(path: Path, values: Mapping[str, Any]) -> Iterator[str]:
    """Compare all metrics with the CSV file, and yield the texts in the CSV file."""
    file = path.with_suffix(".csv")
    if not file.is_file():
        raise UserError(f"{path.name} needs {file.name}: `runs export --result` writes both.")
    content = file.read_bytes()
    if _sha256(content) != values["questions"]:
        raise UserError(f"{file.name} has changed since `runs export --result` wrote it.")
    try:
        heads, *lines = csv.reader(io.StringIO(content.decode()))
        rows = [dict(zip(heads, line, strict=True)) for line in lines]
        n = len({row["question"] for row in rows})
        if not n == len(rows) == values["n"] - values["failed"]:
            raise UserError(f"{path.name}: n - failed must be {n}, as in {file.name}.")
        for name in sorted({*heads[2:], *values["metrics"]}):
            scored = [row for row in rows if row.get(name)]
            scopes = [str(int(row["scope"])) if row["scope"] else None for row in scored]
            numbers = [float(row[name]) for row in scored]
            found = mean_with_interval(numbers, scopes=scopes).stored() if scored else {}
            stated = values["metrics"].get(name, {})
            same = (abs(found[one] - stated[one]) < 2e-6 for one in found)  # rounded to 6 decimals
            if found.keys() != stated.keys() or not all(same):
                raise UserError(
                    f"{path.name}: '{name}' in metrics is {stated}, but {found} in {file.name}."
                )
    except (ValueError, AttributeError, TypeError, KeyError, csv.Error) as error:
        raise UserError(f"{file.name} is not a CSV file of question metrics: {error}.") from None
    yield from (*heads, *(row["question"] for row in rows))


def _name(values: Mapping[str, Any]) -> str:
    return "-".join(safe_name(str(values[one])) for one in ("dataset", "method", "key")) + ".json"


def _digest(values: Mapping[str, Any]) -> str:
    rest = {name: one for name, one in values.items() if name != "sha256"}
    return _sha256(json.dumps(rest, sort_keys=True).encode())


def public(value: Any) -> Any:
    """Return a copy in which paths are reduced to their last part and addresses become ADDRESS."""
    match value:
        case Mapping():
            return {name: public(one) for name, one in value.items()}
        case list() | tuple():
            return [public(one) for one in value]
        case str() if value.startswith("dataset.root="):
            return "dataset.root=FOLDER"
        case str() if place := _PATH_OR_ADDRESS.search(value):  # reaches to the end of the text
            text, quote = place[0].rstrip("'"), "'" * value.endswith("'")
            last = "ADDRESS" if "://" in text else re.split(r"[\\/]", text.rstrip("\\/"))[-1]
            return value[: place.start()] + last + quote
    return value


def _overrides(run: StoredRun, home: Path) -> list[str]:
    """Return the overrides that reproduce the settings of a run."""
    own = run.config
    words = [f"dataset={own['dataset']['name']}", f"method={own['method']['name']}"]
    words += [f"{one}={own[one]}" for one in ("profile", "fidelity") if own[one] != "default"]
    if own["plugins"]:
        load_plugins(own["plugins"])
        words.insert(0, f"plugins={_text(own['plugins'])}")
    default = check_settings(compose_settings(words)).model_dump()
    for group in (one for one in _GROUPS if own[one] != default[one]):
        files = {name: file for name in built_in_names(group) if (file := file_of(group, name))}
        given = paths_of(own[group]).items()
        apart = {name: given ^ paths_of(read_mapping(file)).items() for name, file in files.items()}
        words.append(f"{group}={min(apart, key=lambda name: len(apart[name]))}")
    whole = {path: value for path, value in paths_of(own).items() if not _STEPS.fullmatch(path)}
    paths = {**paths_of(own, lists=True), **whole}
    words += [f"{path}={_text(paths[path])}" for path in own["given"] if path in paths]
    for _ in range(3):
        if not (changes := _changes(run, words, home)):
            return words
        words += [f"{path}={_text(value)}" for path, value in changes.items()]
    first, *_ = changes
    raise UserError(f"This version cannot reproduce the setting '{first}' of {run.folder.path}.")


def _changes(run: StoredRun, words: Sequence[str], home: Path) -> dict[str, Any]:
    """Return settings that the overrides miss; settings of steps only if no others are missed."""
    values = compose_settings([*words, f"paths.home={_text(str(home))}"])
    settings = Experiment.prepare(values, run.dataset, swept=True).settings.model_dump()
    changes: dict[str, Any] = {}
    for lists in (False, True):
        ours, theirs = (paths_of(one, lists=lists) for one in (settings, run.config))
        changes = changes or {
            path: value
            for path, value in theirs.items()
            if not _WITHOUT_EFFECT.fullmatch(path)
            and (lists or not _STEPS.fullmatch(path))
            and (path not in ours or ours[path] != value)
        }
    return changes


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_text, value))}]"
    text = str(value)
    if isinstance(value, str) and (not re.fullmatch(r"[\w./:-]+", text) or value_of(text) != text):
        escaped = re.sub(r"(['\\])", r"\\\1", text)
        return f"'{escaped}'"
    return text
