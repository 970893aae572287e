"""Answers against reference texts: BLEU, ROUGE and METEOR over the same words.

The words are those of `words`: lower case, any script; a text of signs alone has these. Each value
is of one answer, its mean is over questions, in 0..1; several gold answers are several references.
The packages are the extra `metrics`: pip install 'graphrag-bench[metrics]'.
"""

import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from graphrag_bench.evaluation.answers import raw_words
from graphrag_bench.text import words

_FLOOR = 0.1
_NO_SYNONYMS = SimpleNamespace(synsets=lambda word: [])
"""A WordNet that knows no word."""


def _tokens(text: str) -> list[str]:
    return words(text) or raw_words(text)


def bleu(answer: str, golds: Sequence[str], order: int) -> float:
    """Return cumulative BLEU up to n-grams of this order, in 0..1; 0 when no word is shared.

    An n-gram order without a match counts 0.1 matches (smoothing method 1 of Chen & Cherry 2014);
    an answer with fewer words than `order` has 0. Source: Papineni et al. 2002, by sacrebleu.
    """
    references = [" ".join(tokens) for gold in golds if (tokens := _tokens(gold))]
    if not references:
        return 0.0
    text = " ".join(_tokens(answer))
    return float(_bleu(order).corpus_score([text], [[one] for one in references]).score) / 100


@lru_cache(maxsize=4)
def _bleu(order: int) -> Any:
    from sacrebleu.metrics import BLEU

    return BLEU(
        max_ngram_order=order, smooth_method="floor", smooth_value=_FLOOR, tokenize="none",
        effective_order=False, force=True,
    )  # fmt: skip


def rouge(answer: str, golds: Sequence[str], kind: str) -> float:
    """Return F1 of `rouge1`, `rouge2` or `rougeL`, the best over the golds, in 0..1; no stemming.

    Source: Lin 2004, by rouge-score; the best over references as SQuALITY is scored.
    """
    scorer = _rouge_scorer(kind)
    return max((float(scorer.score(gold, answer)[kind].fmeasure) for gold in golds), default=0.0)


@lru_cache(maxsize=4)
def _rouge_scorer(kind: str) -> Any:
    from absl import logging
    from rouge_score.rouge_scorer import RougeScorer

    # rouge-score brings a log handler for what is in stderr's place at import, and
    # the handler would close that, a test's or a notebook's, when logging is set up again
    logging.get_absl_handler().python_handler.stream = sys.__stderr__
    return RougeScorer([kind], use_stemmer=False, tokenizer=SimpleNamespace(tokenize=_tokens))


@lru_cache(maxsize=1)
def _wordnet() -> Any:
    """The installed WordNet; one that knows no word where nltk has no data for it."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return _NO_SYNONYMS
    return wordnet


def meteor(answer: str, golds: Sequence[str]) -> float:
    """Return METEOR with exact and stem matches, and synonyms where WordNet is installed.

    The best over the gold answers, in 0..1; `notes` says which modules were used, for values with
    and without synonyms do not compare. Source: Lavie & Agarwal 2007, by nltk (alpha 0.9, beta 3,
    gamma 0.5).
    """
    from nltk.translate.meteor_score import meteor_score

    references = [tokens for gold in golds if (tokens := _tokens(gold))]
    if not references:
        return 0.0
    return float(meteor_score(references, _tokens(answer), wordnet=_wordnet()))


def notes(package: str) -> str:
    """Return the package and version that a metric is computed by, and of METEOR the modules."""
    release = f"{package} {version(package)}"
    if package != "nltk":
        return release
    without = _wordnet() is _NO_SYNONYMS
    modules = "no synonyms (no WordNet data)" if without else "synonyms"
    return f"{release}, METEOR by exact words, stems, {modules}"
