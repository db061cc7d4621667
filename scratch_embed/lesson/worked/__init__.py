"""Arithmetic written out with its numbers: every function prints it and returns its result.

    >>> from scratch_embed.lesson import worked
    >>> result = worked.dot("h . cat", [0.6, 0.1, 0.3], [0.8, -0.2, 0.4])
      h . cat = 0.6*0.8 + 0.1*(-0.2) + 0.3*0.4 = 0.48 - 0.02 + 0.12 = 0.58

The first argument is the label of the result. Results are computed by NumPy in float64 from the
numbers given, never from the rounded text; what is shown has six significant digits, or as many as
let it come out. Long sums show their first and last terms. `why="collect both uses"` says what a
calculation is for. Each makes a `Working`, the calculation as data: see `scratch_embed/working.py`.
"""

from scratch_embed.lesson.worked.bpe import merge_pair, pieces
from scratch_embed.lesson.worked.nudge import nudge
from scratch_embed.lesson.worked.tables import (
    cross_entropy,
    lookup,
    matmul,
    onehot_product,
    outer,
    scatter_add,
    softmax,
    unfold,
)
from scratch_embed.lesson.worked.vectors import (
    cosine,
    difference,
    distance,
    dot,
    line,
    mean,
    norm,
    product,
    quotient,
    root,
    scale,
    sigmoid,
    sum,
    times,
)
from scratch_embed.working import Line, Working

__all__ = [
    "Line", "Working", "cosine", "cross_entropy", "difference", "distance", "dot", "line",
    "lookup", "matmul", "mean", "merge_pair", "norm", "nudge", "onehot_product", "outer", "pieces",
    "product", "quotient", "root", "scale", "scatter_add", "sigmoid", "softmax", "sum", "times",
    "unfold",
]  # fmt: skip
