"""What plan, run, doctor and the table say of texts that are longer than the embedder reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from toy_runs import TOY, command, metrics, ran, records, refused

from graphrag_bench.report.long_texts import cut_notes, long_text_notes

ALONE = ["method=vanilla", "reference_rows=off", "limit=2"]
LONGER = "chunks are longer than the embedder's 15 tokens"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def served(url: str, *more: str) -> list[str]:
    """The toy set with an embedder behind an API that reads 15 tokens."""
    own = ("model=fake", "dimension=8", f"base_url={url}", "api_key_env=null", "window=15",
           "tokenizer=cl100k")  # fmt: skip
    words = [word for word in TOY if not word.startswith("embedder")]
    return [*words, "embedder=openai_compatible", *(f"embedder.{one}" for one in own), *more]


def test_plan_says_how_many_chunks_are_longer_and_what_is_not_known_yet() -> None:
    url = "http://127.0.0.1:9/v1"
    said = command("plan", *served(url, "method=vgraphrag")).out
    assert "embedder: 15 tokens of a text; longer ones are embedded in overlapping windows" in said
    assert LONGER in said and "% of their tokens lie past the first" in said
    assert "node descriptions: how long they are is not known before the graph is built" in said
    assert "reports: how long they are is not known before the reports are written" in said
    cut = command("plan", *served(url, *ALONE, "embedder.long_texts=cut")).out
    assert "longer ones are cut (embedder.long_texts=cut)" in cut
    assert "% of their tokens are not embedded" in cut


def test_plan_counts_a_part_of_very_many_chunks_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("graphrag_bench.experiment.long_texts.COUNTED", 200)
    said = command("plan", *served("http://127.0.0.1:9/v1", *ALONE)).out
    assert f"of 2 {LONGER}" in said
    assert "(one of 4 counted; a run counts all)" in said


def test_plan_says_nothing_where_nothing_is_embedded_and_names_a_window_it_does_not_know() -> None:
    assert "embedder" not in command("plan", *TOY, "method=bm25").out
    assert "embedder: texts of any length" in command("plan", *TOY, "method=vanilla").out
    said = command("plan", *served("http://127.0.0.1:9/v1", *ALONE, "embedder.window=null")).out
    assert "how many tokens it reads is not known of 'fake' (embedder.window=N sets it)" in said


def test_run_says_it_before_it_embeds_and_the_table_after(fake: FakeOpenAI) -> None:
    ended = ran(*served(fake.scenario(), *ALONE))
    assert LONGER in ended.err.splitlines()[0]
    (row,) = metrics(ended.folder)["long_texts"]
    assert row["what"] == "chunks" and row["n_long"] and row["long_texts"] == "windows"
    table = (ended.folder / "table.md").read_text()
    assert f"toy: {row['n_long']} of {row['n_texts']} {LONGER}" in " ".join(table.split())
    again = ran(*served(fake.scenario(), *ALONE))
    assert metrics(again.folder)["long_texts"] == [row]
    assert LONGER not in again.err


def test_plan_tells_what_stored_graphs_and_reports_hold(fake: FakeOpenAI) -> None:
    asked = served(fake.scenario(), "method=vgraphrag", "reference_rows=off", "limit=1")
    ran(*asked)
    stored = command("plan", *asked).out
    assert "not known" not in stored
    for name in ("community_index", "node_index"):
        shutil.rmtree(Path("artifacts/toy") / name)
    counted = command("plan", *asked).out
    for said in (stored, counted):
        assert "reports are longer than the embedder's 15 tokens" in said
        assert "node descriptions are longer than the embedder's 15 tokens" in said


def test_a_table_warns_of_what_was_cut(fake: FakeOpenAI) -> None:
    ended = ran(*served(fake.scenario(), *ALONE, "embedder.long_texts=cut"))
    table = " ".join((ended.folder / "table.md").read_text().split())
    assert f"{LONGER} (" in table and "and are cut:" in table
    assert "! toy: " in table
    pivoted = command("table", str(ended.folder), "values=evidence_recall@5")
    assert "! texts longer than the embedder reads are cut" in " ".join(pivoted.out.split())
    for name in ("diff", "funnel"):
        compared = command(name, str(ended.folder), str(ended.folder)).out
        assert "are cut (embedder.long_texts=cut)" in " ".join(compared.split()), name


def test_windows_and_cut_are_two_runs_with_indices_of_their_own(fake: FakeOpenAI) -> None:
    url = fake.scenario()
    folders = [
        ran(*served(url, *ALONE, f"embedder.long_texts={how}")).folder for how in ("windows", "cut")
    ]
    assert folders[0].name != folders[1].name
    assert len(list(Path("artifacts/toy/chunk_index").glob("*/recipe.json"))) == 2
    assert len(list(Path("artifacts/toy/chunk_table").glob("*/recipe.json"))) == 1
    assert all(len(records(folder)) == 2 for folder in folders)


@pytest.mark.parametrize("name", ["plan", "run"])
def test_refuse_stops_before_anything_is_sent(fake: FakeOpenAI, name: str) -> None:
    url = fake.scenario()
    said = refused(*served(url, *ALONE, "embedder.long_texts=refuse"), name=name)
    assert LONGER in said and "the longest has" in said
    assert "embedder.long_texts=windows" in said and "chunking.size=N" in said
    assert fake.stats(url).requests == 0


def test_doctor_names_the_window_and_the_chunks(
    fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    url = fake.scenario()
    ended = command("doctor", *served(url))
    assert "15 tokens of a text; longer ones are embedded in overlapping windows" in ended.out
    assert f"{LONGER}" in ended.out and ended.code == 0
    ended = command("doctor", *served(url, "embedder.long_texts=refuse"))
    assert ended.code == 1 and "are refused" in ended.out
    assert "texts of any length" in command("doctor", *TOY).out


# ---- notes by hand


def run_of(title: str, mode: str, n_long: int) -> dict[str, object]:
    row = {
        "what": "chunks", "window": 256, "long_texts": mode, "n_texts": 61, "n_long": n_long,
        "longest": 900, "n_tokens": 1000, "n_past": 710, "n_windows": 190, "counted_in": "",
    }  # fmt: skip
    return {"title": title, "dataset": "mix", "long_texts": [row]}


def test_the_same_texts_of_several_runs_are_one_note() -> None:
    runs = [run_of("A", "windows", 37), run_of("B", "windows", 37), {"title": "BM25"}]
    assert long_text_notes(runs) == [
        "mix: 37 of 61 chunks are longer than the embedder's 256 tokens (the longest has 900) and "
        "are embedded in overlapping windows: 190 windows, 71 % of their tokens lie past the first"
    ]
    assert long_text_notes([run_of("A", "windows", 0)]) == []
    first, second = long_text_notes([run_of("A", "windows", 37), run_of("B", "cut", 37)])
    assert first.endswith("(A)")
    assert second.startswith("! mix: 37 of 61 chunks")
    assert second.endswith("and are cut: 71 % of their tokens are not embedded (B)")


def test_a_window_that_is_not_known_is_a_warning(fake: FakeOpenAI) -> None:
    ended = ran(*served(fake.scenario(), *ALONE, "embedder.window=null"))
    table = " ".join((ended.folder / "table.md").read_text().split())
    assert "! how many tokens the embedder reads is not known" in table
    assert table.count("VanillaRAG") >= 2


def test_a_table_that_knows_identities_alone_names_who_cuts() -> None:
    assert cut_notes([("A", "x:unit:long=windows(256):prefixes=,")]) == []
    assert cut_notes([("A", "x:unit:long=cut(256):prefixes=,"), ("B", "")]) == [
        "! texts longer than the embedder reads are cut (embedder.long_texts=cut): A"
    ]
