"""The identity of a model that is not on this machine, from its earlier artifacts.

A key is made of the identities of models, and that of a packaged model has its version. Where the
package is missing, runs and artifacts that are stored here tell which version made them, so that
they are found under their keys and nothing of them is computed again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.models.nlp import Spacy, may_be
from graphrag_bench.offline.recipe import RECIPE
from graphrag_bench.runs.folder import METRICS

_NAMES = {"llm": ("llm", "llm_build"), "llm_build": ("llm", "llm_build")}
"""Names under which a model may have worked, where it is not its own alone."""


def identity_of(model: Any, name: str, home: Path, shared: Path | None = None) -> str:
    """The identity of a model; of one that is not installed the one that is stored.

    What is stored are the recipes and runs below a home, and the recipes of a shared store. Raises
    UserError when nothing stored is of the model, and when several versions of it have made what is
    stored.
    """
    try:
        return str(model.identity)
    except UserError as error:
        if (may_be := _likeness(model)) is None:
            raise
        stores = [home / "artifacts", *([shared] if shared else [])]
        names = _NAMES.get(name, (name,))
        held = (one for path in _files(home, stores) for one in _identities(path, names))
        found = sorted({one for one in held if may_be(one)})
        if len(found) == 1:
            return found[0]
        if not found:
            raise
        raise UserError(
            f"{error} Several versions of it have made what is stored here, and any may be meant: "
            f"{', '.join(found)}."
        ) from None


def _likeness(model: Any) -> Callable[[str], bool] | None:
    if isinstance(model, Spacy):
        return partial(may_be, model)
    return getattr(model, "may_be", None)


def _files(home: Path, stores: Sequence[Path]) -> Iterator[Path]:
    for store in stores:
        yield from sorted(store.glob(f"*/*/*/{RECIPE}"))
    yield from sorted(home.glob(f"runs/*/*/*/{METRICS}"))


def _identities(path: Path, names: Sequence[str]) -> Iterator[str]:
    held = _read(path)
    told = held.get("inputs") if path.name == RECIPE else held
    if isinstance(told, dict):
        yield from (told[name] for name in names if isinstance(told.get(name), str))


def _read(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}
