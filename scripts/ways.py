"""Print the measures of docs/architecture.md: of the sources, and of three ways through the code.

A way is the files of the project that a warm question, a finished run or a model call enters;
everything is stored and imported before. `--files` lists them, with their frames.
Usage: python scripts/ways.py [--files]
"""

import contextlib
import io
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from fake_openai import running  # noqa: E402

from graphrag_bench.cli.main import main  # noqa: E402
from graphrag_bench.llm.cache import Cache  # noqa: E402
from graphrag_bench.llm.ledger import Budget, Ledger  # noqa: E402
from graphrag_bench.llm.openai_compatible import OpenAICompatible  # noqa: E402
from graphrag_bench.prompts import Message  # noqa: E402
from scripts import house  # noqa: E402

CODE = tuple(f"{ROOT / folder}/" for folder in house.CODE)
WORDS = ("run", "dataset=toy", "method=bm25", "limit=1", "answer=off", "reference_rows=off")
FIRST_STEP = "graphrag_bench/pipeline/steps.py", "run_steps"


def entered(work: Callable[[], object], until: tuple[str, str] = ("", "")) -> Counter[str]:
    """Return the frames of each file of the project that `work` enters, in all its threads.

    `until` is a file and a function: frames from its first call on are left out.
    """
    frames: Counter[str] = Counter()
    ended = threading.Event()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(CODE) and not ended.is_set():
            file = str(Path(code.co_filename).relative_to(ROOT))
            frames[file] += 1
            if (file, code.co_name) == until:
                ended.set()

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return frames


def run(home: Path) -> None:
    """Run the command of `WORDS` in this process, without its output."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main([*WORDS, f"paths.home={home}"]) == 0


def call(home: Path) -> Counter[str]:
    """Return what one uncached call enters: over HTTP, with cache, budget and ledger."""
    ledger, budget = Ledger(home / "ledger.jsonl"), Budget(tokens=1_000_000)
    with running() as server:
        client = OpenAICompatible("fake", server.scenario(text="yes"), None)
        log = ledger.at("answer", "step")
        model = client.attached(store=Cache(home / "replies.sqlite"), budget=budget, log=log)
        model.complete([(Message("user", "warm?"),)], max_tokens=5)
        return entered(lambda: model.complete([(Message("user", "ready?"),)], max_tokens=5))


if __name__ == "__main__":
    for measure, value in house.measures():
        print(f"{measure}: {value}")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(home)
        shutil.rmtree(home / "runs")
        before = entered(lambda: run(home), FIRST_STEP)
        places = {tuple(file.split("/")[:2][: file.count("/")]) for file in before}
        print(f"folders from the words of a run to its first step: {len(places)}")
        shutil.rmtree(home / "runs")
        ways = {"a question, warm": entered(lambda: run(home))}
        ways |= {"a finished run": entered(lambda: run(home)), "a model call": call(home)}
    for way, frames in ways.items():
        print(f"{way}: {len(frames)} files, {frames.total():,} frames")
        for file, n in frames.most_common() if "--files" in sys.argv else ():
            print(f"  {n:6,} {file}")
