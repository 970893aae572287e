"""Environments of released engines: made by pip of a lock, whole or not there, and removed again.

An environment is a folder with the engine's name. It is made under a name of its own and renamed
when all of it is there; the file `installed.json` in it says of which lock it is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from graphrag_bench.engines.known import ENGINES, FOLDER, LOCKS, Known
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.fingerprint import digest
from graphrag_bench.progress import Progress

RANKS = "bpe-openai"
"""The package with the ranks of tokens that drivers put in the place of a download."""
_STATE = "installed.json"
_TAKEN = ("Collecting ", "Processing ", "Requirement already satisfied: ")
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Installed:
    """What an environment has: version, digest of its lock (None: no lock), and its packages."""

    version: str
    lock: str | None
    packages: tuple[str, ...]

    @property
    def identity(self) -> str:
        """What the environment adds to an index's key: the lock, or the packages without one."""
        return self.lock or digest(list(self.packages))


@dataclass(frozen=True)
class Environments:
    """The environments in a folder; nothing is made before the first is installed."""

    folder: Path = field(default_factory=lambda: Path(FOLDER).expanduser())
    locks: Path = field(default_factory=lambda: LOCKS)
    engines: Mapping[str, Known] = field(default_factory=lambda: ENGINES)

    def known(self, name: str) -> Known:
        """The engine of that name; raises UserError with the nearest for another."""
        if name not in self.engines:
            raise unknown("engine", name, self.engines)
        return self.engines[name]

    def python(self, name: str) -> Path:
        """The interpreter of an engine's environment, there or not."""
        return self.folder / name / "bin" / "python"

    def requirements(self, name: str) -> tuple[str, ...]:
        """The lines of an engine's lock, without remarks; none where there is no lock."""
        path = self.locks / f"{name}.txt"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return tuple(line.strip() for line in lines if line.strip() and line[0] != "#")

    def lock(self, name: str) -> str:
        """The digest of an engine's lock."""
        return digest(list(self.requirements(name)))

    def installed(self, name: str) -> Installed | None:
        """What is installed; None where nothing whole is."""
        with suppress(OSError, ValueError, LookupError, TypeError):
            held = json.loads((self.folder / name / _STATE).read_text(encoding="utf-8"))
            if self.python(name).is_file():
                return Installed(held["version"], held["lock"], tuple(held["packages"]))
        return None

    def missing(self, name: str) -> str:
        """What to say where an engine cannot be started; "" where it can."""
        one, there = self.known(name), self.installed(name)
        command = f"graphrag-bench engines install {name}{self._where}"
        if one.stops:
            return f"The engine '{name}' cannot be run: {one.stops}."
        if there is None:
            return f"The engine '{name}' is not installed: {command}"
        if self.changed(name):
            return f"The lock of '{name}' has changed since it was installed; again: {command}"
        return ""

    def changed(self, name: str) -> bool:
        """Whether the lock is another than the one that is installed."""
        there = self.installed(name)
        old = there is not None and there.version != self.known(name).version
        return old or (there is not None and there.lock not in (None, self.lock(name)))

    @property
    def _where(self) -> str:
        usual = self.folder == Path(FOLDER).expanduser()
        return "" if usual else f" --folder {self.folder}"

    def install(
        self,
        name: str,
        *,
        locked: bool = True,
        python: str | None = None,
        progress: Progress | None = None,
    ) -> Installed:
        """What is installed now; an environment of the same lock is left as it is.

        Not `locked`, pip chooses the versions of what the engine needs. `python` is the interpreter
        of the environment; without one it is this process's, or one on the path of the version that
        the engine asks for. Raises UserError where there is none, and where the engine cannot be
        installed, with what pip said.
        """
        one, shown = self.known(name), progress or Progress()
        if one.stops:
            raise UserError(f"The engine '{name}' cannot be run: {one.stops}.")
        there = self.installed(name)
        if there is not None and not self.changed(name) and (there.lock is not None) == locked:
            shown.say(f"{name} {one.version} is installed in {self.folder / name}")
            return there
        wanted = self.requirements(name) if locked else (f"{name}=={one.version}", RANKS)
        if not wanted:
            raise UserError(f"The engine '{name}' has no lock; install it with --no-lock.")
        interpreter = python or _interpreter(one)
        self.folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=self.folder))
        try:
            found = self._made(one, made, interpreter, wanted, locked, progress=shown)
            shutil.rmtree(self.folder / name, ignore_errors=True)
            made.rename(self.folder / name)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        shown.say(f"{name} {one.version} is installed in {self.folder / name}")
        return found

    def _made(
        self,
        one: Known,
        made: Path,
        interpreter: str,
        wanted: Sequence[str],
        locked: bool,
        *,
        progress: Progress,
    ) -> Installed:
        """An environment in a folder, with its state written last."""
        log = self.folder / f"{one.name}.log"
        progress.say(f"{one.name} {one.version}: making an environment; what pip says: {log}")
        with log.open("w", encoding="utf-8") as file:
            _run([interpreter, "-m", "venv", str(made)], file.fileno(), log, "venv")
        python = str(made / "bin" / "python")
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        list_of = made / "requirements.txt"
        alone = f"{one.name}=={one.version}" if locked and one.differs else ""
        lines = [line for line in wanted if line != alone]
        list_of.write_text("\n".join(lines) + "\n", encoding="utf-8")
        given = [*pip, "install", "--no-compile", "--progress-bar", "off"]
        n_packages = len(lines) if locked else 0
        _installed([*given, "-r", str(list_of)], log, f"{one.name}: packages", n_packages, progress)
        if alone:  # its own requirements would choose other versions than the lock
            _installed([*given, "--no-deps", alone], log, one.name, 1, progress)
        frozen = subprocess.run(
            [*pip, "freeze"], capture_output=True, text=True, env=_environment(), check=False
        )
        packages = tuple(sorted(frozen.stdout.split("\n")[:-1]))
        found = Installed(one.version, self.lock(one.name) if locked else None, packages)
        text = json.dumps(asdict(found), indent=1)
        (made / _STATE).write_text(text + "\n", encoding="utf-8")
        return found

    def remove(self, name: str) -> None:
        """Remove an environment and its log; raises UserError where there is none."""
        self.known(name)
        if not (self.folder / name).is_dir():
            raise UserError(f"The engine '{name}' is not installed in {self.folder}.")
        shutil.rmtree(self.folder / name)
        (self.folder / f"{name}.log").unlink(missing_ok=True)


def _interpreter(one: Known) -> str:
    """The Python of an engine's environment; raises UserError where none of its version runs."""
    here = "{}.{}".format(*sys.version_info[:2])
    if one.python in ("", here):
        return sys.executable
    name, said = f"python{one.python}", ""
    for folder in os.get_exec_path():
        path = os.path.join(folder, name)
        if not os.access(path, os.X_OK):
            continue
        asked = subprocess.run(
            [path, "-c", "import venv, sys; print('{}.{}'.format(*sys.version_info[:2]))"],
            capture_output=True, text=True, env=_environment(), check=False,
        )  # fmt: skip
        if asked.stdout.strip() == one.python:
            return path
        said = f" ({path} does not run: {(asked.stderr.strip().splitlines() or ['no word'])[0]})"
    raise UserError(
        f"The engine '{one.name}' asks for Python {one.python}; this is {here}, and the path has "
        f"no {name} that runs{said}. Install Python {one.python} with its module venv, or name "
        f"one: graphrag-bench engines install {one.name} --python FILE"
    )


def _environment() -> dict[str, str]:
    """The variables without those that would let another environment's packages in."""
    return {name: value for name, value in os.environ.items() if name not in _ANOTHER}


_ANOTHER = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_USER", "PIP_PREFIX")


def _run(command: Sequence[str], output: int, log: Path, what: str) -> None:
    try:
        ended = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, env=_environment(), check=False
        )
    except OSError as error:
        raise UserError(f"'{command[0]}' does not run: {error.strerror}.") from None
    if ended.returncode:
        raise UserError(f"{what} ended with code {ended.returncode}: {_reason(log)}")


def _installed(command: Sequence[str], log: Path, label: str, n: int, progress: Progress) -> None:
    """Run pip with its lines in the log, and count the packages; raises UserError."""
    with (
        log.open("a", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=_environment(),
        ) as pip,
    ):
        assert pip.stdout is not None
        try:
            with progress.task(label, n) as advance:
                for line in pip.stdout:
                    file.write(line)
                    if line.startswith(_TAKEN[:2]):
                        advance(1)
                    if line.startswith("Installing collected packages"):
                        progress.say(f"{label}: all are there; they are being installed")
        except BaseException:
            pip.kill()
            raise
    if pip.returncode:
        raise UserError(f"pip ended with code {pip.returncode}: {_reason(log)}")


def _reason(log: Path) -> str:
    """The last error in a log, without the list of all versions that there are; and the log."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:] or ["no word"]
    said = re.sub(r" \(from versions: [^)]*\)", "", errors[-1].removeprefix("ERROR:").strip())
    return f"{said[:_LONGEST_REASON].rstrip('.')}. All that it said: {log}"
