"""A method tried again after each change of its code: what it finds, and what moved since."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from graphrag_bench.analysis.replaying.replay import Player, Replayed, failures
from graphrag_bench.config.choices import path_of
from graphrag_bench.config.compose import composed
from graphrag_bench.config.words import Word
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.evaluation.statistics import mean_with_interval, paired_difference
from graphrag_bench.progress import Progress
from graphrag_bench.runs.folder import write_whole

_MOST_NAMED = 8
_METHOD = "method"


@dataclass(frozen=True)
class Tried:
    """What a method found: a metric of each question, what failed, and which steps were computed.

    `failed` names each failure once, `n_failed` counts the questions; `computed` are the labels of
    the steps of which results were computed, `n_kept` the results that were kept from before.
    """

    title: str
    metric: str
    scores: Mapping[str, float]
    failed: tuple[str, ...]
    n_failed: int
    computed: tuple[str, ...]
    n_kept: int
    seconds: float


def tried(words: Sequence[Word], metric: str, *, calls: bool = False) -> Tried:
    """The retrieval of a method over the questions that the words choose.

    What its steps found before is taken from the store of steps. Raises UserError for settings
    that are wrong, and for a metric that no question has.
    """
    began = time.monotonic()
    player = Player.of_settings(composed(words), Progress(), calls=calls)
    try:
        played = player.as_it_is()
    finally:
        player.close()
    return _of(played, metric, time.monotonic() - began)


def against(words: Sequence[Word], method: str) -> list[Word]:
    """The words with another method, and without the settings of the one that they choose."""
    kept = [word for word in words if word.name.partition(".")[0] not in (_METHOD, "build")]
    return [*kept, Word(_METHOD, method)]


def watched(words: Sequence[Word]) -> list[Path]:
    """The folders and files whose changes count: plug-in packages, the method's file, configs."""
    found = [Path("configs")]
    for word in words:
        if word.name == "plugins":
            for name in word.value:
                spec = find_spec(str(name).partition(".")[0])
                found += [Path(one) for one in (spec and spec.submodule_search_locations) or ()]
        elif word.name == _METHOD:
            found.append(path_of(_METHOD, word.text))
    return [path for path in dict.fromkeys(found) if path.exists()]


def told(now: Tried, reference: Tried | None, before: Mapping[str, float]) -> Iterator[str]:
    """The lines of one try: its mean, the difference from the reference, what moved since."""
    values = list(now.scores.values())
    if values:
        mean = mean_with_interval(values)
        yield (
            f"{now.title}: {now.metric} {mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}] "
            f"over {len(values)} questions, {now.seconds:.1f} s"
        )
    if reference is not None and now.title != reference.title:
        yield from _difference(now, reference)
    yield from _moved(now, before)
    if now.n_failed:
        yield f"  {now.n_failed} failed: {'; '.join(now.failed[:_MOST_NAMED])}"
    steps = ", ".join(now.computed) or "no step"
    yield f"  computed: {steps}; {now.n_kept:,} results of steps were kept from before"


def remembered(path: Path) -> dict[str, float]:
    """The metric of each question at the try before; {} without one."""
    if not path.is_file():
        return {}
    held = json.loads(path.read_text(encoding="utf-8"))
    return {str(name): float(value) for name, value in held.items()}


def remember(path: Path, now: Tried, before: Mapping[str, float]) -> None:
    """Keep the metric of each question for the next try; of one that failed, what it was before."""
    write_whole(path, json.dumps({**before, **now.scores}))


def _of(played: Replayed, metric: str, seconds: float) -> Tried:
    known = sorted({name for held in played.scores.values() for name in held})
    if known and metric not in known:
        raise UserError(f"No question has the metric '{metric}'. {did_you_mean(metric, known)}")
    found = played.found
    return Tried(
        title=played.experiment.method.title,
        metric=metric,
        scores={name: held[metric] for name, held in played.scores.items() if metric in held},
        failed=tuple(failures(found)),
        n_failed=sum(one.failure is not None for one in found.finished),
        computed=tuple(label for label, count in found.computed.items() if count),
        n_kept=sum(found.taken.values()),
        seconds=seconds,
    )


def _difference(now: Tried, reference: Tried) -> Iterator[str]:
    both = [name for name in now.scores if name in reference.scores]
    if not both:
        return
    found = paired_difference(
        [reference.scores[name] for name in both], [now.scores[name] for name in both]
    )
    yield (
        f"  {reference.title} {found.first:.3f}: {found.mean:+.3f} "
        f"[{found.low:+.3f}, {found.high:+.3f}], p {found.p:.4f}, "
        f"better at {found.wins}, worse at {found.losses}"
    )


def _moved(now: Tried, before: Mapping[str, float]) -> Iterator[str]:
    pairs = [(name, before[name], held) for name, held in now.scores.items() if name in before]
    if not pairs:
        return
    for sign, said in ((1, "better"), (-1, "worse")):
        names = [name for name, then, held in pairs if (held - then) * sign > 0]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        listed = f": {', '.join(names[:_MOST_NAMED])}{more}" if names else ""
        yield f"  since the last save {said} at {len(names)}{listed}"
