"""The whole gradient by nudging, entry by entry, and whether the complex step can be trusted."""

from __future__ import annotations

import numpy as np

from scratch_embed.gradcheck.casts import no_casts
from scratch_embed.gradcheck.corners import is_kink
from scratch_embed.gradcheck.data import holding
from scratch_embed.gradcheck.noise import loss_noise, stairs
from scratch_embed.gradcheck.numeric import (
    Line,
    Loss,
    central,
    clearer,
    closer,
    complex_step,
    farther,
    shown,
    ways,
)
from scratch_embed.tensor import Tensor

TELLS = 1e-3  # of a slope: with no more doubt than that, right is told from wrong
ANALYTIC = 1e-7  # of a slope: so near must the complex step come to real ones
SURE = 1e-9  # of a slope: with no more doubt than that, no shorter steps are taken


def gradient(loss: Loss, tensor: Tensor, entries: list[tuple] | None = None) -> np.ndarray:
    """dL / d(tensor), every entry: by the complex step where it can be trusted, else by real ones.

    Returns an array in the shape of the tensor, or a flat one for the given entries only.

    The complex step is right to the last digit where L is analytic, and says nothing where it is
    not: for abs, norm, var, which take |z|^2, it answers 0 or less than it should. So it is put to
    the test once, along a random direction, and if a real step disagrees there, entry by entry.
    """
    return measured(loss, tensor, entries)[0]


def measured(
    loss: Loss, tensor: Tensor, entries: list[tuple] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The same, and the noise of each: eight times that is what cannot be told from it."""
    places = list(np.ndindex(tensor.shape)) if entries is None else entries
    found = _complex_gradient(loss, tensor, places)
    with holding([tensor]):
        lines, noise = [Line(loss, tensor, i, edits=True) for i in places], noise_of(loss, tensor)
        if found is None:
            both = [_by_real_steps(line, max(noise, stairs(line))) for line in shown(lines)]
        elif is_analytic(loss, tensor):
            doubt = ANALYTIC * np.abs(found).max(initial=0)
            both = [(slope, doubt / 8) for slope in found]
        else:
            both = [_arbitrated(*pair, noise) for pair in zip(shown(lines), found)]
    both = np.array(both, dtype=float).reshape(-1, 2).T
    return tuple(both.reshape(2, *tensor.shape) if entries is None else both)


def noise_of(loss: Loss, tensor: Tensor) -> float:
    """The rounding of a loss, as measured: numbers that cancel leave more than its size tells."""
    direction = ways(0).standard_normal(tensor.shape)
    return loss_noise(Line(loss, tensor, None, direction, edits=True), loss.rounding())


def may_be(loss: Loss, tensor: Tensor, hoped: np.ndarray) -> bool:
    """Whether dL / d(tensor) may be this, as far as one random direction tells: for a guess among
    many, of which each entry need not be nudged."""
    direction = ways(0).standard_normal(tensor.shape)
    with holding([tensor]):
        slope = central(Line(loss, tensor, None, direction, edits=True), loss.rounding())
    size = float(np.abs(hoped * direction).sum())
    return bool(abs(slope.value - np.vdot(hoped, direction)) <= 1e-3 * size + 8 * slope.noise)


def agrees_along(loss: Loss, grad: np.ndarray) -> bool:
    """Whether this is dL / d(the tensor of loss), as closely as one random direction can tell."""
    (tensor,) = loss.tensors
    direction = ways(0).standard_normal(tensor.shape)
    with holding([tensor]):
        slope = clearer(Line(loss, tensor, None, direction, edits=True), loss.rounding())
    gap, size = abs(slope.value - np.vdot(grad, direction)), np.abs(grad * direction).sum()
    return bool(gap <= 1e-7 * size + 8 * slope.noise and 8 * slope.noise <= TELLS * size)


def _complex_gradient(loss: Loss, tensor: Tensor, places: list[tuple]) -> list[float] | None:
    """By the complex step; None where it cannot be taken."""
    try:
        with holding([tensor], np.complex128), no_casts():
            lines = [Line(loss, tensor, i, edits=True) for i in places]
            return [complex_step(line, 0.0).value for line in shown(lines)]
    except Exception:  # noqa: BLE001  a learner's own forward refuses them as it likes
        return None


def is_analytic(loss: Loss, tensor: Tensor) -> bool:
    """Whether the complex step agrees with real ones along a random direction."""
    direction = np.random.default_rng(0).standard_normal(tensor.shape)
    direction /= max(float(np.abs(direction).max(initial=0)), 1.0)
    real = clearer(Line(loss, tensor, None, direction, edits=True), loss.rounding())
    with holding([tensor], np.complex128), no_casts():
        slope = complex_step(Line(loss, tensor, None, direction, edits=True), 0.0).value
    size = max(abs(slope), abs(real.value))
    return bool(abs(slope - real.value) <= ANALYTIC * size + 8 * real.noise)


def _by_real_steps(line: Line, noise: float) -> tuple[float, float]:
    """By long steps, and where these leave a doubt, as near a kink or a pole, by ever shorter ones
    if they leave less. The slope and its rounding."""
    far = farther(line, noise)
    if far.noise <= SURE * abs(far.value):  # NaN is not
        return far.value, far.noise
    near = closer(line, noise)
    clear = far if far.noise < near.noise else near
    return clear.value, clear.noise


def _arbitrated(line: Line, slope: float, noise: float) -> tuple[float, float]:
    """The complex step's slope, unless the real ones contradict it: they have the last word."""
    found = _less_in_doubt(line, slope, noise)
    if found[0] == slope:
        return found
    return _less_in_doubt(line, slope, max(noise, stairs(line)))  # which take their time


def _less_in_doubt(line: Line, slope: float, noise: float) -> tuple[float, float]:
    real = closer(line, noise)
    doubt = 1e-6 * max(abs(slope), abs(real.value)) + 8 * real.noise
    contradicted = abs(slope - real.value) > doubt and not is_kink(line, slope, noise)
    return (real.value, real.noise) if contradicted else (slope, doubt / 8)
