"""The history of a corpus: its versions in order, and what a corpus has changed since one."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from small_worlds import dataset

from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.history import FOLDER, History, Version, changes
from graphrag_bench.errors import UserError

A, B, C = ("a", "Ada", "one"), ("b", "Bob", "two"), ("c", "Cy", "three")


def kept(root: Path, *rows: tuple[str, str, str]) -> Version:
    return History(root).keep(dataset(*rows))


def test_there_is_no_version_before_the_first(tmp_path: Path) -> None:
    first = dataset(A)
    assert History(tmp_path).before(first.corpus_digest) is None
    History(tmp_path).keep(first)
    assert History(tmp_path).before(first.corpus_digest) is None


def test_before_a_corpus_that_was_never_built_is_the_latest_version(tmp_path: Path) -> None:
    kept(tmp_path, A)
    second = kept(tmp_path, A, B)
    assert History(tmp_path).before("0123456789ab") == second


def test_a_corpus_that_comes_back_keeps_its_place(tmp_path: Path) -> None:
    one, two, three = dataset(A), dataset(A, B), dataset(B)
    history = History(tmp_path)
    numbers = [history.keep(corpus).number for corpus in (one, two, three, one, two)]
    assert numbers == [1, 2, 3, 1, 2]
    before = history.before(two.corpus_digest)
    assert before is not None and before.corpus == one.corpus_digest


def test_the_order_is_by_number_and_not_by_the_digits_of_the_digest(tmp_path: Path) -> None:
    history = History(tmp_path)
    corpora = [dataset((str(n), "", f"text {n}")) for n in range(12)]
    for corpus in corpora:
        history.keep(corpus)
    assert [one.corpus for one in history.versions()] == [one.corpus_digest for one in corpora]


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    kept(tmp_path, A, ("ü", "", "\N{SNOWMAN}"))
    (held,) = History(tmp_path).versions()
    assert list(held.documents.ids) == ["a", "ü"]
    assert len(set(held.documents.contents.tolist())) == 2


def test_the_same_corpus_has_the_same_bytes(tmp_path: Path) -> None:
    one, two = (kept(tmp_path / name, A, B).path for name in ("x", "y"))
    assert one.name == two.name
    assert one.read_bytes() == two.read_bytes()


def test_what_another_process_left_half_written_is_no_version(tmp_path: Path) -> None:
    first = kept(tmp_path, A)
    (tmp_path / FOLDER / ".new").write_bytes(first.path.read_bytes()[:50])
    assert History(tmp_path).versions() == [first]
    assert kept(tmp_path, B).number == 2
    assert not (tmp_path / FOLDER / ".new").exists()


def test_nothing_has_changed_in_the_same_corpus(tmp_path: Path) -> None:
    found = changes(kept(tmp_path, A, B), dataset(A, B))
    assert not found and found.total == 2


def test_new_changed_and_gone_documents_are_named_in_order(tmp_path: Path) -> None:
    before = kept(tmp_path, A, B, C, ("d", "", "four"))
    now = dataset(("z", "", "new"), ("c", "Cy", "3"), A, ("y", "", "newer"), ("b", "Bo", "two"))
    found = changes(before, now)
    assert (found.new, found.changed, found.gone) == (("z", "y"), ("c", "b"), ("d",))
    assert str(found) == "2 of 5 documents new, 2 changed, 1 gone"


def test_a_document_at_another_place_is_the_same_one(tmp_path: Path) -> None:
    before = kept(tmp_path, A, B, C)
    assert not changes(before, dataset(C, A, B))


def test_a_document_of_another_id_is_the_same_one(tmp_path: Path) -> None:
    before = kept(tmp_path, A, B)
    assert not changes(before, dataset(("folder/a", "Ada", "one"), B))


def test_an_insertion_into_a_numbered_corpus_is_one_new_document(tmp_path: Path) -> None:
    texts = ["one", "two", "three"]
    before = kept(tmp_path, *((str(n), "", text) for n, text in enumerate(texts)))
    more = dataset(*((str(n), "", text) for n, text in enumerate(["zero", *texts])))
    found = changes(before, more)
    assert (len(found.new), found.changed, found.gone) == (1, (), ())


def test_a_copy_of_a_document_is_new(tmp_path: Path) -> None:
    found = changes(kept(tmp_path, A), dataset(A, ("copy", "Ada", "one")))
    assert (found.new, found.changed, found.gone) == (("copy",), (), ())


def test_one_of_two_copies_is_gone(tmp_path: Path) -> None:
    before = kept(tmp_path, A, ("copy", "Ada", "one"))
    assert changes(before, dataset(("copy", "Ada", "one"))).gone == ("a",)


def test_other_aliases_are_a_change(tmp_path: Path) -> None:
    corpus = dataset(A)
    other = replace(corpus, documents=(replace(corpus.documents[0], aliases=("Countess",)),))
    assert changes(History(tmp_path).keep(corpus), other).changed == ("a",)


def test_counts_of_nothing_are_not_said(tmp_path: Path) -> None:
    before = kept(tmp_path, A, B)
    assert str(changes(before, dataset(A))) == "1 document, 1 gone"
    assert str(changes(before, dataset(A, ("b", "", "2")))) == "1 of 2 documents changed"
    assert str(changes(before, dataset(A, B, C))) == "1 of 3 documents new"


def edited(rows: list[tuple[str, str, str]], chance: random.Random, step: int) -> None:
    """One insertion, change or deletion of a text that was never there."""
    kind = chance.choice(("insert", "change", "delete")) if len(rows) > 1 else "insert"
    place = chance.randrange(len(rows))
    if kind == "insert":
        rows.insert(place, (f"n{step}", "", f"text {step}"))
    elif kind == "change":
        rows[place] = (rows[place][0], "", f"text {step}")
    else:
        del rows[place]


def test_changes_are_those_of_plain_dicts(tmp_path: Path) -> None:
    for seed in range(30):
        chance = random.Random(seed)
        rows = [(f"d{n}", "", f"first {n}") for n in range(20)]
        before, version = list(rows), kept(tmp_path / str(seed), *rows)
        for step in range(chance.randrange(1, 15)):
            edited(rows, chance, step)
        chance.shuffle(rows)
        found = changes(version, dataset(*rows))
        old, new = ({name: text for name, _, text in held} for held in (before, rows))
        assert found.new == tuple(name for name in new if name not in old)
        assert found.changed == tuple(n for n in new if n in old and old[n] != new[n])
        assert found.gone == tuple(name for name in old if name not in new)


def read(version: Version) -> tuple[list[str], list[int]] | None:
    """What a version holds; None where it says that it is damaged."""
    try:
        return list(version.documents.ids), version.documents.contents.tolist()
    except UserError as error:
        assert str(version.path) in str(error) and "damaged" in str(error)
        return None


def test_a_damaged_file_is_one_clear_error_or_reads_the_same(tmp_path: Path) -> None:
    version = kept(tmp_path, A, B)
    whole, bytes_written = read(version), version.path.read_bytes()
    refused = 0
    for place in range(len(bytes_written)):
        other = bytearray(bytes_written)
        other[place] ^= 0xFF
        version.path.write_bytes(other)
        found = read(Version(version.corpus, version.number, version.path))
        assert found in (whole, None)
        refused += found is None
    assert refused > len(bytes_written) / 2


def test_a_file_cut_short_is_one_clear_error(tmp_path: Path) -> None:
    version = kept(tmp_path, A, B)
    version.path.write_bytes(version.path.read_bytes()[:-30])
    with pytest.raises(UserError, match="is damaged"):
        _ = version.documents


def test_comparing_corpora_does_not_grow_faster_than_they_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import graphrag_bench.data.history as module

    hashed: list[int] = []
    own = module._content
    monkeypatch.setattr(module, "_content", lambda row: hashed.append(1) or own(row))

    def n_hashed(size: int) -> int:
        corpus: Dataset = dataset(*((str(n), "", f"text {n}") for n in range(size)))
        version = History(tmp_path / str(size)).keep(corpus)
        hashed.clear()
        changes(version, replace(corpus, documents=corpus.documents[1:]))
        return len(hashed)

    assert [n_hashed(size) for size in (10, 100)] == [9, 99]
