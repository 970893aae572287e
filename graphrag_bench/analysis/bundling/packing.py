"""A bundle put together: runs, their data, prompts, replies and graphs, and the tables of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphrag_bench.analysis.bundling.archive import write_archive
from graphrag_bench.analysis.bundling.bundled import bundled_run, tables_of, write_scores
from graphrag_bench.analysis.bundling.cleaning import Machine, refuse_secrets_and_paths
from graphrag_bench.analysis.bundling.data_sets import is_free, read_data_set, write_data_set
from graphrag_bench.contract import builders
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.engines.prompts import EnginePrompt
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment, safe_name
from graphrag_bench.experiment.reopen import read_references, reopened
from graphrag_bench.models.cache_sharing import export_replies
from graphrag_bench.models.ledger import read_ledger
from graphrag_bench.offline.manifest import is_stored, read_recipe, verify
from graphrag_bench.offline.searched import embeds
from graphrag_bench.offline.store import LEDGER
from graphrag_bench.prompts import Prompt
from graphrag_bench.runs import seals
from graphrag_bench.runs.checked_json import json_text
from graphrag_bench.runs.damage import CONFIG, check_run, config_text, read_config, read_json
from graphrag_bench.runs.folder import read_lines, write_rows
from graphrag_bench.runs.provenance import commit
from graphrag_bench.runs.rescoring import scores_of
from graphrag_bench.runs.stored import StoredRun
from graphrag_bench.version import __version__

DATA = ("data/", "artifacts/", "replies/", "prompts/")
"""The folders of a bundle that hold texts of corpora and models."""
_JSON = ("metrics.json", "environment.json", "artifacts.json", "selections.json",
         "timing_serial.json")  # fmt: skip
_ROWS = ("records", "timing", "ledger", "judged")
_TEXTS = ("contexts",)


@dataclass
class Packed:
    """What was packed: the file, the sha256 that it states, and what was left out, with why."""

    file: Path
    sha256: str = ""
    n_runs: int = 0
    left_out: list[str] = field(default_factory=list)


def pack(
    runs: Sequence[StoredRun], file: Path, home: Path, *, with_data: bool, with_indices: bool
) -> Packed:
    """Write a bundle of runs to a file.

    Texts of a corpus, and what holds them, go along where the card's licence lets them be passed
    on, or `with_data` says that it may; `with_indices` takes the vector indices along too. Raises
    UserError for a run that is damaged or not finished, and for a secret or path of this machine
    in what would be packed.
    """
    packed = Packed(file, n_runs=len(runs))
    with TemporaryDirectory(prefix="bundle-") as scratch:
        stage = _Stage(Path(scratch), Machine(home), home, packed, with_data, with_indices)
        rows = [stage.add(run) for run in runs]
        stage.finish(rows)
        told = {
            "version": __version__,
            "commit": commit(),
            "runs": rows,
            "left_out": packed.left_out,
        }
        refuse_secrets_and_paths(stage.folder, stage.machine, DATA)
        packed.sha256 = write_archive(stage.folder, file, told)
    return packed


@dataclass
class _Stage:
    """The folder in which a bundle is put together."""

    folder: Path
    machine: Machine
    home: Path
    packed: Packed
    with_data: bool
    with_indices: bool
    keys: dict[str, None] = field(default_factory=dict)
    stores: dict[Path, None] = field(default_factory=dict)

    def add(self, run: StoredRun) -> dict[str, Any]:
        """Take in a run with what belongs to it; its row of `bundle.json`."""
        check_run(run.folder.path)
        if run.folder.files("journal"):
            raise UserError(f"The run {run.folder.path} is not finished; run it again first.")
        dataset, told = run.dataset, run.metrics
        if dataset is None:
            raise UserError(
                f"The data set of {run.folder.path} is not at hand; its gold is needed."
            )
        free = self.with_data or is_free(dataset.card)
        place = "/".join(safe_name(str(told[name])) for name in ("dataset", "method", "key"))
        self._copy(run.folder.path, self.folder / "runs" / place, texts=free)
        write_scores(self.folder / f"scores/{place}.jsonl", scores_of(run))
        self._add_prompts(run)
        if free:
            self._add_artifacts(run)
            self._note_replies(run)
        else:
            self.packed.left_out.append(
                f"{told['dataset']}: texts, gold, graphs and replies; its licence is "
                f"'{dataset.card.license}'"
            )
        return {
            "run": f"runs/{place}",
            "scores": f"scores/{place}.jsonl",
            "data": self._add_data(dataset, whole=free),
            "title": told["title"],
            "licence": dataset.card.license,
        }

    def finish(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write the replies, the lock of versions, and the tables."""
        self.packed.left_out[:] = dict.fromkeys(self.packed.left_out)
        self._write_replies()
        lines = sorted({f"{one.name}=={one.version}" for one in distributions()}, key=str.lower)
        (self.folder / "versions.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        data = {row["data"]: read_data_set(self.folder / row["data"]) for row in rows}
        made = [bundled_run(self.folder, row, data) for row in rows]
        for name, text in tables_of(made).items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def _copy(self, given: Path, place: Path, *, texts: bool) -> None:
        """Copy the files of a run, and of its repeats, without paths of this machine, and seal."""
        place.mkdir(parents=True, exist_ok=True)
        config = self.machine.settings(read_config(given / CONFIG))
        (place / CONFIG).write_text(config_text(config), encoding="utf-8")
        for name in _JSON:
            if (given / name).is_file():
                held = self.machine.settings(read_json(given / name))
                (place / name).write_text(json_text(name, held), encoding="utf-8")
        sealed = []
        for path in sorted(given.glob("*.jsonl")):
            kind = path.name.partition(".")[0]
            if kind in _TEXTS and texts:
                shutil.copyfile(path, place / path.name)
            elif kind in _ROWS:
                write_rows(place / path.name, map(self.machine.without_paths, read_lines(path)))
            else:
                continue
            sealed.append(path.name)
        seals.seal(place, sealed)
        (place / "files.lock").unlink(missing_ok=True)
        for trial in sorted(given.glob("trial-*")):
            self._copy(trial, place / trial.name, texts=texts)

    def _add_data(self, dataset: Dataset, *, whole: bool) -> str:
        digests = f"{dataset.corpus_digest[:8]}-{dataset.questions_digest[:8]}"
        name = f"data/{safe_name(dataset.name)}-{digests}.json"
        if not (self.folder / name).is_file():
            write_data_set(self.folder / name, dataset, whole=whole)
        return name

    def _add_prompts(self, run: StoredRun) -> None:
        """Write the prompts of a run's steps and artifacts, each under its digest."""
        try:
            experiment = reopened(run, self.home)
        except UserError as error:
            said = " ".join(str(self.machine.without_paths(str(error))).split())[:200]
            self.packed.left_out.append(f"prompts of {run.metrics['title']}: {said}")
            return
        for prompt in _prompts(experiment):
            if isinstance(prompt, EnginePrompt):  # the engine's text stays where it is installed
                self.packed.left_out.append(
                    f"prompt {prompt.name} of {prompt.distribution}: {prompt.digest}"
                )
                continue
            path = (
                self.folder / "prompts" / prompt.digest / Path(prompt.name.partition(":")[2]).name
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(prompt.text, encoding="utf-8")

    def _add_artifacts(self, run: StoredRun) -> None:
        """Copy what a run was made with, checked; indices of vectors only when asked for."""
        references = read_references(run.folder)
        home = run.home or self.home
        for place in sorted(references.places) if references else ():
            folder, to = home / "artifacts" / place, self.folder / "artifacts" / place
            if to.is_dir():
                continue
            if not is_stored(folder):
                self.packed.left_out.append(f"artifact {place}: it is not there")
            elif not self.with_indices and _is_index(folder):
                self.packed.left_out.append(f"artifact {place}: an index of vectors")
            else:
                verify(folder, "always")
                shutil.copytree(folder, to)

    def _note_replies(self, run: StoredRun) -> None:
        """Note which replies went into a run and its artifacts."""
        home, references = run.home or self.home, read_references(run.folder)
        places = sorted(references.places) if references else []
        ledgers = [home / "artifacts" / place / LEDGER for place in places]
        lines = read_ledger(*run.folder.files("ledger"), *filter(Path.is_file, ledgers))
        self.keys |= dict.fromkeys(line.key for line in lines if line.key)
        given = (run.config.get("cache") or {}).get("path")
        self.stores[Path(given) if given else home / "cache" / "replies.sqlite"] = None

    def _write_replies(self) -> None:
        """Write those replies to a file that `llm=replay` and `cache import` read."""
        stores = [path for path in self.stores if path.is_file()]
        if not self.keys:
            return
        (self.folder / "replies").mkdir()
        n_written = 0
        for row, store in enumerate(stores):
            name = "replies.jsonl" if not row else f"replies-{row}.jsonl"
            n_written += export_replies(store, self.folder / "replies" / name, keys=set(self.keys))
        if n_written < len(self.keys):
            n_lacking = len(self.keys) - n_written
            self.packed.left_out.append(
                f"{n_lacking} of {len(self.keys)} replies: no longer stored"
            )


def _prompts(experiment: Experiment) -> Iterator[Prompt]:
    steps = (op.settings for step in experiment.method.pipeline.steps() for op in step.operators())
    yield from _among(value for held in steps for value in held.values())
    yield from _among(value for item in experiment.plan for value in item.settings.values())


def _among(values: Iterable[Any]) -> Iterator[Prompt]:
    return (file for value in values if isinstance(value, Prompt) for file in value.files)


def _is_index(folder: Path) -> bool:
    name = read_recipe(folder)["builder"]
    known = {builder.name: builder for builder in builders.all()}
    return name in known and embeds(known[name])
