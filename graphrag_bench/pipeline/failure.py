"""What replaces a result that a step could not give."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphrag_bench.contract import WrongReturn

Work = Callable[[], Any]
Attempt = Callable[[str, Work], Any]
"""Called with a step's label and its work: gives the result, or its replacement."""

_CORE = Path(__file__).resolve().parents[1]
_MOST_FRAMES = 8


@dataclass(frozen=True)
class Failure:
    """What took the place of a result: the step, the kind of error and its message.

    `where` are the lines of the traceback in the operator's own code, outermost first; they are for
    people and never stored with a record.
    """

    step: str
    kind: str
    message: str
    where: tuple[str, ...] = field(default=(), compare=False)


def let_through(_: str, work: Work) -> Any:
    """What `work` returns; its errors are raised, as anywhere outside a run."""
    return work()


def own_lines(error: BaseException) -> tuple[str, ...]:
    """Where an error was raised: file, line and code, without the frames of graphrag_bench."""
    if isinstance(error, WrongReturn):
        return error.where
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(_CORE)]
    half = _MOST_FRAMES // 2
    shown = own if len(own) <= _MOST_FRAMES else [*own[:half], *own[-half:]]
    texts = [text.rstrip("\n") for text in traceback.format_list(shown)]
    if len(shown) < len(own):
        texts.insert(half, f"  ... {len(own) - len(shown)} more lines ...")
    return tuple(line for text in texts for line in text.split("\n"))
