"""Adam for the rows of the batch only.

Adam goes on moving a row after it was read, because it remembers yesterday. Its lazy form lets rows
sleep that the batch does not name: memory, averages and all. It is another algorithm, and the usual
one for large tables (torch.optim.SparseAdam).
"""

import numpy as np

LESSON = 20
LEVEL = "hard"
IN_PLACE = {"lazy_adam_step": ("E", "m", "v")}
HINTS = """
Work on the rows: `m[rows] = 0.9 * m[rows] + 0.1 * grads`, and the same for v with `grads ** 2`.
The rows are distinct, so assigning loses nothing.

The corrections divide by `1 - 0.9**t` and `1 - 0.999**t`; t counts all steps from 1, also those
that did not name a row.

Correct copies, not the stored averages: m[rows] / (1 - 0.9**t) goes into the step, and m itself
stays uncorrected. eps stands outside the root.
"""


def lazy_adam_step(E, m, v, rows, grads, t, lr):
    """For the named rows r, in place (b1 = 0.9, b2 = 0.999, eps = 1e-8):         returns nothing

        m[r] = b1 m[r] + (1 - b1) g            m' = m[r] / (1 - b1^t)
        v[r] = b2 v[r] + (1 - b2) g^2          v' = v[r] / (1 - b2^t)
        E[r] = E[r] - lr m' / (sqrt(v') + eps)

    E, m, v  (V, D)  table and averages, changed in place; other rows keep all three,
             and no array of V rows is made on the way.
    rows     (U,)    distinct integers in 0..V-1.
    grads    (U, D)  g of each of them.
    t                1 at the first step.

    At the first step m' = g and v' = g^2, so each number moves by lr, whatever its gradient:

    >>> E, m, v = np.array([[1.0, 1.0], [2.0, 2.0]]), np.zeros((2, 2)), np.zeros((2, 2))
    >>> lazy_adam_step(E, m, v, np.array([1]), np.array([[0.5, -300.0]]), 1, 0.1)
    >>> E.round(4).tolist()
    [[1.0, 1.0], [1.9, 2.1]]
    >>> m.round(4).tolist()
    [[0.0, 0.0], [0.05, -30.0]]
    """
    m[rows] = 0.9 * m[rows] + 0.1 * grads
    v[rows] = 0.999 * v[rows] + 0.001 * grads**2
    step = m[rows] / (1 - 0.9**t)
    E[rows] -= lr * step / (np.sqrt(v[rows] / (1 - 0.999**t)) + 1e-8)


def check(trial):
    for rng in trial.rounds(3):
        E, m, v = rng.standard_normal((6, 3)), np.zeros((6, 3)), np.zeros((6, 3))
        for t in (1, 2, 3, 40):
            rows, grads = rng.permutation(6)[:3], rng.standard_normal((3, 3))
            grads[0, 0], grads[1] = 0, grads[1] * (t < 3)  # a named row moves, whatever its g
            trial.same("lazy_adam_step", mistakes=MISTAKES, E=E, m=m, v=v, rows=rows, grads=grads,
                       t=t, lr=0.01)  # fmt: skip
            trial.yours.lazy_adam_step(E, m, v, rows, grads, t, 0.01)
    turned = {name: np.asfortranarray(a) for name, a in (("E", E), ("m", m), ("v", v))}
    trial.same("lazy_adam_step", mistakes=MISTAKES, **turned, rows=rows, grads=grads, t=41, lr=0.01)
    tiny = {"E": np.ones((2, 2)), "m": np.zeros((2, 2)), "v": np.zeros((2, 2))}
    grads = np.full((1, 2), 1e-8)
    trial.same(
        "lazy_adam_step", mistakes=MISTAKES, **tiny, rows=np.array([0]), grads=grads, t=1, lr=1.0
    )
    large = {name: np.zeros((1_000_000, 2)) for name in tiny}
    trial.lean("lazy_adam_step", 5e5, "it grows with the table and not with the batch",
               **large, rows=np.arange(999_992, 1_000_000), grads=np.ones((8, 2)), t=1,
               lr=0.1)  # fmt: skip


def _stepped(fade="", correct=(True, True), keep="", inside=False, power=2, whole=False):
    """The step, with one thing done otherwise."""

    def wrong(E, m, v, rows, grads, t, lr):
        kept = m[rows], v[rows]
        m *= 0.9 if "m" in fade else 1
        v *= 0.999 if "v" in fade else 1
        m[rows], v[rows] = kept
        m[rows] = 0.9 * m[rows] + 0.1 * grads
        v[rows] = 0.999 * v[rows] + 0.001 * grads**power
        first = 1 - 0.9**t if correct[0] else 1
        second = 1 - 0.999**t if correct[1] else 1
        if keep:
            m[rows], first = m[rows] / first, 1
        if keep == "both":
            v[rows], second = v[rows] / second, 1
        named = slice(None) if whole else rows
        size = v[named] / second
        with np.errstate(all="ignore"):
            root = np.sqrt(size + 1e-8) if inside else np.sqrt(size) + 1e-8
            E[named] -= lr * m[named] / first / root

    return wrong


MISTAKES = {
    "lazy_adam_step lets both averages of rows fade that the batch does not name":
        _stepped(fade="mv"),
    "lazy_adam_step lets m fade in rows that the batch does not name": _stepped(fade="m"),
    "lazy_adam_step lets v fade in rows that the batch does not name": _stepped(fade="v"),
    "lazy_adam_step leaves out the correction of both averages": _stepped(correct=(False, False)),
    ("lazy_adam_step leaves out the correction of m", r"[^\]] *= *m\["):
        _stepped(correct=(False, True)),
    "lazy_adam_step leaves out the correction of v": _stepped(correct=(True, False)),
    "lazy_adam_step stores the corrected averages: the correction is for the step only":
        _stepped(keep="both"),
    "lazy_adam_step stores the corrected m: the correction is for the step only":
        _stepped(keep="m"),
    "lazy_adam_step adds eps inside the root: it stands outside": _stepped(inside=True),
    ("lazy_adam_step averages g in v, and g^2 is asked for", r"\bv\[\w+\] *\+?="):
        _stepped(power=1),
    "lazy_adam_step moves rows that the batch does not name": _stepped(whole=True),
}  # fmt: skip
