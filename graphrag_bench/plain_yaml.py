"""YAML as plain values, from files of others: no tags, no bombs of aliases, one message."""

from __future__ import annotations

from typing import Any

import yaml

from graphrag_bench.errors import UserError

MOST_VALUES = 100_000
"""Values of a file with every alias written out; the largest method has some hundred."""


_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The same loader in C, where PyYAML was built with it: ten times as fast."""


def read_yaml(text: str, where: str, loader_type: Any = _FAST) -> object:
    """The content of a YAML text; raises UserError, with file and line where YAML tells it.

    Refused are tags that make objects, keys given twice, and more than `MOST_VALUES` values once
    all aliases are written out: they are counted before anything is made.
    """
    try:
        loader = loader_type(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            if _size(node, {}) > MOST_VALUES:
                raise UserError(f"{where}: its aliases expand to more than {MOST_VALUES:,} values.")
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark else ""
        said = ", ".join(part for part in (error.context, error.problem) if part)
        raise UserError(f"{where}{place}: {said}.") from None
    except yaml.YAMLError as error:
        said = " ".join(str(error).replace('in "<unicode string>", ', "").split())
        raise UserError(f"{where} cannot be read as YAML: {said}.") from None
    except RecursionError:
        raise UserError(f"{where} cannot be read as YAML: it is nested too deeply.") from None
    except (ValueError, OverflowError, TypeError) as error:
        raise UserError(f"{where} cannot be read as YAML: {error}.") from None


def _refuse_doubles(node: yaml.MappingNode) -> None:
    """Raise for a key that is given twice: which value is meant is unknown."""
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                said = f"the key '{key.value}' is given twice"
                raise yaml.MarkedYAMLError(problem=said, problem_mark=key.start_mark)
            seen.add(key.value)


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = 1  # what holds itself ends here, and in the constructor
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        _refuse_doubles(node)
        children = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        children = list(node.value)
    known[id(node)] = 1 + sum(_size(child, known) for child in children)
    return known[id(node)]
