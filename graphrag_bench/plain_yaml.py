"""YAML as plain values: no tags that make objects, one message for what cannot be read."""

from __future__ import annotations

import re
from typing import Any

import yaml

from graphrag_bench.errors import UserError

_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The same loader in C, where PyYAML was built with it: ten times as fast."""


class _Loader(_FAST):  # type: ignore[misc]
    """Reads as OmegaConf does: `1e-3` is a number, a date a text, a key given twice an error."""

    yaml_implicit_resolvers = {
        sign: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
        for sign, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        """Return the mapping of a node."""
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
    except (yaml.YAMLError, ValueError, OverflowError, TypeError, RecursionError) as error:
        problem = " ".join(str(error).replace('in "<unicode string>", ', "").split())
        raise UserError(f"{where} cannot be read as YAML: {problem}.") from None
