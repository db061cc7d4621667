"""How the step size goes over a training."""

from __future__ import annotations

import math

from scratch_embed.arguments import check_count


def warmup_cosine(step: int, steps: int, lr: float, warmup: int = 0, floor: float = 0.0) -> float:
    """The step size for step 0, 1, ..., steps - 1: up in a straight line, down in half a cosine.

        step < warmup    lr (step + 1) / warmup
        later            floor + (lr - floor) (1 + cos(pi p)) / 2
                         with p = (step - warmup) / (steps - warmup), at most 1

    The line spares a fresh table the first steps of an Adam whose means know one batch only; the
    cosine (Loshchilov & Hutter 2017) lets the end settle. It keeps no state, so a training that is
    resumed at step 700 asks for step 700:

        for step in range(start, steps):
            optimizer.lr = warmup_cosine(step, steps, 1e-3, warmup=100)

    Parameters
    ----------
    step, steps : the step that comes now, and how many there are in all. From `steps` on: floor.
    lr : the largest step size, reached at the end of the warm-up.
    warmup : how many steps it takes to get there, at most `steps`.
    floor : the step size at the end.

    Raises ValueError and TypeError for counts that are no whole numbers >= 0, and for a warm-up
    longer than the training.

    >>> [round(warmup_cosine(step, 6, 0.8, warmup=2), 3) for step in range(7)]
    [0.4, 0.8, 0.8, 0.683, 0.4, 0.117, 0.0]
    """
    step, steps = check_count(step, "step", 0), check_count(steps, "steps")
    warmup = check_count(warmup, "warmup", 0)
    if warmup > steps:
        raise ValueError(f"warmup is {warmup}; there are only {steps} steps")
    if step < warmup:
        return lr * (step + 1) / warmup
    done = (step - warmup) / (steps - warmup) if step < steps else 1.0
    return floor + (lr - floor) * (1 + math.cos(math.pi * done)) / 2
