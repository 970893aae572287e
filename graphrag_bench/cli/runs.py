"""List, score, check, remove, import and export stored runs.

A run is a folder HOME/runs/<data set>/<method>/<key>/.

gc lists artifacts that no run uses, and files of interrupted builds. The cache, shared stores
(paths.shared_artifacts) and builds that a stored run still needs are kept.

score computes the metrics of stored answers and contexts again, without a model, and writes them to
metrics.json. Costs and judged values are kept. evaluation.baseline must be a method of the runs.

import reads a TREC run file, or JSON or JSON lines with question ids, ranked passages (ids or
texts) and optional answers. A JSON file may also be {"retrieved_docs": [[TEXT, ...], ...],
"answers": [...]}, in the order of the questions. White space is ignored when texts are compared.
Imported runs are scored like other runs and marked `imported`.

check exits with 0 if all conditions hold, else with 3. METRIC is failed, n, a metric in the table,
or a measure of usage, such as context_tokens_per_question. The worse end of an interval is the
lower end for >=, and the upper end for <=.

export --result writes settings, metrics, command, environment and checksums of the stored results
as JSON, and the metrics of each question as CSV, without paths, addresses and API keys.

push uploads ids, answers and metrics to a data set repository, which is private if it is new.
--with-texts also uploads traces, and all context texts except whole documents. Use it only if the
licence of the corpus allows it. pull downloads all runs of a repository, checks each sha256 and
overwrites nothing. push and pull print the same digest of a run's content. The token is taken
from HF_TOKEN or `hf auth login`.

examples
  graphrag-bench runs ls
  graphrag-bench runs rm 0a1b2c f5e4d3 --yes
  graphrag-bench runs gc --delete
  graphrag-bench runs score 0a1b2c 9f8e7d evaluation.metrics=[rouge_l,meteor] evaluation.cuts=[1,5]
  graphrag-bench runs check 0a1b2c "evidence_recall@5>=0.9" "failed<=0" --interval
  graphrag-bench runs import results.jsonl dataset=sample name="HippoRAG 2" reference=URL
  graphrag-bench runs export 0a1b2c --trec folder
  graphrag-bench runs export 0a1b2c --result
  graphrag-bench runs push 0a1b2c 9f8e7d mira/my-runs
  graphrag-bench runs pull mira/my-runs --home theirs
"""

import re
from argparse import Namespace
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from graphrag_bench.adapters.inspect_ai import export_inspect
from graphrag_bench.cli import parsing
from graphrag_bench.cli.parsing import RUN, RUNS, Parser
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import check_settings
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.files import read_yaml
from graphrag_bench.progress import Progress
from graphrag_bench.report import tables
from graphrag_bench.report.notes import imported_notes
from graphrag_bench.report.rendering import FEW, Table, csv_text, show, show_json, show_tables
from graphrag_bench.run import cleanup, imported, stored
from graphrag_bench.run.command import NONE
from graphrag_bench.run.folder import METRICS, DamagedRun, RunFolder
from graphrag_bench.run.sweep import find_runs
from graphrag_bench.tables.board import BOARD, write_result
from graphrag_bench.tables.hub import pull_runs, push_runs
from graphrag_bench.text import counted

CHECK_FAILED = 3
"""Exit code of `runs check` if a condition does not hold."""
_CONDITION = re.compile(r"([^\s<>=]+)\s*(>=|<=)\s*([^\s<>=]+)")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")
_FORMATS = ("terminal", "csv")
_FORMAT = "terminal, or csv with a row for each scored run and a column for each differing setting"


def declare(parser: Parser) -> None:
    listing = parser.add_action("ls", _list, "list runs (default)", default=True)
    scoring = parser.add_action("score", _score, "score stored answers and contexts again")
    checking = parser.add_action("check", _check, "compare metrics with limits, for CI")
    removing = parser.add_action("rm", _remove, "remove runs; artifacts are kept")
    collecting = parser.add_action("gc", _collect, "list or remove artifacts that no run uses")
    importing = parser.add_action("import", _import, "import and score results of another system")
    exporting = parser.add_action("export", _export, "export for other tools or the results board")
    pushing = parser.add_action("push", _push, "upload runs to the Hugging Face hub")
    pulling = parser.add_action("pull", _pull, "download and verify runs from the hub")
    for action in (removing, pushing):
        action.add_word("runs", "RUN", RUN, "+")
    for action in (checking, exporting):
        action.add_word("run", "RUN", RUN)
    for action in (pushing, pulling):
        action.add_word("repo", "REPO", "a data set repository of the hub: OWNER/NAME")
    pushing.add_flag("--with-texts", "upload traces and all context texts")
    listing.add_option("--format", "FORMAT", _FORMAT, _FORMATS[0], choices=_FORMATS)
    for action in (listing, scoring):
        action.add_json()
    scoring.set_usage("RUN [RUN ...] [evaluation.NAME=VALUE ...] [dataset.root=FOLDER]")
    scoring.add_word("words", "RUN", RUNS, "+")
    scoring.add_settings([parsing.COLUMNS_ROW])
    metrics = [(name, one.meaning) for name, one in ANSWER_METRICS.items()]
    scoring.add_section("answer metrics", metrics)
    root = ("dataset.root=FOLDER", "the new folder of the data set")
    settings = [*parsing.setting_rows("evaluation."), root]
    scoring.add_section("settings (default: those of the last scoring)", settings)
    checking.add_word("conditions", '"METRIC>=VALUE"', "a condition in quotes, >= or <=", "+")
    meaning = "compare the worse end of the 95 %% interval with the limit, not the mean"
    checking.add_flag("--interval", meaning, "--lower")
    removing.add_flag("--yes", "remove the runs, which are only listed otherwise")
    collecting.add_flag("--delete", "remove the listed files")
    importing.set_usage("FILE dataset=NAME name=TITLE [reference=URL] [OPTIONS]")
    importing.add_word("file", "FILE", "a TREC run, JSON or JSON lines")
    importing.add_word("words", "dataset=NAME", "the data set and its settings (dataset.*)", "*")
    importing.add_settings([
        ("name", "TITLE", None, "the name of the system in tables (required)"),
        ("reference", "URL", "", "the address of the publication"),
    ])  # fmt: skip
    importing.add_flag("--allow-unmatched", "import even if over 1 %% of passages are unknown")
    exporting.add_option("--trec", "FOLDER", "write run.trec and qrels.trec to FOLDER")
    exporting.add_option("--beir", "FOLDER", "write the data set to FOLDER in the BEIR format")
    exporting.add_option("--inspect", "FILE", "write a log (*.eval) for `inspect view`")
    meaning = f"write the two files for the results board (default folder: {BOARD})"
    exporting.add_option("--result", "FOLDER", meaning, nargs="?", const=BOARD)
    parser.add_home()


def _export(options: Namespace) -> None:
    run = stored.find_run(options.run, options.home)
    if all(one is None for one in (options.trec, options.beir, options.inspect, options.result)):
        raise UserError("`runs export` needs --trec, --beir, --inspect or --result.")
    data, gold = run.dataset, run.folder.metrics().get("gold")
    if data and gold not in (None, data.gold_digest) and (options.trec or options.beir):
        Progress().say("! The gold changed after the run was scored. The qrels have the new gold.")
    if options.trec is not None:
        n, qrels = imported.export_trec(run, Path(options.trec)), imported.QRELS
        files = f"{Path(options.trec, imported.TREC)}{f', {qrels}' * bool(data)}"
        print(f"{files}: {counted(n, 'question')}")
        if not data:
            why = f"the data set of {run.folder.path} cannot be read"
            Progress().say(f"! No {qrels} was written, because {why}.")
    if options.beir is not None:
        written = counted(imported.export_beir(run, Path(options.beir)), "question")
        print(f"{options.beir}: {written}; read it: dataset=beir dataset.root={options.beir}")
    if options.inspect is not None:
        written = counted(export_inspect(run, Path(options.inspect)), "question")
        print(f"{options.inspect}: {written}")
    if options.result is not None:
        print(write_result(run, options.home, options.result))


def _push(options: Namespace) -> None:
    runs = find_runs(options.runs, options.home)
    print(*push_runs(runs, options.home, options.repo, texts=options.with_texts), sep="\n")


def _pull(options: Namespace) -> None:
    print(*pull_runs(options.repo, options.home), sep="\n")


def _score(options: Namespace) -> None:
    names, settings = parsing.runs_and_settings(options.words)
    parsing.refuse_other_settings("runs score", settings, ("evaluation", "dataset"))
    changes: dict[str, dict[str, Any]] = {"evaluation": {}, "dataset": {}}
    for word in settings:
        name, _, value = word.partition("=")
        group, _, setting = name.partition(".")
        changes[group][setting] = read_yaml(value, f"'{word}'")
    if not names:
        raise UserError(f"`graphrag-bench runs score` needs a RUN: {RUNS}.")
    columns = tables.checked_columns(options.columns)
    runs = find_runs(names, options.home)
    if changes["dataset"]:
        runs = [stored.relocate(run, changes["dataset"]) for run in runs]
    methods = {*(str(run.metrics["method"]) for run in runs), NONE}
    if (baseline := changes["evaluation"].get("baseline", NONE)) not in methods:
        raise unknown("baseline run", str(baseline), methods)
    metrics = [stored.rescore(run, changes["evaluation"]) for run in runs]
    scored = stored.with_one_rule([stored.StoredRun(run.folder, run.dataset) for run in runs])
    first, *rest = stored.tables_of(scored, stored.stored_differences(scored), columns)
    show_tables([first, tables.metrics_table(metrics), *rest], as_json=options.json)
    for run in () if options.json else runs:
        print(f"scored: {run.folder.path}")


def _check(options: Namespace) -> int:
    text = " ".join(options.conditions)
    if rest := _CONDITION.sub("", text).split():
        raise UserError(
            f"'{rest[0]}' is not a condition. Write METRIC>=VALUE or METRIC<=VALUE in quotes, e.g. "
            '"evidence_recall@5>=0.9". Without quotes, a shell treats > as a redirection.'
        )
    run = stored.find_run(options.run, options.home).metrics
    plain = {name: run[name] for name in ("failed", "n")} | run.get("usage", {})
    known = {**{name: {"mean": value} for name, value in plain.items()}, **run["metrics"]}
    holds = []
    for condition in _CONDITION.finditer(text):
        name, sign, limit = condition.groups()
        if name not in known:
            raise unknown("metric", name, known)
        if not _NUMBER.fullmatch(limit):
            raise UserError(f"'{condition[0]}': '{limit}' is not a number.")
        one, least = known[name], sign == ">="
        few = one.get("n", FEW) < FEW
        if few and options.interval:
            needed = f"An interval needs at least {FEW} questions"
            raise UserError(f"{needed}, but '{name}' has {one['n']}.")
        end = one.get("low" if least else "high", one["mean"])
        value = end if options.interval else one["mean"]
        holds.append(value >= float(limit) if least else value <= float(limit))
        line = f"{'holds' if holds[-1] else 'FAILS'}  {condition[0]}: {one['mean']:.6g}"
        if "n" in one:
            interval = [f"95 % CI {one['low']:.3f}-{one['high']:.3f}, "] * (not few)
            lost = {"failed": run["failed"], "not scored": run["n"] - run["failed"] - one["n"]}
            of = [f"; {n} of {run['n']} {why}" for why, n in lost.items() if n]
            line += "".join([" (", *interval, f"n = {one['n']}", *of, ")"])
        print(line)
    if (selected := run.get("selected", 0)) > run["n"]:
        print(f"FAILS  unfinished: {run['n']} of {selected} questions are stored")
        holds.append(False)
    return 0 if all(holds) else CHECK_FAILED


def _import(options: Namespace) -> None:
    if not any(word.startswith("dataset=") for word in options.words) or options.name is None:
        raise UserError("`graphrag-bench runs import` needs FILE, dataset=NAME and name=TITLE.")
    parsing.refuse_other_settings("runs import", options.words, ("dataset",))
    settings = check_settings(compose_settings([*options.words, f"paths.home={options.home}"]))
    run = imported.import_run(
        Path(options.file), options.name, settings.dataset, options.home,
        reference=options.reference, allow_unmatched=options.allow_unmatched,
    )  # fmt: skip
    print(*imported_notes([run.metrics]), f"run: {run.folder.path}", sep="\n")


def _list(options: Namespace) -> None:
    home, runs, damaged, scored = options.home, list[tables.ListedRun](), list[str](), list[Path]()
    for path in cleanup.run_folders(home):
        folder, (dataset, method, key) = RunFolder(path), path.parts[-3:]
        try:
            metrics = folder.metrics()
            n_rows = metrics["n"] if metrics else len(folder.rows())
        except DamagedRun as error:
            damaged.append(f"left out: {error}")
            continue
        scored += [path / METRICS] if metrics else []
        files = [path, path / METRICS, *folder.files("records"), *folder.files("journal")]
        last = max(file.stat().st_mtime for file in files if file.exists())
        changed, size = f"{datetime.fromtimestamp(last):%Y-%m-%d %H:%M}", cleanup.size(path)
        runs.append(tables.ListedRun(dataset, method, key, n_rows, changed, size, metrics))
    if not options.json and options.format == _FORMATS[0]:
        table = tables.runs_table(str(home / "runs"), runs)
        show(replace(table, notes=(*table.notes, *damaged)))
        return
    for line in damaged:
        Progress().say(line)
    if options.json:
        show_json(list(map(asdict, runs)))
        return
    readable = stored.readable_runs(scored)
    rows = [{**run.metrics, "folder": str(run.folder.path)} for run in readable]
    print(csv_text(tables.run_sheet(rows, stored.differing_settings(readable))), end="")


def _remove(options: Namespace) -> int:
    folders = list(dict.fromkeys(cleanup.find_folder(name, options.home) for name in options.runs))
    print(*folders, sep="\n")
    if not options.yes:
        total = sum(map(cleanup.size, folders)) / 1e6
        print(f"{counted(len(folders), 'run')}, {total:.1f} MB. Add --yes to remove.")
        return 1
    for folder in folders:
        cleanup.remove_run(folder)
    print(f"{len(folders)} removed")
    return 0


def _collect(options: Namespace) -> None:
    home, (garbage, notes) = options.home, cleanup.garbage(options.home)
    sizes = {item: cleanup.size(item.path) / 1e6 for item in garbage}
    items = cleanup.collect(home, garbage) if options.delete else garbage
    heads = ("path", "why", "MB")
    rows = tuple((one.path.relative_to(home).as_posix(), one.kind, f"{sizes[one]:.1f}")
                 for one in items)  # fmt: skip
    show(Table(f"not used by any run in {home}", heads, rows, (), texts=heads[:2]))
    done = f"of {len(garbage)} removed" if options.delete else "to remove with --delete"
    total = sum(sizes[item] for item in items)
    print(f"{len(items)} {done}: {total:.1f} MB", *notes, sep="\n")
