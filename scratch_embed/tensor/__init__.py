"""Tensor and the tape: the only place that knows about graphs.

tape.py      what was computed from what, and how to read it in reverse
recording.py whether, and how much, is written there
calling.py   how an operation takes its arguments
borrowed.py  what a backward may read, and not write to
reading.py   what one reads off a Tensor without writing on the tape
tensor.py    what one writes with: Tensor, its operators, and how a pair becomes an operation
"""

from scratch_embed.tensor.recording import lean, no_grad
from scratch_embed.tensor.tape import Node, tape
from scratch_embed.tensor.tensor import Tensor, differentiable

__all__ = ["Node", "Tensor", "differentiable", "lean", "no_grad", "tape"]
