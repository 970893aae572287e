"""Questions of facts are English; the language of a corpus is told by its frequent words."""

import pytest

from graphrag_bench.questions.generated import is_english

ENGLISH = "Ada built a mill in the town that was named for the river, and sold it to a friend. " * 9
GERMAN = (
    "Ada baute eine Mühle in der Stadt, die nach dem Fluss benannt war, und verkaufte sie. " * 9
)
HINDI = "अदा ने उस शहर में एक चक्की बनाई जिसका नाम नदी के नाम पर रखा गया था। " * 9


@pytest.mark.parametrize(("text", "english"), [(ENGLISH, True), (GERMAN, False), (HINDI, False)])
def test_a_corpus_is_english_or_not(text: str, english: bool) -> None:
    assert is_english([text]) == english


def test_few_words_say_nothing() -> None:
    assert is_english(["Ada baute eine Mühle."])
