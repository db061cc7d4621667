"""The tape of a tied model: forward a line at a time, and the gradient on its way back.

    x = lookup(E, ids),   h = tanh(x @ W),   z = h @ E^T,   loss = cross_entropy(z, targets)

E is used twice, so its gradient comes in two parts: from the scores, and from the rows that were
read. What is drawn at each step is what `trace` tells of that step.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from scratch_embed import plot
from scratch_embed.functional import cross_entropy, lookup, project, tanh
from scratch_embed.simulations.artists import Cells
from scratch_embed.simulations.simulation import Control, Notice, Simulation
from scratch_embed.tensor import Tensor
from scratch_embed.trace import Trace, graph, trace

WORDS = ("the", "cat", "sat", "on")
IDS, TARGETS = np.array([0, 1, 0]), np.array([1, 2, 3])  # "the" is read twice
LOOKS = {
    graph.DONE: ("#DCEEF9", "blue"),
    graph.CURRENT: ("#FCE3CF", "vermillion"),
    graph.COLLECTING: ("#FBF6C9", "orange"),
    graph.WAITING: ("#FFFFFF", "black"),
    graph.CONSTANT: ("#EFEFEF", "black"),
}


@lru_cache(maxsize=1)
def walked() -> tuple[Trace, np.ndarray]:
    """The trace of the model's loss, and its table E (4, 3)."""
    rng = np.random.default_rng(4)
    E = Tensor(rng.normal(size=(4, 3)).round(1), requires_grad=True, name="E")
    W = Tensor(rng.normal(size=(3, 3)).round(1), requires_grad=True, name="W")
    ids, targets = IDS, TARGETS  # the trace calls them so
    x = lookup(E, ids)
    a = x @ W
    h = tanh(a)
    z = project(h, E)
    loss = cross_entropy(z, targets)
    return trace(loss, x=x, a=a, h=h, z=z, loss=loss), E.numpy()


def _build(figure):
    from matplotlib.patches import Rectangle

    walk, table = walked()
    top, low = figure.subplots(2, 1, height_ratios=[1.6, 1])
    names = [*walk.leaves, *(step.name for step in walk.forward)]
    boxes, texts = [], []
    for row, _ in enumerate(names):
        boxes.append(Rectangle((0, row + 0.08), 1, 0.84, ec="black", lw=1.4))
        top.add_patch(boxes[-1])
        texts.append([top.text(x, row + 0.5, "", va="center_baseline", fontsize=11, ha=side,
                               parse_math=False)
                      for x, side in ((0.015, "left"), (0.985, "right"))])  # fmt: skip
    top.set(xlim=(-0.002, 1.002), ylim=(len(names) + 0.1, -0.1))
    top.set_axis_off()
    cells = Cells(low, table.shape, 0.5, rows=WORDS, fontsize=11)
    heads = [ax.set_title("x", loc="left", parse_math=False) for ax in (top, low)]
    return names, boxes, texts, cells, heads


def _update(artists, values: dict) -> dict[str, str]:
    names, boxes, texts, cells, heads = artists
    (walk, table), step = walked(), values["step"]
    state = walk.state(step)
    looks = {box.name: box.state for box in graph.boxes(walk, step)}
    for name, box, (left, right) in zip(names, boxes, texts):
        fill, edge = LOOKS[looks[name]]
        box.set(facecolor=fill, edgecolor=plot.PALETTE[edge])
        made = walk.forward_of.get(name)
        told = f"{name} = {made.expression}" if made else f"{name}, a parameter"
        left.set_text(told)
        gradient = state.gradients.get(name)
        parts = f" {gradient.number} of {gradient.of}" if gradient and gradient.of > 1 else ""
        known = "value" if name in state.values else "not yet"
        known += f", gradient{parts}" if gradient else ""
        right.set_text(known)
    what, formula = graph.title(walk, step)
    heads[0].set_text(what)
    collected = state.gradients.get("E")
    dense = np.full(table.shape, np.nan)
    if collected is not None:
        value = collected.value
        dense = value.to_dense() if hasattr(value, "to_dense") else value
    cells.set(dense)
    count = f"{collected.number} of {collected.of} parts" if collected else "nothing collected yet"
    heads[1].set_text(f"dE: {count}")
    numbers = {
        "step": f"{step} of {len(walk)}",
        "rule": " ".join(formula.split()) or "none yet",
        "dE": count,
    }
    if "loss" in state.values:
        numbers["loss"] = f"{float(state.values['loss']):.4f}"
    if collected:
        numbers["length of dE"] = f"{np.linalg.norm(dense):.4f}"
    return numbers


SIMULATION = Simulation(
    "The tape of a tied model, a step a click",
    (Control("step", tuple(range(len(walked()[0]) + 1)), 0, "Step", play=True),),
    Notice(
        "The table E is read at the beginning and scores at the end. In how many parts will its "
        "gradient arrive, and which comes first?",
        "Backward goes up the tape. The part from the scores comes first and fills every row; the "
        "part from the lookup comes last and adds to the rows that were read, the row of "
        '"the" twice. Only then is dE complete, and its colour changes.',
    ),
    _build,
    _update,
    (6.4, 7.0),
)
