"""Measures of the house, and of the ways from a command to its results.

`python scripts/ways.py` prints one line each; docs/architecture.md holds the figures. Everything is
stored and imported before anything is counted: what is counted is the way, not the start.
"""

import contextlib
import io
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import graphrag_bench
from graphrag_bench.cli.main import main
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.ledger import Budget, Ledger
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.prompts import Message
from graphrag_bench.run.method import Method
from graphrag_bench.run.models import Models

ROOT = Path(graphrag_bench.__file__).parents[1]
sys.path += [str(ROOT), str(ROOT / "tests")]
from fake_openai import running  # noqa: E402

from scripts import house  # noqa: E402

ROOMS = tuple(str(ROOT / room) + "/" for room in ("graphrag_bench", "operators", "methods"))
WORDS = ("run", "dataset=toy", "method=bm25", "limit=1", "answer=off", "reference_rows=off")
MADE = (RunSettings, "model_validate"), (Method, "__init__"), (Models, "__init__")
"""What a run makes once, by the function that makes it."""
FIRST_STEP = "graphrag_bench/pipeline/steps.py", "run_steps"


def entered(work: Callable[[], object], until: tuple[str, str] = ("", "")) -> Counter[str]:
    """Return how many frames of each file of the project `work` enters, in all its threads.

    Frames from the first one of the function `until`, a file and a name, are left out.
    """
    frames: Counter[str] = Counter()
    ended = threading.Event()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOMS) and not ended.is_set():
            file = str(Path(code.co_filename).relative_to(ROOT))
            if (file, code.co_name) == until:
                ended.set()
            else:
                frames[file] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return frames


def rooms(frames: Counter[str]) -> set[str]:
    """Return the folders of files; the modules beside them are one."""
    return {"/".join(file.split("/")[:2]) if file.count("/") > 1 else "" for file in frames}


def preparation(home: Path) -> tuple[set[str], Counter[str]]:
    """Return the rooms that a run enters before its first step, and how often it makes `MADE`."""
    made: Counter[str] = Counter()

    def counting(kind: type, name: str) -> Callable[..., Any]:
        make = getattr(kind, name)

        def counted(*values: Any, **named: Any) -> Any:
            made[kind.__name__] += 1
            return make(*values, **named)

        return counted

    with ExitStack() as stack:
        for kind, name in MADE:
            stack.enter_context(patch.object(kind, name, counting(kind, name)))
        frames = entered(lambda: run(home), FIRST_STEP)
    return rooms(frames), made


def run(home: Path) -> None:
    """Run the command of `WORDS` in the process, without what it prints."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main([*WORDS, f"paths.home={home}"]) == 0


def call(home: Path) -> Counter[str]:
    """Return what one uncached call enters: over HTTP, with cache, budget and ledger."""
    ledger, budget = Ledger(home / "ledger.jsonl"), Budget(tokens=1_000_000)
    cache = Cache(home / "replies.sqlite")
    with running() as server:
        client = OpenAICompatible("fake", server.scenario(text="yes"), None)
        model = client.attached(store=cache, budget=budget, log=ledger.at("answer", "step"))
        model.complete([(Message("user", "warm?"),)], max_tokens=5)
        return entered(lambda: model.complete([(Message("user", "ready?"),)], max_tokens=5))


def show(way: str, frames: Counter[str], *, whole: bool) -> None:
    """Print the files and frames of a way, and with `whole` each of its files."""
    print(f"{way}: {len(frames)} files, {frames.total():,} frames")
    if whole:
        print("\n".join(f"  {count:6,} {file}" for file, count in frames.most_common()))


if __name__ == "__main__":
    for measure, value in house.measures():
        print(f"{measure}: {value}")
    with tempfile.TemporaryDirectory() as folder:
        home, every = Path(folder), "--files" in sys.argv
        run(home)
        shutil.rmtree(home / "runs")
        names, made = preparation(home)
        print(f"from the words to the first step: {len(names)} rooms, {dict(made)}")
        shutil.rmtree(home / "runs")
        show("a question, warm", entered(lambda: run(home)), whole=every)
        show("a finished run", entered(lambda: run(home)), whole=every)
        show("a model call", call(home), whole=every)
