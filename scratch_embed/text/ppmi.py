"""Vectors by counting: co-occurrence, positive pointwise mutual information, and an SVD.

Levy & Goldberg 2014, "Neural Word Embedding as Implicit Matrix Factorization": skip-gram with
negative sampling factorises this matrix, shifted by ln K. Nothing is learned step by step here.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import array_of, check_count, is_real
from scratch_embed.kernels.ids import check_sequence, count_ids

LIMIT = 2**31  # bytes of a dense (V, V) matrix of float64: V = 16,384


def cooccurrence(ids: np.ndarray, num_embeddings: int, window: int = 5) -> np.ndarray:
    """counts[u, v] = how often v stands within `window` places of u      (N,) -> (V, V), symmetric

    >>> cooccurrence(np.array([0, 1, 2, 1]), 3, window=1).astype(int).tolist()
    [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
    """
    window = check_count(window, "window")
    size = check_count(num_embeddings, "num_embeddings")
    if 8 * size * size > LIMIT:
        raise ValueError(
            f"num_embeddings is {size}: the (V, V) matrix would take {8 * size * size / 2**30:.1f} "
            "GiB. Keep the most frequent words: Vocabulary.from_tokens(tokens, max_size=10_000)"
        )
    ids = check_sequence(ids, size)
    counts = np.zeros(size * size)
    for distance in range(1, min(window, len(ids) - 1) + 1):
        counts += count_ids(ids[:-distance] * size + ids[distance:], size * size)
    counts = counts.reshape(size, size)
    return counts + counts.T


def ppmi(counts: np.ndarray, alpha: float = 1.0, shift: float = 1.0) -> np.ndarray:
    """max(0, ln(P(u, v) / (P(u) P(v))) - ln shift), and 0 where u and v never meet   (V, V)

    Positive where two words meet more often than chance. alpha < 1 smooths the contexts,
    P(v) = count(v)^alpha / sum: 0.75 keeps rare contexts from scoring too high (Levy, Goldberg &
    Dagan 2015). shift is the K of negative sampling.

    >>> ppmi(np.array([[0.0, 4.0], [4.0, 2.0]])).round(4).tolist()     # ln(0.4 / (0.4 * 0.6))
    [[0.0, 0.5108], [0.5108, 0.0]]
    """
    counts = array_of(counts, "counts").astype(np.float64)
    if counts.ndim != 2 or not (np.isfinite(counts) & (counts >= 0)).all() or not counts.any():
        raise ValueError(
            f"counts {counts.shape} must be a matrix of counts, finite, >= 0 and not all 0"
        )
    if not (is_real(alpha) and 0 <= alpha <= 1):
        raise ValueError(f"alpha is {alpha!r}; it must be in 0..1, 1 for no smoothing")
    if not shift > 0:
        raise ValueError(f"shift is {shift!r}; it must be positive, 1 for none")
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    contexts = np.where(columns > 0, np.where(columns > 0, columns, 1) ** alpha, 0)
    chance = np.outer(rows / rows.sum(), contexts / contexts.sum())
    met = counts > 0
    ratio = np.divide(counts / counts.sum(), chance, out=np.ones_like(counts), where=met)
    return np.where(met, np.maximum(np.log(ratio) - np.log(shift), 0), 0)


def svd_vectors(matrix: np.ndarray, dim: int, power: float = 0.5) -> np.ndarray:
    """U S^power of the `dim` largest singular values of matrix = U S W.T        (V, V) -> (V, dim)

    Levy, Goldberg & Dagan 2015 found 0.5 and 0 better than the 1 of the textbook. The sign of each
    column, which an SVD leaves open, makes its largest entry positive.
    """
    matrix = array_of(matrix, "matrix").astype(np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"matrix has shape {matrix.shape}; it must have rows and columns")
    for i, j in np.argwhere(~np.isfinite(matrix)):
        raise ValueError(f"matrix[{i}, {j}] is {matrix[i, j]}; only finite numbers have an SVD")
    if check_count(dim, "dim") > min(matrix.shape):
        raise ValueError(f"dim is {dim}; a matrix {matrix.shape} has {min(matrix.shape)} at most")
    u, s, _ = np.linalg.svd(matrix, full_matrices=False)
    u, s = u[:, :dim], s[:dim]
    signs = np.sign(u[np.abs(u).argmax(axis=0), np.arange(dim)])
    return u * signs * s**power
