"""Command processes that are killed, and the files they leave.

Each is forked from a server process that has imported the package, which takes some milliseconds.
"""

import json
import multiprocessing
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from refused_locks import refuse_locks
from toy_runs import CommandResult, write_set

from graphrag_bench.cli.main import main
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.run import folder as run_folder

for name in ("urllib3", "bpe_openai", "scipy.sparse", "numba", "faiss", "graphrag_bench.cli.run"):
    import_module(name)  # once for all that are forked
load_plugins()
CONCURRENCY = 4
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__])
_TIMED = ("budget", "ledger", "timing", "environment.json", "metrics.json", "config.yaml")
"""Files with times, costs, addresses or the environment."""
_FOUNDERS = {
    "Alba": "Jorwick Marsh", "Aldor": "Jorthal Marsh", "Alfast": "Jorsund Marsh",
    "Algard": "Jorney Marsh", "Alholm": "Jormere Marsh", "Almere": "Jorholm Marsh",
}  # fmt: skip


def tiny_set(folder):
    corpus = [{"id": town, "title": town, "text": f"{town} was founded by {one}. {town} is a town."}
              for town, one in _FOUNDERS.items()]  # fmt: skip
    questions = [{"id": f"q-{town}", "text": f"Who founded {town}?", "answers": [one],
                  "evidence": [town]} for town, one in _FOUNDERS.items()]  # fmt: skip
    return write_set(folder, corpus, questions[:-1])


def served(url):
    return ["llm=openai_compatible", "llm.model=fake", f"llm.base_url={url}",
            "llm.api_key_env=null", f"llm.limits.concurrency={CONCURRENCY}"]  # fmt: skip


def built_by_llm(root, home, url, *more):
    return ["run", "dataset=jsonl", f"dataset.root={root}", "method=hipporag",
            "method.conversion=llm", "build.extraction=llm", "embedder=hashing",
            "reference_rows=off", f"paths.home={home}", *served(url), *more]  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """A fault: SIGKILL at call `number` of a function, a limit of file sizes, refused locks.

    `where` is `rename` or `replace` of a path, or `append`, of which half is written before.
    """

    where: str = ""
    number: int = 0
    most_bytes: int | None = None
    no_locks: bool = False

    def apply(self):
        if self.no_locks:
            refuse_locks()
        if self.most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.most_bytes, self.most_bytes))
        if self.where == "append":
            run_folder.append_lines = self._deadly(run_folder.append_lines, _half)
        elif self.where:
            setattr(Path, self.where, self._deadly(getattr(Path, self.where)))

    def _deadly(self, function, before=lambda *_: None):
        calls = iter(range(10**6))

        def called(*args):
            if next(calls) == self.number:
                before(*args)
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args)

        return called


def _half(path, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    with path.open("a") as file:
        file.write(text[: len(text) // 2])


@dataclass
class Started:
    process: Any
    out: Path

    @property
    def alive(self):
        return bool(self.process.is_alive())

    def send(self, number):
        os.kill(self.process.pid, number)

    def ended(self):
        """Wait for it; return exit code (minus the signal that killed it) and output."""
        self.process.join(60)
        assert self.process.exitcode is not None
        out, err = (self.out.with_suffix(f".{name}").read_text() for name in ("out", "err"))
        return CommandResult(self.process.exitcode, out, err)

    def killed(self):
        self.process.kill()
        self.process.join()


def start(words, folder, fault=None):
    """Start a command; `folder` is its working directory and has its output."""
    out = folder / f"said-{time.monotonic_ns()}"
    process = _FORKS.Process(target=_work, args=(words, out, fault or Fault()))
    with pytest.MonkeyPatch.context() as patch:  # else the server does not find what it preloads
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        process.start()
    return Started(process, out)


def _work(words, out, fault):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as from a terminal
    os.chdir(out.parent)
    with out.with_suffix(".out").open("w") as sys.stdout, out.with_suffix(".err").open("w") as err:
        sys.stderr = err
        fault.apply()
        code = main(words)
        sys.stdout.flush()
        err.flush()
        os._exit(code)


def wait_for_calls(fake, url, n_calls, *started):
    while fake.stats(url).requests < n_calls and all(one.alive for one in started):
        time.sleep(0.005)


def determined(home):
    """Return the files that depend only on the configuration, by path."""
    result = {}
    for path in sorted([*home.glob("runs/**/*"), *home.glob("artifacts/**/*")]):
        name = path.relative_to(home).as_posix()
        timed = path.name.startswith(_TIMED) or path.suffix in (".lock", ".new", ".log")
        if path.is_file() and not timed and "/." not in name:
            result[name] = path.read_bytes()
        if path.name == "recipe.json":
            result[name] = json.loads(path.read_text())
            del result[name]["seconds"]
            result[name]["files"].pop("ledger.jsonl", None)
    return result
