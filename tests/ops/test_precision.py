"""Whatever is summed over a million rows of float32 is right to a few units in the last place.

Adding one row after the other, as NumPy does over the first axis, is off by one part in a hundred.
Products are not meant: how a matrix product adds is the matter of the BLAS library.
"""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed import functional as F

N, D = 1 << 20, 2
TENTH = np.float32(0.1)


def learned(shape, value=0.0) -> Tensor:
    return Tensor(np.full(shape, value, np.float32), requires_grad=True)


def rows(value=TENTH) -> np.ndarray:
    return np.full((N, D), value, np.float32)


def grad_of(parameter: Tensor, out: Tensor) -> np.ndarray:
    out.backward(rows().reshape(out.shape))
    return parameter.grad


def added_to_rows() -> np.ndarray:
    bias = learned(D)
    return grad_of(bias, Tensor(rows(1)) + bias)


def added_to_the_middle_axis() -> np.ndarray:
    bias = learned((D, 1))
    return grad_of(bias, Tensor(rows(1).reshape(-1, D, 1)) + bias)


def factor_of_rows() -> np.ndarray:
    factor = learned(D, 1)
    return grad_of(factor, Tensor(rows(1)) * factor)


def bias_of_a_projection() -> np.ndarray:
    bias = learned(D)
    return grad_of(bias, F.project(Tensor(rows(1)), learned((D, D)), bias))


def beta_of_layer_norm() -> np.ndarray:
    beta = learned(D)
    return grad_of(beta, F.layer_norm(Tensor(rows(1)), learned(D, 1), beta))


def gamma_of_layer_norm() -> np.ndarray:
    gamma, x = learned(D, 1), Tensor(rows(1) * np.float32([-1, 1]))  # it is its own x_hat
    return np.abs(grad_of(gamma, F.layer_norm(x, gamma, learned(D), eps=0)))


def gamma_of_rms_norm() -> np.ndarray:
    gamma = learned(D, 1)
    return grad_of(gamma, F.rms_norm(Tensor(rows(1)), gamma, eps=0))


def sum_of_rows() -> np.ndarray:
    return Tensor(rows()).sum(axis=0).data


def mean_of_rows() -> np.ndarray:
    return Tensor(rows()).mean(axis=0).data * np.float32(N)  # N is a power of 2: nothing is lost


def loss_of_a_tied_head() -> np.ndarray:
    h, weight, targets = np.zeros((N, 1), np.float32), learned((D, 1)), np.zeros(N, int)
    loss = F.tied_cross_entropy(h, weight, targets, reduction="sum").data  # N times ln 2
    return loss / np.log(np.float32(2)) * TENTH


def rows_of_one_entry() -> np.ndarray:
    return grad_of(table := learned((3, D)), table[np.ones(N, int)])[1]


def shares_of_columns() -> np.ndarray:
    return F.softmax(rows(0), axis=0).data.sum(axis=0, dtype=float).astype(np.float32) * N * TENTH


SUMS = [
    added_to_rows,
    added_to_the_middle_axis,
    factor_of_rows,
    bias_of_a_projection,
    beta_of_layer_norm,
    gamma_of_layer_norm,
    gamma_of_rms_norm,
    sum_of_rows,
    mean_of_rows,
    loss_of_a_tied_head,
    rows_of_one_entry,
    shares_of_columns,
]


@pytest.mark.parametrize("total", SUMS, ids=lambda total: total.__name__)
def test_a_million_rows(total):
    result, exact = total(), N * float(TENTH)
    assert result.dtype == np.float32
    assert np.abs(result - exact).max() <= 4 * np.spacing(np.float32(exact))


@pytest.mark.parametrize("fn", [F.softmax, F.log_softmax, F.layer_norm, F.rms_norm])
def test_where_numbers_lie_far_apart_in_memory_they_are_summed_as_well(fn):
    """NumPy adds a strided axis number by number: means of 65,536 near 100 were off by 7e-4."""
    far = np.random.default_rng(0).normal(100, 1, (1 << 16, 3)).astype(np.float32).T
    near = np.ascontiguousarray(far)
    assert not far.flags.c_contiguous
    assert fn(far).data.tobytes() == fn(near).data.tobytes()
    targets = np.array([5, 7, 9])
    assert F.cross_entropy(far, targets).item() == F.cross_entropy(near, targets).item()
