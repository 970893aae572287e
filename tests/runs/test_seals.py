"""Seals of run folders: damage is found and repaired, a kill never makes a healthy run damaged."""

import json

import pytest

from graphrag_bench.runs.damage import DamagedRun, read_json, sealed_faults
from graphrag_bench.runs.folder import RunFolder
from graphrag_bench.runs.seals import SEALS, faults, read_seals, repair, seal

ORDER = ["q1", "q2", "q3"]


def all_names(name: str) -> bool:
    return True


def row(question: str) -> dict:
    return {"question": question, "status": "answered", "context": {"pieces": []}}


def worked(folder: RunFolder, *questions: str) -> None:
    """What a run does to its folder, but for the ledger, which gets one line a question."""
    folder.begin()
    for name in questions:
        timing = [{"question": name, "step": "answer", "seconds": 1.0}]
        folder.append(row(name), timing, [{"question": name, "texts": [], "of": ""}])
        with folder.file("ledger").open("a") as file:
            file.write(json.dumps({"item": name}) + "\n")
    folder.finish(ORDER)
    folder.seal()


@pytest.fixture
def folder(tmp_path):
    made = RunFolder(tmp_path / "key")
    worked(made, *ORDER)
    return made


FILES = ["records.jsonl", "contexts.jsonl", "timing.jsonl", "ledger.jsonl"]


def changed(path) -> None:
    """Another question in the second row; as many bytes."""
    path.write_text(path.read_text().replace("q2", "q9"))


def doubled(path) -> None:
    path.write_bytes(path.read_bytes() * 2)


def swapped(path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[::-1]))


def dropped(path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


def removed(path) -> None:
    path.unlink()


def a_folder(path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE = [changed, doubled, swapped, dropped, removed, a_folder]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_every_damage_is_found_and_no_other_file_is_blamed(folder, name, damage):
    damage(folder.path / name)
    assert list(faults(folder.path)) == [name]


@pytest.mark.parametrize("damage", [doubled, swapped])
@pytest.mark.parametrize("name", FILES)
def test_a_file_whose_rows_are_all_there_is_restored_to_the_byte(folder, name, damage):
    before = (folder.path / name).read_bytes()
    damage(folder.path / name)
    assert [(one.name, one.n_lost) for one in repair(folder.path, all_names)] == [(name, 0)]
    assert (folder.path / name).read_bytes() == before
    assert (folder.path / f"{name}.damaged").is_file()


@pytest.mark.parametrize(
    "damage, n_lost", [(changed, 1), (dropped, 1), (removed, 3), (a_folder, 3)]
)
def test_only_the_damaged_rows_are_worked_on_again(folder, damage, n_lost, capfd):
    damage(folder.path / "records.jsonl")
    folder.begin()
    assert len(folder.done(answering=True)) == 3 - n_lost
    assert f"{n_lost} of 3 rows are lost" in capfd.readouterr().err


def test_a_question_whose_texts_are_gone_is_worked_on_again(folder):
    changed(folder.path / "contexts.jsonl")
    folder.begin()
    assert folder.done(answering=True) == {"q1", "q3"}


@pytest.mark.parametrize("name", ["ledger.jsonl", "timing.jsonl"])
def test_what_cannot_be_made_again_is_told_from_then_on(folder, name):
    dropped(folder.path / name)
    worked(folder)
    worked(folder)
    assert folder.completed({})["lost"] == [f"1 rows of {name}"]
    assert sealed_faults(folder.path) == {}
    assert "lost" not in read_seals(folder.path).of


def test_while_a_run_goes_on_and_after_a_kill_nothing_looks_damaged(folder):
    folder.begin()
    assert faults(folder.path) == {}
    folder.append(row("q4"), [{"question": "q4", "step": "answer", "seconds": 1.0}])
    assert faults(folder.path) == {}
    folder.finish([*ORDER, "q4"])
    assert faults(folder.path) == {}
    folder.begin()  # the same command after the kill
    assert folder.done(answering=True) == {*ORDER, "q4"}


def test_shards_seal_their_own_files_alone(tmp_path):
    one, two = RunFolder(tmp_path, "1-of-2"), RunFolder(tmp_path, "2-of-2")
    one.begin()
    worked(two, "q2")
    one.append(row("q1"), [{"question": "q1", "step": "answer", "seconds": 1.0}])
    assert faults(tmp_path) == {}
    one.finish(ORDER)
    one.seal()
    assert {"records.1-of-2.jsonl", "records.2-of-2.jsonl"} <= set(read_seals(tmp_path).of)
    dropped(tmp_path / "ledger.2-of-2.jsonl")
    one.begin()
    assert list(faults(tmp_path)) == ["ledger.2-of-2.jsonl"]
    worked(RunFolder(tmp_path), "q3")
    assert faults(tmp_path) == {}
    assert RunFolder(tmp_path).done(answering=True) == set(ORDER)
    assert not [name for name in read_seals(tmp_path).of if name.startswith("records.1")]


def test_a_run_from_before_there_were_seals_is_read_as_it_is(folder):
    (folder.path / SEALS).unlink()
    changed(folder.path / "timing.jsonl")
    assert faults(folder.path) == {}
    worked(folder)
    assert "timing.jsonl" in read_seals(folder.path).of


@pytest.mark.parametrize("text", ["", "null\n", "[" * 99_999, '{"files": {"a": 1}, "lost": []}'])
def test_damaged_seals_are_named_and_given_up(folder, text, capfd):
    (folder.path / SEALS).write_text(text)
    with pytest.raises(DamagedRun, match=SEALS):
        sealed_faults(folder.path)
    worked(folder)
    assert SEALS in capfd.readouterr().err
    assert sealed_faults(folder.path) == {}


def test_the_table_is_sealed_by_who_writes_it(folder):
    folder.write_table("| a |\n")
    assert faults(folder.path) == {}
    a_folder(folder.path / "table.md")
    assert list(faults(folder.path)) == ["table.md"]
    folder.begin()
    folder.write_table("| b |\n")
    assert faults(folder.path) == {}


def test_a_json_file_of_another_name_is_not_as_it_was_written(folder):
    folder.write_json("environment.json", {"python": "3.12"})
    folder.write_json("selections.json", {"selections": []})
    (folder.path / "environment.json").write_bytes((folder.path / "selections.json").read_bytes())
    with pytest.raises(DamagedRun, match="environment.json"):
        read_json(folder.path / "environment.json")


def test_what_is_not_there_loses_its_seal(folder):
    (folder.path / "timing.jsonl").unlink()
    seal(folder.path, ["timing.jsonl"])
    assert faults(folder.path) == {}
