"""Settings, method files and addresses that point elsewhere, run code, or never end."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.hostility import CANARY, EITHER, REFUSED, SECRET, Case, Place, run, write_set

_METHOD = "name: mine\nretrieve:\n  - {op: chunk.bm25, top_k: 4}\ngenerate: []\n"
_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


def settings(name: str, *words: str, expected: str = REFUSED) -> Case:
    """Settings of a run over the small set."""

    def given(place: Place) -> Sequence[str]:
        write_set(place)
        return run(place, *words)

    return Case(f"settings: {name}", given, expected)


def method_file(name: str, text: str, expected: str = REFUSED) -> Case:
    """A method in a YAML file of the user."""

    def given(place: Place) -> Sequence[str]:
        write_set(place)
        (place.work / "mine.yaml").write_text(text.replace("CANARY", str(place.work / CANARY)))
        return run(place, method="./mine.yaml")

    return Case(f"method file: {name}", given, expected)


def _home_is_a_file(place: Place) -> Sequence[str]:
    write_set(place)
    (place.work / "file").write_text("no folder")
    return run(place, f"paths.home={place.work / 'file'}")


def _cache_is_foreign(place: Place) -> Sequence[str]:
    write_set(place)
    (place.work / "notes.sqlite").write_text("SQLite it is not, but for its name\n" * 300)
    return run(place, f"cache.path={place.work / 'notes.sqlite'}", method="vanilla")


SETTINGS = (
    settings("embedder.model=/etc", "embedder=sentence_transformers", "embedder.model=/etc",
             "method=vanilla"),
    settings("plugins that climb", "plugins=[../x]"),
    settings("plugins that are not a name", "plugins=['os; import sys']"),
    settings("a home in /proc", "paths.home=/proc/x"),
    settings("a home in /dev/null", "paths.home=/dev/null/x"),
    Case("settings: a home that is a file", _home_is_a_file),
    Case("settings: a cache that is another file", _cache_is_foreign),
    settings("a cache in a folder", "cache.path=/tmp", "method=vanilla"),
    settings("a secret in the address", f"llm.base_url=http://me:{SECRET}@127.0.0.1:9/v1"),
    settings("a secret in the address of a sweep", f"llm.base_url=http://me:{SECRET}@127.0.0.1:9/v1",
             "seed=1,2"),
    settings("an address of a file", "llm.base_url=file:///etc/passwd"),
    settings("an address without a host", "llm.base_url=http://"),
    settings("an address with a port beyond all ports", "llm.base_url=http://127.0.0.1:99999/v1"),
    settings("a blank address", "llm.base_url=''"),
    settings("a path of 6,000 letters", f"dataset.root=/{'x' * 6000}"),
    settings("a root from the environment", "dataset.root=${oc.env:HOME}/nowhere"),
    settings("a method that climbs", "method=../../../../etc/passwd"),
    settings("a seed of 500 digits", f"seed={'9' * 500}", expected=EITHER),
    settings("a seed that is infinite", "seed=1e999"),
    settings("a limit beyond 64 bits", f"limit={10**30}", expected=EITHER),
    settings("a chunk of 10**30 tokens", "chunking=token", f"chunking.size={10**30}",
             expected=EITHER),
    settings("a target that runs a command", "llm._target_=os.system",
             "+llm.command='touch canary'"),
    settings("an operator by its path", "method.retrieve=[{op: os.system}]"),
    settings("more workers than threads", "workers=100000", expected=EITHER),
    method_file("a target that runs a command",
                f"{_METHOD}extra: {{_target_: os.system, command: 'touch CANARY'}}\n"),
    method_file("a target as a setting of a step",
                "name: mine\nretrieve:\n  - {op: chunk.bm25, top_k: {_target_: os.system, "
                "command: 'touch CANARY'}}\n"),
    method_file("an object of Python", "name: !!python/object/apply:os.system ['touch CANARY']\n"),
    method_file("aliases of aliases", _METHOD + _BOMB),
    method_file("brackets 100,000 deep", "retrieve: " + "[" * 100_000),
    method_file("half a file", "name: mine\nretrieve:\n  - {op: chunk.bm25, top"),
    method_file("signs that steer the terminal", "name: \x1b[2J\nretrieve: [}\n"),
    method_file("an interpolation that never ends", f"{_METHOD}a: ${{a}}\nb: ${{.b}}\n"),
)  # fmt: skip
