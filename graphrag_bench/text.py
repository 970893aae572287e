"""Names, words and tokens: the normaliser of entity names, the words of a text, token counts."""

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, groupby, pairwise
from typing import Any, Literal

Encoding = Literal["cl100k", "o200k"]

_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
"""What normalising makes of each character of ASCII."""


def normalise_name(name: str) -> str:
    """An entity name as node tables hold it: letters and digits of any script, single spaces.

    HTML entities are decoded, the text is folded, every other character becomes a space. Combining
    marks stay with their letter, and signs that tell names apart with their word: C++, C#, A-, Na+,
    A*, -5, <5, 5%, $5, .NET. A sign between two words does not: AT&T, GPT-4.
    """
    text = folded(html.unescape(name)).replace("\u2212", "-")
    # every second part stays as it is
    parts = _NAME_SIGNS.split(text) if _MAY_BE_SIGN.search(text) else [text]
    parts[::2] = map(_bare, parts[::2])
    return " ".join("".join(parts).split())


def unsigned_name(name: str) -> str:
    """Return the name without punctuation and symbols, as the code of HippoRAG has it."""
    return " ".join(_bare(folded(html.unescape(name))).split())


def _bare(text: str) -> str:
    if text.isascii():  # the same, without asking about each character
        return text.translate(_ASCII)
    return "".join(char if unicodedata.category(char)[0] in "LNM" else " " for char in text)


_NOTHING = frozenset(
    {"none", "n/a", "n.a", "null", "unknown", "not applicable", "not available", "not specified",
     "unspecified", "no entity", "no entities", "-", "--", "–", "—"}
)  # fmt: skip


def names_nothing(name: str) -> bool:
    """Return whether a model wrote this in the place of a name: "NONE", "N/A", "unknown", "-".

    >>> names_nothing("(None)"), names_nothing("Na")
    (True, False)
    """
    return name.strip(" \t\n\"'`*().[]<>").casefold() in _NOTHING


def folded(text: str) -> str:
    """Return the text in NFKC and without case, less the characters that have no width."""
    if text.isascii():
        return text.lower()
    seen = unicodedata.normalize("NFKC", visible(text))
    return unicodedata.normalize("NFKC", seen.casefold())


def visible(text: str) -> str:
    """Return the text without the characters that have no width, which part no word."""
    return text if text.isascii() else _NO_WIDTH.sub("", text)


def words(text: str, *, signs: bool = False, bigrams: bool = False) -> list[str]:
    """Return the words of a text in lower case: runs of letters, marks and digits of any script.

    Every other character parts two words. In scripts without spaces each character with its marks
    is a word, or, with `bigrams`, each two that are neighbours (for retrieval). `signs` keeps the
    signs of names such as C++, C#, Na+ and .NET. For ASCII text without signs these are the words
    of the `rouge-score` package.
    """
    plain = unspaced(folded(text))
    parts = _SIGNED.split(plain) if signs else [plain]  # every second part is a word with a sign
    rows = ([part] if at % 2 else part.translate(PARTED).split() for at, part in enumerate(parts))
    if plain.isascii():
        return [word for row in rows for word in row]
    if not bigrams:
        return [word for row in rows for word in characters(row)]
    return [pair for row in rows for word in row for pair in _pairs(word)]


def search_words(text: str) -> list[str]:
    """Return the words by which a text is searched, of any script, in no order.

    Signs are kept (C++), and neighbours come in pairs where a script has no spaces. A single letter
    or digit is none, but for a capital on its own ("vitamin C"), A and I aside.
    """
    every = words(text, signs=True, bigrams=True)
    long = [word for word in every if len(word) > 1 or _UNSPACED.match(word)]
    return long + [capital.lower() for capital in _LONE_CAPITAL.findall(text)]


def characters(tokens: Iterable[str]) -> list[str]:
    """Return the words, those of a script without spaces cut into characters with their marks."""
    cut: list[str] = []
    for word in tokens:
        if word.isascii() or not _UNSPACED.search(word):
            cut.append(word)
            continue
        joins = False
        for place, sign in enumerate(word):
            alone = _UNSPACED.match(sign) is not None
            mark = unicodedata.category(sign)[0] == "M"
            if (mark and place) or (joins and not alone):
                cut[-1] += sign
            else:
                cut.append(sign)
            joins = not alone
    return cut


def _pairs(word: str) -> Iterator[str]:
    if word.isascii():
        yield word
        return
    for single, run in groupby(characters([word]), key=lambda one: bool(_UNSPACED.match(one))):
        row = list(run)
        yield from map("".join, pairwise(row)) if single and len(row) > 1 else row


def unspaced(text: str) -> str:
    """Return the text, in NFC, without white space next to a script without spaces."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _NEXT_TO_UNSPACED.sub("", text))


class _Signs(dict[int, str]):
    def __init__(self, punctuation: str) -> None:
        """Replace punctuation, symbols and control characters by this."""
        super().__init__()
        self._punctuation = punctuation

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        category = unicodedata.category(sign)
        written = sign
        if category == "Cf":
            written = ""
        elif category == "Nd":
            written = str(unicodedata.decimal(sign))
        elif category[0] in "PS" or (self._punctuation and category[0] == "C"):
            written = self._punctuation
        self[code] = written
        return written


DELETED, PARTED = _Signs(""), _Signs(" ")
"""Tables for `str.translate`: punctuation and symbols of any script deleted, or as spaces; digits
of any script as ASCII's."""
_OF_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\u3005\u3007\u3040-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua980-\ua9ff\uaa60-\uaadf\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Tai scripts, Balinese, Javanese, kana and Han."""
_UNSPACED = re.compile(f"[{_OF_UNSPACED}]")
_NEXT_TO_UNSPACED = re.compile(rf"(?<=[{_OF_UNSPACED}])\s+|\s+(?=[{_OF_UNSPACED}])")
_NO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""What Unicode calls default ignorable, and the marks of interlinear annotations."""
_JOINED = re.compile("[\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
"""What goes on with the character before it, marks aside: a joiner, a skin colour, a tag."""
_LONE_CAPITAL = re.compile(r"(?<![\w&'\u2019.])[B-HJ-Z](?!\.?[\w'\u2019+#])")
_MAY_BE_SIGN = re.compile(
    r"[-.+#%*<>~$\u00a3\u00a5\u00b1\u20a0-\u20bf\u2248\u2264\u2265\u266d\u266f]"
    r"(?:(?<![-.])|(?<=-)(?![a-z])|(?<=\.)(?=[a-z]))"
)
_NAME_SIGNS = re.compile(
    r"((?<=[^\W_])(?:\+\++|[+#\u266d\u266f](?![a-z0-9_]))"  # C++, Na+, C#
    r"|(?<=\d)[%$\u00a3\u00a5\u20a0-\u20bf]"  # 5%, 5 euros
    r"|(?<![^\s(\[/])(?:[a-z\u03b1-\u03c9]{1,2}[*-]|[a-z]{1,4}\d+-)(?![\w*-])"  # A*, AB-, NO3-
    r"|(?<![^\s(\[/])[-+<>~\u2264\u2265\u00b1\u2248$\u00a3\u00a5\u20a0-\u20bf]+(?=\.?\d)"  # -5, <5
    r"|(?<![^\s(\[/])\.(?=[a-z]))"  # .NET
)
"""Signs in names in lower case; the word of a sign that is a hyphen elsewhere is in its group."""
_SIGNED = re.compile(
    rf"((?<![^\W{_OF_UNSPACED}])[a-z][a-z0-9]*+(?:\+\+|[+#](?![a-z0-9_]))"
    rf"|(?<![^\s(\[/{_OF_UNSPACED}])\.[a-z][a-z0-9]*)"
)


def safe_name(name: str) -> str:
    """A name as a folder: letters, digits, dot, dash and underscore, never empty or hidden."""
    return re.sub(r"[^\w.-]", "-", name).lstrip(".") or "unnamed"


def squash(text: str) -> str:
    """Return the text without white space, by which passages are compared."""
    return "".join(text.split())


def model_name(identity: str) -> str:
    """Return the name in a model's identity, without the digests of its files and settings."""
    return re.sub(r"[@:][0-9a-f]{8,}.*", "", identity)


def short(text: str, n_characters: int = 60) -> str:
    """The text on one line, cut to so many characters with `...` at its end."""
    line = " ".join(text[: 4 * n_characters].split())
    whole = len(line) <= n_characters and len(text) <= 4 * n_characters
    return line if whole else line[: n_characters - 3] + "..."


def brief(value: object) -> str:
    """A dataclass in under 300 characters: texts cut, collections by their length."""
    every = tuple(getattr(value, "__dataclass_fields__", ()))
    parts = ", ".join(f"{name}={_part(getattr(value, name))}" for name in every)
    return short(f"{type(value).__name__}({parts})", 280)


def _part(value: Any) -> str:
    if hasattr(value, "__len__") and not isinstance(value, str):
        return f"<{len(value)}>"
    return short(repr(value), 60)


def show_briefly(*kinds: type) -> None:
    """Let dataclasses be shown by `brief`, in notebooks and messages."""
    for kind in kinds:
        type.__setattr__(kind, "__repr__", brief)


_TOKEN_END = re.compile(r"[^\W\d_](?=[\s.,;:!?\u3001\u3002\uff0c])")
_AT_ONCE = 50_000
"""Characters, which are 200,000 tokens at most: a token has a byte or more, a character four."""


@lru_cache(maxsize=2)
def _encoder(encoding: Encoding) -> Any:
    import bpe_openai

    return bpe_openai.get_encoding(f"{encoding}_base")


def encodable(text: str) -> str:
    """The text with `?` for every half character (lone surrogate), which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def encode(text: str, encoding: Encoding = "cl100k") -> list[int]:
    """The token ids of a text of any length; special tokens in it are plain text."""
    encoder = _encoder(encoding)
    return [token for part in _parts(_whole(text)) for token in encoder.encode_ordinary(part)]


def _parts(text: str) -> Iterator[str]:
    """Cut a text between two tokens: `bpe_openai` reads 200,000 tokens at a time.

    A token ends between a letter and a space or stop. A word of more than `_AT_ONCE` characters is
    cut anywhere.
    """
    start = 0
    while len(text) - start > _AT_ONCE:
        most = start + _AT_ONCE
        ends = _TOKEN_END.finditer(text, start + 1, most)
        end = max((match.end() for match in ends), default=most)
        yield text[start:end]
        start = end
    yield text[start:]


def decode(tokens: Sequence[int], encoding: Encoding = "cl100k") -> str:
    """The text of token ids; a character cut in two at the ends is left out."""
    return str(_encoder(encoding).decode(list(tokens), errors="ignore"))


def token_spans(text: str, encoding: Encoding = "cl100k") -> list[tuple[int, int]]:
    """Start and end of every token in characters; a character cut in two belongs to both tokens."""
    first = _character_starts(text)
    return [
        (bisect_right(first, start) - 1, bisect_left(first, end))
        for start, end in pairwise(_token_starts(text, encoding))
    ]


def token_cuts(text: str, encoding: Encoding = "cl100k") -> list[int]:
    """Where each token begins, in characters (at most with their marks), and the text's length."""
    starts = _token_starts(text, encoding)
    if text.isascii():
        return starts
    first = _character_starts(text)
    return [_whole_from(text, bisect_right(first, start) - 1) for start in starts]


def _token_starts(text: str, encoding: Encoding) -> list[int]:
    """Where each token begins in bytes, and the number of bytes."""
    tokens = _encoder(encoding).decode_tokens_bytes(encode(text, encoding))
    return list(accumulate(map(len, tokens), initial=0))


def _character_starts(text: str) -> list[int]:
    return list(accumulate((len(char.encode()) for char in _whole(text)), initial=0))


def _whole_from(text: str, place: int) -> int:
    while 0 < place < len(text) and (
        unicodedata.category(text[place])[0] == "M"
        or _JOINED.match(text, place)
        or text[place - 1] == "\u200d"
    ):
        place -= 1
    return place


def count_tokens(text: str, encoding: Encoding = "cl100k") -> int:
    """The number of tokens of a text."""
    return len(encode(text, encoding))


def _whole(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fit(n_tokens: Sequence[int], budget: float) -> int:
    """How many items from the front fit into a budget of tokens, cutting at item boundaries."""
    return bisect_right(list(accumulate(n_tokens)), budget)
