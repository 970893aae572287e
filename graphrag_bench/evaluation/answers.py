"""Compare an answer with gold answers: accuracy, F1, BLEU and so on, and abstention."""

import re
import string
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, Literal

from graphrag_bench.text import DELETE_PUNCTUATION, fold_case, join_unspaced, split_unspaced, words

NormalForm = Literal["unicode", "squad", "raw"]
Containment = Literal["substring", "token_boundary"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the"})
_WHOLE_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MARKS = ".,;:!?\"'()[]{}“”‘’«»。、，；：！？「」（）"
TRIVIAL = frozenset({"yes", "no", "noanswer"})
"""Normalised answers that any text may contain by chance."""
_NOTHING = frozenset({
    "", "unknown", "none", "n a", "na", "no answer", "noanswer", "not available", "not known",
    "not given", "not mentioned", "not stated", "not specified", "not provided", "unanswerable",
    "no information", "no information available", "no information is available", "ans none",
    "ans unknown", "ans not available", "ans no information available", "cannot answer",
    "cannot be answered", "cannot be determined",
})  # fmt: skip
_REFUSES = re.compile(
    r"\b(?:i|we) (?:do not|don t|did not|didn t|cannot|can not|can t|could not|couldn t|have no|"
    r"am unable to|m unable to|am not able to|m not able to|was unable to) "
    r"(?:know|answer|find|determine|say|tell|see|provide|information)\b"
    r"|\b(?:insufficient|not enough) (?:information|data|context|evidence)\b"
    r"|\b(?:context|passages?|texts?|documents?|data|information|tables?|paths?) "
    r"(?:given |provided )?(?:do|does|did) ?(?:not|n t) "
    r"(?:hold|contain|mention|provide|state|specify|include|say|give|answer|have)\b"
)


def normalise(text: str, form: NormalForm = "unicode") -> str:
    """Return a text in the normalised form in which answers are compared.

    `squad` converts the text to lower case, and deletes ASCII punctuation ("well-known" becomes
    "wellknown") and English articles. `unicode` gives the same result for ASCII text. It also
    applies NFKC and case folding, deletes punctuation and symbols of all scripts, and treats each
    character of a script without spaces as a word. Accents are kept. `raw` is for texts that are
    empty in the other forms. It keeps articles, and strips punctuation only around words.
    Source: the SQuAD evaluation script (Rajpurkar et al. 2016); Zhou et al. 2025, section 7.1; MLQA
    (Lewis et al. 2020).

    >>> normalise("The  Well-known Müller!")
    'wellknown müller'
    """
    if form == "squad":
        text = text.lower().translate(_PUNCTUATION)
        return " ".join(_WHOLE_ARTICLES.sub(" ", text).split())
    if form == "raw":
        words = (word.strip(_MARKS) or word for word in fold_case(text).split())
        return join_unspaced(" ".join(words))
    text = join_unspaced(fold_case(text).translate(DELETE_PUNCTUATION))
    return " ".join(word for word in text.split() if word not in _ARTICLES)


@dataclass(frozen=True)
class Matching:
    """Settings for comparing answers with gold answers."""

    form: NormalForm = "unicode"
    containment: Containment = "substring"

    def normal(self, text: str) -> str:
        """Return the normalised text; `|`, which separates aliases, becomes a space."""
        return normalise(text.replace("|", " "), self.form)

    def tokens(self, text: str) -> list[str]:
        """Return the words of the normalised text."""
        tokens = self.normal(text).split()
        return tokens if self.form == "squad" else split_unspaced(tokens)

    def finder(self, text: str) -> Callable[[str], bool]:
        """Return a function that tells if the normalised text contains a normalised gold answer.

        `substring` compares characters, as the papers do, so that "know" contains "no".
        `token_boundary` compares whole words. If the normalised gold answer is empty, the `raw`
        forms are compared.
        """
        plain, raw = self._compared(text), _spaced(raw_words(text))

        def holds(gold: str) -> bool:
            if wanted := self._compared(gold):
                return wanted in plain
            return bool(words := raw_words(gold)) and _spaced(words) in raw

        return holds

    def _compared(self, text: str) -> str:
        return self.normal(text) if self.containment == "substring" else _spaced(self.tokens(text))


def raw_words(text: str) -> list[str]:
    """Return the words of a text, including articles and words that consist of symbols only."""
    return split_unspaced(normalise(text, "raw").split())


def _spaced(tokens: Sequence[str]) -> str:
    return f" {' '.join(tokens)} " if tokens else ""


DEFAULT = Matching()


def accuracy(answer: str, golds: Sequence[str], matching: Matching = DEFAULT) -> float:
    """Return 1.0 if the normalised answer contains a normalised gold answer, else 0.0.

    Long answers tend to score higher, so look at `answer_words`, too.

    >>> accuracy("It flows into the Grey Sea, I think.", ["grey sea", "Norvik"])
    1.0
    """
    return float(any(map(matching.finder(answer), golds)))


def exact_match(answer: str, golds: Sequence[str], matching: Matching = DEFAULT) -> float:
    """Return 1.0 if the normalised answer equals a normalised gold answer, else 0.0.

    Like all metrics, it compares the `raw` forms if the normalised gold answer is empty ("A", "$").

    >>> exact_match("The Grey Sea.", ["grey sea"])
    1.0
    """
    plain, raw = matching.normal(answer), raw_words(answer)
    return float(any(
        plain == wanted if (wanted := matching.normal(gold)) else raw == raw_words(gold) != []
        for gold in golds
    ))  # fmt: skip


def overlap(answer: str, gold: str, matching: Matching = DEFAULT) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the answer's tokens against one gold answer, in 0..1.

    If one of the two texts is yes, no or noanswer and the other text differs, all values are 0.

    >>> overlap("It was Ada Marsh", "Ada Marsh")
    (0.5, 1.0, 0.6666666666666666)
    """
    mine, theirs = matching.tokens(answer), matching.tokens(gold)
    if not theirs:
        mine, theirs = raw_words(answer), raw_words(gold)
    shared = sum((Counter(mine) & Counter(theirs)).values())
    if not shared or (mine != theirs and {" ".join(mine), " ".join(theirs)} & TRIVIAL):
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(mine), shared / len(theirs)
    return precision, recall, 2 * precision * recall / (precision + recall)


def recall(answer: str, golds: Sequence[str], matching: Matching = DEFAULT) -> float:
    """Return the highest token recall over the gold answers, in 0..1.

    >>> recall("Ada", ["Lund", "Ada Marsh"])
    0.5
    """
    return max((overlap(answer, gold, matching)[1] for gold in golds), default=0.0)


def recall_concat(answer: str, golds: Sequence[str], matching: Matching = DEFAULT) -> float:
    """Return the token recall against all gold answers and aliases, joined into one text, in 0..1.

    Source: inferred from Zhou et al. 2025, whose recall on PopQA is far below their accuracy.

    >>> recall_concat("It was Marsh", ["Ada Marsh", "Marsh"])
    0.3333333333333333
    """
    return overlap(answer, " ".join(golds), matching)[1] if golds else 0.0


def f1(answer: str, golds: Sequence[str], matching: Matching = DEFAULT) -> float:
    """Return the highest token F1 over the gold answers, in 0..1.

    >>> round(f1("It was Ada Marsh", ["Lund", "Ada Marsh"]), 3)
    0.667
    """
    return max((overlap(answer, gold, matching)[2] for gold in golds), default=0.0)


def str_scores(
    answer: str, sub_answers: Sequence[Sequence[str]], matching: Matching = DEFAULT
) -> dict[str, float]:
    """Return the metrics of ALCE: `strrec`, `strem` and `strhit`, each in 0..1.

    A sub-answer is found if the normalised answer contains one of its aliases. `strrec` is the
    fraction of found sub-answers. `strem` is 1 if all are found, and `strhit` is 1 if any is found.
    The code of Zhou et al. calls STRREC `str_em` and STREM `str_hit`.
    Source: ALCE (Gao et al. 2023), on the short answers of ASQA; Zhou et al. 2025.

    >>> str_scores("A. Marsh left in 1914.", [["Ada Marsh", "A. Marsh"], ["Lund"]])
    {'strrec': 0.5, 'strem': 0.0, 'strhit': 1.0}
    """
    holds = matching.finder(answer)
    hits = [any(holds(alias) for alias in aliases) for aliases in sub_answers]
    share = sum(hits) / max(len(hits), 1)
    return {"strrec": share, "strem": float(share == 1), "strhit": float(share > 0)}


def answer_words(answer: str) -> float:
    """Return the number of words, including articles; each Chinese character counts as a word.

    >>> answer_words("It is the well-known Ada Marsh.")
    7.0
    """
    return float(len(words(answer)))


def gold_words(golds: Sequence[str], *, together: bool = False) -> float:
    """Return the number of words in the longest gold answer; if `together`, in all gold answers."""
    counts = [len(words(gold)) for gold in golds]
    return float(sum(counts) if together else max(counts, default=0))


def abstains(answer: str) -> float:
    """Return 1.0 if an answer abstains or is empty, else 0.0.

    It abstains if its first 25 words contain an English phrase such as "I do not know" or "the
    context does not mention", or if it only says "unknown" or something similar.

    >>> abstains("I don't know who that was."), abstains("He did not know her.")
    (1.0, 0.0)
    """
    tokens = words(answer)
    refusal = _REFUSES.search(" ".join(tokens[:25]))
    return float(" ".join(tokens) in _NOTHING or refusal is not None)


# The following metrics split texts into lower-case words, and need the extra `metrics`.
_NO_SYNONYMS = SimpleNamespace(synsets=lambda word: [])
"""Replacement for WordNet that has no synonyms."""


def _tokens(text: str) -> list[str]:
    return words(text) or raw_words(text)


def bleu(answer: str, golds: Sequence[str], order: int) -> float:
    """Return cumulative BLEU for n-grams up to this order, in 0..1.

    If no n-gram of some length matches, 0.1 matches are counted (method 1 of Chen & Cherry 2014).
    The score is 0 if the answer has fewer words than `order`.
    Source: Papineni et al. 2002, computed by sacrebleu.
    """
    references = [" ".join(tokens) for gold in golds if (tokens := _tokens(gold))]
    if not references:
        return 0.0
    from sacrebleu.metrics import BLEU

    metric = BLEU(
        max_ngram_order=order, smooth_method="floor", smooth_value=0.1, tokenize="none",
        effective_order=False, force=True,
    )  # fmt: skip
    text = " ".join(_tokens(answer))
    return float(metric.corpus_score([text], [[one] for one in references]).score) / 100


def rouge(answer: str, golds: Sequence[str], kind: str) -> float:
    """Return the highest ROUGE F1 over the gold answers: `rouge1`, `rouge2` or `rougeL`.

    Words are not stemmed. As in SQuALITY, the maximum over the gold answers is used.
    Source: Lin 2004, computed by rouge-score.
    """
    from absl import logging
    from rouge_score.rouge_scorer import RougeScorer

    # absl keeps the stderr from its import and closes it when logging is configured again, which in
    # a test or a notebook would close a stream that is still in use
    logging.get_absl_handler().python_handler.stream = sys.__stderr__
    scorer = RougeScorer([kind], use_stemmer=False, tokenizer=SimpleNamespace(tokenize=_tokens))
    return max((float(scorer.score(gold, answer)[kind].fmeasure) for gold in golds), default=0.0)


@lru_cache(maxsize=1)
def _wordnet() -> Any:
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return _NO_SYNONYMS
    return wordnet


def meteor(answer: str, golds: Sequence[str]) -> float:
    """Return the highest METEOR over the gold answers, with exact and stem matches.

    If WordNet is installed, synonyms also match, which changes the values.
    Source: Lavie & Agarwal 2007, computed by nltk (alpha 0.9, beta 3, gamma 0.5).
    """
    from nltk.translate.meteor_score import meteor_score

    references = [tokens for gold in golds if (tokens := _tokens(gold))]
    if not references:
        return 0.0
    return float(meteor_score(references, _tokens(answer), wordnet=_wordnet()))


def package_note(package: str) -> str:
    """Return name and version of a metric's package; for METEOR, also which words match."""
    release = f"{package} {version(package)}"
    if package != "nltk":
        return release
    synonyms = "no synonyms (no WordNet data)" if _wordnet() is _NO_SYNONYMS else "synonyms"
    return f"{release}, METEOR by exact words, stems, {synonyms}"
