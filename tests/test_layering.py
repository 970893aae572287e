"""Imports follow the layers of docs/architecture.md; sizes and names follow the house rules."""

import ast
import re
import subprocess
import sys
from collections import Counter

from scripts import measures
from scripts.measures import ROOT, files, imports, part_of, tree_of

PLUGINS = frozenset({"operators", "methods"})
LEVELS = (
    "arrays values text errors fingerprint columns files locks progress terminal version prompts "
    "question_plan registry",
    "llm", "embedding", "contract algorithms data papers", "graphs indices artifacts world",
    "pipeline evaluation config", "report", "run", "judging tables explain questions",
    "view scaffold", "cli api adapters __main__ trackers",
)  # fmt: skip
"""The modules and folders of `graphrag_bench`, lowest first."""

MIXED = (0, 4, 8, 10)
"""Levels with imports between their parts; elsewhere parts of one level never do."""
APART = {"graphs", "indices"}
"""Parts of a mixed level that do not import each other."""
SMALL_FUNCTION = 60
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
MODELS = ("torch", "spacy", "faiss", "pandas", "numba")
HEAVY = (
    *MODELS, "hydra", "omegaconf", "scipy", "igraph", "networkx", "numpy", "transformers",
    "sentence_transformers", "urllib3", "bm25s", "xllamacpp", "pydantic", "rich", "jinja2",
    "pooch", "huggingface_hub", "httpx2", "joblib", "ray", "mlflow", "wandb",
)  # fmt: skip
MAY_NAME = {"cli", "papers", "judging", "importers"}
"""Examples in helps, the papers' tables and judging protocols, formats of files."""
WORDS = {"bm25", "oracle", "rerank", "reader", "hybrid", "vanilla", "decompose"}
"""Names of methods that are words of the field."""
CORE = [path for path in files("graphrag_bench") if path != ROOT / "graphrag_bench/__init__.py"]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def level_of(part):
    (level,) = (number for number, parts in enumerate(LEVELS) if part in parts.split())
    return level


def parts_imported(path):
    return {part for module in imports(path) if (part := part_of(module))}


def packages_imported(path):
    return {module.partition(".")[0] for module in imports(path)}


def test_measures_of_the_architecture_are_zero():
    """Only the fingerprint reads source code, and each setting is set somewhere."""
    assert not measures.import_cycles() and not measures.classes_defined_twice()
    assert not measures.source_readers() and not measures.unvaried_settings()


def test_a_module_of_the_core_imports_only_from_below_and_no_plugin():
    for path in CORE:
        own = part_of(measures.module_of(path))
        for part in parts_imported(path) - {own}:
            beside = level_of(own) in MIXED and {own, part} != APART
            assert level_of(part) < level_of(own) + beside, f"{name_of(path)} imports {part}"
        assert not PLUGINS & packages_imported(path), name_of(path)


def test_the_core_names_no_method():
    names = {path.name for path in (ROOT / "methods").iterdir() if (path / "README.md").is_file()}
    known = re.compile(rf"(?<![a-z])({'|'.join(sorted(names - WORDS))})(?![a-z])", re.IGNORECASE)
    for path in CORE:
        if MAY_NAME.isdisjoint(path.parts):
            tree = tree_of(path)
            docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            texts = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
            texts += [str(node.value) for node in ast.walk(tree)
                      if isinstance(node, ast.Constant) and id(node) not in docs]  # fmt: skip
            assert not [text for text in texts if known.search(text)], name_of(path)


def test_plugins_import_the_five_lowest_levels_operators_and_no_other_method():
    for path in files(*PLUGINS):
        package, folder, *_ = path.relative_to(ROOT).parts
        assert all(level_of(part) <= 4 for part in parts_imported(path)), name_of(path)
        assert PLUGINS & packages_imported(path) <= {package, "operators"}, name_of(path)
        methods = {one.split(".")[1] for one in imports(path) if one.startswith("methods.")}
        assert methods <= {folder}, name_of(path)


def test_folders_functions_and_names_follow_the_house_rules():
    paths = files(*measures.CODE)
    sizes = Counter(path.parent for path in paths)
    assert not {name_of(folder): n for folder, n in sizes.items() if n > 25}
    assert not [name_of(path) for path in paths if path.stem in VAGUE]
    assert not [
        f"{name_of(path)}:{node.name}"
        for path in paths
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef)
        and (node.end_lineno or 0) - node.lineno >= SMALL_FUNCTION
    ]


def test_starts_import_no_heavy_libraries():
    show = "import sys; sys.stdout.write('\\n' + ' '.join(sys.modules))"
    for statement, heavy in (
        ("from graphrag_bench.cli.main import main; main(['--help'])", HEAVY),
        ("from graphrag_bench.config.plugins import load_plugins; load_plugins()", MODELS),
    ):
        command = [sys.executable, "-c", f"{statement}\n{show}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert not {*done.stdout.rpartition("\n")[2].split()}.intersection(heavy)
