"""Replays of a stored run: what flips and why, and what steps are worth."""

from pathlib import Path

import pytest
from toy_runs import TOY, command, refused, run_folder

from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError
from graphrag_bench.explain.ablation import ablation
from graphrag_bench.explain.changes import Change, changed, places, setting_of
from graphrag_bench.explain.passages import LocatedDocument, lost_at, stored_trace
from graphrag_bench.explain.replay import Replay
from graphrag_bench.run.stored import StoredRun, find_run

QUIET = [*TOY, "answer=off", "reference_rows=off", "budget_context=native"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with runs of HippoRAG and of the fused example on toy."""
    home = tmp_path_factory.mktemp("home")
    for method in ("hipporag", "example_new_method"):
        run_folder(*QUIET, f"method={method}", "method.top_k=2", f"paths.home={home}")
    return home


@pytest.fixture(autouse=True, scope="module")
def plugins() -> None:
    load_plugins()


def run(home: Path, method: str = "hipporag") -> StoredRun:
    (folder,) = home.glob(f"runs/toy/{method}/*")
    return find_run(str(folder), home)


CASES = {
    "empty": [{"op": "chunk.vdb", "top_k": 3}],
    "otherwise": [{"op": "node.ppr", "damping": 0.5}],
}
METHOD = {
    "convert": [{"op": "question.entities.nlp"}],
    "retrieve": [{"op": "node.link", "min_score": 0.5}, {"switch": "nodes", "cases": CASES}],
}


def test_a_step_is_changed_by_its_operator_or_its_place() -> None:
    for name in ("node.ppr", "retrieve.1.cases.otherwise.0"):
        product = changed(METHOD, [Change("set", name, "damping", 0.85)])
        assert product["retrieve"][1]["cases"]["otherwise"] == [{"op": "node.ppr", "damping": 0.85}]
    assert METHOD["retrieve"][1]["cases"]["otherwise"] == [{"op": "node.ppr", "damping": 0.5}]
    assert changed(METHOD, [Change("drop", "node.link")])["retrieve"][0]["switch"] == "nodes"
    result = [place.path for place in places(METHOD)]
    assert result == ["convert.0", "retrieve.0", "retrieve.1", "retrieve.1.cases.empty.0",
                     "retrieve.1.cases.otherwise.0"]  # fmt: skip


def test_what_is_no_change_is_said() -> None:
    assert setting_of("node.ppr.damping=0.85") == Change("set", "node.ppr", "damping", 0.85)
    for word in ("node.ppr.damping", "damping=1"):
        with pytest.raises(UserError, match="STEP.SETTING=VALUE"):
            setting_of(word)
    with pytest.raises(UserError, match=r"no step 'node.pr'.*node\.ppr"):
        changed(METHOD, [Change("drop", "node.pr")])


def test_a_replay_gives_the_scores_of_a_run_with_that_setting(home: Path, tmp_path: Path) -> None:
    words = ["method=hipporag", "method.top_k=2", "method.damping=0.85"]
    whole = run_folder(*QUIET, *words, f"paths.home={tmp_path}")
    player = Replay.of_run(run(home), home)
    before = player.variant()
    after = player.variant([setting_of("node.ppr.damping=0.85")])
    for replayed, stored in ((before, run(home)), (after, find_run(str(whole), tmp_path))):
        for question, scores in replayed.scores.items():
            assert scores.items() <= stored.scores[question].items()


def test_a_change_that_is_not_valid_is_refused_with_the_nearest_name(home: Path) -> None:
    player = Replay.of_run(run(home), home)
    for change, message in (
        (Change("drop", "node.ppr"), "reads 'node_scores', which no earlier step writes"),
        (Change("set", "node.ppr", "dampin", 0.9), "'damping'"),
    ):
        with pytest.raises(UserError, match=message):
            player.variant([change])
    shown = command("ablate", str(run(home).folder.path), "--set", "node.ppr.damping=0.9")
    assert (shown.code, "evidence_recall@5" in shown.out) == (0, True)


def test_the_standing_of_a_passage_is_its_rank_after_each_step(home: Path) -> None:
    player = Replay.of_run(run(home), home)
    replayed = player.variant()
    for finished in replayed.retrieval.finished:
        chunks = finished.outcome.get("chunks")
        table = replayed.retrieval.of(finished)["chunk_table"]
        for rank, row in enumerate(chunks.ids, 1):
            (document,) = table.documents_of(int(row))
            graph = replayed.retrieval.of(finished).get("graph")
            passage = LocatedDocument(document, table, graph)
            result = passage.ranks((step.step, step.wrote) for step in finished.trace)
            stored = passage.ranks(stored_trace(run(home).rows[finished.question.id]))
            assert [(one.step, one.slot, one.rank, one.n) for one in stored] == [
                (one.step, one.slot, one.rank, one.n)
                for one in result
                if not one.slot.endswith("_scores")
            ]
            assert [one.rank for one in result if one.slot == "chunks"][-1] == rank
            in_context = finished.outcome.get("context").pieces
            place = next((n for n, p in enumerate(in_context, 1) if p.id == document), None)
            assert result[-1].slot == "context"
            assert result[-1].rank == place
            assert (lost_at(result) is None) == (place is not None)


def test_show_has_the_ranks_of_a_passage_and_where_it_was_lost(home: Path) -> None:
    path = str(run(home).folder.path)
    shown = command("show", path, "q1", "ada")
    assert shown.code == 0, shown.err
    assert "chunks: 1 of" in shown.out or "chunks: 2 of" in shown.out
    replayed = Replay.of_run(run(home), home)
    finished = replayed.variant().retrieval.finished[0]
    rows = {piece.id for piece in finished.outcome.get("context").pieces}
    out = next(row.id for row in replayed.experiment.dataset.documents if row.id not in rows)
    lost = command("show", path, finished.question.id, out)
    assert "lost at " in lost.out
    for words, name in (("q1 adda", "'ada'"), ("q11 ada", "q1"), ("q1 ada --calls", "PASSAGE")):
        assert name in refused(path, *words.split(), name="show")


def test_an_ablation_has_every_step_that_can_be_without_and_says_what_cannot(home: Path) -> None:
    player = Replay.of_run(run(home, "example_new_method"), home)
    table = ablation(player, "evidence_recall@2")
    whole, *variants = table.rows
    parts = {row[:2]: row for row in variants}
    scores = [one["evidence_recall@2"] for one in player.variant([]).scores.values()
              if "evidence_recall@2" in one]  # fmt: skip
    assert whole[:4] == ("the whole method", "", "5", f"{sum(scores) / len(scores):.3f}")
    for arm in ("graph", "dense"):
        assert parts["retrieve.0 branch", f"without arm '{arm}'"][2] == "5"
    assert any(note.startswith("not tried: ") for note in table.notes)
    with pytest.raises(UserError, match="evidence_recall@2"):
        ablation(player, "evidence_recal@2")


def test_a_loop_of_steps_is_left_out_whole_or_said_to_be_needed(tmp_path: Path) -> None:
    words = [*QUIET, "method=ircot", "limit=1", f"paths.home={tmp_path}"]
    table = ablation(Replay.of_settings(composed(words), calls=True), "evidence_recall@2")
    parts = [row[0] for row in table.rows]
    assert any(" repeat" in text for text in (*parts, *table.notes))
