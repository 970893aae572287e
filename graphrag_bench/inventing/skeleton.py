"""A package of one's own, written: an operator, a method that uses it, and a test of it."""

import keyword
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import jinja2

from graphrag_bench.config.sources import built_in
from graphrag_bench.contract import operators
from graphrag_bench.errors import UserError, unknown

KINDS = ("chunk", "node", "relationship", "question")
"""The kinds of operators that there is a skeleton of: what they write, or read where they begin."""
_TEMPLATES = Path(__file__).parent / "skeletons"


@dataclass(frozen=True)
class Skeleton:
    """An operator `KIND.NAME` and a method NAME, to be written into a package."""

    kind: str
    name: str
    package: str

    @classmethod
    def of_operator(cls, operator: str, package: str | None = None) -> "Skeleton":
        """That of an operator `KIND.NAME`, in a package NAME unless one is named.

        Raises UserError for another kind, and for what is not a name or has been taken.
        """
        kind, dot, name = operator.partition(".")
        if not dot or not name:
            kinds = ", ".join(KINDS)
            raise UserError(f"An operator is named KIND.NAME, as chunk.mine; kinds: {kinds}.")
        if kind not in KINDS:
            raise unknown("skeleton of the kind", kind, KINDS)
        made = cls(kind, _name(name), _name(package or name))
        if made.operator in {one.name for one in operators.all()}:
            raise UserError(f"There is an operator {made.operator} already; take another name.")
        if made.name in built_in("method"):
            raise UserError(f"There is a method '{made.name}' already; take another name.")
        return made

    @property
    def operator(self) -> str:
        """The name under which the operator is registered."""
        return f"{self.kind}.{self.name}"

    @property
    def module(self) -> str:
        """The module of the operator."""
        return f"{self.kind}_{self.name}"

    def files(self, into: Path) -> dict[Path, str]:
        """The texts of the files that are to be written, by path; those of the package but once."""
        inner = into / self.package
        texts = {
            inner / f"{self.module}.py": self._text(f"{self.kind}.py"),
            inner / "configs" / "method" / f"{self.name}.yaml": self._text("method.yaml"),
            into / "tests" / f"test_{self.module}.py": self._text(f"test_{self.kind}.py"),
        }
        if not (into / "pyproject.toml").exists():
            texts[into / "pyproject.toml"] = self._text("pyproject.toml")
        return texts

    def _text(self, template: str) -> str:
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_TEMPLATES), undefined=jinja2.StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
        )  # fmt: skip
        return environment.get_template(f"{template}.j2").render(
            kind=self.kind, name=self.name, function=self.name, package=self.package,
            module=self.module, operator=self.operator,
        )  # fmt: skip

    def write(self, into: Path) -> list[Path]:
        """Write the files, and the import of the operator into the package; what was written.

        Raises UserError, before anything is written, where a file of these is there already.
        """
        inner = into / self.package
        if not inner.exists() and find_spec(self.package) is not None:
            raise UserError(
                f"Python has a package '{self.package}' already; name another by --package."
            )
        texts = self.files(into)
        there = [str(path) for path in texts if path.exists()]
        if there:
            raise UserError(f"{', '.join(there)}: there already; take another name.")
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return sorted([*texts, self._imported(inner / "__init__.py")])

    def _imported(self, path: Path) -> Path:
        if not path.exists():
            path.write_text(self._text("__init__.py"), encoding="utf-8")
            return path
        lines = path.read_text(encoding="utf-8").splitlines()
        imported = [f"from {self.package} import {self.module} as {self.module}"]
        while lines and lines[-1].startswith(f"from {self.package} import "):
            imported.append(lines.pop())
        path.write_text("\n".join([*lines, *sorted(imported), ""]), encoding="utf-8")
        return path


def _name(given: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", given) or keyword.iskeyword(given):
        raise UserError(f"'{given}' cannot be a name: small letters, digits and _, a letter first.")
    if given in ("graphrag_bench", "operators", "methods", "tests", "configs", "true", "false",
                 "null", "yes", "no", "on", "off"):  # fmt: skip
        raise UserError(f"'{given}' has a meaning of its own; take another name.")
    return given
