"""Documents as they are given to a live index, and its data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from graphrag_bench.data.card import load_card
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.errors import UserError
from graphrag_bench.text import encodable

NAME = "index"
"""The data set of every live index: its artifacts are below its own folder."""

Given = Document | Mapping[str, Any]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    id: str
    title: str = ""
    text: str
    aliases: tuple[str, ...] = ()


def as_document(given: Given) -> Document:
    """A document from a mapping with `id` and `text`, `title` and `aliases` where it has them.

    Half characters (lone surrogates), which no file can hold, become `?`. Raises UserError for
    another field, a missing one, and for what has no text.
    """
    if isinstance(given, Document):
        made = given
    else:
        try:
            made = Document(**_Fields.model_validate(dict(given)).model_dump())
        except (ValidationError, TypeError, ValueError) as error:
            raise UserError(
                f"A document is a mapping with id and text, and title or aliases: {error}"
            ) from None
    if not made.id.strip() or not made.text.strip():
        raise UserError(f"The document '{made.id}' has no {'text' if made.id.strip() else 'id'}.")
    aliases = tuple(map(encodable, made.aliases))
    id, title, text = map(encodable, (made.id, made.title, made.text))
    return replace(made, id=id, title=title, text=text, aliases=aliases)


def dataset_of(documents: Sequence[Document]) -> Dataset:
    """The data set of these documents, without questions."""
    card = load_card("folder").model_copy(update={"name": NAME, "title": "A live index"})
    return Dataset(NAME, tuple(documents), (), {}, card)
