"""Names, words and tokens: normalise entity names, split texts into words, count tokens."""

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, groupby, pairwise
from typing import Any, Literal, TypeVar

Encoding = Literal["cl100k", "o200k"]
T = TypeVar("T")

_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
"""Normalised form of each ASCII character."""
_OF_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\u3005\u3007\u3040-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua980-\ua9ff\uaa60-\uaadf\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Unspaced scripts: Thai, Lao, Tibetan, Burmese, Khmer, Tai, Balinese, Javanese, kana and Han."""
_UNSPACED = re.compile(f"[{_OF_UNSPACED}]")
_NEXT_TO_UNSPACED = re.compile(rf"(?<=[{_OF_UNSPACED}])\s+|\s+(?=[{_OF_UNSPACED}])")
_NO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that Unicode ignores by default, and marks of interlinear annotations."""
_JOINED = re.compile("[\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
"""Characters that extend the previous character: joiners, skin colours and tags."""
_LONE_CAPITAL = re.compile(r"(?<![\w&'\u2019.])[B-HJ-Z](?!\.?[\w'\u2019+#])")
_MAY_BE_SIGN = re.compile(
    r"[-.+#%*<>~$\u00a3\u00a5\u00b1\u20a0-\u20bf\u2248\u2264\u2265\u266d\u266f]"
    r"(?:(?<![-.])|(?<=-)(?![a-z])|(?<=\.)(?=[a-z]))"
)
_NAME_SIGNS = re.compile(
    r"((?<=[^\W_])(?:\+\++|[+#\u266d\u266f](?![a-z0-9_]))"  # C++, Na+, C#
    r"|(?<=\d)[%$\u00a3\u00a5\u20a0-\u20bf]"  # 5%, 5 euros
    r"|(?<![^\s(\[/])(?:[a-z\u03b1-\u03c9]{1,2}[*-]|[a-z]{1,4}\d+-)(?![\w*-])"  # A*, AB-, NO3-
    r"|(?<![^\s(\[/])[-+<>~\u2264\u2265\u00b1\u2248$\u00a3\u00a5\u20a0-\u20bf]+\.?(?=\d)"  # -5, <.5
    r"|(?<![^\s(\[/])\.(?=[a-z]))"  # .NET
)
"""Symbols in lower-case names. In AB- and A*, the match also includes the letters."""
_SIGNED = re.compile(
    rf"((?<![^\W{_OF_UNSPACED}])[a-z][a-z0-9]*+(?:\+\+|[+#](?![a-z0-9_]))"
    rf"|(?<![^\s(\[/{_OF_UNSPACED}])\.[a-z][a-z0-9]*)"
)
_NOTHING = frozenset(
    {"none", "n/a", "n.a", "null", "unknown", "not applicable", "not available", "not specified",
     "unspecified", "no entity", "no entities", "-", "--", "–", "—"}
)  # fmt: skip
_TOKEN_END = re.compile(r"[^\W\d_](?=[\s.,;:!?\u3001\u3002\uff0c])")
"""A letter before a space or punctuation mark. A token always ends after this letter."""
_AT_ONCE = 50_000
"""Number of characters that are encoded at a time, because `bpe_openai` accepts 200,000 tokens."""


def normalise_name(name: str) -> str:
    """Return the normal form of an entity name: case-folded letters and digits of any script.

    HTML entities are decoded. Symbols that distinguish names are kept, as in C++, C#, Na+, -5, <5,
    5%, $5 and .NET. Any other character becomes a space, as in AT&T.
    """
    text = fold_case(html.unescape(name)).replace("\u2212", "-")
    # every second part is a symbol, which is kept
    parts = _NAME_SIGNS.split(text) if _MAY_BE_SIGN.search(text) else [text]
    parts[::2] = map(_bare, parts[::2])
    return " ".join("".join(parts).split())


def unsigned_name(name: str) -> str:
    """Return the normal form of a name without symbols, as in HippoRAG's code."""
    return " ".join(_bare(fold_case(html.unescape(name))).split())


def _bare(text: str) -> str:
    if text.isascii():
        return text.translate(_ASCII)
    return "".join(char if unicodedata.category(char)[0] in "LNM" else " " for char in text)


def is_placeholder_name(name: str) -> bool:
    """Return whether a name is a placeholder, such as "(None)", "N/A", "unknown" or "-"."""
    return name.strip(" \t\n\"'`*().[]<>").casefold() in _NOTHING


def fold_case(text: str) -> str:
    """Return the text case-folded, in NFKC and without zero-width characters."""
    if text.isascii():
        return text.lower()
    seen = unicodedata.normalize("NFKC", drop_invisible(text))
    return unicodedata.normalize("NFKC", seen.casefold())


def drop_invisible(text: str) -> str:
    """Return the text without zero-width characters, which do not separate words."""
    return text if text.isascii() else _NO_WIDTH.sub("", text)


def words(text: str, *, signs: bool = False, bigrams: bool = False) -> list[str]:
    """Return the words of a text in lower case: runs of letters, marks and digits of any script.

    In scripts without spaces, words are single characters with their marks, or pairs of adjacent
    characters if `bigrams`. If `signs`, the symbols of names such as C++, C# and .NET are kept.
    Otherwise, the words of ASCII text are the same as in the `rouge-score` package.
    """
    plain = join_unspaced(fold_case(text))
    parts = _SIGNED.split(plain) if signs else [plain]  # every second part has a symbol
    found: list[str] = []
    for at, part in enumerate(parts):
        found += [part] if at % 2 else part.translate(PUNCTUATION_TO_SPACES).split()
    if plain.isascii():
        return found
    return [pair for word in found for pair in _pairs(word)] if bigrams else split_unspaced(found)


def search_words(text: str) -> list[str]:
    """Return `words(text, signs=True, bigrams=True)`, in no particular order.

    Single letters and digits are dropped, except capitals other than A and I ("vitamin C").
    """
    every = words(text, signs=True, bigrams=True)
    long = [word for word in every if len(word) > 1 or _UNSPACED.match(word)]
    return long + [capital.lower() for capital in _LONE_CAPITAL.findall(text)]  # "vitamin C"


def split_unspaced(tokens: Iterable[str]) -> list[str]:
    """Split words of scripts without spaces, e.g. Chinese, into characters. Keep other words."""
    cut: list[str] = []
    for word in tokens:
        if word.isascii() or not _UNSPACED.search(word):
            cut.append(word)
            continue
        joins = False
        for place, sign in enumerate(word):
            alone = _UNSPACED.match(sign) is not None
            if (place and unicodedata.category(sign)[0] == "M") or (joins and not alone):
                cut[-1] += sign
            else:
                cut.append(sign)
            joins = not alone
    return cut


def _pairs(word: str) -> Iterator[str]:
    if word.isascii():
        yield word
        return
    for single, run in groupby(split_unspaced([word]), key=lambda one: bool(_UNSPACED.match(one))):
        row = list(run)
        yield from map("".join, pairwise(row)) if single and len(row) > 1 else row


def join_unspaced(text: str) -> str:
    """Remove spaces next to characters of scripts without spaces, and return the text in NFC."""
    return text if text.isascii() else unicodedata.normalize("NFC", _NEXT_TO_UNSPACED.sub("", text))


class _Signs(dict[int, str]):
    def __init__(self, punctuation: str) -> None:
        self._punctuation = punctuation

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        match unicodedata.category(sign):
            case "Cf":
                sign = ""
            case "Nd":
                sign = str(unicodedata.decimal(sign))
            case other if other[0] in "PS" or (self._punctuation and other[0] == "C"):
                sign = self._punctuation
        self[code] = sign
        return sign


DELETE_PUNCTUATION, PUNCTUATION_TO_SPACES = _Signs(""), _Signs(" ")
"""Tables for `str.translate` that delete punctuation and symbols of any script, or replace them by
spaces. Digits of any script become ASCII digits."""


def safe_name(name: str) -> str:
    """Return a valid folder name: only letters, digits, dots, dashes and underscores."""
    return re.sub(r"[^\w.-]", "-", name).lstrip(".") or "unnamed"


def without_spaces(text: str) -> str:
    """Return the text without white space. Passages are compared in this form."""
    return "".join(text.split())


def model_name(identity: str) -> str:
    """Return the name in a model's identity, without the digests of files and settings."""
    return re.sub(r"[@:][0-9a-f]{8,}.*", "", identity)


def short(text: str, n_characters: int = 60) -> str:
    """Return the text on one line, cut to `n_characters` with a final `...`."""
    line = " ".join(text[: 4 * n_characters].split())
    whole = len(line) <= n_characters and len(text) <= 4 * n_characters
    return line if whole else line[: n_characters - 3] + "..."


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, e.g. "1 token" or "2 tokens"."""
    return f"{n} {noun}" + "s" * (n != 1)


def brief(value: object) -> str:
    """Return a short `repr` of a dataclass. Long texts are cut. Collections show their size."""
    parts = []
    for name in getattr(value, "__dataclass_fields__", ()):
        of = getattr(value, name)
        sized = hasattr(of, "__len__") and not isinstance(of, str)
        parts.append(f"{name}=<{len(of)}>" if sized else f"{name}={short(repr(of), 60)}")
    return short(f"{type(value).__name__}({', '.join(parts)})", 280)


def show_briefly(kind: type[T]) -> type[T]:
    """Make `brief` the `repr` of a dataclass."""
    type.__setattr__(kind, "__repr__", brief)
    return kind


@lru_cache(maxsize=2)
def _encoder(encoding: Encoding) -> Any:
    import bpe_openai

    return bpe_openai.get_encoding(f"{encoding}_base")


def encodable(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot encode, replaced by `?`."""
    return text.encode("utf-8", "replace").decode()


def encode(text: str, encoding: Encoding = "cl100k") -> list[int]:
    """Return the token ids of a text. Names of special tokens are encoded as plain text."""
    encoder, text, start, tokens = _encoder(encoding), _whole(text), 0, list[int]()
    while len(text) - start > _AT_ONCE:
        ends = _TOKEN_END.finditer(text, start + 1, start + _AT_ONCE)
        end = max((match.end() for match in ends), default=start + _AT_ONCE)
        tokens += encoder.encode_ordinary(text[start:end])
        start = end
    tokens += encoder.encode_ordinary(text[start:])
    return tokens


def decode(tokens: Sequence[int], encoding: Encoding = "cl100k") -> str:
    """Return the text of token ids, without partial characters at the start and the end."""
    return str(_encoder(encoding).decode(list(tokens), errors="ignore"))


def token_spans(text: str, encoding: Encoding = "cl100k") -> list[tuple[int, int]]:
    """Return the (start, end) of each token in characters. Two tokens may share a character."""
    first = _character_starts(text)
    pairs = pairwise(_token_starts(text, encoding))
    return [(bisect_right(first, start) - 1, bisect_left(first, end)) for start, end in pairs]


def token_cuts(text: str) -> list[int]:
    """Return token starts in characters, and the length of the text. Marks are not split off."""
    starts = _token_starts(text, "cl100k")
    if text.isascii():
        return starts
    first, cuts = _character_starts(text), []
    for start in starts:
        place = bisect_right(first, start) - 1
        while 0 < place < len(text) and (
            text[place - 1] == "\u200d"
            or _JOINED.match(text, place)
            or unicodedata.category(text[place])[0] == "M"
        ):
            place -= 1
        cuts.append(place)
    return cuts


def _token_starts(text: str, encoding: Encoding) -> list[int]:
    tokens = _encoder(encoding).decode_tokens_bytes(encode(text, encoding))
    return list(accumulate(map(len, tokens), initial=0))


def _character_starts(text: str) -> list[int]:
    return list(accumulate((len(char.encode()) for char in _whole(text)), initial=0))


def count_tokens(text: str, encoding: Encoding = "cl100k") -> int:
    """Return the number of tokens of a text."""
    return len(encode(text, encoding))


def _whole(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def n_fitting(n_tokens: Sequence[int], budget: float) -> int:
    """Return how many items, added in order, fit into a token budget."""
    return bisect_right(list(accumulate(n_tokens)), budget)
