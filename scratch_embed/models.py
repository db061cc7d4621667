"""The smallest language model that has everything an embedding needs to learn, and its training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import array_of, check_count, check_flag, generator
from scratch_embed.functional import cross_entropy, tanh
from scratch_embed.kernels.ids import check_ids
from scratch_embed.layers.embedding import Embedding
from scratch_embed.layers.layer import Layer
from scratch_embed.learning import Learning
from scratch_embed.optim import Optimizer
from scratch_embed.tensor import Tensor


class NextToken(Layer):
    """Predict the next token from the present one.

        h = E[id]                                  or tanh(E[id] @ W) with `body=True`
        logits = h @ U.T                           with U = E, the same tensor, when `tied=True`

    Parameters
    ----------
    num_embeddings, embedding_dim : V and D.
    tied : use the table E as output projection too. Without a body a tied model can only score
        tokens by their likeness to the present one, so a tied model usually wants a body.
    body : put one matrix and a tanh between reading and writing.
    rng : numpy.random.Generator, or a seed.
    init : of the tables, as in `Embedding`.
    sparse : the table's gradient comes as a RowGrad (untied only: the head touches every row).
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        tied: bool = False,
        body: bool = False,
        rng: np.random.Generator | int = 0,
        init: str | float = "1/sqrt(d)",
        sparse: bool = False,
        dtype: type = np.float64,
    ):
        rng = generator(rng)
        options = {"rng": rng, "init": init, "dtype": dtype}
        self.embed = Embedding(num_embeddings, embedding_dim, sparse=sparse, **options)
        self.embed.weight.name = "E"
        self.head = self.embed.weight
        if not check_flag(tied, "tied"):
            self.head = Embedding(num_embeddings, embedding_dim, **options).weight
            self.head.name = "U"
        self.body = None
        if check_flag(body, "body"):
            square = rng.standard_normal((embedding_dim, embedding_dim)) * embedding_dim**-0.5
            self.body = Tensor(square.astype(dtype), requires_grad=True, name="W")

    def __call__(self, ids) -> Tensor:
        """Logits for the token after each id: (...) -> (..., V)."""
        h = self.embed(ids)
        if self.body is not None:
            h = tanh(h @ self.body)
        return h @ self.head.T

    def loss(self, ids, targets) -> Tensor:
        """Mean cross-entropy, in nats per token."""
        return cross_entropy(self(ids), targets)


class Training(NamedTuple):
    """What a run of `train` did."""

    losses: np.ndarray  # (steps taken,) loss before each step
    updates: np.ndarray  # (V,) in how many steps each row was looked up
    start: np.ndarray  # (V, D) the table before the first step

    def moved(self, table: np.ndarray) -> np.ndarray:
        """How far each row of `table` is from where it started, (V,)."""
        return np.linalg.norm(table - self.start, axis=1)


def train(
    model: NextToken,
    tokens: np.ndarray,
    optimizer: Optimizer,
    steps: int,
    batch_size: int,
    rng: np.random.Generator | int = 0,
    progress: Callable[[Iterable], Iterable] = iter,
) -> Training:
    """Take `steps` steps on random (token, next token) pairs of the 1-D array `tokens`.

    `progress` wraps the loop, as tqdm does, and may end it early: the losses are those of the steps
    that were taken. Stopped there, the model is as its last whole step left it. Raises what
    `kernels.check_ids` raises for tokens that the model has no rows for.
    """
    tokens, steps = array_of(tokens, "tokens"), check_count(steps, "steps", 0)
    batch_size = check_count(batch_size, "batch_size")
    if tokens.ndim != 1 or len(tokens) < 2:
        raise ValueError(
            f"tokens has shape {tokens.shape}; it must be (N,), and a pair (token, next) needs two"
        )
    tokens = check_ids(tokens, model.embed.num_embeddings, "tokens")
    rng = generator(rng)
    start = model.embed.weight.data.copy()
    updates = np.zeros(model.embed.num_embeddings, dtype=np.int64)
    losses = []

    def loss_of_pairs(rng: np.random.Generator) -> Tensor:
        at = rng.integers(len(tokens) - 1, size=batch_size)
        updates[np.unique(tokens[at])] += 1
        return model.loss(tokens[at], tokens[at + 1])

    learning = Learning(model, optimizer, rng, loss_of_pairs)
    for _ in progress(range(steps)):
        losses.append(learning.take())
    return Training(np.array(losses, np.float64), updates, start)
