"""A log of rows: what was appended is there again, and what was not whole is cut off."""

import numpy as np
import pytest

from graphrag_bench.offline.row_log import RowLog

FIRST = [("ada", "Ada keeps the lamp."), ("bö", "")]
SECOND = [("cy", "Cy owns a boat."), ("", "一。")]


def written(path) -> RowLog:
    log = RowLog(path, 2)
    log.append(FIRST)
    log.append(SECOND)
    return log


def rows(log: RowLog) -> list[tuple[str, ...]]:
    return [log.row(place) for place in range(len(log))]


def test_rows_come_back_one_by_one_and_as_columns_in_any_order(tmp_path):
    log = written(tmp_path / "log")
    assert rows(log) == FIRST + SECOND
    assert list(log.column(0, np.array([3, 0, 2]))) == ["", "ada", "cy"]
    assert list(log.column(1, np.array([3, 0, 2]))) == [
        "一。",
        "Ada keeps the lamp.",
        "Cy owns a boat.",
    ]


def test_a_log_that_is_opened_again_goes_on_where_it_ended(tmp_path):
    written(tmp_path / "log")
    again = RowLog(tmp_path / "log", 2)
    assert rows(again) == FIRST + SECOND
    again.append(FIRST)
    assert rows(RowLog(tmp_path / "log", 2)) == FIRST + SECOND + FIRST


@pytest.mark.parametrize("n_cut", [1, 5, 30, 60])
def test_a_block_that_a_kill_cut_short_is_cut_off(tmp_path, n_cut):
    path = tmp_path / "log"
    written(path)
    path.write_bytes(path.read_bytes()[:-n_cut])
    log = RowLog(path, 2)
    assert rows(log) == FIRST
    log.append(SECOND)
    assert rows(RowLog(path, 2)) == FIRST + SECOND


@pytest.mark.parametrize("place", [-1, -20, -45, -60])
def test_a_block_that_was_changed_and_all_behind_it_are_cut_off(tmp_path, place):
    path = tmp_path / "log"
    held = bytearray(written(path).path.read_bytes())
    held[place] ^= 0xFF
    path.write_bytes(held)
    assert rows(RowLog(path, 2)) == FIRST


def test_a_log_anew_has_no_rows(tmp_path):
    written(tmp_path / "log")
    assert rows(RowLog.anew(tmp_path / "log", 2)) == []


def test_no_row_gives_columns_without_one(tmp_path):
    assert len(RowLog(tmp_path / "log", 2).column(0, np.zeros(0, np.int64))) == 0


def test_half_characters_are_replaced_as_in_every_column(tmp_path):
    log = RowLog(tmp_path / "log", 1)
    log.append([("a\ud800b",)])
    assert log.row(0) == ("a?b",)
