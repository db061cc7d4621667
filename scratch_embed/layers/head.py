"""TiedHead: the table of an embedding, used once more to score every token."""

from __future__ import annotations

import math
import warnings

import numpy as np

from scratch_embed.arguments import check_count, check_flag
from scratch_embed.functional import project
from scratch_embed.layers.embedding import Embedding
from scratch_embed.layers.layer import Layer, weight
from scratch_embed.tensor import Tensor


class TiedHead(Layer):
    """logits = h @ weight.T + bias, with the weight of an `Embedding`          (..., D) -> (..., V)

    Weight tying: Press & Wolf 2017, Inan, Khosravi & Socher 2017. `head.weight is
    embedding.weight`, one Tensor around one array: there is nothing to keep in step, and its
    gradient is the sum of what both ends send. That sum is dense, because every row is scored,
    and it reaches the padding row as well.

    bias : a learned number for each token, at first 0.

    Raises TypeError for what has no weight to share; ValueError when called with an h whose last
    axis is not D.

    Warns when the table's rows are so large that training would begin far above ln V, which is
    what rows drawn from N(0,1) do; see `first_loss`.

    >>> table = Embedding.from_pretrained(np.array([[0.1, 0.2, 0.3], [0.3, -0.2, 0.4]]))
    >>> TiedHead(table)([0.6, 0.1, 0.3]).numpy().round(2).tolist()
    [0.17, 0.28]
    """

    def __init__(self, embedding: Embedding, bias: bool = False):
        self.weight = getattr(embedding, "weight", None)
        if not isinstance(self.weight, Tensor):
            raise TypeError(
                f"embedding is of type {type(embedding).__name__}; pass an Embedding, whose weight "
                "is used once more"
            )
        num_rows, dim = self.weight.shape
        biases, dtype = np.zeros(num_rows), self.weight.dtype
        self.bias = weight(biases, dtype, "bias") if check_flag(bias, "bias") else None
        std = float(np.linalg.norm(self.weight.data)) / math.sqrt(num_rows * dim)  # no copy of it
        expected = first_loss(num_rows, dim, std)
        if num_rows > 1 and expected > 2 * math.log(num_rows):
            warnings.warn(
                f"the rows of this table have a root mean square of {std:.3g}: a fresh tied model "
                f"would begin at a loss of about {expected:.3g}, where even chances cost "
                f"ln {num_rows} = {math.log(num_rows):.3g}. Draw the table with init=0.02 or "
                "init='1/sqrt(d)'",
                stacklevel=2,
            )

    def __call__(self, h) -> Tensor:
        return project(h, self.weight) if self.bias is None else project(h, self.weight, self.bias)

    def __repr__(self) -> str:
        num_rows, dim = self.weight.shape
        return f"TiedHead({num_rows}, {dim}, bias={self.bias is not None})"


def first_loss(
    num_embeddings: int, embedding_dim: int, std: float, hidden_norm: float | None = None
) -> float:
    """The cross-entropy of an untrained head, in nats, foreseen from the scale of its rows.

    With rows from N(0, std^2) the logits h . E_v are normal with s = std |h|. The logarithm of
    the sum of their V exponentials is about

        ln V + s^2 / 2          while s <= sqrt(2 ln V): all rows have a share
        s sqrt(2 ln V)          beyond: the largest logit alone decides

    (the free energy of Derrida's random energy model, 1981), and the logit of a target, any of the
    rows, averages 0. Beyond, the figure is on the high side, for the largest of V normal numbers
    lies below s sqrt(2 ln V): by some 15 % with thousands of rows, 20 % with 100, 40 % with 10.

    With `hidden_norm` None, h is the looked-up row itself, nothing in between: then its own logit,
    about std^2 D, joins the V - 1 others, and dominates them for rows of N(0,1). One time in V it
    is the target's.

    hidden_norm : |h| when h does not depend on the rows; sqrt(D) after a LayerNorm.

    Raises ValueError for a num_embeddings that is not a whole number of at least 1.

    >>> round(first_loss(50_257, 768, std=1.0))          # GPT-2 small, default rows
    768
    >>> round(first_loss(50_257, 768, std=0.02), 2)      # ln 50257
    10.82
    """
    rows = check_count(num_embeddings, "num_embeddings")
    if hidden_norm is not None:
        return _log_sum(rows, std * hidden_norm)
    own = std**2 * embedding_dim
    if rows == 1:
        return 0.0
    others = _log_sum(rows - 1, std**2 * math.sqrt(embedding_dim))
    return float(np.logaddexp(others, own)) - own / rows


def _log_sum(rows: int, spread: float) -> float:
    """About the logarithm of the sum of the exponentials of so many logits from N(0, spread^2)."""
    log_rows = math.log(rows)
    if spread <= math.sqrt(2 * log_rows):
        return log_rows + spread**2 / 2
    return spread * math.sqrt(2 * log_rows)
