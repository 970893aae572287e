"""One file of a finished home damaged at a time, and a command that reads it."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.damage import damaged
from chaos.outages import Reference
from chaos.outcomes import Outcome, judged
from chaos.serving import Server
from chaos.trial import Ended, command
from chaos.world import left

_FOUR = ("artifacts", "run folder", "artifacts", "store")
GROUPS = (*_FOUR, *_FOUR, *_FOUR, *(("artifacts", "run folder") * 4))
"""What is damaged, in turn: artifacts ten times in twenty, run folders seven, stores three."""
_LISTINGS = (
    ("run",),
    ("runs", "ls"),
    ("runs", "show", "RUN"),
    ("runs", "gc"),
    ("table",),
    ("score", "RUN"),
    ("diff", "RUN", "RUN"),
    ("funnel", "RUN"),
)
_SECONDS = re.compile(r"\d+(?:[.:]\d+)* ?(?:s|ms|min|h|/s)\b|\d+(?:\.\d+)?/s")
_IDLE = (".lock", ".new")


@dataclass
class Bench:
    """The undisturbed homes, and what each command prints on one of them."""

    server: Server
    root: Path
    controls: dict[tuple[str, tuple[str, ...]], tuple[Ended, str]] = field(default_factory=dict)

    def copy(self, held: Reference, name: str) -> Path:
        """A copy of the home of an undisturbed run."""
        home = self.root / name
        shutil.copytree(self.root / f"reference-{held.work.name}", home)
        return home

    def control(self, held: Reference, words: tuple[str, ...]) -> str:
        """What a command prints where nothing is damaged."""
        key = (held.work.name, words)
        if key not in self.controls:
            home = self.copy(held, f"control-{len(self.controls)}")
            ended = command(self.arguments(held, home, words), home)
            if ended.code != 0:
                raise RuntimeError(f"{' '.join(words)} of an undamaged home failed: {ended.text}")
            self.controls[key] = (ended, printed(ended, home))
        return self.controls[key][1]

    def arguments(self, held: Reference, home: Path, words: tuple[str, ...]) -> list[str]:
        """The words of a command on a home."""
        if words == ("run",):
            return held.work.arguments(home, self.server.scenario())
        (run,) = sorted(home.glob("runs/*/*/*"))[:1] or [home]
        named = [str(run) if word == "RUN" else word for word in words]
        return [*named, "--home", str(home)]


def printed(ended: Ended, home: Path) -> str:
    """Standard output without seconds and the place of the home."""
    return _SECONDS.sub("~", ended.out.replace(str(home), "HOME"))


def with_mutations(
    references: Sequence[Reference],
    server: Server,
    root: Path,
    seed: int,
    n_trials: int,
    only: Sequence[str] = (),
) -> Iterator[Outcome]:
    """An outcome for each damaged file; of the groups `only`, the trials of these alone.

    A trial is the same whether the others are tried or not.
    """
    bench = Bench(server, root)
    for number in range(n_trials):
        chance = random.Random(f"{seed} {number}")
        group = GROUPS[number % len(GROUPS)]
        if only and group not in only:
            continue
        held = chance.choice(references)
        home = bench.copy(held, f"mutation-{number}")
        path = chance.choice(_files(home, group))
        name = damaged(path, chance)
        place = path.relative_to(home).as_posix()
        what = f"{held.work.name}: {name} of {place} (trial {number})"
        yield _TRIALS[group](bench, held, home, what, chance)
        shutil.rmtree(home)


def _files(home: Path, group: str) -> list[Path]:
    folder = {"artifacts": "artifacts", "run folder": "runs", "store": "cache"}[group]
    found = [path for path in sorted((home / folder).rglob("*")) if path.is_file()]
    return [path for path in found if path.suffix not in _IDLE and path.stat().st_size]


def _of_artifacts(
    bench: Bench, held: Reference, home: Path, what: str, chance: random.Random
) -> Outcome:
    """The run done again out of its artifacts, of which it may not read each.

    One in five looks at `artifacts verify` alone.
    """
    if chance.random() < 0.2:
        ended = command(["artifacts", "verify", "--home", str(home)], home)
        return judged("artifacts", f"{what}, verify", ended, differs="damage was not found")
    shutil.rmtree(home / "runs")
    return _rerun("artifacts", bench, held, home, what)


def _of_store(
    bench: Bench, held: Reference, home: Path, what: str, chance: random.Random
) -> Outcome:
    """The run done again out of the stored replies."""
    if chance.random() < 0.2:
        ended = command(["cache", "stats", "--home", str(home)], home)
        control = bench.control(held, ("cache", "stats"))
        differs = "" if printed(ended, home) == control else "another count of replies"
        named = "replies.sqlite"  # what is left out of the count is told, with the file
        return judged("stores", f"{what}, stats", ended, differs=differs, named=named)
    shutil.rmtree(home / "runs")
    shutil.rmtree(home / "artifacts")
    return _rerun("stores", bench, held, home, what)


def _rerun(kind: str, bench: Bench, held: Reference, home: Path, what: str) -> Outcome:
    scenario = bench.server.scenario()
    ended = command(held.work.arguments(home, scenario), home)
    again = sum(scenario.bill().calls.values())
    told = "damaged" in ended.text
    differs = held.left.differs(replace(left(home), artifacts=held.left.artifacts))
    return judged(kind, what, ended, differs=differs, doubled=0 if told else again)


def _of_run_folder(
    bench: Bench, held: Reference, home: Path, what: str, chance: random.Random
) -> Outcome:
    """A command that reads the run folder, against what it prints where nothing is damaged.

    A folder without one of its files is an unfinished run: the run itself must go on from it.
    """
    words = ("run",) if ": remove of" in what else chance.choice(_LISTINGS)
    control = bench.control(held, words)
    key = sorted(home.glob("runs/*/*/*"))[0].name
    ended = command(bench.arguments(held, home, words), home)
    shown = f"{what}, {' '.join(words)}"
    differs = "" if printed(ended, home) == control else "it prints something else"
    if words == ("run",) and "ledger" not in what:
        differs = held.left.differs(replace(left(home), artifacts=held.left.artifacts))
    return judged("run folders", shown, ended, differs=differs, named=key)


_TRIALS = {"artifacts": _of_artifacts, "run folder": _of_run_folder, "store": _of_store}
