"""What is scored beside the answer itself: its context, a judge's word, its length."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import RunFolder
from graphrag_bench.run.judged import judged_scores
from graphrag_bench.run.scoring import Scoring, question_scores, score

GOLD = {
    "two": Gold(answers=("Ada Marsh", "Marsh"), evidence=("a", "b")),
    "one": Gold(answers=("Norvik",), evidence=("c",)),
}


def row(question: str, status: str = "answered", **more: object) -> dict[str, object]:
    counts = {"calls": 1, "prompt_tokens": 100, "completion_tokens": 10, "steps": {}}
    return {"question": question, "status": status, **counts, **more}


def packed(*pieces: tuple[str, str, int], **documents: list[str]) -> dict[str, object]:
    """Pieces of kind, id and tokens; `documents` by the id of a piece that names some."""
    held = [{"kind": k, "id": i, "score": 1.0, "tokens": n} for k, i, n in pieces]
    named = ({"documents": documents[i]} if i in documents else {} for _, i, _ in pieces)
    return {"pieces": [one | more for one, more in zip(held, named, strict=True)]}


# ---- the context


def test_evidence_counts_in_the_first_tokens_of_the_context_alone() -> None:
    context = packed(("chunk", "a", 60), ("node", "n", 30), ("chunk", "b", 20), n=[])
    tokens = Scoring(evidence_tokens=(50, 90, 110))
    found = question_scores(row("two", context=context), GOLD["two"], tokens)
    assert [found[f"evidence_at_tokens@{n}"] for n in (50, 90, 110)] == [0.0, 0.5, 1.0]


def test_a_row_is_evidence_of_the_documents_that_it_names_and_a_node_of_none_by_its_name() -> None:
    pieces = ("node", "a", 30), ("path", "p", 40), ("chunk", "b", 20)
    context = packed(*pieces, a=[], p=["a", "x"])
    tokens = Scoring(evidence_tokens=(30, 70))
    found = question_scores(row("two", context=context), GOLD["two"], tokens)
    assert found["evidence_in_context"] == 1.0
    assert (found["evidence_at_tokens@30"], found["evidence_at_tokens@70"]) == (0.0, 0.5)
    alone = question_scores(row("two", context=packed(*pieces[:2], a=[], p=["a"])), GOLD["two"])
    assert alone["evidence_in_context"] == 0.5


def test_a_piece_that_names_no_documents_leaves_the_evidence_untold_and_an_empty_one_has_none() -> (
    None
):
    nodes = question_scores(row("two", context=packed(("node", "a", 9))), GOLD["two"])
    assert set(nodes) == {"evidence_cut"}
    empty = question_scores(row("two", context=packed()), GOLD["two"])
    assert empty["evidence_in_context"] == empty["answer_in_context"] == 0.0
    assert empty["evidence_at_tokens@500"] == 0.0


def test_the_answer_and_the_sentences_are_looked_for_in_the_texts_of_the_context() -> None:
    asked = row("q", context=packed(("chunk", "a", 60), ("relationship", "7", 30)))
    gold = Gold(answers=("Ada Marsh",), spans=("Ada Marsh was born in Lund.", "Lund is old."))
    told = {"q": ["Ada Marsh was born in Lund. She left.", "Ada Marsh, left, Lund"]}
    found = question_scores(asked, gold, Scoring(texts=told, evidence_tokens=(50, 60)))
    assert (found["answer_in_context"], found["spans_in_context"]) == (1.0, 0.5)
    assert (found["spans_at_tokens@50"], found["spans_at_tokens@60"]) == (0.0, 0.5)
    assert question_scores(asked, gold) == {}
    one_is_unknown = Scoring(texts={"q": [None, "Ada Marsh, left, Lund"]})
    found = question_scores(asked, gold, one_is_unknown)
    assert (found["answer_in_context"], found["spans_in_context"]) == (1.0, 0.0)


# ---- a judge


def judged(folder: Path, *rows: object) -> RunFolder:
    lines = "".join(json.dumps(one) + "\n" for one in rows)
    (folder / "judged.jsonl").write_text(lines)
    return RunFolder(folder)


def verdict(question: str, value: object, metric: str = "judged_correct") -> dict[str, object]:
    return {"question": question, "metric": metric, "value": value, "model": "any"}


def test_the_last_judgement_of_a_question_counts_and_without_the_file_there_is_none(
    tmp_path: Path,
) -> None:
    assert judged_scores(RunFolder(tmp_path)) == {}
    folder = judged(tmp_path, verdict("one", 0), verdict("two", None), verdict("one", 1))
    assert judged_scores(folder) == {
        "one": {"judged_correct": 1.0},
        "two": {"judged_correct": None},
    }


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"question": "one", "value": 1}, "row 1: question, metric and value are needed"),
        (verdict("one", 2), "row 1: value 2; 0 to 1 or null was expected"),
        (verdict("one", "yes"), "0 to 1 or null"),
        (verdict("one", 1, "accuracy"), "'accuracy' is computed, not judged"),
    ],
)
def test_a_judgement_that_cannot_be_used_is_refused_with_its_place(
    tmp_path: Path, wrong: object, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        judged_scores(judged(tmp_path, wrong))


def test_two_judges_of_one_metric_are_told_apart(tmp_path: Path) -> None:
    folder = judged(
        tmp_path,
        {**verdict("one", 1), "judge": "big"},
        {**verdict("one", 0), "judge": "small"},
        {**verdict("one", 0.5, "faithfulness"), "judge": "big"},
    )
    assert judged_scores(folder) == {
        "one": {
            "judged_correct by big": 1.0,
            "judged_correct by small": 0.0,
            "faithfulness": 0.5,
        }
    }


def test_a_judgement_that_could_not_be_read_is_missing_and_counted_and_never_0() -> None:
    error = {"step": "retrieve.0", "kind": "ZeroDivisionError", "message": "unlucky"}
    rows = [
        row("one", answer="Norvik"),
        row("two", answer="Marsh"),
        row("three", "failed", error=error),
    ]
    said = {"one": {"correct": 1.0}, "two": {"correct": None}, "three": {"correct": None}}
    found = score(rows, GOLD, [], Scoring(judged=said))
    assert found["metrics"]["correct"]["mean"] == 1.0
    assert found["metrics"]["correct"]["n"] == 1
    assert found["missing"] == {"correct": 1}
    assert score(rows, GOLD, [])["missing"] == {}


# ---- the length

NAMES = "Norvik, Lund, Ostra, Ada Marsh, Kessel, Tarn, Brandt, Elm"


def test_a_run_that_names_everything_is_flagged_and_a_short_one_is_not() -> None:
    everything = " and ".join([NAMES] * 3)
    long = score([row("one", answer=everything), row("two", answer=everything)], GOLD, [])
    assert long["metrics"]["accuracy"]["mean"] == 1.0
    assert long["lengths"] == {"answer_words": 29.0, "gold_words": 1.5}
    assert len(long["flags"]) == 1
    assert "29 words on average (gold: 1.5)" in long["flags"][0]
    short = score([row("one", answer="Norvik"), row("two", answer="Ada Marsh")], GOLD, [])
    assert short["flags"] == []


def test_long_answers_that_are_wrong_gain_nothing_and_are_not_flagged() -> None:
    wrong = " ".join(["Kessel"] * 40)
    assert score([row("one", answer=wrong)], GOLD, [])["flags"] == []


def test_long_answers_to_long_gold_answers_are_not_flagged() -> None:
    text = " ".join(f"word{n}" for n in range(40))
    gold = {"q": Gold(answers=(text,))}
    assert score([row("q", answer=f"{text} and more")], gold, [])["flags"] == []


def test_all_of_a_list_of_answers_is_wanted_so_a_long_list_is_no_long_answer() -> None:
    names = [f"Name{n}" for n in range(30)]
    gold = {"q": Gold(answers=tuple(names))}
    rows = [row("q", answer="\n".join(f"ans: {name}" for name in names))]
    assert score(rows, gold, [], Scoring(("accuracy", "kgqa")))["flags"] == []
    assert score(rows, gold, [], Scoring(("accuracy", "f1")))["flags"] != []
