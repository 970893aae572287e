"""Notes on how answers were made: the forms asked for, the prompts, the fallbacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Run = Mapping[str, Any]


def asking_notes(runs: Sequence[Run]) -> Iterator[str]:
    """The lines that a table of these runs needs; what begins with `!` is a warning.

    Short answers to prompts of the methods' own, without a fallback, need none.
    """
    answered = [run for run in runs if run["answered"]]
    yield from _forms(answered)
    yield from _readers(answered)
    for run in runs:
        for reason, n in run.get("fallbacks", {}).items():
            yield f"{run['title']} fell back for {n} of {run['n']} questions: {reason}"


def _forms(runs: Sequence[Run]) -> Iterator[str]:
    """The forms of answers by data set, where any is not short."""
    by_set: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        if forms := run.get("answer_forms"):
            said = ", ".join(f"{name} ({n})" for name, n in forms.items())
            by_set.setdefault(run["dataset"], {}).setdefault(said, []).append(run)
    for name, held in by_set.items():
        kinds = {tuple(sorted(same[0]["answer_forms"])) for same in held.values()}
        asked = {run["settings"].get("answers") for same in held.values() for run in same}
        for said, same in held.items():
            if len(kinds) > 1 and len(asked) > 1:
                titles = ", ".join(run["title"] for run in same)
                yield f"! {name}: forms of answers differ between runs; {titles}: {said}"
            elif set(same[0]["answer_forms"]) != {"short"}:
                yield f"{name}: forms of the answers (questions): {said}"


def _readers(runs: Sequence[Run]) -> Iterator[str]:
    """Which runs answered with the common prompt."""
    common = [run for run in runs if run.get("reader_prompt") == "common"]
    if not common:
        return
    if len(common) == len(runs):
        yield "one reader prompt for all methods (reader_prompt=common)"
    else:
        titles = ", ".join(run["title"] for run in common)
        yield (
            f"! reader prompts differ: the common one for {titles}; each method's own for the "
            "others (reader_prompt)"
        )
    for run in common:
        if kept := run.get("own_answers"):
            yield f"{run['title']}: its own prompt for answers inside its search: {', '.join(kept)}"
