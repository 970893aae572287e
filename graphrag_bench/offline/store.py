"""Artifacts on disk, complete or absent: artifacts/<dataset>/<resource>/<key>/."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphrag_bench.contract import resources
from graphrag_bench.errors import UserError
from graphrag_bench.graph.thinning import thinned
from graphrag_bench.llm.calls import CallFailed, RunStopped
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.ledger import Ledger
from graphrag_bench.llm.meter import IN_A_ROW, FailureGate, Metered
from graphrag_bench.offline.parts import (
    ALLOWED_CUT,
    CUT,
    REPLIES,
    Incomplete,
    counts,
    missing,
    refuse_cut,
    share_cut,
    stopped,
)
from graphrag_bench.offline.plan import AMBIENT, Planned
from graphrag_bench.offline.recipe import RECIPE, Damaged, is_stored, read_recipe, write_recipe
from graphrag_bench.progress import Progress

LEDGER = "ledger.jsonl"
_MODELS = ("llm", "llm_build")


class NotBuilt(UserError):
    """An artifact that is only to be read is not there."""


@dataclass
class Store:
    """The artifacts of one data set under `root`, built when they are first asked for.

    Those under `shared` are used as they are; nothing is ever written there. `explains` says
    whether to tell why an artifact is built although others of its kind are there: not where there
    is one for each scope. A part that is missing because the server failed ends a build, unless
    `allow_incomplete`: the artifact is stored under another key then, and Incomplete raised. So
    does an extraction of which more than the share `allow_cut` of the replies was cut. With
    `reading` nothing is built or written: what is not there raises NotBuilt. `load` reads an
    artifact, as `loaded` does.
    """

    root: Path
    progress: Progress = field(default_factory=Progress)
    failure_limit: float = 0.2
    failure_after: int = 50
    failure_in_a_row: int = IN_A_ROW
    gates: dict[str, FailureGate] = field(default_factory=dict)
    explains: bool = True
    shared: Path | None = None
    allow_incomplete: bool = False
    reading: bool = False
    allow_cut: float = ALLOWED_CUT
    load: Callable[[Any, Path], Any] = field(default_factory=lambda: loaded)

    def folder(self, planned: Planned) -> Path:
        """The folder of an artifact, built or not."""
        own = self.root / planned.resource / planned.key
        if self.shared is not None and not is_stored(own):
            theirs = self.shared / planned.resource / planned.key
            return theirs if is_stored(theirs) else own
        return own

    def holds(self, planned: Planned) -> bool:
        """Whether the artifact is there."""
        return is_stored(self.folder(planned))

    def ledgers(self, planned: Planned) -> list[Path]:
        """The ledger of the calls that building an artifact took so far, if it took any."""
        folder = self.folder(planned)
        path = (folder if is_stored(folder) else Path(f"{folder}.scratch")) / LEDGER
        return [path] if path.is_file() else []

    def resources(
        self, plan: list[Planned], wanted: set[str], primitives: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The wanted artifacts, built where they are missing and loaded otherwise.

        What is only needed to build something that is already there is not loaded. Primitives are
        what is not built: the corpus, the embedder, the models.
        """
        by_name = {planned.resource: planned for planned in plan}
        held: dict[str, Any] = {}

        def get(resource: str) -> Any:
            if resource in by_name and resource not in held:
                held[resource] = self._get(by_name[resource], get)
            return held[resource] if resource in by_name else primitives[resource]

        return {resource: get(resource) for resource in sorted(wanted)}

    def _get(self, planned: Planned, get: Any) -> Any:
        if self.reading:
            if not self.holds(planned):
                raise NotBuilt(f"{planned.resource} is not built.")
            return self._load(planned, get)
        if not self.holds(planned):
            from filelock import FileLock

            folder = self.folder(planned)
            folder.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{folder}.lock"):
                if not self.holds(planned):
                    if self.explains and (line := self.told(planned)):
                        self.progress.say(line)
                    self._build(planned, get)
            Path(f"{folder}.lock").unlink(missing_ok=True)
        own = self.root / planned.resource / planned.key
        shutil.rmtree(f"{own}.scratch", ignore_errors=True)  # of a killed process
        return self._load(planned, get)

    def _load(self, planned: Planned, get: Any) -> Any:
        folder = self.folder(planned)
        same = read_recipe(folder).get("same_as")
        return get(same) if same else self.load(planned.builder.produces, folder)

    def _build(self, planned: Planned, get: Any) -> None:
        if planned.missing:
            raise UserError(f"The incomplete {planned.resource} ({planned.missing}) is gone.")
        folder = self.folder(planned)
        scratch, new = Path(f"{folder}.scratch"), Path(f"{folder}.new")
        scratch.mkdir(exist_ok=True)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        inputs = {need: get(need) for need in planned.builder.needs if need not in AMBIENT}
        meters = []
        for need in _MODELS:
            if need in inputs:
                inputs[need] = self._metered(planned, inputs[need], scratch)
                meters.append(inputs[need])
        began = time.perf_counter()
        made = self._made(planned, inputs, meters, scratch)
        left_out = missing(meters)
        stored = planned.without(left_out) if left_out else planned
        recipe = {**stored.recipe, "seconds": round(time.perf_counter() - began, 3)}
        if meters:
            recipe["calls"] = counts(meters)
        if statistics := getattr(made, "statistics", None):
            refuse_cut(planned, statistics, self.allow_cut)
            recipe["statistics"] = dict(statistics)
            if share := share_cut(statistics):
                n_cut = f"{statistics[CUT]:.0f} of {statistics[REPLIES]:.0f} replies"
                self.progress.say(f"{planned.resource}: {n_cut} ({share:.1%}) were cut")
        same = [need for need, value in inputs.items() if value is made]
        if same:
            recipe["same_as"] = same[0]
        else:
            made.save(new)
        if (scratch / LEDGER).is_file():
            shutil.copyfile(scratch / LEDGER, new / LEDGER)
        write_recipe(new, recipe)
        target = self.root / stored.resource / stored.key
        shutil.rmtree(target, ignore_errors=True)  # one without a recipe is not an artifact
        new.rename(target)
        if left_out:
            raise Incomplete(planned.key, left_out)

    def _made(
        self,
        planned: Planned,
        inputs: Mapping[str, Any],
        meters: Sequence[Metered],
        scratch: Path,
    ) -> Any:
        ambient = {"scratch": scratch, "progress": self.progress}
        wanted = {need: ambient[need] for need in planned.builder.needs if need in AMBIENT}
        try:
            made = planned.builder.function(**inputs, **wanted, **planned.settings)
        except (RunStopped, CallFailed) as error:
            raise stopped(planned, error, meters) from error
        return thinned(made, **planned.thinning) if planned.thinning else made

    def _metered(self, planned: Planned, llm: ChatModel, scratch: Path) -> Metered:
        log = Ledger(scratch / LEDGER).at("build", planned.resource)
        name = planned.builder.name
        gate = FailureGate(name, self.failure_limit, self.failure_after, self.failure_in_a_row)
        gate = self.gates.setdefault(name, gate)
        return Metered(llm, log=log, gate=gate, whole=not self.allow_incomplete)

    def told(self, planned: Planned) -> str:
        """What is built although others of its kind are there, and why; "" when there are none.

        `build graph (kg)`, and in what it differs from the nearest of the same variant. Another
        variant is another method's choice, and no reason.
        """
        found = sorted(self.folder(planned).parent.glob(f"*/{RECIPE}"))
        recipes = []
        for path in found:
            if not path.parent.suffix:
                with suppress(Damaged):
                    recipes.append(read_recipe(path.parent))
        if not recipes:
            return ""
        same = [recipe for recipe in recipes if recipe["builder"] == planned.builder.name]
        reasons = min((_differences(one, planned.recipe) for one in same), key=len, default=[])
        variant = planned.builder.variant
        said = f" ({variant})" if variant != planned.resource else ""
        what = f"build {planned.resource}{said}"
        return f"{what}: {'; '.join(reasons)}" if reasons else what

    def recipe(self, planned: Planned) -> dict[str, Any]:
        """The recipe of an artifact that is there, with the seconds its building took."""
        return read_recipe(self.folder(planned))


def loaded(produces: Any, folder: Path) -> Any:
    """What a class loads from a folder; raises Damaged where a file is missing or cut."""
    try:
        return produces.load(folder)
    except (OSError, ValueError, LookupError, EOFError) as error:
        raise Damaged(folder, f"{type(error).__name__}: {error}") from error


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    found = ["its code was edited"] if old["code"] != new["code"] else []
    for part in ("settings", "inputs"):
        for name, value in new[part].items():
            before = old[part].get(name)
            if before != value and not (part == "inputs" and name in resources()):
                found.append(f"{name} is {value}, not {before}")
    return found
