"""The steps of optimisers on the rows that a batch names: loops that Numba compiles as they stand.

`values`, `rows`, `order` and `starts` are what `kernels.group_rows` explains: the gradient of
rows[u] is the sum of values[order[starts[u]:starts[u + 1]]]. It is summed into a single row of
memory and used at once, so no array of the gradient is ever made. Part p owns the groups
edges[p] .. edges[p + 1] - 1, and with them their rows of the table.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.kernels.words import AHEAD, prange, prefetch


def sum_group(grad, values, order, first, last):
    """grad = the sum of values[n] for n in order[first:last]"""
    n = order[first]
    for d in range(len(grad)):
        grad[d] = values[n, d]
    for i in range(first + 1, last):
        n = order[i]
        for d in range(len(grad)):
            grad[d] += values[n, d]


def sgd(values, rows, order, starts, edges, table, lr):
    """w -= lr g"""
    for part in prange(len(edges) - 1):
        grad = np.empty(values.shape[1], values.dtype)
        for u in range(edges[part], edges[part + 1]):
            later = min(u + AHEAD, len(rows) - 1)
            prefetch(table, rows[later])
            prefetch(values, order[starts[later]])
            w, n = rows[u], order[starts[u]]
            if starts[u + 1] == starts[u] + 1:  # most rows come once: no sum, a quarter less time
                for d in range(len(grad)):
                    table[w, d] -= lr * values[n, d]
            else:
                sum_group(grad, values, order, starts[u], starts[u + 1])
                for d in range(len(grad)):
                    table[w, d] -= lr * grad[d]


def adagrad(values, rows, order, starts, edges, table, state, lr, eps):
    """s += g^2,   w -= lr g / (sqrt(s) + eps)"""
    for part in prange(len(edges) - 1):
        grad = np.empty(values.shape[1], values.dtype)
        for u in range(edges[part], edges[part + 1]):
            later = min(u + AHEAD, len(rows) - 1)
            prefetch(table, rows[later])
            prefetch(state, rows[later])
            prefetch(values, order[starts[later]])
            sum_group(grad, values, order, starts[u], starts[u + 1])
            w = rows[u]
            for d in range(len(grad)):
                state[w, d] += grad[d] * grad[d]
                table[w, d] -= lr * grad[d] / (np.sqrt(state[w, d]) + eps)


def row_adagrad(values, rows, order, starts, edges, table, state, lr, eps):
    """s += mean of g^2 over the row,   w -= lr g / (sqrt(s) + eps)"""
    for part in prange(len(edges) - 1):
        grad = np.empty(values.shape[1], values.dtype)
        for u in range(edges[part], edges[part + 1]):
            later = min(u + AHEAD, len(rows) - 1)
            prefetch(table, rows[later])
            prefetch(values, order[starts[later]])
            sum_group(grad, values, order, starts[u], starts[u + 1])
            w, squares = rows[u], np.float64(0)  # 0.0 plus float32 is float32 in plain Python
            for d in range(len(grad)):
                squares += grad[d] * grad[d]
            state[w] += squares / len(grad)
            scale = lr / (np.sqrt(state[w]) + eps)
            for d in range(len(grad)):
                table[w, d] -= scale * grad[d]


def adam(values, rows, order, starts, edges, table, m, v, lr, eps, keep, add, correct):
    """m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2,   w -= lr m' / (sqrt(v') + eps)

    keep = (b1, b2), add = (1 - b1, 1 - b2), correct = (1 - b1^t, 1 - b2^t).
    """
    for part in prange(len(edges) - 1):
        grad = np.empty(values.shape[1], values.dtype)
        for u in range(edges[part], edges[part + 1]):
            later = min(u + AHEAD, len(rows) - 1)
            prefetch(table, rows[later])
            prefetch(m, rows[later])
            prefetch(v, rows[later])
            prefetch(values, order[starts[later]])
            sum_group(grad, values, order, starts[u], starts[u + 1])
            w = rows[u]
            for d in range(len(grad)):
                m[w, d] = keep[0] * m[w, d] + add[0] * grad[d]
                v[w, d] = keep[1] * v[w, d] + add[1] * grad[d] * grad[d]
                m_hat, v_hat = m[w, d] / correct[0], v[w, d] / correct[1]
                table[w, d] -= lr * m_hat / (np.sqrt(v_hat) + eps)


for _step in (sgd, adagrad, row_adagrad, adam):
    _step.helpers = (sum_group,)
