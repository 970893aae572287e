"""The keys of operators and builders cover every module that they execute."""

import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType

import pytest
from toy_runs import TOY

from graphrag_bench import fingerprint
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import builders, operators
from graphrag_bench.fingerprint import ReachedCode
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment

pytestmark = pytest.mark.slow
ROOT = Path(fingerprint.__file__).parents[1]
OURS = tuple(f"{ROOT / name}/" for name in fingerprint.CORE)
APART = ("graphrag_bench/llm/scripted.py", "graphrag_bench/pipeline/reader_prompts.py")
"""A model with its own identity, and a prompt whose class is in the step's key."""
METHODS = ("hipporag2", "hlightrag", "tog")
N_TRACED = 50


def test_keys_cover_every_module_that_runs(home: Path) -> None:
    """An edit of a covered module changes the key: tests/test_fingerprint.py."""
    load_plugins()
    functions = {item.name: item.function for item in [*operators.all(), *builders.all()]}
    names = {id(function.__code__): name for name, function in functions.items()}
    ran_by: dict[str, set[str]] = defaultdict(set)
    """The files that ran on the toy set, each with the operators and builders that ran it."""
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

    for method in METHODS:
        words = [*TOY, "cache.mode=off", "workers=1", "limit=2", f"method={method}"]
        experiment = Experiment.prepare(compose_settings(words))
        sys.settrace(note)
        try:
            execute(experiment)
        finally:
            sys.settrace(None)
    ran = {file: users for file, users in ran_by.items() if not file.endswith(APART)}
    users = set().union(*ran.values())
    assert len(ran) > 40 and len(users) > 25
    covered = {name: ReachedCode(functions[name]).modules for name in users}
    modules = {file: ".".join(Path(file).relative_to(ROOT).with_suffix("").parts) for file in ran}
    pairs = [(name, modules[file]) for file, users in ran.items() for name in users]
    assert [(name, module) for name, module in pairs if module not in covered[name]] == []
