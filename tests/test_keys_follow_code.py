"""Every function and constant of ours that operators and builders execute is in their keys."""

import ast
import copy
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType

import pytest
from toy_runs import TOY, ran

from graphrag_bench import fingerprint
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import builders, operators
from graphrag_bench.registry import Registered

pytestmark = pytest.mark.slow
ROOT = Path(fingerprint.__file__).parents[1]
OURS = tuple(f"{ROOT / name}/" for name in fingerprint.CORE)
APART = ("graphrag_bench/llm/scripted.py", "graphrag_bench/pipeline/reader_prompts.py")
"""A model, whose identity is in the key, and a prompt, whose class the step's key names."""
METHODS = ("hipporag2", "hlightrag", "raptor", "tog")
N_PLACES, N_TRACED = 100, 50
Runs = dict[CodeType, set[str]]


def everything() -> dict[str, Registered]:
    return {item.name: item for item in [*operators.all(), *builders.all()]}


def code_of(item: Registered) -> CodeType:
    function = getattr(item, "batch", None) or item.function
    own: CodeType = getattr(function, "__wrapped__", function).__code__
    return own


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The code of ours that ran on the toy set, and the operators and builders that ran it."""
    load_plugins()
    names = {code_of(item): name for name, item in everything().items()}
    ran_by: Runs = defaultdict(set)
    seen: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code, above = frame.f_code, frame
        seen[code] += 1
        if seen[code] > N_TRACED or not code.co_filename.startswith(OURS):
            return
        while above.f_code not in names:
            if above.f_back is None or above.f_back.f_code.co_qualname.startswith("RowScores."):
                return  # scores that are computed when read are of the operator that gave them
            above = above.f_back
        ran_by[code].add(names[above.f_code])

    home = tmp_path_factory.mktemp("home")
    words = [*TOY, f"paths.home={home}", "cache.mode=off", "workers=1", "reference_rows=off"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for method in METHODS:
            sys.settrace(note)
            try:
                ran(*words, f"method={method}", "limit=2")
            finally:
                sys.settrace(None)
    return {code: ran_by[code] for code in ran_by if not code.co_filename.endswith(APART)}


def mutated(tree: ast.Module, code: CodeType, chance: random.Random) -> str:
    """The module with a literal of that function, or a constant that it reads, replaced."""
    places: list[ast.AST] = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name == code.co_name
        and code.co_firstlineno in (node.lineno, *(one.lineno for one in node.decorator_list))
    ]
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if {getattr(one, "id", "") for one in targets} & {*code.co_names}:
            places.append(node)
    place = chance.choice(places)
    literals = [one for one in ast.walk(place) if isinstance(one, ast.Constant)]
    literals = [one for one in literals if type(one.value) in (int, float)]
    if literals:
        chance.choice(literals).value += 1
    elif isinstance(place, ast.FunctionDef):
        place.body.append(ast.Pass())
    else:
        place.value = ast.Tuple([place.value], ast.Load())
    return ast.unparse(ast.fix_missing_locations(tree))


def codes(names: set[str], file: Path, text: str) -> dict[str, str]:
    """The fingerprints after a reload of the file with that text."""
    name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    read, module, every = Path.read_bytes, sys.modules[name], everything()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "__spec__", copy.copy(module.__spec__))
        patch.setattr(Path, "read_bytes", lambda of: text.encode() if of == file else read(of))
        return {name: every[name].code for name in names}


def test_an_edit_at_any_of_100_places_changes_every_key_of_what_executes_it(executed: Runs) -> None:
    chance = random.Random(48)
    named = [code for code in executed if not code.co_name.startswith("<")]
    named.sort(key=lambda code: (code.co_filename, code.co_firstlineno))
    assert len(named) > N_PLACES and len(set().union(*executed.values())) > 30
    stale = []
    for code in chance.sample(named, N_PLACES):
        names, file = executed[code], Path(code.co_filename)
        text = file.read_text(encoding="utf-8")
        before = codes(names, file, ast.unparse(ast.parse(text)))
        after = codes(names, file, mutated(ast.parse(text), code, chance))
        stale += [(name, code.co_qualname) for name in names if before[name] == after[name]]
    assert stale == []
