"""Follows the README and the guides block by block, and compares what is printed with the page.

Each page gets an empty folder. A block with a file's name (`title="notes/a.md"`, or a first line
`# a.yaml`) is written there, a block `bash` is run line by line, a block `python` without a name is
run as a script, and a block `text` behind either is what it must print; `...` stands for anything,
and a run of spaces for one. In a block `console` the lines under a command are part of what it
prints, also of one that is refused. Blocks without a language are for the reader. Commands that
need a key are not run.

Usage: python scripts/follow.py [PAGE ...]; README.md and docs/guides/*.md without any
"""

import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = ["gpt-4o-mini", "OPENAI_API_KEY"]
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BLOCK = re.compile(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```$', re.M | re.S)
_NAMED = re.compile(r"# (\S+\.\w+)( \(at the end\))?\n")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it is written to, if any, and its text."""

    language: str
    file: str
    text: str
    appended: bool = False

    @property
    def commands(self) -> list[str]:
        """The commands of a block `bash`, continued lines joined."""
        joined = self.text.replace("\\\n", " ")
        return [line for line in joined.splitlines() if line.strip()]

    @property
    def dialogue(self) -> list[tuple[str, list[str]]]:
        """The commands of a block `console`, each with the lines under it."""
        result: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                result.append((line[2:], []))
            else:
                result[-1][1].append(line.strip())
        return result


def pages() -> list[Path]:
    """The README, the page of the contracts and the guides."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", docs / "contracts.md", *sorted((docs / "guides").glob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page that have a language, in order."""
    for language, title, body in _BLOCK.findall(text):
        named = None if title or language in ("bash", "text") else _NAMED.match(body)
        if named:
            yield Block(language, named[1], body[named.end() :], bool(named[2]))
        else:
            yield Block(language, title, body)


def write(block: Block, folder: Path) -> None:
    """Write the file of a block below a folder, or add to it."""
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") + "\n\n" if block.appended else ""
    path.write_text(before + block.text, encoding="utf-8")


def followed(page: Path, folder: Path) -> list[str]:
    """Return the differences between a page and its execution in a folder."""
    wrong: list[str] = []
    printed = ""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.file:
            write(block, folder)
        elif block.language == "text":
            if not doctest.OutputChecker().check_output(block.text, printed, SAME):
                wrong.append(f"printed:\n{printed}\nnot:\n{block.text}")
        elif block.language == "console":
            for line, lines in block.dialogue:
                done = _ran(["bash", "-c", line], line, folder)
                out = (done.stdout + done.stderr).replace(f"{folder}/", "")
                if missing := [one for one in lines if one not in out]:
                    wrong.append(f"{line}\nprinted:\n{out}\nwithout {missing}")
        elif block.language in ("bash", "python"):
            python = block.language == "python"
            shell, printed = [sys.executable, "-c"] if python else ["bash", "-c"], ""
            for line in [block.text] if python else block.commands:
                if python or not any(word in line for word in SKIPPED):
                    done = _ran([*shell, line], line, folder)
                    printed += done.stdout
                    if done.returncode:
                        wrong.append(
                            f"{line}\nended with {done.returncode}:\n{done.stderr[-2000:]}"
                        )
    return wrong


def _ran(command: list[str], line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "100"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    print(f"exit {done.returncode}  {line}", flush=True)
    return done


if __name__ == "__main__":
    failed = False
    for page in map(Path, sys.argv[1:] or pages()):
        with tempfile.TemporaryDirectory() as folder:
            wrong = followed(page.resolve(), Path(folder))
        print(f"{page}: {'WRONG' if wrong else 'as it says'}", *wrong, sep="\n")
        failed = failed or bool(wrong)
    sys.exit(failed)
