"""RowGrad: whatever is done to it, the dense gradient it stands for is the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scratch_embed import RowGrad
from tests.properties import draw
from tests.properties.draw import numbers, same_bits

SHAPES = st.tuples(draw.sizes, draw.sizes)


@st.composite
def batches(draw_, shape, dtype=np.float64):
    """Ids, and a row of numbers for each."""
    ids = draw_(draw.ids_of(shape[0])).reshape(-1)
    return ids, draw_(draw.laid_out(numbers(draw_(draw.seeds), (len(ids), shape[1]), dtype)))


def dense(ids, values, shape) -> np.ndarray:
    out = np.zeros(shape, values.dtype)
    np.add.at(out, ids.astype(np.int64), values)
    return out


@given(st.data(), SHAPES, draw.dtypes)
def test_rows_are_the_rows_of_the_dense_gradient(data, shape, dtype):
    ids, values = data.draw(batches(shape, dtype))
    expected = dense(ids, values, shape)
    for grad in (
        RowGrad(ids, values, shape),
        RowGrad.of_batch(ids.astype(np.int64), values.copy(), shape),
    ):
        assert same_bits(grad.to_dense(), expected)
        assert same_bits(np.asarray(grad), expected)
        assert grad.rows.tolist() == np.unique(ids).tolist()
        assert grad.shape == shape and grad.dtype == dtype
        assert repr(grad).startswith("RowGrad: ")
        back = RowGrad(grad.rows, grad.values, shape)
        assert same_bits(back.to_dense(), expected)


@given(st.data(), SHAPES)
def test_sums_are_those_of_the_dense_gradients(data, shape):
    one, other = data.draw(batches(shape)), data.draw(batches(shape))
    a, b = RowGrad(*one, shape), RowGrad(*other, shape)
    whole, table = a.to_dense() + b.to_dense(), numbers(data.draw(draw.seeds), shape)
    assert isinstance(a + b, RowGrad)
    assert same_bits((a + b).to_dense(), whole)
    assert same_bits(a + table, table + a.to_dense())
    assert same_bits(table + a, table + a.to_dense())
    kept = table.copy()
    assert a.add_to(table) is table
    assert same_bits(table, kept + a.to_dense())


@given(st.data(), SHAPES)
def test_another_dtype_is_that_of_the_dense_gradient(data, shape):
    grad = RowGrad(*data.draw(batches(shape)), shape)
    assert same_bits(grad.astype(np.float32).to_dense(), grad.to_dense().astype(np.float32))
    assert grad.astype(np.float64, copy=False) is grad
    again = grad.astype(np.float64)  # a copy unless it is asked for none, as NumPy's own
    assert again is not grad and not np.shares_memory(again.values, grad.values)
