"""Compare an answer with reference texts: BLEU, ROUGE and METEOR, in 0..1.

Texts are split into lower-case words by `graphrag_bench.text.words`. The packages that compute the
metrics are installed with pip install 'graphrag-bench[metrics]'.
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
        max_ngram_order=order, smooth_method="floor", smooth_value=_FLOOR, tokenize="none",
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


def notes(package: str) -> str:
    """Return name and version of a metric's package; for METEOR, also which words match."""
    release = f"{package} {version(package)}"
    if package != "nltk":
        return release
    synonyms = "no synonyms (no WordNet data)" if _wordnet() is _NO_SYNONYMS else "synonyms"
    return f"{release}, METEOR by exact words, stems, {synonyms}"
