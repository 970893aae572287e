"""Kinds of trials in processes of their own, a few at a time: most of a trial is waiting."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from pathlib import Path

from chaos.outcomes import Outcome

_FORK = multiprocessing.get_context("fork")
Trials = Callable[[], Iterator[Outcome]]


def in_lanes(kinds: Sequence[tuple[str, Trials]], n_lanes: int, root: Path) -> Iterator[Outcome]:
    """The outcomes of all kinds, `n_lanes` kinds at a time, each kind's when it is done.

    No thread is started here, because each trial is a fork. Raises RuntimeError for a kind that
    did not end.
    """
    waiting = list(kinds)
    at_work: dict[int, tuple[str, multiprocessing.process.BaseProcess]] = {}
    while waiting or at_work:
        while waiting and len(at_work) < n_lanes:
            name, trials = waiting.pop(0)
            process = _FORK.Process(target=_lane, args=(trials, root / f"{name}.jsonl"))
            process.start()
            at_work[process.sentinel] = name, process
        for sentinel in wait(list(at_work)):
            assert isinstance(sentinel, int)
            name, process = at_work.pop(sentinel)
            process.join()
            if process.exitcode != 0:
                raise RuntimeError(f"the trials of '{name}' ended with {process.exitcode}")
            lines = (root / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
            yield from (Outcome(**json.loads(line)) for line in lines)


def _lane(trials: Trials, file: Path) -> None:
    with file.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(outcome.row) + "\n" for outcome in trials())
