"""A method file: its named parameters, its steps, and the check that no setting is idle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphrag_bench.config.profiles import KEYS
from graphrag_bench.config.sources import FILE, method_file, names
from graphrag_bench.errors import Gathered, UserError, did_you_mean, nearest
from graphrag_bench.pipeline.build import (
    PLAIN,
    STAGES,
    Pipeline,
    StepOptions,
    build,
    misspelt_stages,
    refuse,
)
from graphrag_bench.prompts import Prompt

RESERVED = frozenset(
    {
        "name",
        "title",
        "role",
        "budget",
        "build",
        "given",
        "prompts",
        "verified",
        FILE,
        *KEYS,
        *STAGES,
    }
)
ROLES = ("floor", "baseline", "ceiling")
VERIFIED = ("true", "partly", "false")
"""Whether a method was checked against its paper or its code; its page says what was not."""
GIVEN = {"gold_chunks": "chunks"}
"""What a method may be given before its first step, and the slot it fills."""


@dataclass(frozen=True)
class Method:
    """A method: its parameters by name, the artifacts it chooses, its pipeline.

    `title` is its name in tables; `role` is `floor`, `baseline` or `ceiling` for reference rows;
    `verified` is one of `VERIFIED`, and tables mark what is not `true`; `pooled` says that its
    relationships are pooled.
    """

    name: str
    title: str
    role: str
    parameters: Mapping[str, Any]
    choices: Mapping[str, Any]
    given: str | None
    pipeline: Pipeline
    problems: tuple[str, ...]
    verified: str = "true"
    pooled: bool = False

    @property
    def given_slots(self) -> frozenset[str]:
        """The slots filled before the first step."""
        return frozenset({GIVEN[self.given]} if self.given else ())


def read_method(config: Mapping[str, Any], options: StepOptions = PLAIN) -> Method:
    """The method of a resolved config; problems of its steps are kept for one common report.

    With path pooling its title says so.

    Raises UserError when `name` is missing, when `given`, `role` or `prompts` name nothing, and
    when no file of the folder `prompts` is a prompt of the method.
    """
    check_keys(config)
    given = config.get("given")
    pipeline, problems = build(config, replace(options, prompts=config.get("prompts")))
    problems = [*unresolved(config), *problems]
    if config.get("prompts") is not None:
        _check_prompts(Path(config["prompts"]), pipeline)
    parameters = {key: value for key, value in config.items() if key not in RESERVED}
    choices = config.get("build") or {}
    pooled = options.pooling is not None and "path.pool" in pipeline.names
    return Method(
        config["name"],
        f"{config.get('title', config['name'])}{' + pooling' if pooled else ''}",
        str(config.get("role", "")),
        parameters,
        choices,
        given,
        pipeline,
        tuple(problems),
        _verified(config),
        pooled,
    )


def able_to_pool() -> list[str]:
    """Return the names of the methods that have a step of path pooling."""
    return [name for name in names("method") if "'path_pooling': {" in repr(method_file(name))]


def check_keys(config: Mapping[str, Any]) -> None:
    """Raise UserError for what is wrong with the method's own keys, its steps left aside."""
    gathered = Gathered()
    if not isinstance(config.get("name"), str):
        gathered.add("A method needs a 'name'.")
    wrong = set()
    for key, kind in (
        ("given", str),
        ("role", str),
        ("prompts", str),
        ("build", Mapping),
    ):
        if config.get(key) is not None and not isinstance(config[key], kind):
            wrong.add(key)
            expected = "a text" if kind is str else "a mapping"
            gathered.add(f"method.{key}={config[key]!r}: {expected} was expected.")
    for key, known in (("given", tuple(GIVEN)), ("role", ROLES)):
        value = config.get(key)
        if key not in wrong and value is not None and value not in known:
            there = f"there {'is' if len(known) == 1 else 'are'} {', '.join(known)}"
            gathered.add(f"method.{key}: no '{value}'; {there}.")
    if _verified(config) not in VERIFIED:
        gathered.add(f"method.verified={config['verified']!r}: there are {', '.join(VERIFIED)}.")
    gathered.refuse()


def _verified(config: Mapping[str, Any]) -> str:
    return str(config.get("verified", True)).lower()


def unresolved(config: Mapping[str, Any]) -> list[str]:
    """A problem for each `${...}` that is left in a resolved method: it asks for what is not."""
    asked = dict.fromkeys(re.findall(r"\$\{([^{}]*)\}", repr(dict(config))))
    known = [f"method.{key}" for key in config if key not in RESERVED]
    problems = []
    for path in asked:
        hint = did_you_mean(path, known)
        problems.append(f"A step asks for ${{{path}}}, which does not exist. {hint}")
    return problems


def _check_prompts(folder: Path, pipeline: Pipeline) -> None:
    if not folder.is_dir():
        raise UserError(f"method.prompts: there is no folder '{folder}'.")
    values = [value for op in pipeline.operators() for value in op.settings.values()]
    prompts = [value for value in values if isinstance(value, Prompt)]
    names = {Path(file.name).name for prompt in prompts for file in prompt.files}
    if not any((folder / name).is_file() for name in names):
        there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        asked = ", ".join(sorted(names)) or "no prompts"
        raise UserError(f"method.prompts: '{folder}' holds {there}; the method asks for {asked}.")


def check_parameters(raw: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Refuse parameters that the method's file does not have, and parameters nothing reads.

    `raw` is the method's file with its interpolations, `config` what it became.
    """
    problems = []
    for key in config:
        if key not in raw and key not in RESERVED:
            parameters = sorted(set(raw) - RESERVED)
            hint = did_you_mean(key, sorted({*raw, *RESERVED}), parameters)
            problems.append(f"There is no setting 'method.{key}' in '{raw['name']}'. {hint}")
    read = RESERVED.union(misspelt_stages(raw))
    text = repr({key: raw[key] for key in raw if key in read})
    idle = [key for key in raw if key not in RESERVED and f"{{method.{key}}}" not in text]
    for key in sorted(set(idle) - set(misspelt_stages(raw)), key=idle.index):
        near = nearest(key, RESERVED - {FILE}, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        problems.append(
            f"The parameter 'method.{key}' of '{raw['name']}' is read by no step.{hint}"
        )
    refuse(problems, f"method '{raw['name']}'")
