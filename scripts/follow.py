"""Run the code blocks of the README and the guides, and compare the output with the page.

Each page gets an empty folder. If a block has a file name (`title="notes/a.md"`, or a first line
such as `# a.yaml`), it is written to this file. A `bash` block is run line by line, and a `python`
block without a file name is run as a script. A `text` block after them is the expected output, in
which `...` stands for any text, and differences in white space are ignored. In a `console` block,
the lines under a command are its expected output, even if the command fails. Blocks without a
language and commands that need an API key are skipped.
Usage: python scripts/follow.py [PAGE ...]; by default README.md, contracts.md and the guides.
"""

import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = ["gpt-4o-mini", "OPENAI_API_KEY"]
Done = subprocess.CompletedProcess[str]
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BLOCK = re.compile(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```$', re.M | re.S)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
"""A command of a `console` block, and its expected output."""
_NAMED = re.compile(r"# (\S+\.\w+)( \(at the end\))?\n")


class Block(NamedTuple):
    """A fenced block with its language, file name (or "") and text."""

    language: str
    file: str
    text: str
    appended: bool = False


def pages() -> list[Path]:
    """Return the README, docs/contracts.md and the guides."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", docs / "contracts.md", *sorted((docs / "guides").glob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a page that have a language."""
    for language, title, body in _BLOCK.findall(text):
        if title or language in ("bash", "text") or not (named := _NAMED.match(body)):
            yield Block(language, title, body)
        else:
            yield Block(language, named[1], body[named.end() :], bool(named[2]))


def write(block: Block, folder: Path) -> None:
    """Write the file of a block into a folder, or append to the file."""
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") + "\n\n" if block.appended else ""
    path.write_text(before + block.text, encoding="utf-8")


def shell(text: str, folder: Path, *, python: bool = False) -> Done:
    """Run a command line or a script in a new process."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    program = [sys.executable, "-c"] if python else ["bash", "-c"]
    env = {**os.environ, "PATH": path, "COLUMNS": "100"}
    done = subprocess.run([*program, text], cwd=folder, env=env, capture_output=True, text=True)
    print(f"exit {done.returncode}  {text}", flush=True)
    return done


def check(page: Path, folder: Path, run: Callable[..., Done] = shell) -> list[str]:
    """Run the blocks of a page in a folder, and return all failures and differences."""
    wrong: list[str] = []
    printed = ""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.file:
            write(block, folder)
        elif block.language == "text":
            if not doctest.OutputChecker().check_output(block.text, printed, SAME):
                wrong.append(f"output:\n{printed}\nexpected:\n{block.text}")
        elif block.language == "console":
            for line, expected in _COMMAND.findall(block.text):
                done = run(line, folder)
                out = (done.stdout + done.stderr).replace(f"{folder}/", "")
                if missing := [one for one in expected.splitlines() if one.strip() not in out]:
                    wrong.append(f"{line}\noutput:\n{out}\nmissing: {missing}")
        elif block.language in ("bash", "python"):
            python, printed = block.language == "python", ""
            lines = block.text.replace("\\\n", " ").splitlines()  # continued lines are joined
            for line in [block.text] if python else filter(str.strip, lines):
                if python or not any(word in line for word in SKIPPED):
                    done = run(line, folder, python=python)
                    printed += done.stdout
                    if done.returncode:
                        wrong.append(f"{line}\nexit code {done.returncode}:\n{done.stderr[-2000:]}")
    return wrong


if __name__ == "__main__":
    failed = False
    for page in map(Path, sys.argv[1:] or pages()):
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(page.resolve(), Path(folder))
        print(f"{page}: {'FAILED' if wrong else 'passed'}", *wrong, sep="\n")
        failed = failed or bool(wrong)
    sys.exit(failed)
