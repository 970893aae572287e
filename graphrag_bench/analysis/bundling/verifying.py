"""A bundle verified: every byte, every score from rows and gold, every table from the scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import distributions
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphrag_bench.analysis.bundling.archive import digest_of, unpacked
from graphrag_bench.analysis.bundling.bundled import (
    BundledRun,
    as_json,
    bundled_run,
    read_scores,
    tables_of,
)
from graphrag_bench.analysis.bundling.data_sets import read_data_set
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.offline.manifest import verify as verify_artifact
from graphrag_bench.runs.damage import check_run
from graphrag_bench.runs.rescoring import scored_again, scores_of

_NOT_RECOMPUTED = ("computed_by",)
"""What scoring says of the machine that it was done on."""
_TOLERANCE = 1e-6


@dataclass
class Verified:
    """What was checked of a bundle, and what is wrong with it.

    `notes` say what could not be checked here, and why. `sha256` is what the archive states of
    itself: whoever changes a bundle and all its hashes changes it too.
    """

    sha256: str = ""
    n_files: int = 0
    n_runs: int = 0
    n_scored: int = 0
    n_artifacts: int = 0
    tables: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def verified(file: Path) -> Verified:
    """Verify a bundle, with no model, key or network; raises UserError for what is no bundle."""
    with TemporaryDirectory(prefix="verify-") as scratch:
        folder = Path(scratch)
        told, faults = unpacked(file, folder)
        found = Verified(digest_of(file), len(told.get("files", {})), faults=faults)
        if faults:
            return found
        found.notes += [f"not in it: {one}" for one in told["left_out"]]
        found.notes += _other_versions(folder)
        try:
            data = {row["data"]: read_data_set(folder / row["data"]) for row in told["runs"]}
            runs = [bundled_run(folder, row, data) for row in told["runs"]]
        except (ValueError, LookupError, TypeError) as error:
            found.faults.append(f"the runs and data sets do not fit each other: {error}")
            return found
        for run, row in zip(runs, told["runs"], strict=True):
            _check_run(run, row, data[row["data"]], folder, found)
        for recipe in sorted(folder.glob("artifacts/*/*/*/recipe.json")):
            _check_artifact(recipe.parent, found)
        if not found.faults:
            _check_tables(runs, folder, found)
    return found


@contextmanager
def opened_runs(file: Path) -> Iterator[list[BundledRun]]:
    """The runs of a bundle, unpacked for as long as the context lasts; raises UserError."""
    with TemporaryDirectory(prefix="bundle-") as scratch:
        folder = Path(scratch)
        told, faults = unpacked(file, folder)
        if faults:
            raise UserError(f"{file} is damaged: {faults[0]}. graphrag-bench verify {file}")
        data = {row["data"]: read_data_set(folder / row["data"]) for row in told["runs"]}
        yield [bundled_run(folder, row, data) for row in told["runs"]]


def _check_run(
    run: BundledRun,
    row: Mapping[str, Any],
    data: tuple[Dataset, bool],
    folder: Path,
    found: Verified,
) -> None:
    """Check the seals of a run, and its scores where its gold is there."""
    found.n_runs += 1
    try:
        check_run(run.folder.path)
    except UserError as error:
        found.faults.append(f"{row['run']}: {str(error).replace(f'{folder}/', '')}")
        return
    kept = read_scores(folder / row["scores"])
    if not data[1]:
        found.notes.append(
            f"{row['title']}: its scores are taken as they were packed; its data set is not in "
            f"the bundle ({row['licence']})"
        )
        return
    try:
        scores, again = scores_of(run), scored_again(run)
    except UserError as error:
        found.notes.append(f"{row['title']}: not scored again: {error}")
        return
    found.n_scored += 1
    if (place := _difference(as_json(scores), kept, row["scores"])) is not None:
        found.faults.append(f"{place}: scoring the answers again gives another value")
    held = {name: one for name, one in as_json(again).items() if name not in _NOT_RECOMPUTED}
    said = {name: run.metrics.get(name) for name in held}
    if (place := _difference(held, said, f"{row['run']}/metrics.json")) is not None:
        found.faults.append(f"{place}: scoring the answers again gives another value")


def _check_artifact(folder: Path, found: Verified) -> None:
    found.n_artifacts += 1
    try:
        verify_artifact(folder, "always")
    except UserError as error:
        found.faults.append(f"{'/'.join(folder.parts[-4:])}: {error}")


def _check_tables(runs: list[BundledRun], folder: Path, found: Verified) -> None:
    """Make every table again from the runs, and compare its bytes."""
    made = tables_of(runs)
    there = {path.relative_to(folder).as_posix() for path in folder.glob("tables/*")}
    for name in sorted(there | made.keys()):
        if name not in made:
            found.faults.append(f"{name}: is of no run in the bundle")
        elif name not in there:
            found.faults.append(f"{name}: is missing")
        elif (line := _first_line(made[name], (folder / name).read_text("utf-8"))) is not None:
            found.faults.append(f"{name}, line {line}: the runs give another table")
        else:
            found.tables.append(name)


def _first_line(one: str, other: str) -> int | None:
    """The number of the first line that differs, from 1; None for equal texts."""
    if one == other:
        return None
    pairs = zip(one.split("\n"), other.split("\n"), strict=False)
    n_shared = min(one.count("\n"), other.count("\n")) + 1
    return next((n for n, (a, b) in enumerate(pairs, 1) if a != b), n_shared + 1)


def _difference(one: Any, other: Any, place: str) -> str | None:
    """Where two JSON values first differ by more than rounding; None where they do not."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in sorted(one.keys() | other.keys()):
            if name not in one or name not in other:
                return f"{place} {name}"
            if (found := _difference(one[name], other[name], f"{place} {name}")) is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next((at for n, (a, b) in pairs if (at := _difference(a, b, f"{place} {n}"))), None)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (one, other))
    same = isclose(one, other, rel_tol=0, abs_tol=_TOLERANCE) if numbers else one == other
    return None if same else place


def _other_versions(folder: Path) -> list[str]:
    """A note on the packages that have other versions here, those that scoring uses first."""
    path = folder / "versions.txt"
    then = dict(line.split("==", 1) for line in path.read_text("utf-8").split("\n") if "==" in line)
    now = {one.name: one.version for one in distributions()}
    names = [name for name in ("graphrag-bench", "numpy", "scipy") if name in then and name in now]
    other = [f"{name} {then[name]}, here {now[name]}" for name in names if then[name] != now[name]]
    return [f"packed with other versions: {'; '.join(other)}"] if other else []
