"""Build, store and load artifacts in the folders artifacts/<dataset>/<resource>/<key>/."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from filelock import SoftFileLease

from graphrag_bench.algorithms.graph import drop_edges
from graphrag_bench.artifacts.plan import PlannedArtifact
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.graphs.build_calls import CUT, MOST_TOKENS, REPLIES
from graphrag_bench.llm.calls import CallFailed, FailureGate, RunStopped, ServerFailed, Usage
from graphrag_bench.llm.ledger import Ledger
from graphrag_bench.locks import lock
from graphrag_bench.progress import Progress

LEDGER, RECIPE = "ledger.jsonl", "recipe.json"
_KEY_PARTS = ("builder", "code", "settings", "inputs")


@dataclass
class Store:
    """Artifacts of one data set in the folder `root`. They are built when needed.

    `shared` is a second, read-only folder. `allow_cut` limits the fraction of truncated replies.
    """

    root: Path
    progress: Progress = field(default_factory=Progress)
    failure_limit: float = 0.2
    failure_after: int = 50
    gates: dict[str, FailureGate] = field(default_factory=dict)
    shared: Path | None = None
    allow_cut: float = 0.02
    load: Callable[[Any, Path], Any] = field(default_factory=lambda: load_artifact)

    def folder(self, planned: PlannedArtifact) -> Path:
        """Return the folder in which an artifact is stored, or would be stored."""
        own = self.root / planned.resource / planned.key
        if self.shared is not None and not is_stored(own):
            theirs = self.shared / planned.resource / planned.key
            return theirs if is_stored(theirs) else own
        return own

    def holds(self, planned: PlannedArtifact) -> bool:
        """Return whether the artifact is stored."""
        return is_stored(self.folder(planned))

    def recipe(self, planned: PlannedArtifact) -> dict[str, Any]:
        """Return recipe.json, which states how an artifact was built."""
        return read_recipe(self.folder(planned))

    def ledgers(self, planned: PlannedArtifact) -> list[Path]:
        """Return a list with the ledger of a build, or [] if the build has no ledger."""
        folder = self.folder(planned)
        path = (folder if is_stored(folder) else Path(f"{folder}.scratch")) / LEDGER
        return [path] if path.is_file() else []

    def resources(
        self, plan: list[PlannedArtifact], wanted: set[str], primitives: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the wanted resources: artifacts, loaded or built, and `primitives` (models)."""
        by_name = {planned.resource: planned for planned in plan}

        @cache
        def get(resource: str) -> Any:
            if (planned := by_name.get(resource)) is None:
                return primitives[resource]
            own = self.root / resource / planned.key
            while not self.holds(planned):
                with lock(Path(f"{own}.lock")) as lease:
                    if not self.holds(planned):
                        self._build(planned, get, lease)
            shutil.rmtree(f"{own}.scratch", ignore_errors=True)  # left by a killed process
            same = self.recipe(planned).get("same_as")
            return get(same) if same else self.load(planned.builder.produces, self.folder(planned))

        return {resource: get(resource) for resource in sorted(wanted)}

    def _build(
        self, planned: PlannedArtifact, get: Callable[[str], Any], lease: SoftFileLease
    ) -> None:
        folder = self.folder(planned)
        scratch, new = Path(f"{folder}.scratch"), Path(f"{folder}.new")
        scratch.mkdir(exist_ok=True)
        ambient: dict[str, Any] = {"scratch": scratch, "progress": self.progress}
        builder, name, meters = planned.builder, planned.builder.name, []
        inputs = {need: ambient[need] if need in ambient else get(need) for need in builder.needs}
        for need in [need for need in ("llm", "llm_build") if need in inputs]:
            log = Ledger(scratch / LEDGER).logger("build", planned.resource)
            new_gate = FailureGate(name, self.failure_limit, self.failure_after)
            gate = self.gates.setdefault(name, new_gate)
            inputs[need] = inputs[need].attached(log=log, gate=gate, stop_on_outage=True)
            meters.append(inputs[need].meter)
        began = time.perf_counter()
        try:
            artifact = builder.function(**inputs, **planned.settings, **builder.fixed)
        except (RunStopped, CallFailed) as error:
            problem = f"{name} could not be built: {str(error).rstrip('.')}. "
            kind = ServerFailed if isinstance(error, CallFailed) and error.of_server else RunStopped
            kind = type(error) if isinstance(error, RunStopped) else kind
            hint = "Replies are cached: run the same command again to continue."
            raise kind(problem + hint) from error
        if planned.thinning:
            artifact = drop_edges(artifact, **planned.thinning)
        recipe = {**planned.recipe, "seconds": round(time.perf_counter() - began, 3)}
        if meters:
            calls = asdict(Usage.of(meters)).items()
            recipe["calls"] = {name: n for name, n in calls if not name.endswith("_tokens")}
        if statistics := getattr(artifact, "statistics", None):
            self._check_cut(planned, statistics)
            recipe["statistics"] = dict(statistics)
        if not lease.is_lock_held_by_us:
            return  # another machine took over the lock and builds the same bytes
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        if same := [need for need, value in inputs.items() if value is artifact]:
            recipe["same_as"] = same[0]
        else:
            artifact.save(new)
        if (scratch / LEDGER).is_file():
            shutil.copyfile(scratch / LEDGER, new / LEDGER)
        recipe["files"] = _hashes(new)
        text = json.dumps(recipe, indent=1, sort_keys=True, ensure_ascii=False)
        (new / RECIPE).write_text(text + "\n", encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # a folder without a recipe
        new.rename(folder)

    def _check_cut(self, planned: PlannedArtifact, statistics: Mapping[str, float]) -> None:
        n_cut, n, resource = statistics.get(CUT, 0), statistics.get(REPLIES, 0), planned.resource
        share = n_cut / max(n, 1)
        counts = f"{n_cut:.0f} of {n:.0f} replies ({share:.1%})"
        if share > self.allow_cut:
            limit = planned.settings.get("max_tokens") or MOST_TOKENS
            raise UserError(
                f"{resource} ({planned.builder.name}): {counts} were cut at {limit:,} tokens or at "
                f"the end of the context window. Increase build.{resource}.max_tokens, use smaller "
                f"chunks, or accept this by setting failures.allow_cut={share + 0.005:.2f}."
            )
        if share:
            self.progress.say(f"{resource}: {counts} were truncated")


def load_artifact(produces: Any, folder: Path) -> Any:
    """Load an artifact of the class `produces`. Raises DamagedArtifact if it cannot be read."""
    try:
        return produces.load(folder)
    except (OSError, ValueError, LookupError, EOFError) as error:
        raise DamagedArtifact(folder, f"{type(error).__name__}: {error}") from error


class DamagedArtifact(UserError):
    """Error for an artifact that cannot be read, or that was changed after it was written."""

    def __init__(self, folder: Path, what: str) -> None:
        super().__init__(f"The artifact {folder} is damaged ({what}). Remove it to build it again.")
        self.what = what


def is_stored(folder: Path) -> bool:
    """Return whether a folder holds a complete artifact."""
    return (folder / RECIPE).is_file()


def read_recipe(folder: Path) -> dict[str, Any]:
    """Return an artifact's recipe.json. Raises DamagedArtifact if the file is unreadable."""
    try:
        recipe: dict[str, Any] = json.loads((folder / RECIPE).read_bytes())
    except (OSError, ValueError) as error:
        raise DamagedArtifact(folder, f"{RECIPE} cannot be read: {error}") from None
    if not isinstance(recipe, dict) or not {*_KEY_PARTS, "files"} <= set(recipe):
        raise DamagedArtifact(folder, f"{RECIPE} lacks fields of a recipe")
    return recipe


def fault_of(folder: Path) -> str:
    """Describe the damage of an artifact (recipe.json, key or files), or return "" if intact."""
    try:
        recipe = read_recipe(folder)
    except DamagedArtifact as error:
        return error.what
    key = digest(*(recipe[part] for part in _KEY_PARTS))
    resource = str(recipe["builder"]).partition(".")[0]
    if (resource, key) != (folder.parent.name, folder.name):
        return f"{RECIPE} belongs to {resource}/{key}"
    hashes, written = _hashes(folder), recipe["files"]
    changed = [name for name in {*hashes, *written} if hashes.get(name) != written.get(name)]
    return f"changed or missing: {', '.join(sorted(changed))}" if changed else ""


def _hashes(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != RECIPE)
    return {path.relative_to(folder).as_posix(): sha256(path) for path in paths}


def sha256(path: Path) -> str:
    """Return a file's sha256. The hash of recipe.json covers all other files of an artifact."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
