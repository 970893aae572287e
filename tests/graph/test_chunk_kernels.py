"""The loops over rows of a CSR, worked out by hand, and how their time grows."""

import numpy as np
import pytest

from graphrag_bench.graph.chunk_kernels import (
    FREE,
    best_columns,
    first_columns,
    grown,
    meeting,
    shared_columns,
    slot_of,
    slots_for,
)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def met(one: list[int], other: list[int]) -> list[tuple[int, int]]:
    """The places in both of what two ascending lists share."""
    room = np.full((min(len(one), len(other)), 2), -1, np.int64)
    columns = ints(*one, *other)
    n_met = meeting(columns, (0, len(one)), (len(one), len(one) + len(other)), room)
    return [(int(a), int(b) - len(one)) for a, b in room[:n_met]]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([], [1, 2], []),
        ([3], [3], [(0, 0)]),
        ([1, 5], [0, 1, 2, 3, 4, 5], [(0, 1), (1, 5)]),
        ([0, 1, 2, 3, 4, 5], [1, 5], [(1, 0), (5, 1)]),
        ([7, 8], [1, 2, 3], []),
        ([1, 2], [7, 8, 9], []),
    ],
)
def test_rows_meet_in_the_columns_that_both_hold(one, other, expected):
    assert met(one, other) == expected


def test_rows_meet_as_sets_do():
    chance = np.random.default_rng(0)
    for n_one, n_other in [(1, 500), (3, 90), (40, 40), (200, 7), (64, 65)]:
        one, other = (
            sorted(chance.choice(500, n, replace=False).tolist()) for n in (n_one, n_other)
        )
        shared = sorted(set(one) & set(other))
        assert met(one, other) == [(one.index(c), other.index(c)) for c in shared]


class Counted(list):
    """A list that counts how often it is read."""

    n_reads = 0

    def __getitem__(self, place):
        self.n_reads += 1
        return super().__getitem__(place)


def test_a_short_row_is_found_in_a_long_one_by_few_reads():
    """Twice the logarithm of the long row for each cell of the short one, whatever is between."""
    n_long = 2**16
    columns = Counted([5, n_long // 2, n_long - 1, *range(n_long)])
    room = np.zeros((3, 2), np.int64)
    assert meeting.py_func(columns, (0, 3), (3, 3 + n_long), room) == 3
    assert columns.n_reads <= 3 * (2 * 16 + 4)


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


def test_shared_columns_sum_the_products_of_weights():
    """Rows 0 and 1 share the columns 1 and 3, rows 0 and 2 share 3."""
    starts, columns = ints(0, 2, 5, 6), ints(1, 3, 0, 1, 3, 3)
    ones, others = ints(0, 2), ints(1, 0)
    found, sums = shared_columns(starts, columns, ints(), ones, others)
    assert dict(zip(found.tolist(), sums.tolist(), strict=True)) == {1: 1, 3: 2}
    weights = ints(2, 3, 9, 5, 7, 4)
    found, sums = shared_columns(starts, columns, weights, ones, others)
    assert dict(zip(found.tolist(), sums.tolist(), strict=True)) == {1: 10, 3: 21 + 12}


def test_the_best_columns_have_the_highest_sums_then_the_lowest_ids():
    columns, sums = ints(9, 2, 7, 4), ints(3, 3, 8, 1)
    for k, expected in [(2, [7, 2]), (3, [7, 2, 9]), (10, [7, 2, 9, 4])]:
        found, values = best_columns(columns, sums, k)
        assert found.tolist() == expected
        assert values.tolist() == [8, 3, 3, 1][:k]
