"""Self-attention, and the smallest Transformer block around it."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import array_of, check_count, check_flag, generator
from scratch_embed.functional import attention, relu, rotary
from scratch_embed.layers.layer import Layer
from scratch_embed.layers.linear import Linear
from scratch_embed.layers.norm import LayerNorm
from scratch_embed.tensor import Tensor, no_grad


class SelfAttention(Layer):
    """Each token asks all tokens of its sequence                     (..., T, D) -> (..., T, D)

        q, k, v = x @ query.T, x @ key.T, x @ value.T      cut into heads of D / num_heads columns
        out = (softmax(q k.T / sqrt(D / num_heads)) v, heads side by side) @ output.T

    Parameters
    ----------
    embedding_dim : D, a multiple of num_heads.
    causal : token t sees tokens 0 .. t only.
    rotary : turn q and k by their positions; without it, order makes no difference.
    bias, dtype, rng : as in `Linear`.

    Raises ValueError for sizes that are not whole numbers of at least 1, a D that cannot be cut
    into equal heads, or, with rotary, into heads of an even width; TypeError for another dtype and
    for a causal or rotary that is not True or False.

    >>> SelfAttention(4, num_heads=2, causal=True, rng=0)(np.ones((3, 4))).shape
    (3, 4)
    """

    def __init__(
        self,
        embedding_dim: int,
        num_heads: int = 1,
        causal: bool = False,
        rotary: bool = False,
        bias: bool = False,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
    ):
        embedding_dim = check_count(embedding_dim, "embedding_dim")
        self.num_heads = num_heads = check_count(num_heads, "num_heads")
        if embedding_dim % num_heads:
            raise ValueError(
                f"embedding_dim {embedding_dim} cannot be cut into {num_heads} equal heads; make "
                "it a multiple of num_heads"
            )
        if rotary and embedding_dim // num_heads % 2:
            raise ValueError(
                f"a head holds {embedding_dim // num_heads} columns, embedding_dim {embedding_dim} "
                f"in {num_heads} heads, and rotary turns columns in pairs; make that number even"
            )
        self.causal = check_flag(causal, "causal")
        self.rotary = check_flag(rotary, "rotary")
        rng = generator(rng)
        options = {"bias": bias, "dtype": dtype, "rng": rng}
        self.query = Linear(embedding_dim, embedding_dim, **options)
        self.key = Linear(embedding_dim, embedding_dim, **options)
        self.value = Linear(embedding_dim, embedding_dim, **options)
        self.output = Linear(embedding_dim, embedding_dim, **options)
        self.name_weights()

    def __call__(self, x, real=None) -> Tensor:
        """x (..., T, D). real: booleans (..., T), False at padding, which then nobody looks at;
        numbers have to stand there all the same, for 0 times NaN is NaN.

        Raises ValueError for an x or a real of another shape, TypeError for a real that is not
        boolean.
        """
        x = self._checked(x)
        mask = _over_keys(real, x.shape)
        answers = attention(*self._heads(x), mask=mask, causal=self.causal)
        return self.output(self._join(answers))

    def weights(self, x, real=None) -> np.ndarray:
        """Who looks at whom: (..., num_heads, T, T), each row sums to 1. For looking only.

        Raises what calling the layer raises.
        """
        x = self._checked(x)
        mask = _over_keys(real, x.shape)
        with no_grad():
            q, k, v = (part.data for part in self._heads(x))
        _, saved = attention.forward(q, k, v, mask=mask, causal=self.causal)
        return saved.weights

    def _checked(self, x) -> Tensor | np.ndarray:
        x = x if isinstance(x, Tensor) else array_of(x, "x")
        if x.ndim < 2 or x.shape[-1] != self.query.in_features:
            raise ValueError(
                f"x has shape {x.shape}; attention takes (..., T, {self.query.in_features})"
            )
        return x

    def _heads(self, x) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v, each (..., num_heads, T, D / num_heads)."""
        q, k, v = (self._split(layer(x)) for layer in (self.query, self.key, self.value))
        return (rotary(q), rotary(k), v) if self.rotary else (q, k, v)

    def _split(self, x: Tensor) -> Tensor:
        heads = x.reshape(*x.shape[:-1], self.num_heads, x.shape[-1] // self.num_heads)
        return _swap_heads(heads)

    def _join(self, heads: Tensor) -> Tensor:
        side_by_side = _swap_heads(heads)
        return side_by_side.reshape(*side_by_side.shape[:-2], self.query.in_features)

    def __repr__(self) -> str:
        notes = "".join(f", {name}=True" for name in ("causal", "rotary") if getattr(self, name))
        return f"SelfAttention({self.query.in_features}, num_heads={self.num_heads}{notes})"


class TransformerBlock(Layer):
    """x = x + attention(norm(x)),  x = x + mlp(norm(x))              (..., T, D) -> (..., T, D)

    Normalised before each part (Xiong et al. 2020), as GPT-2 is; the MLP is two linear layers with
    a relu between them, `mlp_ratio` times as wide inside.

    The other parameters, and what is raised, are those of `SelfAttention`.

    >>> TransformerBlock(4, num_heads=2, rng=0)(np.ones((3, 4))).shape
    (3, 4)
    """

    def __init__(
        self,
        embedding_dim: int,
        num_heads: int = 1,
        mlp_ratio: int = 4,
        causal: bool = False,
        rotary: bool = False,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
    ):
        rng = generator(rng)
        embedding_dim = check_count(embedding_dim, "embedding_dim")
        width = embedding_dim * check_count(mlp_ratio, "mlp_ratio")
        self.norm1 = LayerNorm(embedding_dim, dtype=dtype)
        self.attention = SelfAttention(
            embedding_dim, num_heads, causal, rotary, dtype=dtype, rng=rng
        )
        self.norm2 = LayerNorm(embedding_dim, dtype=dtype)
        self.up = Linear(embedding_dim, width, dtype=dtype, rng=rng)
        self.down = Linear(width, embedding_dim, dtype=dtype, rng=rng)
        self.name_weights()

    def __call__(self, x, real=None) -> Tensor:
        """x (..., T, D); real as in `SelfAttention`."""
        x = x + self.attention(self.norm1(x), real)
        return x + self.down(relu(self.up(self.norm2(x))))


def _swap_heads(x: Tensor) -> Tensor:
    """(..., T, heads, D) <-> (..., heads, T, D)"""
    axes = list(range(x.ndim))
    axes[-3], axes[-2] = axes[-2], axes[-3]
    return x.transpose(axes)


def _over_keys(real, shape: tuple[int, ...]) -> np.ndarray | None:
    """(..., T) booleans of the keys, for every head and every query of x of this shape."""
    if real is None:
        return None
    real, tokens = array_of(real, "real"), shape[:-1]
    if real.dtype != bool:
        raise TypeError(
            f"real is {real.dtype}; it must be boolean, False at padding: real.astype(bool), or "
            "ids != padding_idx"
        )
    leading = zip(real.shape[::-1], tokens[::-1])
    stretches = any(mine not in (1, size) for mine, size in leading)
    if real.shape[-1:] != tokens[-1:] or real.ndim > len(tokens) or stretches:
        raise ValueError(
            f"real {real.shape} does not fit x {shape}: it holds one boolean for each "
            f"token, {tokens}"
        )
    return real[..., None, None, :]
