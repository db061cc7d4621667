"""Optimisers: how a gradient becomes a step.

Each takes the tensors to learn, and reads their `.grad`. A `RowGrad` is welcome where the rule
can be followed for the named rows alone without changing its meaning; where it cannot, the
optimiser says so and names the one that can.
"""

from scratch_embed.optim.adagrad import Adagrad, RowAdagrad
from scratch_embed.optim.adam import Adam, AdamW, LazyAdam
from scratch_embed.optim.clipping import clip_grad_norm
from scratch_embed.optim.optimizer import Optimizer
from scratch_embed.optim.rmsprop import RMSProp
from scratch_embed.optim.schedules import warmup_cosine
from scratch_embed.optim.sgd import SGD

__all__ = [
    "Adagrad", "Adam", "AdamW", "LazyAdam", "Optimizer", "RMSProp", "RowAdagrad", "SGD",
    "clip_grad_norm", "warmup_cosine",
]  # fmt: skip
