"""Every operation on Tensors, a line each: a hand-written pair from `ops/`, put on the tape.

    y = lookup(weight, ids)        runs ops.lookup.lookup_forward, remembers lookup_backward

Each function takes Tensors or arrays and carries the docstring of its forward half; the two
halves are its attributes `.forward` and `.backward`.
"""

from __future__ import annotations

from scratch_embed.ops import attention as _attention
from scratch_embed.ops import bag as _bag
from scratch_embed.ops import cross_entropy as _cross_entropy
from scratch_embed.ops import dropout as _dropout
from scratch_embed.ops import elementwise as _elementwise
from scratch_embed.ops import lookup as _lookup
from scratch_embed.ops import norm as _norm
from scratch_embed.ops import onehot as _onehot
from scratch_embed.ops import patches as _patches
from scratch_embed.ops import project as _project
from scratch_embed.ops import rotary as _rotary
from scratch_embed.ops import sgns as _sgns
from scratch_embed.ops import shape as _shape
from scratch_embed.ops import softmax as _softmax
from scratch_embed.ops import tied_cross_entropy as _tied
from scratch_embed.tensor.habits import OF_FUNCTIONAL as _INSTEAD
from scratch_embed.tensor.habits import no_such as _no_such
from scratch_embed.tensor.tensor import (
    add,
    differentiable,
    div,
    getitem,
    mean,
    mul,
    neg,
    power,
    reshape,
    sub,
    transpose,
)
from scratch_embed.tensor.tensor import matmul_ as matmul
from scratch_embed.tensor.tensor import sum_ as sum

# rows of a table
lookup = differentiable(_lookup.lookup_forward, _lookup.lookup_backward)
onehot_product = differentiable(
    _onehot.onehot_product_forward, _onehot.onehot_product_backward, reads=((1,), (0,))
)
embedding_bag = differentiable(_bag.embedding_bag_forward, _bag.embedding_bag_backward)
project = differentiable(
    _project.project_forward, _project.project_backward, selective=True, reads=((1,), (0,), ())
)

# entry by entry
exp = differentiable(_elementwise.exp_forward, _elementwise.exp_backward)
log = differentiable(_elementwise.log_forward, _elementwise.log_backward)
sqrt = differentiable(_elementwise.sqrt_forward, _elementwise.sqrt_backward)
tanh = differentiable(_elementwise.tanh_forward, _elementwise.tanh_backward)
sigmoid = differentiable(_elementwise.sigmoid_forward, _elementwise.sigmoid_backward)
log_sigmoid = differentiable(_elementwise.log_sigmoid_forward, _elementwise.log_sigmoid_backward)
relu = differentiable(_elementwise.relu_forward, _elementwise.relu_backward)

# moving numbers
concatenate = differentiable(_shape.concatenate_forward, _shape.concatenate_backward)
unfold = differentiable(_patches.unfold_forward, _patches.unfold_backward)
fold = differentiable(_patches.fold_forward, _patches.fold_backward)

# vectors as wholes
layer_norm = differentiable(
    _norm.layer_norm_forward, _norm.layer_norm_backward, reads=((1,), (), ())
)
rms_norm = differentiable(_norm.rms_norm_forward, _norm.rms_norm_backward, reads=((1,), ()))
dropout = differentiable(_dropout.dropout_forward, _dropout.dropout_backward)
rotary = differentiable(_rotary.rotary_forward, _rotary.rotary_backward)
attention = differentiable(
    _attention.attention_forward, _attention.attention_backward, broadcasts=True
)

# from scores to a loss
softmax = differentiable(_softmax.softmax_forward, _softmax.softmax_backward)
log_softmax = differentiable(_softmax.log_softmax_forward, _softmax.log_softmax_backward)
cross_entropy = differentiable(
    _cross_entropy.cross_entropy_forward, _cross_entropy.cross_entropy_backward
)
tied_cross_entropy = differentiable(
    _tied.tied_cross_entropy_forward, _tied.tied_cross_entropy_backward
)
sgns = differentiable(_sgns.sgns_forward, _sgns.sgns_backward)
cbow = differentiable(_sgns.cbow_forward, _sgns.cbow_backward)

__all__ = [
    "add", "attention", "cbow", "concatenate", "cross_entropy", "div", "dropout", "embedding_bag",
    "exp", "fold", "getitem", "layer_norm", "log", "log_sigmoid", "log_softmax", "lookup",
    "matmul", "mean", "mul", "neg", "onehot_product", "power", "project", "relu", "reshape",
    "rms_norm", "rotary", "sgns", "sigmoid", "softmax", "sqrt", "sub", "sum", "tanh",
    "tied_cross_entropy", "transpose", "unfold",
]  # fmt: skip

for _name in __all__:
    globals()[_name].__module__ = __name__  # where pickle finds it


def __getattr__(name: str):
    raise AttributeError(_no_such(name, "functional", _INSTEAD), name=name)
