"""Tables tell their rows apart, and no text of a corpus or model can break them."""

from collections.abc import Mapping
from typing import Any

import pytest

from graphrag_bench.report.rendering import MISSING, Table, show
from graphrag_bench.report.rows import in_table_order, verified_notes
from graphrag_bench.report.tables import cost_table, run_table

NASTY = "[bold]a[/red] | b\n<script>alert(1)</script> `x` \\ \x1b[2J\r\u202e"
MEAN = {"mean": 0.25, "low": 0.0, "high": 0.5, "n": 4}


def run(title: str = "VanillaRAG", **fields: Any) -> dict[str, Any]:
    """What `metrics.json` holds of a run of four questions."""
    stored = {
        "title": title, "role": "", "profile": "default", "fidelity": "default",
        "dataset": "toy", "key": "0123456789ab", "limit": None,
        "answer": "on", "n": 4, "selected": 4, "failed": 0, "answered": 4, "errors": [],
        "rates": {},
        "metrics": {"evidence_recall@2": MEAN, "accuracy": MEAN, "f1": MEAN, "exact_match": MEAN},
        "usage": {"tokens_per_question": 10.0, "context_tokens_per_question": 0.0},
        "cost": {"steps": {}, "mixed": False}, "estimate": {}, "settings": {}, "llm": "model",
        "llm_build": "", "embedder": "hashing", "extraction": "", "extraction_statistics": {},
        "commit": "abc", "tokenizer": "cl100k",
    }  # fmt: skip
    return stored | fields


def with_context(title: str, n_tokens: float, **fields: Any) -> dict[str, Any]:
    usage = {**run()["usage"], "context_tokens_per_question": n_tokens}
    return run(title, usage=usage, **fields)


def titles(*runs: Mapping[str, Any]) -> list[str]:
    return [str(one["title"]) for one in in_table_order(runs)]


def test_a_method_that_is_not_wholly_verified_is_marked_and_the_note_names_it() -> None:
    doubted = run("HopRAG", method="hoprag", verified="false")
    partly = run("DRIFT", method="drift", verified="partly")
    whole = run("BM25", method="bm25", verified="true")
    assert titles(doubted, partly, whole, run()) == [
        "HopRAG (?)", "DRIFT (?)", "BM25", "VanillaRAG",
    ]  # fmt: skip
    (note,) = verified_notes([doubted, partly, whole, run()])
    assert note.endswith("drift (verified: partly), hoprag (verified: false)")
    assert not list(verified_notes([whole, run()]))


def test_runs_of_one_title_say_in_what_they_differ_steps_only_when_nothing_else_does() -> None:
    rows = [run("oracle", role="ceiling"), run(), run(dataset="sample")]
    assert titles(*rows) == ["toy: VanillaRAG", "toy: oracle", "sample: VanillaRAG"]
    one, two = (
        run(settings={"method.damping": n, "method.retrieve.1.damping": n, "seed": 0})
        for n in (0.3, 0.5)
    )
    assert titles(one, two) == ["VanillaRAG damping=0.3", "VanillaRAG damping=0.5"]
    assert titles(run(llm="a"), run(llm="b")) == ["VanillaRAG llm=a", "VanillaRAG llm=b"]
    one, two = (run(settings={"method.retrieve.1.damping": n}) for n in (0.3, 0.5))
    assert titles(one, two)[0] == "VanillaRAG retrieve.1.damping=0.3"
    assert titles(run(key="aa"), run(key="bb")) == ["VanillaRAG aa", "VanillaRAG bb"]


def test_a_mean_has_its_interval_and_a_metric_that_nobody_has_is_missing() -> None:
    both = [run(metrics={"accuracy": MEAN}), run("A", metrics={"accuracy": MEAN, "f1": MEAN})]
    table = run_table(both)
    assert table.rows[0][:3] == ("VanillaRAG", "4", "0")
    assert "0.250" in table.rows[0]
    f1 = [row[table.heads.index("F1 [95 %]")] for row in table.rows]
    assert f1 == [MISSING, "0.250"]
    assert "EM [95 %]" not in table.heads


def test_tokens_of_the_context_and_evidence_cut_from_it_have_columns_where_there_are_any() -> None:
    packed = with_context("packed", 1834.4, metrics={"evidence_cut": MEAN})
    table = run_table([run("closed-book", role="floor"), packed])
    at = table.heads.index("cut [95 %]")
    assert table.heads[at + 1] == "context"
    cells = [row[at : at + 2] for row in table.rows]
    assert cells == [(MISSING, MISSING), ("0.250", "1834")]
    assert "context" not in run_table([run()]).heads


def test_no_text_breaks_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show(Table(NASTY, ("method", NASTY), ((NASTY, "1"), ("plain", NASTY)), (NASTY,)))
    out = capsys.readouterr().out
    assert "[bold]a[/red] | b" in out
    assert not {"\x1b", "\r", "\u202e"} & set(out)
    bordered = [line for line in out.splitlines() if line.startswith(("┏", "│", "└"))]
    assert len({len(line) for line in bordered}) == 1


def test_a_cost_table_names_what_was_paid_and_what_was_cached() -> None:
    part = {"calls": 2, "prompt_tokens": 1200, "completion_tokens": 30, "usd": 0.5,
            "seconds": 1.0, "retries": 1}  # fmt: skip
    step = {"paid": part, "cached": part, "truncated": 3}
    (row,) = cost_table([run(cost={"steps": {"generate.0 x": step}, "mixed": False})]).rows
    assert row[:2] == ("VanillaRAG", "generate.0 x")
    assert "1,200 + 30" in row
    assert "0.5000" in row


def test_repeats_have_their_mean_with_the_spread_and_a_warning_where_all_say_the_same() -> None:
    stored = {"accuracy": {**MEAN, "mean": 0.3, "spread": 0.0216, "values": [0.28, 0.31, 0.32]}}
    repeats = {"n": 3, "questions": 4, "changed": 2, "metrics": stored}
    table = run_table([run(repeats=repeats), run("other")])
    assert "0.300 ±0.022" in table.rows[0]
    assert "0.250" in table.rows[1]
    assert any(note.startswith("±: standard deviation") for note in table.notes)
    assert any(note.startswith("VanillaRAG: 2 of 4 answers") for note in table.notes)
    same = run_table([run(repeats={**repeats, "changed": 0, "metrics": {}})]).notes
    assert any(note.startswith("! VanillaRAG: all 3 repeats") for note in same)


def same(title: str, contexts: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    paths = {f"method.{name}": value for name, value in settings.items()}
    return run(title, contexts=contexts, settings={"method.name": "paths", **paths})


def test_cells_with_the_same_contexts_say_which_setting_changes_nothing() -> None:
    full = {"digest": "ab", "room": {"path": 7.9}}
    cells = [same("P", full, top_k=k, **{"retrieve.0.top_k": k}) for k in (10, 20, 40)]
    other = same("P", {"digest": "cd", "room": {}}, top_k=5)
    (note,) = [note for note in run_table([*cells, other]).notes if "same contexts" in note]
    assert note.startswith("! 3 runs") and "method.top_k" in note and "8 paths" in note
    assert "P top_k=10, " in note and "top_k=5" not in note
    one = {"digest": "ab", "room": {}}
    runs = [same("A", one), {**same("B", one), "llm": "other"}, same("C", one, prompt="mine.j2")]
    notes = run_table([*runs, run("D"), run("E")]).notes
    assert not any("same contexts" in note for note in notes)


def warned(*runs: Mapping[str, Any]) -> list[str]:
    return [note for note in run_table(runs).notes if "contexts differ" in note]


def test_contexts_that_differ_by_more_than_a_tenth_are_warned_of() -> None:
    short, long = with_context("BM25", 600.0), with_context("HippoRAG", 661.0)
    (message,) = warned(short, long)
    assert message.startswith(
        "! toy: contexts differ by more than 10 % (BM25 600 tokens, HippoRAG 66"
    )
    assert "budget_context=N gives all one budget" in message
    assert not warned(short, with_context("HippoRAG", 660.0))
    assert not warned(short, with_context("oracle", 900.0, role="ceiling"), run("closed-book"))
    assert not warned(short, with_context("HippoRAG", 900.0, dataset="sample"))
    assert not warned(short, with_context("HippoRAG", 900.0, budget_context=1000))
    (message,) = warned(*({**one, "budget_context": 2400} for one in (short, long)))
    assert "BM25 does not fill the 2,400 tokens" in message


def test_the_caption_says_whose_context_budgets_hold_and_budgets_stand_apart() -> None:
    budgeted = with_context("B", 1.0, budget_context=2400)
    table = run_table([with_context("A", 1.0), budgeted, with_context("C", 1.0)])
    assert table.caption == (
        "toy (regime: house; limit: all; context budgets: native, 2,400 tokens for all)"
    )
    assert [row[0] for row in table.rows] == ["A", "C", "B"]
    assert run_table([run()]).caption == "toy (regime: house; limit: all)"


def test_runs_of_several_regimes_are_warned_of_with_the_titles_of_each() -> None:
    published = run("B", regime="published")
    table = run_table([run("A"), published])
    assert "regime: house, published;" in table.caption
    at = table.heads.index("regime")
    assert [row[at] for row in table.rows] == ["house", "published"]
    assert (
        "! regimes differ, house: A; published: B (regime)"
        in run_table([run("A"), published]).notes
    )
    assert not any("regimes differ" in note for note in run_table([run("A"), run("B")]).notes)


@pytest.mark.parametrize(
    ("clusters", "ending"),
    [(8, "(8 that questions share: few, so that intervals are too narrow)"),
     (80, "(80 that questions share)")],
)  # fmt: skip
def test_intervals_over_few_scopes_are_called_too_narrow(clusters: int, ending: str) -> None:
    notes = run_table([run(metrics={"accuracy": {**MEAN, "clusters": clusters}})]).notes
    assert [note for note in notes if "bootstrap" in note][0].endswith(f"over scopes {ending}")
