"""Find the project's folders, and read YAML files and the small JSON files of the user's cache."""

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
"""PyYAML's loader in C if it is available, because it is ten times as fast."""


def project_folder(name: str) -> Path:
    """Return the path of `configs` or `datasets`, in the installed package or the checkout."""
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


class _Loader(_FAST):  # type: ignore[misc]
    yaml_implicit_resolvers = {
        sign: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
        for sign, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        keys: set[str] = set()
        for key, _ in node.value:
            if key.tag.endswith(":str") and key.value in keys:
                problem = f"duplicate key '{key.value}'"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            keys.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(_\d+)*[eE][-+]?\d+$"), list("-+0123456789")
)


def read_yaml(text: str, where: str) -> object:
    """Parse a YAML text. Dates stay text, `1e-3` is a float, and repeated keys raise UserError."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark else ""
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise UserError(f"{where}{place}: {problem}.") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError for an invalid number or character
        problem = " ".join(str(error).split())
        raise UserError(f"{where} cannot be read as YAML: {problem}.") from None


def plain_value(value: Any) -> Any:
    """Replace NumPy values, path objects and a leading `~` in settings by plain YAML values."""
    value = value.tolist() if hasattr(value, "tolist") else value
    value = os.path.join(".", value.expanduser()) if isinstance(value, Path) else value
    if isinstance(value, str):
        return str(Path(value).expanduser()) if value == "~" or value.startswith("~/") else value
    if isinstance(value, Mapping):
        return {name: plain_value(one) for name, one in value.items()}
    return [plain_value(one) for one in value] if isinstance(value, list | tuple) else value


def user_cache(name: str) -> Path:
    """Return the path of a file in the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache, "graphrag-bench", name)


def read_cache(file: Path) -> dict[str, Any]:
    """Return the values of a JSON cache by key, or {} if the file is missing or damaged."""
    with suppress(OSError, ValueError):
        return dict(json.loads(file.read_text(encoding="utf-8")))
    return {}


def write_cache(file: Path, key: str, value: object) -> None:
    """Add a value to a JSON cache of the last 5,000 values. Errors or races may lose values."""
    rows = {**dict(list(read_cache(file).items())[-_MOST_REMEMBERED:]), key: value}
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.{os.getpid()}.new")
        new.write_text(json.dumps(rows), encoding="utf-8")
        new.replace(file)
