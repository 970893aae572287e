"""Changes a live index over and over in processes that are killed, and looks at what is left.

`python killed_writers.py FOLDER SEED N` prints one JSON line for each kill: the generation that the
documents and the answer are of, and whether the kill met files that were not finished. Every change
puts one generation number into all documents, so that a state in between would show two.
"""

import json
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import graphrag_bench as gb
from graphrag_bench.growing.live_index import LiveIndex

NAMES = ("Ada Marsh", "Norvik", "Otto Lind", "Velden", "Mira Sol", "Tarn", "Ilse Brandt", "Quell")
SETTINGS = {
    "embedder": "hashing",
    "llm": {"_target_": "toy_runs.reader"},
    "nlp": {"_target_": "toy_runs.Capitals"},
}


def opened(folder: str) -> LiveIndex:
    return gb.index(folder, method="entitypassage", **SETTINGS)


def of_generation(number: int) -> list[dict[str, str]]:
    return [
        {"id": name, "title": name, "text": f"{name} met {other} in generation {number}."}
        for name, other in zip(NAMES, NAMES[1:] + NAMES[:1], strict=True)
    ]


def begin(folder: str) -> None:
    opened(folder).add(*of_generation(0))


def change_forever(folder: str) -> None:
    index = opened(folder)
    number = generations(index.documents and [row.text for row in index.documents])[0]
    while True:
        number += 1
        index.update(*of_generation(number))


def seconds_of_a_change(folder: str) -> float:
    began = time.monotonic()
    opened(folder).update(*of_generation(1))
    return time.monotonic() - began


def generations(texts: object) -> list[int]:
    return sorted({int(found) for found in re.findall(r"generation (\d+)", str(texts))})


def looked_at(folder: str) -> dict[str, object]:
    index = opened(folder)
    answered = index.ask("Whom did Ada Marsh meet?")
    texts = [piece.text for piece in answered.context.pieces]
    return {
        "documents": generations([row.text for row in index.documents]),
        "context": generations(texts),
        "version": index.version,
    }


def tell(row: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def tell_state(folder: str, left: bool) -> None:
    tell({**looked_at(folder), "unfinished": left})


def in_a_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except Exception as error:  # noqa: BLE001 (the parent is told, whatever it is)
            tell({"error": f"{type(error).__name__}: {error}"})
        os._exit(0)
    return child


def unfinished(folder: str) -> bool:
    left = [path for path in Path(folder).rglob("*") if path.suffix in (".scratch", ".new")]
    return bool(left) or len(list(Path(folder).glob("versions/*"))) > 1


def main(folder: str, seed: int, n_kills: int) -> None:
    chance = random.Random(seed)
    opened(f"{folder}-first").add(*of_generation(0))  # what is imported and compiled is here then
    looked_at(f"{folder}-first")
    took = seconds_of_a_change(f"{folder}-first")
    os.waitpid(in_a_child(partial(begin, folder)), 0)
    for _ in range(n_kills):
        child = in_a_child(partial(change_forever, folder))
        time.sleep(took * (0.2 + 2.8 * chance.random()))  # a busy machine is given longer
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        left = unfinished(folder)
        os.waitpid(in_a_child(partial(tell_state, folder, left)), 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
