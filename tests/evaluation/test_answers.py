import re
import string
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation import answers, metrics, retrieval
from graphrag_bench.evaluation.answers import Matching, accuracy, exact_match, f1, normalise

UNICODE, SQUAD = Matching(), Matching("squad")
MATCHINGS = [Matching(form, where) for form in ("unicode", "squad")
             for where in ("substring", "token_boundary")]  # fmt: skip
PARTS = (("Ada Marsh", "A. Marsh"), ("Lund",), ("1914",))


def of_squad(text):
    """SQuAD's normalisation, step by step."""
    unmarked = "".join(sign for sign in text.lower() if sign not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", unmarked).split())


@settings(max_examples=100)
@given(st.one_of(st.text(), st.text(alphabet=string.printable)))
def test_the_squad_form_equals_squad(text):
    assert normalise(text, "squad") == of_squad(text)
    plain = UNICODE.normal(text)
    assert plain == " ".join(plain.split())
    assert "".join(UNICODE.tokens(text)) == plain.replace(" ", "")
    if set(text) <= set(string.printable):
        assert normalise(text) == of_squad(text)


def test_the_unicode_form_unites_equivalent_texts():
    for one, other in (
        ("Ｌｕｎｄ　１９１４", "Lund 1914"), ("O\u2019Brien", "O'Brien"),
        ("1914\u20131918", "1914-1918"), ("«Lund»", "Lund"), ("Mu\u0308ller", "Müller"),
        ("STRASSE", "straße"), ("٢٠١٤", "2014"), ("soft\u00adly", "softly"),
        ("नमस्ते।", "नमस्ते"), ("東京、日本", "東京日本"), ("ﬁeld", "field"),
    ):  # fmt: skip
        assert normalise(one) == normalise(other), one
        assert (exact_match(one, [other]), exact_match(one, [other], SQUAD)) == (1.0, 0.0), one
    assert normalise("Schrödinger") != normalise("Schrodinger")
    assert UNICODE.normal("Lund|The  Kessel.") == "lund kessel"  # a bar separates aliases


def test_scripts_without_spaces_are_compared_by_characters():
    assert UNICODE.tokens("日本の首都は Tokyo2 です") == [*"日本の首都は", "tokyo2", "で", "す"]
    assert f1("東京都", ["東京"]) == pytest.approx(2 * (2 / 3) * 1 / (2 / 3 + 1))
    assert SQUAD.tokens("東京 都") == ["東京", "都"]


by_whole_words = partial(accuracy, matching=Matching(containment="token_boundary"))


def test_metrics_by_hand():
    for metric, answer, golds, value in (
        (accuracy, "anything", ["the", "?"], 0), (accuracy, "I know", ["no"], 1),
        (by_whole_words, "I know", ["no"], 0), (by_whole_words, "Oh, no!", ["no"], 1),
        (by_whole_words, "首都は東京です", ["東京"], 1), (exact_match, "Type A.", ["A"], 0),
        (answers.recall_concat, "anything", [], 0),
    ):  # fmt: skip
        assert metric(answer, golds) == pytest.approx(value), answer


BY_ANSWER = (accuracy, exact_match, f1, answers.recall, answers.recall_concat)


def test_gold_that_normalises_to_nothing_is_compared_raw():
    for answer, gold, value in (
     ("a.", "A", 1), ("The The", "the the", 1), ("$", "$", 1), ("A+", "a+", 1), ("¿?", "¿?", 1),
     ("", "A", 0), ("The", "A", 0), ("$", "€", 0), ("A+", "A-", 0), ("", "", 0), ("a1", "A", 0),
    ):  # fmt: skip
        for matching in MATCHINGS:
            assert {metric(answer, [gold], matching) for metric in BY_ANSWER} == {value}, answer


def test_spaces_in_scripts_without_spaces_change_no_metric():
    for answer, gold in (
     ("2014 年", "2014年"), ("東京 タワー", "東京タワー"), ("กรุงเทพ มหานคร", "กรุงเทพมหานคร"),
     ("ວຽງ ຈັນ", "ວຽງຈັນ"), ("ភ្នំ ពេញ", "ភ្នំពេញ"), ("ရန် ကုန်", "ရန်ကုန်"), ("A 型", "a型"),
    ):  # fmt: skip
        for matching in MATCHINGS[:2]:
            for mine, theirs in ((answer, gold), (gold, answer)):
                assert {metric(mine, [theirs], matching) for metric in BY_ANSWER} == {1.0}, answer
        text = [retrieval.ContextItem("chunk", "a", 10, f"... {answer}。")]
        assert retrieval.spans_within(text, [gold], UNICODE) == 1.0, answer
        assert retrieval.answer_within(text, [(gold,)], UNICODE) == 1.0, answer


@settings(max_examples=100)
@given(st.text(min_size=1), st.sampled_from(MATCHINGS))
def test_normalisation_is_idempotent_and_the_gold_is_right(text, matching):
    once = matching.normal(text)
    if matching.form == "unicode":
        assert matching.normal(once) == once
    for metric in BY_ANSWER:
        assert metric("", [text], matching) == 0.0
        if normalise(text, "raw"):
            assert metric(text, [text], matching) == 1.0


def values(name, answer, gold):
    answered = metrics.AnsweredQuestion("Which?", answer, gold, Matching())
    return metrics.metric_values([name], answered)


def test_the_gold_answer_scores_1_and_an_empty_answer_0():
    """A text of one word has no bigram; METEOR has a penalty for its one chunk."""
    for name in metrics.ANSWER_METRICS:
        assert values(name, "Norvik", Gold()) == {}
        long = "Ada Marsh left Lund"
        for text in (long,) if name[-1] == "2" or name == "meteor" else (long, "The", "$"):
            gold = Gold((text,), options=("Kessel", text), correct=1, sub_answers=((text,),))
            right = values(name, f"ans: {text}" if name == "kgqa" else text, gold)
            assert right.pop("option_unread", 0.0) == 0.0
            highest = 1 - 0.5 * (1 / 4) ** 3 if name == "meteor" else 1.0
            assert list(right.values()) == pytest.approx([highest] * len(right))
            wrong = values(name, "", gold)
            assert wrong.pop("option_unread", 1.0) == 1.0
            assert {*wrong.values()} == {0.0}


def test_a_plug_in_may_add_a_metric_and_an_unknown_one_or_no_package_is_refused(monkeypatch):
    loud = metrics.Metric("loud", "answer", "", values=lambda one: {"loud": one.answer.isupper()})
    monkeypatch.setitem(metrics.ANSWER_METRICS, "loud", loud)
    metrics.check_metrics(["loud", "f1", "strrec", "multiple_choice"], "a card")
    assert "loud" in metrics.metric_names(["answer"])
    assert values("loud", "LUND", Gold(("Lund",))) == {"loud": 1.0}
    monkeypatch.setattr(metrics, "find_spec", lambda name: None)
    for name, named in (("rouge", "rouge_"), ("meteor", "nltk")):
        with pytest.raises(UserError, match=named):
            metrics.check_metrics(["f1", name], "a card")
    metrics.check_metrics(["meteor"], "a card", installed=False)


def test_abstentions():
    for answer in (
        "", "Unknown.", "N/A", "I don’t know who that was.", "Insufficient information.",
        "I'm sorry, but I cannot answer that.", "There is not enough information to say.",
        "The context does not mention Ada Marsh.", "ans: not available",
        "Based on the passages given, I could not find the river.",
    ):  # fmt: skip
        assert answers.abstains(answer) == 1.0, answer
    late = "Ada Marsh, whom " + "many " * 25 + "say I do not know."
    for answer in ("No", "None of them but Lund", "The Unknown Soldier", "ans: Lund",
                   "He did not know her.", late):  # fmt: skip
        assert answers.abstains(answer) == 0.0, answer


def test_sub_answers_and_words():
    assert answers.answer_words("") == 0.0
    n_words = [answers.gold_words(["Marsh", "Ada Marsh"], together=of) for of in (False, True)]
    assert n_words == [2.0, 3.0]
    for answer, parts, share in (
        ("A. Marsh left in 1914.", PARTS, 2 / 3), ("1914: Ada Marsh in Lund", PARTS, 1.0),
        ("x", PARTS, 0.0), ("x", (), 0.0),
    ):  # fmt: skip
        found = {"strrec": pytest.approx(share), "strem": share == 1, "strhit": share > 0}
        assert answers.str_scores(answer, parts) == found


def test_the_share_of_answers_in_the_context():
    """Any context may contain yes or no by chance."""
    texts = ("Ada Marsh left.", "It was 1914, no?", None)
    items = [retrieval.ContextItem("chunk", "a", 10, text) for text in texts]
    for wanted, share in (
        ([("Ada Marsh", "Marsh")], 1.0), (PARTS, 2 / 3), ([("arsh",)], 0.0), ([("left it",)], 0.0),
        ([("No", "the")], None), ([("no",), ("Lund",)], 0.0),
    ):  # fmt: skip
        found = retrieval.answer_within(items, wanted, Matching())
        assert found == (share and pytest.approx(share)), wanted


def test_a_question_without_gold_evidence_has_no_score():
    for score, *arguments in (
        (retrieval.evidence_recall, ["a"], [], 5), (retrieval.evidence_cut, ["a"], ["b"], []),
        (retrieval.reciprocal_rank, ["a"], []), (retrieval.ndcg, ["a"], {}, 5),
        (retrieval.spans_within, [], [], Matching()),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="without gold"):
            score(*arguments)
