"""Processes of the command that end in the middle, and what they leave behind.

Each is forked from a server process that has imported the package, which takes some milliseconds.
"""

import json
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI
from toy_runs import Ended, write_set

from graphrag_bench.cli.main import main
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.run import folder as run_folder

for name in ("openai", "bpe_openai", "scipy.sparse", "numba", "faiss", "graphrag_bench.cli.run"):
    import_module(name)  # once for all that are forked
load_plugins()
CONCURRENCY = 4
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__])
_TIMED = ("budget", "ledger", "timing", "environment.json", "metrics.json", "config.yaml")
"""Files that hold times, costs, addresses or machines."""
_FOUNDERS = {
    "Alba": "Jorwick Marsh", "Aldor": "Jorthal Marsh", "Alfast": "Jorsund Marsh",
    "Algard": "Jorney Marsh", "Alholm": "Jormere Marsh", "Almere": "Jorholm Marsh",
}  # fmt: skip


def tiny_set(folder: Path) -> Path:
    """A folder with a set of six one-line towns, and a question about each but the last."""
    corpus = [
        {"id": town, "title": town, "text": f"{town} was founded by {founder}. {town} is a town."}
        for town, founder in _FOUNDERS.items()
    ]
    questions = [
        {"id": f"q-{town}", "text": f"Who founded {town}?", "answers": [founder],
         "evidence": [town]}
        for town, founder in _FOUNDERS.items()
    ]  # fmt: skip
    return write_set(folder, corpus, questions[:-1])


def served(url: str) -> list[str]:
    """The settings of a language model at this address."""
    return ["llm=openai_compatible", "llm.model=fake", f"llm.base_url={url}",
            "llm.api_key_env=null", f"llm.limits.concurrency={CONCURRENCY}"]  # fmt: skip


def built_by_llm(root: Path, home: Path, url: str, *more: str) -> list[str]:
    """The words of a run that asks a model in building and in answering."""
    return ["run", "dataset=jsonl", f"dataset.root={root}", "method=hipporag",
            "method.conversion=llm", "build.extraction=llm", "embedder=hashing",
            "reference_rows=off", f"paths.home={home}", *served(url), *more]  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """What befalls a process: kill -9 at call `number` of a function, or files that may not grow.

    `where` is `rename` or `replace` of a path, or `append`, of which half is written before.
    """

    where: str = ""
    number: int = 0
    most_bytes: int | None = None

    def strike(self) -> None:
        """Let it befall this process."""
        if self.most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.most_bytes, self.most_bytes))
        if self.where == "append":
            run_folder.append_lines = self._deadly(run_folder.append_lines, _half)  # type: ignore[assignment]
        elif self.where:
            setattr(Path, self.where, self._deadly(getattr(Path, self.where)))

    def _deadly(
        self, function: Callable[..., Any], before: Callable[..., Any] = lambda *_: None
    ) -> Callable[..., Any]:
        calls = iter(range(10**6))

        def called(*args: Any) -> Any:
            if next(calls) == self.number:
                before(*args)
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args)

        return called


def _half(path: Path, rows: Any) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    with path.open("a") as file:
        file.write(text[: len(text) // 2])


@dataclass
class Started:
    """A process of the command at work."""

    process: Any
    out: Path

    @property
    def alive(self) -> bool:
        """Whether it is still at work."""
        return bool(self.process.is_alive())

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.process.pid, number)

    def ended(self) -> Ended:
        """Exit code and output, after waiting for it; minus the signal that killed it."""
        self.process.join(60)
        assert self.process.exitcode is not None
        out, err = (self.out.with_suffix(f".{name}").read_text() for name in ("out", "err"))
        return Ended(self.process.exitcode, out, err)

    def killed(self) -> None:
        """End it with SIGKILL, wherever it is."""
        self.process.kill()
        self.process.join()


def start(words: list[str], folder: Path, fault: Fault | None = None) -> Started:
    """Start a command, with a working folder and files for what it says in `folder`."""
    out = folder / f"said-{time.monotonic_ns()}"
    process = _FORKS.Process(target=_work, args=(words, out, fault or Fault()))
    with pytest.MonkeyPatch.context() as patch:  # else the server does not find what it preloads
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        process.start()
    return Started(process, out)


def _work(words: list[str], out: Path, fault: Fault) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as from a terminal
    os.chdir(out.parent)
    with out.with_suffix(".out").open("w") as sys.stdout, out.with_suffix(".err").open("w") as err:
        sys.stderr = err
        fault.strike()
        code = main(words)
        sys.stdout.flush()
        err.flush()
        os._exit(code)


def wait_for_calls(fake: FakeOpenAI, url: str, n_calls: int, *started: Started) -> None:
    """Wait until the server has seen so many calls, or one of the processes has ended."""
    while fake.stats(url).requests < n_calls and all(one.alive for one in started):
        time.sleep(0.005)


def determined(home: Path) -> dict[str, bytes]:
    """The files of runs and artifacts that the configuration alone determines, by path."""
    result = {}
    for path in sorted([*home.glob("runs/**/*"), *home.glob("artifacts/**/*")]):
        if path.is_dir() or path.name.startswith(_TIMED) or path.suffix in (".lock", ".new"):
            continue
        name = path.relative_to(home).as_posix()
        if "/." in name or path.suffix == ".log":
            continue
        result[name] = _without_seconds(path) if path.name == "recipe.json" else path.read_bytes()
    return result


def _without_seconds(recipe: Path) -> bytes:
    stored = json.loads(recipe.read_text())
    del stored["seconds"]
    stored["files"].pop("ledger.jsonl", None)
    return json.dumps(stored, sort_keys=True).encode()
