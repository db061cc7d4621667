"""Embedding: a table of rows, looked up by id."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import array_of, check_count, check_flag, generator, is_real
from scratch_embed.functional import lookup
from scratch_embed.layers.layer import Layer
from scratch_embed.ops.lookup import padding_row
from scratch_embed.ops.renorm import check_max_norm, renorm_
from scratch_embed.tensor import Tensor

INITS = {
    "N(0,1)": lambda dim: 1.0,  # PyTorch's default: a row has norm about sqrt(D)
    "1/sqrt(d)": lambda dim: dim**-0.5,  # a row has norm about 1
}


def initial_std(init: str | float, embedding_dim: int) -> float:
    """The standard deviation that `init` names, for rows of `embedding_dim` numbers.

    "N(0,1)" is 1, "1/sqrt(d)" is embedding_dim ** -0.5, and a number is itself; 0.02 is the one
    of GPT-2 (Radford et al. 2019) and BERT (Devlin et al. 2019).

    Raises ValueError for another name, and for anything but a finite number that is not negative.
    """
    if isinstance(init, str):
        if init not in INITS:
            names = ", ".join(repr(name) for name in INITS)
            raise ValueError(f"init is {init!r}; it must be {names}, or a number: the std itself")
        return INITS[init](embedding_dim)
    if not (is_real(init) and 0 <= init < np.inf):
        raise ValueError(f"init is {init!r}; a standard deviation is finite and not negative")
    return float(init)


class Embedding(Layer):
    """A table of V rows of D numbers, looked up by id: out[n] = weight[ids[n]]    (...) -> (..., D)

    Parameters, with the meaning they have in torch.nn.Embedding
    ----------
    num_embeddings : V, rows of the table; ids run from 0 to V - 1.
    embedding_dim : D, numbers in a row.
    padding_idx : this row starts at zero and gets no gradient from lookups. It may be written
        from the end, as -1. It is frozen against lookups only: a head that shares the table
        still sends gradient into it.
    max_norm : before each lookup, rows to be looked up whose norm is larger are shrunk to it,
        in place.
    norm_type : the p of that p-norm.
    scale_grad_by_freq : divide a row's gradient by its number of uses in the batch.
    sparse : `weight.grad` becomes a RowGrad that names the rows of the batch.
    dtype : of the table, float32 or float64.
    rng : numpy.random.Generator, or a seed for one. None draws another table every time.
    init : how the rows are drawn, named by the std: "N(0,1)", "1/sqrt(d)" or a number (0.02).

    padding_idx, max_norm and scale_grad_by_freq each make the gradient differ from the derivative
    of the loss on purpose.

    Raises ValueError for sizes that are not whole numbers of at least 1, a padding_idx outside the
    table, a max_norm, norm_type or init out of range, and a seed below 0; TypeError for a dtype
    that is not float32 or float64, a padding_idx that is not a whole number, a switch that is not
    True or False, and an rng that NumPy makes no Generator of.

    >>> layer = Embedding(6, 3, rng=0, init=0.02)
    >>> layer([[1, 2], [4, 1]]).shape
    (2, 2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = "N(0,1)",
    ):
        num_embeddings = check_count(num_embeddings, "num_embeddings")
        embedding_dim = check_count(embedding_dim, "embedding_dim")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise TypeError(f"dtype is {np.dtype(dtype)}; a table holds float32 or float64")
        rng = generator(rng)
        rows = rng.standard_normal((num_embeddings, embedding_dim), dtype)
        rows *= rows.dtype.type(initial_std(init, embedding_dim))
        self._set_up(rows, True, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0

    @classmethod
    def from_pretrained(
        cls,
        array: np.ndarray,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer around an existing (V, D) array, which is shared and not copied.

        Frozen by default: the table asks for no gradient, and an optimiser leaves it alone. The
        padding row keeps its values, as in PyTorch. The options are those of `Embedding`.

        Raises ValueError for an array that is not 2-D and for options out of range, TypeError for
        an array that is not float32 or float64 and for a switch that is not True or False.
        """
        array = array_of(array, "array")
        if array.ndim != 2:
            raise ValueError(f"array has shape {array.shape}; a table has two axes, (V, D)")
        if array.dtype not in (np.float32, np.float64):
            raise TypeError(f"array is {array.dtype}; a table holds float32 or float64")
        learn = not check_flag(freeze, "freeze")
        layer = cls.__new__(cls)
        layer._set_up(array, learn, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        return layer

    def _set_up(self, rows, learn, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse):
        self.weight = Tensor(rows, requires_grad=learn, name="weight")
        self.padding_idx = padding_row(padding_idx, self.num_embeddings)
        check_max_norm(max_norm, norm_type)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = check_flag(scale_grad_by_freq, "scale_grad_by_freq")
        self.sparse = check_flag(sparse, "sparse")

    @property
    def num_embeddings(self) -> int:
        return self.weight.shape[0]

    @property
    def embedding_dim(self) -> int:
        return self.weight.shape[-1]

    def __call__(self, ids) -> Tensor:
        """Rows of the table: ids (...) of any integer type -> (..., D).

        Raises IndexError for an id outside 0..V-1 and TypeError for ids that are not integers,
        each naming the id and where it stands; ValueError where max_norm would shrink a row of a
        read-only table.
        """
        if self.max_norm is not None:
            renorm_(self.weight.data, ids, self.max_norm, self.norm_type)
        return lookup(
            self.weight,
            ids,
            padding_idx=self.padding_idx,
            scale_grad_by_freq=self.scale_grad_by_freq,
            sparse=self.sparse,
        )

    def __repr__(self) -> str:
        notes = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for option in ("padding_idx", "max_norm"):
            if getattr(self, option) is not None:
                notes.append(f"{option}={getattr(self, option)}")
        notes += [f"{o}=True" for o in ("scale_grad_by_freq", "sparse") if getattr(self, o)]
        return f"Embedding({', '.join(notes)})"
