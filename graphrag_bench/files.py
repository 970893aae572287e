"""The project's own files, YAML as plain values, and small values remembered in JSON files."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from graphrag_bench.errors import UserError

_PACKAGE = Path(__file__).resolve().parent
_MOST_REMEMBERED = 5_000
_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The same loader in C, where PyYAML was built with it: ten times as fast."""


def project_folder(name: str) -> Path:
    """Return the absolute path of `configs` or `datasets`: the installed copy if there is one."""
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def checkout() -> Path | None:
    """Return the git checkout that the package runs from, or None when it is installed."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() else None


class _Loader(_FAST):  # type: ignore[misc]
    yaml_implicit_resolvers = {
        sign: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
        for sign, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        keys: set[str] = set()
        for key, _ in node.value:
            if key.tag.endswith(":str") and key.value in keys:
                problem = f"the key '{key.value}' is given twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            keys.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(_\d+)*[eE][-+]?\d+$"), list("-+0123456789")
)


def read_yaml(text: str, where: str) -> object:
    """Return the content of a YAML text; raises UserError, with the line where YAML gives it."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark else ""
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise UserError(f"{where}{place}: {problem}.") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a number or sign that is none
        raise UserError(
            f"{where} cannot be read as YAML: {' '.join(str(error).split())}."
        ) from None


def expand_home(value: Any) -> Any:
    """Return settings, of a file or of Python, with the home of the user for a leading `~/`."""
    if isinstance(value, str):
        return str(Path(value).expanduser()) if value == "~" or value.startswith("~/") else value
    if isinstance(value, Mapping):
        return {name: expand_home(one) for name, one in value.items()}
    return [expand_home(one) for one in value] if isinstance(value, list) else value


def user_cache(name: str) -> Path:
    """Return the path of a file in the user's cache, which may not be there."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache, "graphrag-bench", name)


def read_cache(file: Path) -> dict[str, Any]:
    """Return the values that `remember` has stored in a file, by key; none of a damaged file."""
    with suppress(OSError, ValueError):
        return dict(json.loads(file.read_text(encoding="utf-8")))
    return {}


def write_cache(file: Path, key: str, value: object) -> None:
    """Store a JSON value by a key, if that can be done; the file has the last 5,000.

    Of two processes that store at once one may lose its value.
    """
    rows = {**dict(list(read_cache(file).items())[-_MOST_REMEMBERED:]), key: value}
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.{os.getpid()}.new")
        new.write_text(json.dumps(rows), encoding="utf-8")
        new.replace(file)
