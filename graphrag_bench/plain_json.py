"""JSON from files of others: what no text file could hold is refused with its place."""

from __future__ import annotations

import json

from graphrag_bench.errors import UserError


def read_json(text: str, place: str) -> object:
    """Return the value of a JSON text.

    Raises UserError for values nested too deeply, numbers of thousands of digits, and half
    characters (lone surrogates), which no UTF-8 file holds; JSONDecodeError for no JSON.
    """
    try:
        found: object = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        problem = ascii(str(error))[1:-1]
        raise UserError(f"{place}: this JSON cannot be kept in a text file ({problem}).") from None
    return found
