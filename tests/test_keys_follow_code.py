"""The keys of operators and builders cover every module that they execute."""

import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType

import pytest
from toy_runs import TOY

from graphrag_bench import fingerprint
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import builders, operators
from graphrag_bench.fingerprint import ReachedCode
from graphrag_bench.registry import Registered
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment

pytestmark = pytest.mark.slow
ROOT = Path(fingerprint.__file__).parents[1]
OURS = tuple(f"{ROOT / name}/" for name in fingerprint.CORE)
APART = ("graphrag_bench/llm/scripted.py", "graphrag_bench/pipeline/reader_prompts.py")
"""A model with its own identity, and a prompt whose class is in the step's key."""
METHODS = ("hipporag2", "hlightrag", "tog")
N_TRACED = 50


def everything() -> dict[str, Registered]:
    return {item.name: item for item in [*operators.all(), *builders.all()]}


def code_of(item: Registered) -> CodeType:
    own: CodeType = item.function.__code__
    return own


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The files that ran on the toy set, each with the operators and builders that ran it."""
    load_plugins()
    names = {id(code_of(item)): name for name, item in everything().items()}  # hashes are slow
    ran_by: dict[str, set[str]] = defaultdict(set)
    seen: Counter[int] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code, above = frame.f_code, frame
        seen[id(code)] += 1
        if seen[id(code)] > N_TRACED or not code.co_filename.startswith(OURS):
            return
        while id(above.f_code) not in names:
            if above.f_back is None or above.f_back.f_code.co_qualname.startswith("RowScores."):
                return  # lazy scores belong to the operator that returned them
            above = above.f_back
        ran_by[code.co_filename].add(names[id(above.f_code)])

    home = tmp_path_factory.mktemp("home")
    words = [*TOY, f"paths.home={home}", "cache.mode=off", "workers=1", "limit=2"]
    for method in METHODS:
        experiment = Experiment.prepare(compose_settings([*words, f"method={method}"]))
        sys.settrace(note)
        try:
            execute(experiment)
        finally:
            sys.settrace(None)
    return {file: ran_by[file] for file in sorted(ran_by) if not file.endswith(APART)}


def test_keys_cover_every_module_that_runs(executed: dict[str, set[str]]) -> None:
    """An edit of a covered module changes the key: tests/test_fingerprint.py."""
    users = set().union(*executed.values())
    assert len(executed) > 40 and len(users) > 25
    covered = {name: ReachedCode(everything()[name].function).modules for name in users}
    modules = {
        file: ".".join(Path(file).relative_to(ROOT).with_suffix("").parts) for file in executed
    }
    assert not [
        (name, file) for file, of in executed.items() for name in of
        if modules[file] not in covered[name]
    ]  # fmt: skip
