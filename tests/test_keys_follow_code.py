"""The keys of operators and builders cover every module that they execute."""

import copy
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType

import pytest
from toy_runs import TOY, run_command

from graphrag_bench import fingerprint
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import builders, operators
from graphrag_bench.registry import Registered

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
    words = [*TOY, f"paths.home={home}", "cache.mode=off", "workers=1", "reference_rows=off"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for method in METHODS:
            sys.settrace(note)
            try:
                run_command(*words, f"method={method}", "limit=2")
            finally:
                sys.settrace(None)
    return {file: ran_by[file] for file in sorted(ran_by) if not file.endswith(APART)}


def codes_after_an_edit(names: set[str], file: Path) -> dict[str, str]:
    """The fingerprints after a reload of the file with another assignment."""
    name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    read, module, every = Path.read_bytes, sys.modules[name], everything()
    added = b"\nEDITED = 1\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "__spec__", copy.copy(module.__spec__))
        patch.setattr(Path, "read_bytes", lambda of: read(of) + (added if of == file else b""))
        return {name: every[name].code for name in names}


def test_an_edited_module_changes_the_keys_of_its_users(executed: dict[str, set[str]]) -> None:
    assert len(executed) > 40 and len(set().union(*executed.values())) > 25
    before = {name: item.code for name, item in everything().items()}
    stale = []
    for file, names in executed.items():
        after = codes_after_an_edit(names, Path(file))
        stale += [(name, file) for name in names if before[name] == after[name]]
    assert stale == []
