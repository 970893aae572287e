"""Real processes of the command against the fake server: started, killed, started again, compared.

The model is reached over HTTP and reads its replies out of the prompts, so that building and
answering both make calls, and the same prompt always gets the same reply.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from fake_openai import FakeOpenAI
from toy_runs import Ended, write_set

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
CONCURRENCY = 4
_UNDETERMINED = (
    "files.json",  # hashes of the ledger and the times
    "budget",
    "ledger",
    "timing",
    "environment.json",
    "metrics.json",
    "config.yaml",
    "manifest.json",
    "run.log",
)
_PASSING = (".lock", ".new")
_BEGINNINGS = ("Al", "Bel", "Cor", "Dun", "El", "Fal", "Gar", "Hol", "Is", "Jor")
_ENDINGS = ("ba", "dor", "fast", "gard", "holm", "mere", "ney", "sund", "thal", "wick")


def tiny_set(folder: Path, n_documents: int = 40, n_questions: int = 30) -> Path:
    """A folder with a set of one-line towns, and a question about each of the first of them."""
    names = ["".join(parts) for parts in product(_BEGINNINGS, _ENDINGS)]
    towns = list(islice(names, n_documents))
    founders = [f"{names[-1 - row % len(names)]} Marsh" for row in range(n_documents)]
    corpus = [
        {"id": town, "title": town, "text": f"{town} was founded by {founder}. {town} is a town."}
        for town, founder in zip(towns, founders, strict=True)
    ]
    questions = [
        {
            "id": f"q-{town}",
            "text": f"Who founded {town}?",
            "answers": [founder],
            "evidence": [town],
        }
        for town, founder in islice(zip(towns, founders, strict=True), n_questions)
    ]
    return write_set(folder, corpus, questions)


@dataclass(frozen=True)
class Setup:
    """A run: the set's folder, the home it is kept under, and the server it asks."""

    root: Path
    home: Path
    url: str

    def arguments(self, *more: str) -> list[str]:
        """What stands behind `run`; more settings come last."""
        return [
            "dataset=jsonl",
            f"dataset.root={self.root}",
            "method=hipporag",
            "method.conversion=llm",
            "build.extraction=llm",
            "embedder=hashing",
            "reference_rows=off",
            f"paths.home={self.home}",
            *served(self.url),
            *more,
        ]


def served(url: str) -> list[str]:
    """The settings of a language model at this address."""
    return [
        "llm=openai_compatible",
        "llm.model=fake",
        f"llm.base_url={url}",
        "llm.api_key_env=null",
        f"llm.limits.concurrency={CONCURRENCY}",
        "llm.patience.first_pause=0.01",
        "llm.patience.longest_pause=0.02",
    ]


def started(arguments: Sequence[str]) -> subprocess.Popen[str]:
    """A process of `graphrag-bench run`."""
    command = [sys.executable, "-m", "graphrag_bench.cli.main", "run", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
        preexec_fn=_heeding_signals,
    )  # fmt: skip


def _heeding_signals() -> None:
    """SIGINT as a terminal sends it; a shell in the background has its children ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(process: subprocess.Popen[str]) -> Ended:
    """How a process came to its end, after waiting for it."""
    out, err = process.communicate(timeout=120)
    return Ended(process.returncode, out, err)


def finished(arguments: Sequence[str]) -> Ended:
    """A process of `graphrag-bench run` that must come to its end, and to a table."""
    end = ended(started(arguments))
    assert end.code == 0, end.err
    return end


def wait_for_calls(
    fake: FakeOpenAI, url: str, n_calls: int, *processes: subprocess.Popen[str]
) -> None:
    """Wait until the server has seen so many calls, or one of the processes has ended."""
    while fake.stats(url).requests < n_calls and all(one.poll() is None for one in processes):
        time.sleep(0.01)


def wait_for_rows(home: Path, shard: str, process: subprocess.Popen[str]) -> None:
    """Wait until a shard, e.g. `3-of-4`, has answered its first questions, or has ended."""
    while not list(home.glob(f"runs/*/*/*/journal.{shard}.jsonl")) and process.poll() is None:
        time.sleep(0.01)


def kill(process: subprocess.Popen[str]) -> None:
    """End a process with SIGKILL, wherever it is."""
    process.kill()
    process.communicate()


def killed_at_random(
    setup: Setup, fake: FakeOpenAI, chance: random.Random, n_kills: int, most_calls: int
) -> int:
    """Start the run and kill it, so many times; how many of the kills met a process at work.

    A kill comes after a random number of calls and a random time of up to 0.15 s.
    """
    n_met = 0
    for _ in range(n_kills):
        before = fake.stats(setup.url).requests
        process = started(setup.arguments())
        wait_for_calls(fake, setup.url, before + chance.randint(1, most_calls), process)
        time.sleep(chance.random() * chance.choice((0.0, 0.05, 0.15)))
        n_met += process.poll() is None
        kill(process)
    return n_met


def determined(home: Path) -> dict[str, bytes]:
    """The files of runs and artifacts that the configuration alone determines, by path.

    Left out are ledgers, times, where a run comes from, and what a kill may leave behind.
    """
    found = {}
    for path in sorted([*home.glob("runs/**/*"), *home.glob("artifacts/**/*")]):
        name = path.relative_to(home).as_posix()
        if (
            path.is_dir()
            or ".hydra" in path.parts
            or path.name.startswith(_UNDETERMINED)
            or path.suffix in _PASSING
        ):
            continue
        found[name] = _without_seconds(path) if path.name == "recipe.json" else path.read_bytes()
    return found


def _without_seconds(recipe: Path) -> bytes:
    held = json.loads(recipe.read_text())
    del held["seconds"]
    return json.dumps(held, sort_keys=True).encode()
