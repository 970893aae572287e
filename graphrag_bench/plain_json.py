"""JSON from files of others: whatever no program could hold is told with its place."""

from __future__ import annotations

import json

from graphrag_bench.errors import UserError


def read_json(text: str, place: str) -> object:
    """The value of a JSON text; raises UserError for no JSON, and for what cannot be kept.

    That are values nested too deeply, numbers of thousands of digits, and half characters, which no
    UTF-8 file holds. A JSONDecodeError tells more, which the caller may want: it goes through.
    """
    try:
        found: object = json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise UserError(f"{place}: not JSON (a number of more than 4,300 digits).") from None
    except RecursionError:
        raise UserError(f"{place}: not JSON (it is nested too deeply).") from None
    if "\\ud" in text or "\\uD" in text:
        _refuse_halves(found, place)
    return found


def _refuse_halves(found: object, place: str) -> None:
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise UserError(
            f"{place}: it holds half a character ({half}), which no text file can keep; write the "
            "whole pair, or leave it out."
        ) from None
