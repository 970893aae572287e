"""Write a new package with an operator, a method that uses it, and a test."""

import keyword
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import jinja2

from graphrag_bench.config.sources import built_in_names
from graphrag_bench.contract import operators
from graphrag_bench.errors import UserError, unknown

KINDS = ("chunk", "rerank", "node", "relationship", "question")
"""The kinds of operators that this module can write."""
_TEMPLATES = Path(__file__).parent / "skeletons"
_RESERVED = {"graphrag_bench", "operators", "methods", "tests", "configs", "true", "false", "null",
             "yes", "no", "on", "off"}  # fmt: skip


@dataclass(frozen=True)
class Skeleton:
    """A package with a new operator `KIND.NAME` and a new method NAME that uses it."""

    kind: str
    name: str
    package: str

    @classmethod
    def of_operator(cls, operator: str, package: str | None = None) -> "Skeleton":
        """Return the skeleton for a new operator `KIND.NAME`. The default package is NAME."""
        kind, _, name = operator.partition(".")
        if not name:
            form = f"'{operator}' must have the form KIND.NAME, e.g. chunk.mine"
            raise UserError(f"{form}. The kinds are {', '.join(KINDS)}.")
        if kind not in KINDS:
            raise unknown("kind", kind, KINDS)
        package = package or name
        for word in (name, package):
            if not re.fullmatch(r"[a-z][a-z0-9_]*", word) or keyword.iskeyword(word):
                rule = "A name has lower-case letters, digits and _, and begins with a letter"
                raise UserError(f"'{word}' is not a valid name. {rule}.")
            if word in _RESERVED:
                raise UserError(f"The name '{word}' is reserved. Choose another name.")
        if operator in {one.name for one in operators.all()}:
            raise UserError(f"The operator '{operator}' exists already. Choose another name.")
        if name in built_in_names("method"):
            raise UserError(f"The method '{name}' exists already. Choose another name.")
        return cls(kind, name, package)

    @property
    def module(self) -> str:
        """The name of the operator's module."""
        return f"{self.kind}_{self.name}"

    def write(self, into: Path) -> list[Path]:
        """Write the files and return their paths, sorted. Raises UserError if a file exists."""
        inner = into / self.package
        if not inner.exists() and find_spec(self.package) is not None:
            there = f"A Python package '{self.package}' is already installed"
            raise UserError(f"{there}. Choose another name with --package NAME.")
        templates = {
            inner / f"{self.module}.py": f"{self.kind}.py",
            inner / "configs" / "method" / f"{self.name}.yaml": "method.yaml",
            into / "tests" / f"test_{self.module}.py": f"test_{self.kind}.py",
        }
        if found := [str(path) for path in templates if path.exists()]:
            raise UserError(f"{', '.join(found)} exists already. Choose another name.")
        init = inner / "__init__.py"
        templates |= {path: path.name for path in (into / "pyproject.toml", init)
                      if not path.exists()}  # fmt: skip
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_TEMPLATES), undefined=jinja2.StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
        )  # fmt: skip
        for path, name in templates.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            text = environment.get_template(f"{name}.j2").render(vars(self), module=self.module)
            path.write_text(text, encoding="utf-8")
        if init not in templates:
            lines = init.read_text(encoding="utf-8").splitlines()
            imports = [f"from {self.package} import {self.module} as {self.module}"]
            while lines and lines[-1].startswith(f"from {self.package} import "):
                imports.append(lines.pop())
            init.write_text("\n".join([*lines, *sorted(imports), ""]), encoding="utf-8")
        return sorted({*templates, init})
