"""A server with faults, and one that goes away in each phase of a run and comes back later."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.faults import BROKEN, HEALING, ODD
from chaos.outcomes import CLEAR, GOOD, SAME, WRONG, Outcome, judged
from chaos.serving import Bill, Scenario, Server
from chaos.trial import command
from chaos.world import HIPPORAG, WORKS, Left, Work, left

OUTAGES = ("500", "429", "close", "cut", "401", "no-choices", "hang")
_CHAT_ONLY = tuple(
    name for name in (*BROKEN, *ODD) if "vectors" not in name and "index" not in name
)
_VECTORS = tuple(name for name in BROKEN if name not in _CHAT_ONLY)


@dataclass(frozen=True)
class Reference:
    """A run that nothing disturbed: what it left behind, and how often it asked in each phase."""

    work: Work
    left: Left
    bill: Bill


def reference(work: Work, server: Server, root: Path) -> Reference:
    """The run of a work without a fault; raises RuntimeError when it does not succeed."""
    home, scenario = root / f"reference-{work.name}", server.scenario()
    home.mkdir()
    ended = command(work.arguments(home, scenario), home)
    bill = scenario.bill()
    if ended.code != 0 or max(bill.calls.values(), default=1) > 1:
        raise RuntimeError(f"the undisturbed run of {work.name} failed: {ended.text}")
    return Reference(work, left(home), bill)


def with_faults(
    references: Sequence[Reference], server: Server, root: Path, seed: int, n_trials: int
) -> Iterator[Outcome]:
    """Runs whose server fails at 30 % of the requests, each in one way, the last in all ways.

    After a clear error the same command is given to a healthy server, and must give the result
    of the undisturbed run.
    """
    chance = random.Random(seed)
    hipporag, embedding = references[0], next(r for r in references if r.work.embeds)
    cases = [(hipporag, (name,)) for name in (*HEALING, *_CHAT_ONLY)]
    cases += [(embedding, (name,)) for name in (*_VECTORS, *HEALING[:5], "usage-text", "gzip")]
    cases += [(one, (*HEALING[:7], *ODD)) for one in references]
    chance.shuffle(cases)
    for number, (held, kinds) in enumerate(cases[:n_trials]):
        home = root / f"faults-{number}"
        home.mkdir()
        faulty = server.scenario(seed=seed + number, share=0.3, kinds=list(kinds))
        what = f"{held.work.name}: {kinds[0] if len(kinds) == 1 else 'all kinds'}"
        counted = not any(name.startswith("usage") for name in kinds)
        trial = ("faults", what)
        yield _resumed(trial, held, home, faulty, server.scenario(), counted=counted)


def with_outages(
    references: Sequence[Reference], server: Server, root: Path, n_trials: int
) -> Iterator[Outcome]:
    """Runs whose server goes away at the first, a middle or the last call of a phase.

    The run must end with an error, and the same command with a healthy server must give the
    result of an undisturbed run, asking nothing twice.
    """
    cases = [
        (held, phase, at)
        for held in references
        for phase, n_calls in held.bill.phases.items()
        for at in sorted({0, n_calls // 2, n_calls - 1})
    ]
    step = max(1.0, len(cases) / n_trials)
    chosen = [cases[int(number * step)] for number in range(min(n_trials, len(cases)))]
    for number, (held, phase, at) in enumerate(chosen):
        kind = OUTAGES[number % len(OUTAGES)]
        home = root / f"outage-{number}"
        home.mkdir()
        gone = server.scenario(outage=kind, outage_phase=phase, outage_at=at)
        what = f"{held.work.name}: {kind} from call {at + 1} of '{phase}'"
        yield _resumed(("outage", what), held, home, gone, server.scenario(), patience=1.0)


def _resumed(
    trial: tuple[str, str], held: Reference, home: Path, faulty: Scenario, healthy: Scenario,
    *, patience: float = 6.0, counted: bool = True,
) -> Outcome:  # fmt: skip
    """The outcome of a run with a faulty server, and of the same command with a healthy one.

    The first may end with fewer answers, and must say so; the second must give the result of
    the undisturbed run: an error is a fault there. Tokens are compared where `counted`.
    """
    kind, what = trial
    first = command(held.work.arguments(home, faulty, patience), home)
    differs = held.left.differs(left(home), counted=counted)
    outcome = judged(kind, what, first, differs=differs, named="questions failed")
    again = command(held.work.arguments(home, healthy), home)
    doubled = n_doubled(faulty.bill().calls + healthy.bill().calls)
    differs = held.left.differs(left(home), counted=counted)
    end = judged(kind, f"{what}, then healthy", again, differs=differs, doubled=doubled)
    if end.outcome == CLEAR:
        end = replace(end, outcome=WRONG, why=f"a healthy server does not heal it: {end.why}")
    return end if outcome.outcome in GOOD and end.outcome != SAME else outcome


def n_doubled(calls: Counter[str]) -> int:
    """Calls that were answered and paid for more than once, counted by their excess."""
    return sum(n - 1 for n in calls.values())


def references(server: Server, root: Path, *, short: bool) -> list[Reference]:
    """The undisturbed runs of all works; of two in the short form."""
    works = (HIPPORAG, WORKS[-1]) if short else WORKS
    return [reference(work, server, root) for work in works]
