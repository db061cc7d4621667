"""What hands used to NumPy or PyTorch type, and what to write here."""

from __future__ import annotations

INSTEAD = {
    "view": "t.reshape(shape)",
    "flatten": "t.reshape(-1)",
    "ravel": "t.reshape(-1)",
    "squeeze": "t.reshape(shape)",
    "unsqueeze": "t.reshape(shape)",
    "permute": "t.transpose(axes)",
    "swapaxes": "t.transpose(axes)",
    "t": "t.T",
    "clip": "low + relu(t - low) - relu(t - high) of functional, rounded as low and high are",
    "clamp": "low + relu(t - low) - relu(t - high) of functional, rounded as low and high are",
    "abs": "relu(t) + relu(-t) of functional",
    "pow": "t ** exponent",
    "dot": "t @ other",
    "mm": "t @ other",
    "requires_grad_": "t.requires_grad = True, or False to freeze it",
    "sort": "np.sort(t.numpy()), where the way back ends",
    "clone": "t * 1.0, or Tensor(t.numpy().copy()) where the way back ends",
    "contiguous": "t: how it lies in memory is nobody's business here",
    "cpu": "t: all tensors are in memory",
    "cuda": "t: all tensors are in memory",
    "numel": "t.size",
    "dim": "t.ndim",
    "norm": "sqrt((t * t).sum()) of functional",
    "square": "t * t",
    "matmul": "t @ other",
    "zero_grad": "t.grad = None, or optimizer.zero_grad()",
    "zero_": "t.data[...] = 0",
    "is_leaf": "t.node is None",
    "astype": "Tensor(t.numpy().astype(dtype)), where the way back ends",
    **{
        name: "Tensor(t.numpy().astype(dtype)), where the way back ends"
        for name in ("to", "type", "float", "double", "half", "int", "long")
    },
    **{
        name: f"functional.{name}(t)"
        for name in ("exp", "log", "sqrt", "tanh", "relu", "sigmoid", "softmax", "log_softmax")
    },
    **{
        name: f"t.numpy().{name}(), where the way back ends"
        for name in ("tolist", "max", "min", "argmax", "argmin", "std", "var", "round", "copy",
                     "all", "any", "argsort", "cumsum", "prod", "nonzero")
    },
}  # fmt: skip
OF_LAYERS = {
    "forward": "layer(x)",
    "zero_grad": "optimizer.zero_grad()",
    "modules": "named_parameters(), or an attribute by its name",
    **{name: "dtype=... where it is made" for name in ("to", "float", "double", "half")},
    **{name: "layer: all weights are in memory" for name in ("cpu", "cuda")},
}
OF_FUNCTIONAL = {
    "embedding": "lookup(weight, ids)",
    "linear": "project(x, weight, bias)",
    "one_hot": "one_hot of scratch_embed.ops.onehot",
    "logsigmoid": "log_sigmoid",
    "scaled_dot_product_attention": "attention(q, k, v)",
    "mse_loss": "((a - b) * (a - b)).mean()",
    "nll_loss": "cross_entropy(scores, targets), of scores and not of their log_softmax",
    "cat": "concatenate",
    "stack": "concatenate(*tensors), each with reshape(1, *t.shape) before",
    "silu": "x * sigmoid(x)",
    "abs": "relu(x) + relu(-x)",
    "leaky_relu": "relu(x) - slope * relu(-x)",
    "clip": "low + relu(x - low) - relu(x - high)",
    "binary_cross_entropy_with_logits": "-log_sigmoid(z) for 1, and -log_sigmoid(-z) for 0",
    **{
        name: "one of your own, with differentiable(forward, backward) of scratch_embed"
        for name in ("gelu", "elu", "softplus", "normalize", "max_pool2d", "conv2d",
                     "batch_norm", "binary_cross_entropy", "kl_div", "smooth_l1_loss", "maximum",
                     "where", "sin", "cos", "max", "min", "var", "std")
    },
}  # fmt: skip
OPTIONS = {"dim": "axis", "keepdim": "keepdims"}  # of operations


def no_such(name: str, kind: str = "Tensor", instead: dict[str, str] = INSTEAD) -> str:
    """What an AttributeError says of a name that nothing of this kind has.

    >>> no_such("view"), no_such("weights")
    ('Tensor has no view: write t.reshape(shape)', "'Tensor' object has no attribute 'weights'")
    """
    if name in instead:
        return f"{kind} has no {name}: write {instead[name]}"
    return f"{kind!r} object has no attribute {name!r}"
