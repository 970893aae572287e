"""Command-line settings: checked group names, and composition through Hydra with our errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from graphrag_bench.cli.help_lines import entry
from graphrag_bench.config.choices import GROUPS, ROLES, names, names_a_file
from graphrag_bench.config.compose import load, resolve
from graphrag_bench.config.composing import composition
from graphrag_bench.config.plugins import look_into
from graphrag_bench.config.profiles import DEFAULT, SELECTORS, changes, pools
from graphrag_bench.config.settings import explained
from graphrag_bench.config.words import (
    of_method,
    read_word,
    several,
    unreadable,
    value_of,
)
from graphrag_bench.errors import Gathered, UserError
from graphrag_bench.experiment.checking import check_method

HELP = """usage: graphrag-bench {command} [-m] [GROUP=NAME ...] [SETTING=VALUE ...]

groups (choose by name; with -m a comma or glob(*) sweeps)
{groups}

  GROUP=./FILE.yaml            a file of your own in the place of a name; names are looked for in
                               ./configs/GROUP, in the configs of plugins=[PACKAGE] and in
                               --config-dir FOLDER too

settings (by path; -m sweeps them too)
{settings}

  method.NAME=VALUE            a parameter of the method: {parameters}
  method.retrieve.0.NAME=VALUE a setting of one step; `graphrag-bench plan` shows the steps
  llm.NAME=VALUE               a setting of the model, e.g. llm.model_path=weights.gguf
"""


EXAMPLES = {
    "run": """
examples
  graphrag-bench run dataset=sample method=hipporag limit=5
  graphrag-bench run -m dataset=sample method=bm25,vanilla,hipporag answer=off
  graphrag-bench run dataset=jsonl dataset.root=FOLDER method=raptor llm=openai_compatible \\
    llm.model=NAME llm.base_url=ADDRESS

sweeps (-m): cells share what is the same; a failed one is listed, and the same command retries it
  graphrag-bench run -m method=hipporag method.damping=0.1,0.5 answer=off \\
    split=dev objective=evidence_recall@5     names the best cell, and the command to report it by
  graphrag-bench run -m hydra/sweeper=optuna hydra.sweeper.n_trials=30 method=hipporag \\
    'method.damping=interval(0.1,0.9)'        Optuna chooses the cells, on split=dev alone
  one cell at a time, for job arrays: graphrag-bench sweep --help
""",
    "plan": """
examples
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench plan -m dataset=sample method=hipporag method.damping=0.1,0.5 answer=off
    every cell of the sweep, how many builds and calls that comes to, and what sharing saves
""",
    "ask": """
last comes the "question"

  method=A,B  asks several methods; --json prints all rows, for a program
What was asked is kept in HOME/runs/.asked with its artifacts: as long as nothing changed it is
answered again at once, with no model; cache.mode=refresh asks anew.

examples
  graphrag-bench ask dataset=sample method=hipporag "Who taught the discoverer of the neutron?"
  graphrag-bench ask dataset=sample method=bm25,hipporag --json "With whom did ...?"
  graphrag-bench ask dataset=folder dataset.root=FOLDER method=vanilla "What is ...?"
""",
}


_UNREAD = ("limit", "split", "dev_share", "objective", "answer", "match_tokens", "repeats", "frame",
           "trace", "workers", "shard", "evaluation", "graph.scope", "llm_judge")  # fmt: skip
"""What is read of the questions of a data set alone: `ask` has one question of its own."""


def _is_in(name: str, listed: Sequence[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in listed)


def help_text(command: str) -> str:
    """What `--help` of a Hydra command prints."""
    unread = _UNREAD if command == "ask" else ()
    groups = [
        entry(f"  {group}=", ", ".join(names(group)), 15) for group in GROUPS if group not in unread
    ]
    rows = [
        entry(f"  {name}={default}", meaning, 37)
        for name, default, meaning in explained()
        if name not in GROUPS and not _is_in(name, unread)
    ]
    text = (HELP.replace("[-m] ", "") if command == "ask" else HELP) + EXAMPLES[command]
    return text.format(
        command=command,
        groups="\n".join(groups),
        settings="\n".join(rows),
        parameters="top_k, damping, ...",
    )


def prepared(arguments: Sequence[str]) -> list[str]:
    """The overrides for Hydra: groups checked, every other setting as one that may be new.

    Choices are looked for in the plug-in packages that are named among them too. Raises UserError,
    with every problem, for what is no `NAME=VALUE`, and for an unknown setting, group or choice.
    """
    gathered = Gathered()
    gathered.attempt(lambda: look_into(_plugins(arguments)))
    found = [gathered.attempt(partial(_override, argument)) for argument in arguments]
    overrides = [override for override in found if override is not None]
    if gathered.errors:
        gathered.attempt(lambda: _check_method(overrides))
    gathered.refuse()
    return overrides


def _check_method(overrides: Sequence[str]) -> None:
    """Raise UserError for what is wrong with the method that these overrides choose, if they do."""
    chosen = [one for one in overrides if one.startswith(("method=", "++method.", "++plugins"))]
    if not any(one.startswith("method=") for one in chosen):
        return
    try:
        values = composed(chosen)
    except UserError:
        return  # e.g. the several values of a sweep: the words are to be mended first
    check_method(values)


def _override(argument: str) -> str:
    if of_hydra(argument) and "=" in argument:
        return argument
    name, value = read_word(argument)
    if name in GROUPS:
        target = f"llm@{name}" if name in ROLES else name
        add = "+" if name in ROLES else ""
        return f"{add}{target}={value}"
    return f"++{name}={value}"


def _plugins(arguments: Sequence[str]) -> list[str]:
    """The plug-in packages that the words name, and those that the study among them names."""
    words = dict(word.lstrip("+").partition("=")[::2] for word in arguments)
    named = value_of(words["plugins"], "plugins") if "plugins" in words else []
    study = words.get("experiment", "null").strip("'\"")
    if study in names("experiment") or names_a_file(study):
        named = [*named, *(load("experiment", study).get("plugins") or [])]
    return [str(one) for one in named] if isinstance(named, list) else []


def given_names(overrides: Sequence[str]) -> list[str]:
    """The paths of what the command line sets, in order, those of Hydra left out."""
    names = [one.lstrip("+~").partition("=")[0] for one in overrides if not of_hydra(one)]
    return [name.partition("@")[2] or name for name in names]


def of_hydra(override: str) -> bool:
    """Whether an override is one of Hydra itself: of its sweeper, its launcher, its folders."""
    return override.lstrip("+~").startswith(("hydra.", "hydra/"))


def is_setting(argument: str) -> bool:
    """Whether a word of the command line is meant as a setting: `name=...` of a known first part.

    Anything else is text, e.g. a question that holds a `=`.
    """
    name, equals, _ = argument.partition("=")
    first = name.lstrip("+~").partition(".")[0]
    return bool(equals) and re.fullmatch(r"\w+", first) is not None and " " not in name


def composed(overrides: Sequence[str]) -> dict[str, Any]:
    """The resolved settings of prepared overrides; raises UserError for what Hydra refuses."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    refused = _refused_by_hydra()
    try:
        config = composition(overrides)
        before = _of_sources(config)
        config = composition([*before, *overrides]) if before else config
    except refused as error:
        raise _first_refused(overrides) or refusal(" ".join(overrides), error, {}) from None
    given = [*of_method(given_names(overrides)), *_given_by_study(overrides)]
    return {**resolve(config, OmegaConf, OmegaConfBaseException), "given": given}


def _value(override: str) -> str:
    return override.partition("=")[2].strip("'\"")


def _given_by_study(overrides: Sequence[str]) -> list[str]:
    """The paths of the method's settings that a file of configs/experiment sets."""
    chosen = [_value(one) for one in overrides if one.startswith("experiment=")]
    held = [load("experiment", name).get("method") or {} for name in chosen if name != "null"]
    return [f"method.{name}" for settings in held for name in settings]


def _of_sources(config: Any) -> list[str]:
    """What sources and path pooling change in the method, as overrides before the user's."""
    chosen = [str(config.get(name, DEFAULT)) for name in SELECTORS]
    pooling = config.get("pooling")
    if set(chosen) == {DEFAULT} and not pools(pooling):
        return []
    found = changes(config.method, *chosen, pooling=pooling)
    return [f"++method.{path}={'null' if v is None else v}" for path, v in found.items()]


def _refused_by_hydra() -> tuple[type[Exception], ...]:
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    return HydraException, OmegaConfBaseException, TypeError, IndexError, ValueError


def _first_refused(overrides: Sequence[str]) -> UserError | None:
    """The error of the first override that is refused: a choice alone, a setting over all choices.

    None when it is only their combination that is refused.
    """
    from omegaconf import OmegaConf

    refused = _refused_by_hydra()
    choices = [override for override in overrides if not override.startswith("++")]
    settings = [override for override in overrides if override.startswith("++")]
    for base, tried in (([], choices), (choices, settings)):
        try:
            held = OmegaConf.to_container(composition(base))
        except refused:
            return None
        for override in tried:
            try:
                composition([*base, override])
            except refused as error:
                return refusal(override, error, held)
    return None


def refusal(override: str, error: Exception, held: Any) -> UserError:
    """The error for a setting that Hydra cannot read or place; `held` is the configuration."""
    shown = override.lstrip("+")
    lines = str(error.__cause__ or error).splitlines()
    reason = lines[1] if lines[0].startswith("Error parsing override") else lines[0]
    if "Ambiguous value" in reason or "requires --multirun" in reason:
        return several(shown)
    if type(error).__name__ == "OverrideParseException" or _GRAMMAR.match(reason):
        return unreadable(shown, reason)
    return UserError(_misplaced(shown.partition("=")[0], held) or f"'{shown}': {reason}.")


_GRAMMAR = re.compile("no viable alternative|mismatched|extraneous|token recognition|missing ")


def _misplaced(path: str, held: Any) -> str:
    """What is wrong with a path that leaves the configuration at a list; "" when nothing is."""
    parts = path.split(".")
    for depth, part in enumerate(parts):
        if isinstance(held, list):
            if not part.isdecimal() or int(part) >= len(held):
                last = f"steps 0 to {len(held) - 1}" if held else "no steps"
                return (
                    f"There is no '{path}': '{'.'.join(parts[:depth])}' has {last}, not '{part}'."
                )
            held = held[int(part)]
        else:
            held = held.get(part) if isinstance(held, dict) else None
    return ""
