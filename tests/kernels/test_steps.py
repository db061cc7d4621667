"""A step on the rows of a batch: the named rows move, and what does not fit is refused.

That each rule moves them as NumPy would, to the last bit, stands in the tests of the optimisers.
"""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.kernels import group_rows, step_loops, step_rows


@pytest.mark.parametrize("ids", [[], [2], [2, 0, 2, 2], np.arange(5)[::-1]], ids=str)
def test_the_named_rows_move_and_no_other(ids):
    rng = np.random.default_rng(0)
    ids = np.array(ids, np.int64)
    table, values = rng.standard_normal((5, 3)), rng.standard_normal((len(ids), 3))
    moved, grad = table.copy(), np.zeros_like(table)
    np.add.at(grad, ids, values)
    step_rows(step_loops.sgd, values, group_rows(ids, 5), moved, 0.5)
    np.testing.assert_allclose(moved, table - 0.5 * grad, rtol=1e-15, atol=1e-15)
    assert np.array_equal(np.delete(moved, ids, axis=0), np.delete(table, ids, axis=0))


def test_values_that_share_memory_with_the_table_are_read_first():
    table = np.arange(12.0).reshape(4, 3)
    expected = table.copy()
    np.subtract.at(expected, [1, 2, 3], 0.5 * table[:3])
    step_rows(step_loops.sgd, table[:3], group_rows([1, 2, 3], 4), table, 0.5)
    assert np.array_equal(table, expected)


def read_only():
    table = np.ones((4, 3))
    table.flags.writeable = False
    return table


@pytest.mark.parametrize(
    ("table", "values", "words"),
    [
        (read_only(), np.ones((2, 3)), "read-only"),
        (np.ones((4, 2)), np.ones((2, 3)), r"values \(2, 3\) do not fit a table \(4, 2\)"),
        (np.ones(4), np.ones((2, 3)), r"a table \(4,\)"),
        (np.ones((4, 3)), np.ones((1, 3)), r"groups of 2 ids"),
        (np.ones((3, 3)), np.ones((2, 3)), "row 3, but table has 3 rows"),
    ],
)
def test_what_does_not_fit_never_reaches_compiled_code(table, values, words):
    with pytest.raises(ValueError, match=words):
        step_rows(step_loops.sgd, values, group_rows([1, 3], 4), table, 0.5)


def test_state_that_compiled_code_would_misread_is_refused():
    """It would take the bytes of another order for other numbers, and write past a short end."""

    def step(values, table, state):
        numbers = np.float32(0.5), np.float32(0)
        step_rows(step_loops.adagrad, values, group_rows([1, 3], 4), table, state, *numbers)

    values, table = np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)
    swapped = table.astype(table.dtype.newbyteorder())
    for given, name in (((values, swapped, table), "table"), ((values, table, swapped), "state")):
        with pytest.raises(TypeError, match=f"{name} has dtype .* byte order"):
            step(*given)
    for state in (table[:2], table[:, :1]):
        with pytest.raises(ValueError, match="state .* does not fit a table"):
            step(values, table, state)
    assert (table == 1).all()
