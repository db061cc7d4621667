"""The space explorer: words drawn to their own group, and pushed from all others.

    energy(E) =   attract / k_own    sum over pairs of one group of |E_i - E_j|^2 / 2
                - repel / k_other    sum over pairs of two groups of log(|E_i - E_j|^2 + SOFT) / 2

k_own and k_other are the numbers of such partners that a word has on average, so that the forces
have the same strength in a theme of 16 words and in one of 64. Each step goes down that slope,

    E <- E + lr (-d energy / dE + noise * N(0, 1)),    then each row to length 1 if `unit`.

This is a cartoon of training: every word is TOLD its group. A language model is not, and lesson 6
puts one beside it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.arguments import check_count
from scratch_embed.simulations.controls import Control, check_values, defaults

STEPS = 500
SOFT = 0.01  # keeps the push finite where two words meet

THEMES = {
    "Animals & Colors": {
        "animals": "cat dog horse cow sheep goat lion bear",
        "colors": "red blue green yellow white black brown pink",
    },
    "Grammar": {
        "nouns": "house tree stone river road lamp",
        "verbs": "runs sleeps falls grows burns waits",
        "adjectives": "old small bright heavy quiet cold",
        "numbers": "two three four five six seven",
    },
    "Mixed": {
        "animals": "cat dog horse cow", "colors": "red blue green white",
        "foods": "bread rice soup cheese", "tools": "hammer saw drill wrench",
        "weather": "rain snow wind fog", "numbers": "two three four five",
        "family": "mother father sister uncle", "body": "hand foot eye knee",
        "clothes": "coat shirt shoe hat", "cities": "paris london cairo lima",
        "music": "piano violin drum flute", "sports": "tennis rugby chess golf",
        "vehicles": "car train boat plane", "trees": "oak pine birch elm",
        "metals": "iron gold copper tin", "feelings": "joy fear anger grief",
    },
}  # fmt: skip

CONTROLS = [
    Control("theme", tuple(THEMES), "Animals & Colors", "Theme"),
    Control("dim", (2, 3, 4, 8, 16, 32), 8, "Dimensions"),
    Control("step", tuple(range(0, STEPS + 1, 5)), 0, "Training step"),
    Control("noise", (0.0, 0.15, 0.5, 1.0, 2.0), 0.15, "Noise"),
    Control("unit", (True, False), True, "Keep rows at length 1"),
    Control("word", tuple(dict.fromkeys(w for t in THEMES.values() for g in t.values()
                                        for w in g.split())), "cat", "Word to inspect"),
    Control("seed", tuple(range(10)), 0, "Random start"),
]  # fmt: skip


class Run(NamedTuple):
    """A finished simulation."""

    words: tuple[str, ...]  # (V,)
    groups: tuple[str, ...]  # (V,) the group of each word
    tables: np.ndarray  # (steps + 1, V, D), tables[0] the random start; read-only

    def accuracy(self, step: int) -> float:
        """Share of words whose nearest word, after `step` steps, is of their own group."""
        return geometry.neighbour_accuracy(self.tables[step], self.groups)


def words_of(theme: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a theme and the group of each. ValueError for a theme that is not in THEMES."""
    if theme not in THEMES:
        raise ValueError(f"theme is {theme!r}; choose one of {', '.join(THEMES)}")
    pairs = [(w, group) for group, words in THEMES[theme].items() for w in words.split()]
    words, groups = zip(*pairs)
    return words, groups


def energy(table: np.ndarray, groups, attract: float = 1.0, repel: float = 0.5) -> float:
    """The energy of the module's docstring, for rows (V, D) and their V groups."""
    own, other, squares = _pairs(table, groups)
    pull = attract / _partners(own) * (own * squares).sum() / 4  # each pair stands twice
    push = repel / _partners(other) * (other * np.log(squares + SOFT)).sum() / 4
    return float(pull - push)


def forces(table: np.ndarray, groups, attract: float = 1.0, repel: float = 0.5) -> np.ndarray:
    """-d energy / dE.                                                    (V, D), (V,) -> (V, D)

    force_i =   attract / k_own   sum over its group of (E_j - E_i)
              - repel / k_other   sum over the others of (E_j - E_i) / (|E_i - E_j|^2 + SOFT)
    """
    own, other, squares = _pairs(table, groups)
    weights = attract / _partners(own) * own - repel / _partners(other) * other / (squares + SOFT)
    return weights @ table - weights.sum(axis=1, keepdims=True) * table


def settle(
    table: np.ndarray,
    groups,
    steps: int = STEPS,
    lr: float = 0.1,
    noise: float = 0.15,
    unit: bool = True,
    rng: np.random.Generator | int = 0,
) -> np.ndarray:
    """The tables (steps + 1, V, D) of a walk down the energy from `table`, itself first.

    noise is the standard deviation of each entry of the random push, beside forces of about 1.
    Raises ValueError for groups that do not fit the rows.
    """
    rng = np.random.default_rng(rng)
    check_count(steps, "steps", least=0)
    if len(groups) != len(table):
        raise ValueError(f"groups has {len(groups)} entries for {len(table)} rows")
    groups = np.unique(groups, return_inverse=True)[1]  # whole numbers are compared faster
    tables = np.empty((steps + 1, *table.shape))
    tables[0] = geometry.unit_rows(table) if unit else table
    for step in range(steps):
        push = forces(tables[step], groups) + noise * rng.standard_normal(table.shape)
        moved = tables[step] + lr * push
        tables[step + 1] = geometry.unit_rows(moved) if unit else moved
    return tables


@lru_cache(maxsize=32)
def simulate(
    theme: str = "Animals & Colors",
    dim: int = 8,
    noise: float = 0.15,
    unit: bool = True,
    seed: int = 0,
) -> Run:
    """The words of a theme from a random start through STEPS steps. Asked twice, answered once."""
    words, groups = words_of(theme)
    rng = np.random.default_rng(seed)
    start = rng.standard_normal((len(words), check_count(dim, "dim"))) * dim**-0.5
    tables = settle(start, groups, noise=noise, unit=unit, rng=rng)
    tables.flags.writeable = False  # the cache hands the same array to everybody
    return Run(words, groups, tables)


def draw(figure, **values) -> None:
    """Draw the explorer into a Matplotlib figure, whatever was in it before.

    values: of CONTROLS, by name; the rest take their defaults. Left the words, seen from the two
    widest sides of the final table, so that the view holds still while they move. Right the row of
    one word, and how many words have a nearest neighbour of their own group. A word that the theme
    does not have gives way to the first that it has.
    """
    from matplotlib import rc_context

    check_values(CONTROLS, values)
    v = {**defaults(CONTROLS), **values}
    run = simulate(v["theme"], v["dim"], v["noise"], v["unit"], v["seed"])
    word = v["word"] if v["word"] in run.words else run.words[0]
    figure.clear()
    figure.set_layout_engine("compressed")  # the map is square
    with rc_context(plot.STYLE):
        axes = figure.subplot_mosaic([["map", "row"], ["map", "curve"]], width_ratios=[1.5, 1])
        _map(axes["map"], run, v["step"], word)
        _row(axes["row"], run, v["step"], word)
        _curve(axes["curve"], run, v["step"])


def _map(ax, run: Run, step: int, word: str) -> None:
    final = run.tables[-1]
    flat = final.shape[1] == 2  # nothing to choose: the two columns are the picture
    middle = 0.0 if flat else final.mean(axis=0)
    basis = np.eye(2) if flat else geometry.pca(final, 2).basis
    points = (run.tables[step] - middle) @ basis.T
    groups = np.array(run.groups)
    for i, group in enumerate(dict.fromkeys(run.groups)):
        chosen = points[groups == group]
        ax.scatter(*chosen.T, s=45, color=plot.CYCLE[i % 8], marker=plot.MARKERS[(i + i // 8) % 8],
                   edgecolor="black", linewidth=0.5, label=group)  # fmt: skip
    here = points[run.words.index(word)]
    ax.scatter(*here, s=190, facecolor="none", edgecolor="black", linewidth=1.8)
    ax.annotate(word, here, xytext=(9, 9), textcoords="offset points", fontsize=11, weight="bold")
    reach = 1.12 * np.abs((run.tables[[0, -1]] - middle) @ basis.T).max()
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), box_aspect=1)
    if flat:
        ax.set(xlabel="column 0", ylabel="column 1")
    else:
        ax.set(xlabel="first axis of the final table", ylabel="second axis of the final table")
    ax.set_title(f"Training step {step} / {len(run.tables) - 1}")
    ax.legend(fontsize=8, ncols=1 + (len(set(run.groups)) > 8), loc="upper left",
              bbox_to_anchor=(1.0, 1.0), frameon=False)  # fmt: skip


def _row(ax, run: Run, step: int, word: str) -> None:
    row = run.tables[step, run.words.index(word)]
    ax.bar(np.arange(len(row)), row, color=plot.CYCLE[0], edgecolor="white")
    ax.axhline(0, color="black", lw=0.8)
    if len(row) <= 16:
        ax.set_xticks(range(len(row)))
    reach = 1.1 * np.abs(run.tables[[0, -1], run.words.index(word)]).max()
    ax.set(xlabel="column", ylabel="value", ylim=(-reach, reach), title=f'The row of "{word}"')


def _curve(ax, run: Run, step: int) -> None:
    steps = np.unique(np.r_[0:30:3, 30 : len(run.tables) : 20, len(run.tables) - 1, step])
    ax.plot(steps, [run.accuracy(s) for s in steps], color=plot.CYCLE[0], lw=1.8)
    ax.plot([step], [run.accuracy(step)], "o", color=plot.CYCLE[1], ms=8)
    ax.set(xlabel="training step", ylabel="share", ylim=(0, 1.05),
           title="Nearest word is of the same group")  # fmt: skip
    ax.grid(alpha=0.25, lw=0.6)


def _pairs(table: np.ndarray, groups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which pairs are of one group, which of two, and their squared distances, (V, V) each."""
    groups = np.asarray(groups)
    own = groups[:, None] == groups[None, :]
    lengths = (table * table).sum(axis=1)
    squares = np.maximum(lengths[:, None] + lengths[None, :] - 2 * table @ table.T, 0.0)
    return own & ~np.eye(len(table), dtype=bool), ~own, squares


def _partners(pairs: np.ndarray) -> float:
    """How many partners a word has on average; 1 where there are none, and nothing to divide."""
    return float(pairs.sum()) / len(pairs) if pairs.any() else 1.0
