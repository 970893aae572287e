"""Every command line in the documentation parses, and every run composes."""

import ast
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from hydra.types import RunMode

from graphrag_bench.cli import main
from graphrag_bench.cli.parsing import Parser, is_setting, setting_name
from graphrag_bench.config import compose
from graphrag_bench.config.compose import parse_overrides
from graphrag_bench.config.settings import check_settings, described_settings
from graphrag_bench.config.sources import GROUPS, ROLES, add_folders
from graphrag_bench.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "docs" / "examples" / "graphrag_bench_more"
COMMANDS = [name for group in main.GROUPS.values() for name in group]
OF_RUNS = ("run", "plan", "ask")
MENTIONED = ("are required", "expected one argument")
"""Errors of a command that a page names without its arguments."""
PLACES = {"dataset=NAME": "dataset=toy", "method=NAME": "method=bm25",
          "experiment=NAME": "experiment=evidence",
          "row=NAME": "row=zhou2025.table5.KGP"}  # fmt: skip
OWN = re.compile(r"plugins=|method=near|=\S*\./|\$|mine|pilot|town|PAPER.TABLE.ROW|[{}]|"
                 "dampng|nonsense|<TAB>")  # fmt: skip
"""Marks of commands to skip: choices that the page creates, refused commands, shell syntax."""
INLINE = re.compile(rf"`((?:graphrag-bench +)?(?:{'|'.join(COMMANDS)})(?: [^`]*)?)`")
LINE = re.compile(r"^[#$\s]*(graphrag-bench +[a-z]+\b[^\n]*)$", re.M)
FILES = [
    ROOT / "README.md", ROOT / "pyproject.toml",
    *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("methods/*/README.md")),
    *sorted(ROOT.glob("configs/**/*.yaml")), *sorted(ROOT.glob("datasets/*/card.yaml")),
    *sorted(ROOT.glob("graphrag_bench/cli/*.py")),
]  # fmt: skip


def lines(text):
    joined = re.sub(r"\\\n[#\s]*", " ", text)
    yield from LINE.findall(joined)
    prose = re.sub(r"```.*?```", "", joined, flags=re.S)
    yield from (" ".join(inline.split()) for inline in INLINE.findall(prose))


def words_of(line):
    """The words of a command line, without comments, pipes and `...`."""
    line = re.split(r" {3,}| [|>] |; ", line.removeprefix("graphrag-bench").strip())[0]
    words = shlex.split(line.rstrip(".,)"), comments=True)
    words = [word.strip("[]") if word[0] == "[" else word for word in words if word.strip(".[]")]
    return [word if "=[" in word else word.removesuffix("...").removesuffix("]") for word in words]


def documented(file):
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    elif file.suffix in (".yaml", ".toml"):
        text = "\n".join(line.partition("#")[2] for line in text.splitlines())
    return [line for line in dict.fromkeys(lines(text)) if not OWN.search(line)]


def check(command, words):
    assert command in COMMANDS
    if not words or "--help" in words:
        return
    if command in OF_RUNS:
        compose_first([PLACES.get(word, word) for word in words if is_setting(word)])
        return
    module = import_module(f"graphrag_bench.cli.{command}")
    parser = Parser(command, module.__doc__ or "")
    module.declare(parser)
    try:
        read = vars(parser.read(words))
    except UserError as error:
        assert any(mention in str(error) for mention in MENTIONED), error
        return
    known = {name.partition(".")[0] for name, *_ in described_settings()}
    left = [word for name in ("words", "runs") for word in read.get(name, ()) if is_setting(word)]
    assert {setting_name(word).partition(".")[0] for word in left} <= {*known, *GROUPS, *ROLES}


composed = set()  # settings of runs, each with the choice of its group


def compose_first(words):
    """Compose a run, or the first cell of a sweep, if it has a new setting; check its settings."""
    parsed = parse_overrides(words)
    study = any(one.key_or_group == "experiment" for one in parsed)
    first = [
        f"{one.get_key_element()}={next(iter(one.sweep_string_iterator()))}"
        if one.is_discrete_sweep() else str(one.input_line)
        for one in parsed
        if not study or not (one.is_sweep_override() or one.key_or_group.startswith("method."))
    ]  # fmt: skip
    choices = dict(word.split("=", 1) for word in first if "=" in word)
    new = {(word, choices.get(setting_name(word).partition(".")[0], "")) for word in first}
    if not study and new <= composed:
        return
    whole = compose.composition(first)
    if study and (len(first) < len(words) or whole.hydra.mode == RunMode.MULTIRUN):
        every = compose.cells(whole, words)
        whole = compose.composition(every[0]) if every else whole
    check_settings(compose.settings_of(whole, whole.hydra))
    composed.update(new)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_command_line_of_a_page_is_valid(file):
    if file.is_relative_to(PLUGIN):
        add_folders([PLUGIN / PLUGIN.name / "configs"])
    wrong = []
    for line in documented(file):
        try:
            command, *words = words_of(line)
            check(command, words)
        except Exception as error:  # noqa: BLE001 - all of a page are named together
            wrong.append(f"{line}: {error}")
    assert not wrong, "\n".join(wrong)
