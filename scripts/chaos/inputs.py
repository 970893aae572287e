"""Hostile inputs, each given to a command that must refuse it, or take it for what it is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from chaos.hostile_files import FILES
from chaos.hostile_sets import SETS
from chaos.hostile_settings import SETTINGS
from chaos.hostility import CANARY, DONE, NAMED, REFUSED, SECRET, Case, Place
from chaos.outcomes import GOOD, SAME, WRONG, Outcome, judged
from chaos.serving import Server
from chaos.trial import command

CASES = (*SETS, *FILES, *SETTINGS)
LIMIT = 30.0
ALL = 60
"""From this number on every case is tried."""
_BASE = (
    "llm=openai_compatible", "llm.model=chaos", "llm.api_key_env=null", "embedder=hashing",
    "reference_rows=off",
)  # fmt: skip


def with_inputs(server: Server, root: Path, seed: int, n_trials: int) -> Iterator[Outcome]:
    """An outcome for each input; all of them where `n_trials` is large enough."""
    cases = list(CASES)
    random.Random(seed).shuffle(cases)
    for number, case in enumerate(cases if n_trials >= ALL else cases[:n_trials]):
        around = root / f"input-{number}"
        place = Place(around / "work", around / "home")
        place.work.mkdir(parents=True)
        yield _tried(case, place, server)


def _tried(case: Case, place: Place, server: Server) -> Outcome:
    words = list(case.given(place))
    if words[0] in ("run", "ask", "plan"):
        url = server.scenario().url
        rest = [word for word in words[1:] if not word.startswith(("paths.home=",))]
        homes = [word for word in words[1:] if word.startswith("paths.home=")]
        homes = homes or [f"paths.home={place.home}"]
        ours = [*_BASE, f"llm.base_url={url}", "llm.patience.total=3", *homes]
        names = {word.partition("=")[0] for word in rest}
        words = [words[0], *(w for w in ours if w.partition("=")[0] not in names), *rest]
    else:
        words += ["--home", str(place.home)]
    ended = command(words, place.work, LIMIT)
    outcome = judged("inputs", case.name, ended)
    if outcome.outcome not in GOOD:
        return outcome
    why = _wrong(case, outcome.outcome == SAME, ended.text, ended.code, place)
    return replace(outcome, outcome=WRONG, why=f"{why}; {ended.err[-300:]}") if why else outcome


def _wrong(case: Case, done: bool, text: str, code: int | None, place: Place) -> str:
    """What is silently wrong with an end that looks good; "" for nothing."""
    if case.expected == REFUSED and done:
        return "it was taken"
    if case.expected == NAMED and done and "left out" not in text:
        return "it was passed over without a word"
    if case.expected == DONE and not done:
        return "it was refused"
    if not done and code == 1:
        return "exit code 1, not 2"
    if any(sign in text for sign in ("\x1b", "\x07", "\x9b", "\x08")):
        return "signs that steer the terminal were printed"
    if SECRET in text or any(_holds(path) for path in sorted(place.home.rglob("*"))):
        return "a secret was printed or stored"
    outside = [p for p in place.work.parent.rglob("*") if p.name == CANARY]
    messages = [line for line in text.splitlines() if line.startswith("graphrag-bench")]
    if outside:
        return f"something was run or written: {outside[0]}"
    return "" if done or len(messages) == 1 else f"{len(messages)} messages"


def _holds(path: Path) -> bool:
    return path.is_file() and SECRET.encode() in path.read_bytes()
