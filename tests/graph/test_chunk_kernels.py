"""The loops over rows of a CSR, worked out by hand."""

from itertools import groupby

import numpy as np
import pytest

from graphrag_bench.graph.chunk_kernels import (
    FREE,
    Cells,
    best_columns,
    column_sums,
    first_columns,
    grown,
    held_by,
    largest_of,
    mark,
    marks_for,
    meeting,
    shared_columns,
    slot_of,
    slots_for,
    taken,
    together,
)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def cells(*rows: list[int], weights: np.ndarray | None = None) -> Cells:
    starts = np.cumsum([0, *(len(row) for row in rows)])
    columns = ints(*(column for row in rows for column in row))
    return Cells(starts, columns, ints() if weights is None else weights, 10)


def test_rows_meet_in_the_columns_that_both_hold_whatever_was_marked_before():
    held = cells([8, 5], [1, 5, 2], [5, 9, 1, 8])
    marks, met = marks_for(held), np.zeros((4, 2), np.int64)
    for marked, expected in [
        ((0, 2), [(5, 1), (8, 0)]),
        ((2, 5), [(5, 3), (7, 2)]),
        ((0, 0), []),
    ]:
        mark(held.columns, marked, marks)
        n_met = meeting(held.columns, (5, 9), marked, marks, met)
        assert [(int(a), int(b)) for a, b in met[:n_met]] == expected


@pytest.mark.parametrize("keys", [[], [3], [7, 7], [4, 9, 4, 1, 9, 4], list(range(100)) * 2])
def test_places_of_the_same_key_follow_each_other(keys):
    order = together(ints(*keys)).tolist()
    assert sorted(order) == list(range(len(keys)))
    runs = [key for key, _ in groupby(keys[place] for place in order)]
    assert len(runs) == len(set(keys))


def test_a_table_keeps_its_keys_apart_when_it_grows():
    keys, sums = slots_for(4), np.zeros(8, np.int64)
    assert len(keys) == 8
    wanted = [0, 8, 16, 2**40]  # keys whose last bits are the same
    for key in wanted:
        slot = slot_of(keys, key)
        assert keys[slot] == FREE
        keys[slot], sums[slot] = key, key + 1
    keys, sums = grown(keys, sums)
    assert len(keys) == 16
    assert [int(sums[slot_of(keys, key)]) for key in wanted] == [key + 1 for key in wanted]
    assert sorted(keys[keys != FREE].tolist()) == wanted


def test_rows_give_their_columns_once_in_order():
    """Row 0 holds the columns 4 and 1 (stored in that order), row 1 holds 1 and 2, row 2 none."""
    starts, columns = ints(0, 2, 4, 4), ints(4, 1, 1, 2)
    rows, scores = ints(2, 1, 0, 1), np.array([0.9, 0.8, 0.7, 0.6])
    found, score = first_columns(starts, columns, rows, scores, 5)
    assert found.tolist() == [1, 2, 4]
    assert score.tolist() == [0.8, 0.8, 0.7]
    assert first_columns(starts, columns, ints(0), scores[:1], 1)[0].tolist() == [1]


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there_is_an_error(row):
    with pytest.raises(IndexError, match="not one of the matrix"):
        first_columns(ints(0, 0, 0, 0), ints(), ints(row), np.ones(1), 5)
    with pytest.raises(IndexError, match="not one of the matrix"):
        shared_columns(cells([], [], []), ints(0), ints(row))
    with pytest.raises(IndexError, match="not one of the column"):
        taken(ints(5, 6, 7), ints(row))


def test_values_of_a_column_are_taken_row_by_row():
    column, rows = np.arange(500, dtype=np.int32)[::-1].copy(), np.arange(0, 500, 2)
    assert taken(column, rows).tolist() == (499 - rows).tolist()


ROWS = [[1, 3], [], [3, 0, 1], [3]]


def test_shared_columns_sum_the_products_of_weights():
    """Rows 0 and 2 share the columns 1 and 3, rows 0 and 3 share 3, row 1 is empty."""
    ones, others = ints(0, 1, 3, 1), ints(2, 2, 0, 1)
    found, sums = shared_columns(cells(*ROWS), ones, others)
    assert dict(zip(found.tolist(), sums.tolist(), strict=True)) == {1: 1, 3: 2}
    weighted = cells(*ROWS, weights=ints(2, 3, 7, 9, 5, 4))
    found, sums = shared_columns(weighted, ones, others)
    assert dict(zip(found.tolist(), sums.tolist(), strict=True)) == {1: 10, 3: 21 + 12}


def test_a_row_after_an_empty_one_that_begins_where_it_does_is_marked():
    held = cells([4], [], [1, 2])
    found, _ = shared_columns(held, ints(1, 2, 1), ints(1, 2, 1))
    assert sorted(found.tolist()) == [1, 2]


def test_a_column_of_a_row_is_held_by_the_other_rows_that_have_it():
    weighted = cells(*ROWS, weights=ints(2, 3, 7, 9, 5, 4))
    for held, expected in [(cells(*ROWS), [2, 0, 1]), (weighted, [3 + 4, 0, 2])]:
        marks = marks_for(held)
        assert held_by(held, 2, ints(0, 1, 3), marks).tolist() == expected
        assert held_by(held, 0, ints(3), marks)[0] == 0
        assert held_by(held, 2, ints(0, 1, 3), marks).tolist() == expected


def test_the_best_columns_have_the_highest_sums_then_the_lowest_ids():
    columns, sums = ints(9, 2, 7, 4), ints(3, 3, 8, 1)
    for k, expected in [(2, [7, 2]), (3, [7, 2, 9]), (10, [7, 2, 9, 4])]:
        found, values = best_columns(columns, sums, k)
        assert found.tolist() == expected
        assert values.tolist() == [8, 3, 3, 1][:k]


def test_values_of_rows_are_summed_by_column_times_their_weights():
    """Column 5 has 1 of row 0 and 4 of row 2; row 1 has the value 0."""
    held = cells([8, 5], [1, 5], [5, 9])
    values = np.array([1.0, 0.0, 4.0])
    assert column_sums(held, values).tolist() == [0, 0, 0, 0, 0, 5, 0, 0, 1, 4]
    weighed = cells([8, 5], [1, 5], [5, 9], weights=ints(2, 3, 7, 7, 10, 1))
    assert column_sums(weighed, values).tolist() == [0, 0, 0, 0, 0, 43, 0, 0, 2, 4]
    with pytest.raises(ValueError, match="values as rows"):
        column_sums(held, values[:2])


def test_the_largest_value_of_a_group_is_found_and_nan_is_larger_than_any():
    nan, groups = float("nan"), ints(0, 2, 0, 3, 3, 2)
    found = largest_of(groups, np.array([-4.0, 1.0, -3.0, nan, 8.0, 0.5]), 4)
    assert [str(value) for value in found] == ["-3.0", "-inf", "1.0", "nan"]
    with pytest.raises(ValueError, match="values as groups"):
        largest_of(groups, np.zeros(5), 4)
