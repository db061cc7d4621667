"""scratch_embed: embedding layers from scratch, in NumPy, with every gradient written by hand.

    from scratch_embed import Tensor, Embedding
    from scratch_embed.gradcheck import gradcheck

Importing the package costs no more than importing NumPy. Its parts are loaded when first named,
and Numba when a compiled loop is first needed.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as editors expect it, without waiting for typing to be loaded
if TYPE_CHECKING:  # for editors, which do not run `__getattr__`
    from scratch_embed.layers import Embedding
    from scratch_embed.optim import SGD, Adagrad, Adam, AdamW, LazyAdam, RMSProp, RowAdagrad
    from scratch_embed.rows import RowGrad
    from scratch_embed.tensor import Tensor, differentiable, no_grad

__version__ = "0.2.0"

_HOMES = {
    "Tensor": "tensor",
    "no_grad": "tensor",
    "differentiable": "tensor",
    "RowGrad": "rows",
    "Embedding": "layers",
    "SGD": "optim",
    "Adagrad": "optim",
    "RMSProp": "optim",
    "RowAdagrad": "optim",
    "Adam": "optim",
    "AdamW": "optim",
    "LazyAdam": "optim",
}
_MODULES = (
    "checkpoint", "functional", "geometry", "gradcheck", "hashing", "images", "kernels", "layers",
    "models", "optim", "plot", "positions", "sizes", "trace",
)  # fmt: skip

__all__ = [
    "AdamW", "Adagrad", "Adam", "Embedding", "LazyAdam", "RMSProp", "RowAdagrad", "RowGrad", "SGD",
    "Tensor", "differentiable", "no_grad",
]  # fmt: skip


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_MODULES])
