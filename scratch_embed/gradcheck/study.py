"""How the error of a difference depends on its step: the curve behind the choice of h.

Too long a step and curvature comes in: the truncation arm, where the error grows as h, h^2 or
faster. Too short and the two losses agree to nearly all their digits, so that their difference is
rounding: the rounding arm, where the error grows as 1/h. The best step lies where they meet. A
function that is linear or quadratic in every entry has no truncation arm, and with whole numbers
and h = 1 its central difference is exact to the bit. The complex step has no rounding arm.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.casts import no_casts
from scratch_embed.gradcheck.data import check_tensors, holding
from scratch_embed.gradcheck.nudged import measured, noise_of
from scratch_embed.gradcheck.numeric import (
    CENTRAL_STEP,
    EPS,
    RICHARDSON_STEP,
    Line,
    Loss,
    central,
    complex_step,
    richardson,
    stream,
)
from scratch_embed.gradcheck.reentrant import gradients
from scratch_embed.tensor import Tensor

STEPS = 10.0 ** -np.arange(0, 13)
REACH = -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0  # past 0 from numbers of -2 to 2: a kink there is met
WHOLE = 2.0**53  # beyond it all floats are whole numbers
MOST = 12  # entries of each tensor that the error is the largest of


def forward_difference(line: Line, noise: float, h: float) -> tuple[float]:
    """(L(x + h) - L(x)) / h, the first one thinks of."""
    h = line.step(h)
    return ((line(h) - line(0.0)) / h,)


CURVES = {  # name: (function, dtype, how the error grows with h at its truncation arm)
    "forward": (forward_difference, np.float64, 1),
    "central": (central, np.float64, 2),
    "richardson": (richardson, np.float64, 6),
    "complex": (complex_step, np.complex128, 2),
    "central, float32": (central, np.float32, 2),
}
CHOSEN = {"central": CENTRAL_STEP, "richardson": RICHARDSON_STEP}


class Study(NamedTuple):
    """Errors of every method over a range of steps, relative to the largest derivative if not 0.

    steps (S,), errors {method: (S,)}, reference: what the errors are measured against.
    """

    name: str
    steps: np.ndarray
    errors: dict[str, np.ndarray]
    reference: str
    zero: bool = False  # whether all derivatives are: then errors stand by themselves

    def best(self, method: str) -> tuple[float, float]:
        """The step with the smallest error, and that error. A step that leads out of where fn is
        defined has none: its error is NaN."""
        at = self._best(method)
        return float(self.steps[at]), float(self.errors[method][at])

    @property
    def borne_out(self) -> bool:
        """Whether some central difference comes near the reference, as it does of a derivative."""
        return "central" in self.errors and self.best("central")[1] < 1e-2

    def has_truncation(self, method: str) -> bool:
        """Whether the error falls as the method's power of h where steps are longer than the best.

        Two falls of about the order show that, each from one step to a tenth of it. Of an order of
        6, whose error is soon rounding, one is enough; in float32 it is an error as in float64.
        """
        order, falls = CURVES[method][2], self._falls(method)
        as_power = np.abs(falls - order) < 0.25 * order + 0.1
        pairs = as_power[1:] & as_power[:-1]
        if order > 2:  # its few steps may be a kink's: then central differences show no power
            return bool(as_power.any()) and self.has_truncation("central")
        if "float32" in method:
            double = self.errors["central"][: len(falls) + 1]
            same = np.abs(self.errors[method][: len(falls) + 1] - double) < 0.1 * double
            return bool(same.any()) and self.has_truncation("central")
        return bool(pairs.any())

    def has_rounding(self, method: str) -> bool:
        """Whether a short step leaves little but rounding, and a longer one more."""
        errors = self.errors[method]
        return bool(errors[-1] > max(1e-8, 100 * self.best(method)[1]))

    def _falls(self, method: str) -> np.ndarray:
        """By how many powers of ten the error falls from each step to the next, down to the best;
        infinite where nothing is left of it."""
        errors = self.errors[method][: self._best(method) + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            return -np.diff(np.log10(errors))

    def _best(self, method: str) -> int:
        return int(np.argmin(np.nan_to_num(self.errors[method], nan=np.inf)))

    def arms(self, method: str) -> str:
        """What makes the error grow, in words."""
        order, errors = CURVES[method][2], self.errors[method]
        grows, least = "h" if order == 1 else f"h^{order}", self.best(method)[1]
        eps = np.finfo(np.float32 if "float32" in method else np.float64).eps
        far = errors[: self._best(method) + 1]
        found = ["rounding ~ 1/h on the left"] * self.has_rounding(method)
        if self.has_truncation(method):
            found.append(f"truncation ~ {grows} on the right")
        elif (far > max(1e4 * eps, 100 * least)).any():
            falls = self._falls(method)  # one that ends in rounding is cut short and tells nothing
            told = (falls > 1.25 * order + 0.1) | (far[1:] > 10 * least) & np.isfinite(falls)
            how = f"not as {grows}" if told.any() else "over too few steps to tell how"
            found.append(f"off on the right, {how}")
        exact = "none: exact at every step" if least < 1e-8 else "none: off at every step"
        return ", ".join(found) or exact

    def table(self) -> str:
        """One line a step, one column a method; the step that gradcheck takes is marked *."""
        names = list(self.errors)
        heads = [name.split(", ")[-1] for name in names]  # "float32" for "central, float32"
        lines = [f"{'h':>8}" + " ".join(f"{head:>13}" for head in heads)]
        for s, h in enumerate(self.steps):
            cells = ""
            for name in names:
                taken = name in CHOSEN and abs(np.log10(CHOSEN[name] / h)) < 0.5
                cells += f"{self.errors[name][s]:>13.1e}" + ("*" if taken else " ")
            lines.append(f"{h:>8.0e}{cells}".rstrip())
        told = "as they are, for the" if self.zero else "relative to the largest"
        lines.append(f"* about the step that gradcheck takes; errors {told}")
        lines.append(f"derivative{' is 0' * self.zero}, against {self.reference}")
        if not self.borne_out:
            lines.append("no central difference comes near it: here is a kink, or no derivative")
        lines += [f"{name}: {self.arms(name)}" for name in names]
        return "\n".join(lines)

    __str__ = table

    def figure(self):
        """The curves on logarithmic axes, arms named, the step that gradcheck takes ringed."""
        from scratch_embed import plot

        fig, ax = plot.figure(size=(8.4, 5.2))
        floor = 1e-17  # an error of 0 has no logarithm
        curves = {name: np.maximum(errors, floor) for name, errors in self.errors.items()}
        plot.lines(ax, self.steps, curves, logx=True, logy=True, marker="o",
                   xlabel="step h",
                   ylabel="largest error" + " / largest derivative" * (not self.zero),
                   title=f"{self.name}: how the error depends on the step")  # fmt: skip
        for name, h in CHOSEN.items():
            at = int(np.argmin(np.abs(np.log10(self.steps / h))))
            label = "step that gradcheck takes" if name == "central" else None
            ax.plot(self.steps[at], curves[name][at], "o", ms=13, mfc="none", mec="black", mew=1.6,
                    ls="none", label=label)  # fmt: skip
        left = "rounding arm: error ~ 1/h" if self.has_rounding("central") else ""
        right = "truncation arm: error ~ h² (central)"
        if not self.has_truncation("central"):
            off = "off" in self.arms("central")
            right = "off, not as h²" if off else "no truncation arm: rounding is all there is"
        for x, side, text in ((0.01, "left", left), (0.99, "right", right)):
            ax.text(x, 0.97, text, ha=side, va="top", fontsize=11, transform=ax.transAxes)
        ax.set_ylim(floor / 3, 1e3)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, fontsize=9,
                  frameon=False)  # fmt: skip
        return fig

    def save(self, path: str | Path) -> Path:
        """Draw the figure into a file, and return its path."""
        from scratch_embed import plot

        return plot.save(self.figure(), path)


def step_study(
    fn: Callable[..., Tensor], *tensors: Tensor, seed: int = 0, name: str | None = None
) -> Study:
    """The error of every method at steps from 1 down to 1e-12, for up to 12 entries a tensor.

    Errors are measured against the complex step at 1e-20, which is right to the last digits, or
    where that cannot be taken, or is no slope as of abs, against Richardson's extrapolation or
    central differences, whichever leave less doubt; no error is told to be less than that doubt.
    ValueError where fn has no number for a value or a derivative at the point itself, as of log
    at 0.

    >>> from scratch_embed.functional import tanh
    >>> study = step_study(tanh, Tensor([0.3, -1.2], requires_grad=True))
    >>> study.has_truncation("central"), study.has_rounding("complex")
    (True, False)
    """
    check_tensors(tensors)
    checked = list(dict.fromkeys(t for t in tensors if t.requires_grad and t.size))
    if not checked:
        raise ValueError("no tensor given requires a gradient, so there is no derivative to study")
    rng = stream(seed)
    with holding(checked):
        out = fn(*tensors)
        _check_finite(out.data, "fn has the value {}")
        loss = Loss(fn, tensors, rng.standard_normal(out.shape))
        some = {t: _some(t, rng) for t in checked}
        places = [(t, i) for t in checked for i in some[t]]
        found = [measured(loss, t, some[t]) for t in checked]
        truth, noise = (np.concatenate(parts) for parts in zip(*found))
        _check_finite(truth, "fn has the derivative {}")
        errors, size = {}, _size(loss, places, truth)
        for method, (numerator, dtype, _) in CURVES.items():
            try:
                with no_casts():
                    found = _errors(numerator, dtype, loss, checked, places, truth, size or 1.0)
            except Exception:  # an operation that does not take complex numbers
                if method != "complex":
                    raise
                continue
            if not np.isnan(found).all():  # nor single precision
                errors[method] = found
    exact = bool(np.any(errors.get("complex", np.inf) < 1e-6))  # of abs, say, it is wrong
    reference = "the complex step at 1e-20"
    if not exact:
        doubt = 8 * float(noise.max()) / (size or 1.0)
        errors = {method: np.maximum(found, doubt) for method, found in errors.items()}
        reference = f"the real step of least doubt: {doubt:.0e} or more"
    return Study(name or getattr(fn, "__name__", "fn"), STEPS, errors, reference, not size)


def _check_finite(values: np.ndarray, where: str) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        at = tuple(map(int, bad[0]))
        told = where.format(values[at]) + (f" at {list(at)}" if at else "")
        raise ValueError(f"{told}: there is no error to study; take tensors inside its domain")


def _some(tensor: Tensor, rng) -> list[tuple[int, ...]]:
    flat = rng.permutation(tensor.size)[:MOST]
    return [tuple(int(i) for i in np.unravel_index(f, tensor.shape)) for f in np.sort(flat)]


def _size(loss: Loss, places, truth: np.ndarray) -> float:
    """The largest derivative; 0 where it is no more than a difference leaves of rounding."""
    lines = [Line(loss, t, i, edits=True) for t, i in places]
    ends = [abs(line(h)) for line in lines for h in (CENTRAL_STEP, -CENTRAL_STEP)]
    noise = max(noise_of(loss, t) for t in dict.fromkeys(t for t, _ in places))
    rounding = noise + EPS * float(np.nanmax(ends))
    largest = float(np.abs(truth).max())
    return largest if largest > rounding / CENTRAL_STEP else 0.0


def _errors(numerator, dtype, loss: Loss, checked, places, truth, size: float) -> np.ndarray:
    with holding(checked, dtype), np.errstate(all="ignore"):
        values = [
            [numerator(Line(loss, t, i, edits=True), 0.0, h)[0] for t, i in places] for h in STEPS
        ]
    errors = np.abs(np.array(values, dtype=float) - truth).max(axis=1) / size
    return np.where(np.isfinite(errors), errors, np.nan)


def exact(fn: Callable[..., Tensor], *tensors: Tensor, seed: int = 0) -> bool | None:
    """With whole numbers and h = 1: is every central difference equal to backward, to the bit?

    Small integers take the place of the data and of the cotangent, so nothing is rounded. Where
    fn is linear or quadratic in each entry the central difference has no truncation either, and
    equality is the honest test: True or False (also where options ask for another gradient than the
    derivative, as padding_idx does). None where fn is not of that kind: its values are no whole
    numbers, its second differences are not all the same, or it leaves that curve in between.

    >>> from scratch_embed.functional import lookup, tanh
    >>> E = Tensor(np.ones((3, 2)), requires_grad=True)
    >>> exact(lambda E: lookup(E, [1, 1]), E), exact(tanh, E)
    (True, None)
    """
    check_tensors(tensors)
    checked = list(dict.fromkeys(t for t in tensors if t.requires_grad))
    if not any(tensor.size for tensor in checked):
        raise ValueError("no tensor given requires a gradient, so there is nothing to compare")
    rng = stream(seed)
    same = True
    with holding(checked), np.errstate(all="ignore"):
        for tensor in checked:
            tensor.data = rng.choice([-2.0, -1.0, 1.0, 2.0], tensor.shape)  # 0 would hide a factor
        out = fn(*tensors)
        signs = rng.choice([-1.0, 1.0], out.shape)
        loss = Loss(fn, tensors, signs * rng.integers(1, 10, out.shape))
        grads = gradients(out, loss.cotangent, checked)
        for tensor, grad in zip(checked, grads):
            for index in np.ndindex(tensor.shape):
                line = Line(loss, tensor, index, edits=True)
                values = np.array([line(t) for t in REACH])
                bends = np.diff(values, 2)
                if (values % 1).any() or (bends != bends[0]).any() or abs(values).max() > WHOLE:
                    return None
                between = (values[3] + values[4]) / 2 - bends[0] / 8  # where round is not
                if line(0.5) != between:
                    return None
                same &= bool((values[4] - values[2]) / 2 == grad[index])
    return same
