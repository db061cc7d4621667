"""The arena: how strategies score in one task, and what each costs.

Scores come from whoever measured them; this file has none. What a strategy costs is computed:

    numbers  = rows * dim * matrices
    work     = layers * (12 n d^2 + 2 n^2 d) + n V d for the head, or n (C P P) d for the patches

for an input of n tokens, in multiply-adds, forward.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from scratch_embed import plot, sizes
from scratch_embed.simulations.controls import Control, check_values, defaults

LAYERS = 12


class Strategy(NamedTuple):
    """A way to turn input into vectors."""

    rows: int  # V; for patches the numbers in one, C P P
    dim: int
    matrices: int  # 2 when the head has a table of its own
    length: int  # tokens in one input; for a picture its patches, without CLS
    patches: bool = False

    @property
    def params(self) -> int:
        """The numbers in its tables."""
        return self.matrices * sizes.table_params(self.rows, self.dim)

    @property
    def work(self) -> int:
        """Multiply-adds of one input through LAYERS layers, with the way in or out.

        A picture has a CLS token in front, which no patch is projected for and which attention
        sees.
        """
        ends = self.length * sizes.head_macs(self.rows, self.dim)
        return ends + sizes.body_macs(self.length + self.patches, self.dim, LAYERS)


def controls(scores: Mapping[str, Mapping[str, float]]) -> list[Control]:
    """The controls for measured scores {task: {strategy: share}}: which task, which strategy.

    Raises ValueError when there is no task or no strategy, or tasks differ in their strategies.
    """
    tasks = tuple(scores)
    if not tasks or not scores[tasks[0]]:
        raise ValueError(f"scores is {dict(scores)!r}; it needs a task with a strategy")
    names = tuple(scores[tasks[0]])
    for task in tasks:
        if set(scores[task]) != set(names):
            raise ValueError(
                f"scores[{task!r}] is of {', '.join(scores[task])}; "
                f"scores[{tasks[0]!r}] is of {', '.join(names)}"
            )
    return [Control("task", tasks, tasks[0], "Task"),
            Control("strategy", names, names[0], "Strategy")]  # fmt: skip


def draw(
    figure,
    scores: Mapping[str, Mapping[str, float]],
    strategies: Mapping[str, Strategy],
    **values,
) -> None:
    """Draw the arena into a Matplotlib figure, whatever was in it before.

    scores: {task: {strategy: share of what can be had, 0..1}}, measured.
    strategies: what each strategy is, by the same names. KeyError for one that is missing.
    values: of controls(scores), by name; the rest take their defaults. The chosen strategy stands
    out in all three panels.
    """
    from matplotlib import rc_context

    menu = controls(scores)
    check_values(menu, values)
    v = {**defaults(menu), **values}
    task, chosen = scores[v["task"]], v["strategy"]
    best = max(task, key=task.get)
    panels = {
        f"Score in {v['task']}\nbest: {best}": ({n: 100 * s for n, s in task.items()}, "score, %",
                                                "{:.0f}".format),
        "Numbers in its tables": ({n: strategies[n].params for n in task}, "numbers", sizes.human),
        f"Work for one input, {LAYERS} layers": ({n: strategies[n].work for n in task},
                                                "multiply-adds", sizes.human),
    }  # fmt: skip
    figure.clear()
    with rc_context(plot.STYLE):
        axes = figure.subplots(1, 3, sharey=True)
        for ax, (title, (numbers, unit, label)) in zip(axes, panels.items()):
            _bars(ax, numbers, chosen, label)
            ax.set(xlabel=unit, title=title)
            if ax is not axes[0]:
                ax.set_xscale("log")
            ax.margins(x=0.22)
        axes[0].set_ylim(len(task) - 0.5, -0.5)  # the first on top


def _bars(ax, numbers: Mapping[str, float], chosen: str, label) -> None:
    colours = [plot.PALETTE["vermillion" if name == chosen else "sky blue"] for name in numbers]
    drawn = ax.barh(list(numbers), list(numbers.values()), color=colours)
    ax.bar_label(drawn, labels=[label(x) for x in numbers.values()], padding=3, fontsize=10)
