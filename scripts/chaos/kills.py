"""Processes ended by a signal at seeded moments, and started again until the run is done."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from chaos.outages import Reference
from chaos.outcomes import CLEAR, SAME, TRACEBACK, WRONG, Outcome, judged
from chaos.serving import Server
from chaos.trial import command, start
from chaos.world import CONCURRENCY, left

LATENCY = 0.03
IN_FLIGHT = 0.5
"""Seconds around a kill in which a reply may have been on its way into the store."""


def with_kills(
    held: Reference, server: Server, root: Path, seed: int, n_kills: int
) -> Iterator[Outcome]:
    """Runs killed with SIGKILL, five times each, then finished; an outcome for each kill.

    What is left behind must be that of the undisturbed run, byte by byte, and no call may be paid
    twice but those that were in flight at a kill: one for each place of the concurrency.
    """
    chance = random.Random(seed)
    done = 0
    while done < n_kills:
        home, scenario = root / f"kills-{done}", server.scenario(latency=LATENCY)
        home.mkdir()
        arguments = held.work.arguments(home, scenario)
        moments: list[float] = []
        for _ in range(min(5, n_kills - done)):
            n_before = scenario.bill().n_requests
            started = start(arguments, home)
            wanted = n_before + chance.choice((0, 1, 2, 4, 6, 9))
            while scenario.bill().n_requests < wanted and started.process.is_alive():
                time.sleep(0.005)
            time.sleep(chance.random() * chance.choice((0.02, 0.1, 0.6)))
            moments.append(time.monotonic())
            started.kill()
            started.ended()
        ended = command(arguments, home)
        answered = scenario.bill().answered
        doubled = _doubled(answered, moments)
        differs = held.left.differs(left(home))
        outcome = judged("kills", f"{len(moments)} kills", ended, differs=differs, doubled=doubled)
        yield from [outcome] * len(moments)
        done += len(moments)


def _doubled(answered: list[tuple[str, str, float]], moments: list[float]) -> int:
    """Calls answered again although their first answer was not in flight at any kill.

    All calls answered again are counted where they are more than could have been in flight.
    """
    last: dict[str, float] = {}
    again, unexcused = 0, 0
    for key, _, at in answered:
        if key in last:
            again += 1
            near = any(-IN_FLIGHT <= last[key] - moment <= IN_FLIGHT for moment in moments)
            unexcused += not near
        last[key] = at
    return again if again > CONCURRENCY * len(moments) else unexcused


def with_signals(held: Reference, server: Server, root: Path, seed: int) -> Iterator[Outcome]:
    """Runs ended by Ctrl-C and by SIGTERM: 130 and 143, a message, and no call paid twice."""
    chance = random.Random(seed)
    for name, number, code in (("SIGINT", signal.SIGINT, 130), ("SIGTERM", signal.SIGTERM, 143)):
        for n_calls in (3, 14, 23):
            home, scenario = root / f"{name}-{n_calls}", server.scenario(latency=LATENCY)
            home.mkdir()
            arguments = held.work.arguments(home, scenario)
            started = start(arguments, home)
            while scenario.bill().n_requests < n_calls and started.process.is_alive():
                time.sleep(0.005)
            time.sleep(chance.random() * 0.03)
            started.kill(number)
            stopped = started.ended(30.0)
            what = f"{name} after {n_calls} calls"
            outcome = judged("signals", what, stopped, differs="the run was not stopped")
            if outcome.outcome == CLEAR and stopped.code != code:
                outcome = judged("signals", what, stopped, differs="")
                outcome = _wrong(outcome, f"exit code {stopped.code}, not {code}")
            ended = command(arguments, home)
            again = sum(n - 1 for n in scenario.bill().calls.values())
            differs = held.left.differs(left(home))
            end = judged("signals", f"{what}, again", ended, differs=differs, doubled=again)
            yield outcome if end.outcome == SAME or outcome.outcome == TRACEBACK else end


def _wrong(outcome: Outcome, why: str) -> Outcome:
    return Outcome(outcome.kind, outcome.what, WRONG, why, outcome.code, outcome.seconds)
