"""The parser of the commands that take words and options rather than settings."""

from __future__ import annotations

import argparse
from typing import NoReturn

from graphrag_bench.errors import UserError, nearest

_UNKNOWN = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    """A parser whose errors end like any other mistake of the user, naming the command's help."""

    def error(self, message: str) -> NoReturn:
        """Raise UserError; an unknown option is answered with the nearest."""
        command = " ".join(self.prog.split()[:2])
        word = message.removeprefix(_UNKNOWN).partition(" ")[0]
        options = [option for action in self._actions for option in action.option_strings]
        close = nearest(word, options) if message.startswith(_UNKNOWN + "-") else []
        hint = f" Nearest: {', '.join(close)}." if close else ""
        raise UserError(f"{message}.{hint} See {command} --help.")


def command_parser(command: str) -> Parser:
    """A parser of a sub-command of graphrag-bench, without abbreviations."""
    return Parser(prog=f"graphrag-bench {command}", add_help=False, allow_abbrev=False)
