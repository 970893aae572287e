import random
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from test_answers import of_squad as normalise

from graphrag_bench.evaluation import answers
from graphrag_bench.evaluation.answers import bleu, exact_match, f1, meteor, overlap, rouge
from graphrag_bench.evaluation.retrieval import evidence_recall, ndcg, reciprocal_rank
from graphrag_bench.evaluation.statistics import RESAMPLES, mean_with_interval

pytestmark = pytest.mark.slow

CASES = 100
some = st.sampled_from(
    ["the", "The", "a", "cat", "cats", "sat", "Sat", "sitting", "on", "mat,", "mat.", "yes", "no",
     "noanswer", "New", "York", "U.S.A.", "1914"]
)  # fmt: skip
texts = st.lists(some, max_size=9).map(" ".join)
golds = st.lists(texts, min_size=1, max_size=3)


@pytest.fixture(scope="module", autouse=True)
def _streams_stay_open():
    """Import rouge-score before pytest captures stderr, to which it logs."""
    rouge("a", ["a"], "rouge1")


def squad_f1(prediction, truth):
    mine, theirs = normalise(prediction).split(), normalise(truth).split()
    n_same = sum((Counter(mine) & Counter(theirs)).values())
    precision, recall = n_same / max(len(mine), 1), n_same / max(len(theirs), 1)
    return 2 * precision * recall / (precision + recall) if n_same else 0.0


@settings(max_examples=CASES)
@given(texts, golds)
def test_exact_match_and_f1_are_those_of_squad_and_hotpotqa(answer, wanted):
    """HotpotQA's F1 is 0 if one of two different texts is yes, no or noanswer."""
    wanted = [gold for gold in wanted if normalise(gold)]  # SQuAD's script deletes the others
    same = [normalise(answer) == normalise(gold) for gold in wanted]
    assert exact_match(answer, wanted) == max(same, default=False)
    of_hotpotqa = [0.0]
    for gold, equal in zip(wanted, same, strict=True):
        special = {normalise(answer), normalise(gold)} & {"yes", "no", "noanswer"}
        of_hotpotqa.append(0.0 if special and not equal else squad_f1(answer, gold))
        assert special or overlap(answer, gold)[2] == squad_f1(answer, gold)
    assert f1(answer, wanted) == max(of_hotpotqa)


@settings(max_examples=CASES)
@given(texts, golds, st.sampled_from([1, 2]))
def test_bleu_is_that_of_nltk_with_smoothing_method_1(answer, wanted, order):
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from rouge_score.tokenize import tokenize

    mine = tokenize(answer, None)
    theirs = [result for gold in wanted if (result := tokenize(gold, None))]
    result = bleu(answer, wanted, order)
    if len(mine) < order or not theirs:
        assert result == 0.0
        return
    weights = (1.0,) if order == 1 else (0.5, 0.5)
    smooth = SmoothingFunction().method1
    assert result == pytest.approx(sentence_bleu(theirs, mine, weights, smooth), abs=1e-9)


def test_rouge_and_meteor_by_hand(monkeypatch):
    """METEOR of two words in one chunk is 1 - 0.5 * (1 / 2) ** 3, in two chunks 1 - 0.5."""
    assert rouge("the cat sat", ["a dog", "the cat"], "rougeL") == pytest.approx(0.8)
    assert rouge("東京 都", ["東京"], "rouge1") == pytest.approx(2 * (2 / 3) * 1 / (2 / 3 + 1))
    monkeypatch.setattr(answers, "_wordnet", lambda: answers._NO_SYNONYMS)
    results = [meteor(text, ["cat sat"]) for text in ("cats sat", "sat cats", "feline")]
    assert results == pytest.approx([0.9375, 0.5, 0.0])


def test_rank_metrics_are_those_of_trec_eval():
    from pytrec_eval import RelevanceEvaluator

    draw = random.Random(0)
    documents = [f"d{n}" for n in range(12)]
    result = {f"q{n:03}": draw.sample(documents, draw.randint(1, 12)) for n in range(CASES)}
    wanted = {name: {d: draw.randint(1, 3)
                     for d in draw.sample([*documents, "lost"], draw.randint(1, 6))}
              for name in result}  # fmt: skip
    zeros = {name: dict.fromkeys(draw.sample(documents, 3), 0) for name in result}
    metrics = ["recip_rank", "ndcg_cut_2", "ndcg_cut_5", "ndcg_cut_10", "recall_5"]
    judged = {name: zeros[name] | grades for name, grades in wanted.items()}
    scored = {name: {d: 1.0 - r / 100 for r, d in enumerate(of)} for name, of in result.items()}
    theirs = RelevanceEvaluator(judged, metrics).evaluate(scored)
    for name in result:
        ours = [
            reciprocal_rank(result[name], [*wanted[name]]),
            *(ndcg(result[name], wanted[name], k) for k in (2, 5, 10)),
            evidence_recall(result[name], [*wanted[name]], 5),
        ]
        assert ours == pytest.approx([theirs[name][metric] for metric in metrics], abs=1e-9)


def test_the_interval_is_scipys_percentile_bootstrap():
    sample = np.random.default_rng(0).binomial(1, 0.3, 60).astype(float)
    theirs = scipy.stats.bootstrap(
        (sample,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    ours = mean_with_interval(sample.tolist())
    assert (ours.low, ours.high) == (round(theirs.low, 6), round(theirs.high, 6))
