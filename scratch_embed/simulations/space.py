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
from scratch_embed.arguments import check_count, generator
from scratch_embed.simulations.artists import Words
from scratch_embed.simulations.simulation import Control, Notice, Simulation

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

# Fine where something happens: the groups are there after some twenty steps.
STOPS = (*range(21), 25, 30, 40, 60, 100, 200, 350, STEPS)
ALL_WORDS = tuple(dict.fromkeys(w for theme in THEMES.values() for group in theme.values()
                                for w in group.split()))  # fmt: skip
MOST, LONGEST_ROW = 64, 32  # words of a theme, columns of a row


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
    rng = generator(rng)
    steps = check_count(steps, "steps", least=0)
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


@lru_cache(maxsize=32)
def _course(*settings) -> np.ndarray:
    """The accuracy at each of STOPS."""
    run = simulate(*settings)
    return np.array([run.accuracy(step) for step in STOPS])


@lru_cache(maxsize=32)
def _view(*settings) -> tuple[np.ndarray, np.ndarray]:
    """Two directions (2, D) and the middle (D,): the view of the final table, which holds still."""
    final = simulate(*settings).tables[-1]
    if final.shape[1] == 2:  # nothing to choose: the two columns are the picture
        return np.eye(2), np.zeros(2)
    return geometry.pca(final, 2).basis, final.mean(axis=0)


def _build(figure):
    axes = figure.subplot_mosaic([["map", "map"], ["row", "curve"]], height_ratios=[3.1, 1])
    top = axes["map"]
    dots = [top.scatter([], [], s=34, color=plot.CYCLE[i % 8], edgecolor="black", linewidth=0.5,
                        marker=plot.MARKERS[(i + i // 8) % 8], zorder=3)
            for i in range(16)]  # fmt: skip
    here = top.scatter([], [], s=200, facecolor="none", edgecolor="black", linewidth=2, zorder=4)
    top.set(xlim=(-1.25, 1.25), ylim=(-1.15, 1.15), xticks=[], yticks=[])
    words = Words(top, [""] * MOST, fontsize=9)
    bars = axes["row"].bar(range(LONGEST_ROW), np.zeros(LONGEST_ROW), color=plot.CYCLE[0])
    axes["row"].axhline(0, color="black", lw=0.8)
    axes["row"].set(ylim=(-1.05, 1.05), xlabel="column", xticks=[], ylabel="value")
    curve = axes["curve"].plot(range(len(STOPS)), np.zeros(len(STOPS)), color=plot.CYCLE[0])[0]
    dot = axes["curve"].plot([0], [0], "o", color=plot.CYCLE[1], ms=8)[0]
    marks = [0, 10, 20, STOPS.index(60), len(STOPS) - 1]
    axes["curve"].set(ylim=(0, 1.08), xlabel="step")
    axes["curve"].set_xticks(marks, [str(STOPS[i]) for i in marks])
    heads = [axes[name].set_title("x", loc="left") for name in ("map", "row")]
    axes["curve"].set_title("Nearest of own group", loc="left")
    return dots, here, words, bars, curve, dot, heads


def _update(artists, values: dict) -> dict[str, str]:
    dots, here, words, bars, curve, dot, heads = artists
    settings = tuple(values[name] for name in ("theme", "dim", "noise", "unit", "seed"))
    run, (basis, middle), step = simulate(*settings), _view(*settings), values["step"]
    seen = (run.tables[[0, -1] if values["unit"] else [step]] - middle) @ basis.T
    points = (run.tables[step] - middle) @ basis.T / np.abs(seen).max()  # free rows: a zoom as well
    groups = np.array(run.groups)
    names = list(dict.fromkeys(run.groups))
    for i, shape in enumerate(dots):
        shape.set_offsets(points[groups == names[i]] if i < len(names) else np.empty((0, 2)))
    words.set(np.clip(points, -1.2, 1.2), run.words)
    for text, word in zip(words.texts, run.words):
        text.set_gid(f"word={word}")
    word = values["word"] if values["word"] in run.words else run.words[0]
    at = run.words.index(word)
    here.set_offsets(points[[at]])
    row = run.tables[step, at]
    for d, bar in enumerate(bars):  # as wide as the row is long
        bar.set_height(np.clip(row[d], -1.05, 1.05) if d < len(row) else 0)
        bar.set_width(0.8 * LONGEST_ROW / len(row))
        bar.set_x((d + 0.1) * LONGEST_ROW / len(row) - 0.5)
    accuracy = _course(*settings)
    curve.set_ydata(accuracy)
    now = STOPS.index(step)
    dot.set_data([now], [accuracy[now]])
    sides = "its two columns" if values["dim"] == 2 else "two widest sides"
    heads[0].set_text(f"Step {step}: {len(run.words)} words in {values['dim']} columns ({sides})")
    heads[1].set_text(f"The row of {word}")
    others = geometry.neighbours(run.tables[step], at, 1, "euclidean")
    return {
        "nearest word of the same group": f"{accuracy[now]:.0%} of words",
        f"nearest to {word}": run.words[int(others.rows[0])],
        "energy": f"{energy(run.tables[step], run.groups):.2f}",
    }


SIMULATION = Simulation(
    "Space: words that are drawn together and pushed apart",
    (
        Control("theme", tuple(THEMES), "Animals & Colors", "Theme"),
        Control("dim", (2, 3, 4, 8, 16, 32), 8, "Columns", page=(2, 8, 32)),
        Control("step", STOPS, 0, "Step", play=True,
                page=(0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 60, 500)),
        Control("word", ALL_WORDS, "cat", "Word whose row is shown", page=("cat", "red", "house")),
        Control("noise", (0.0, 0.15, 0.5, 1.0, 2.0), 0.15, "Noise", page=(0.15,)),
        Control("unit", (True, False), True, "Keep rows at length 1", page=(True,)),
        Control("seed", tuple(range(10)), 0, "Random start", page=(0,)),
    ),
    Notice(
        "Press Play, then again with 2 columns. In which of the two do the groups come apart "
        "sooner, and does either leave a word behind?",
        "In 8 columns the groups are apart within twenty steps, in every theme and from each of "
        "the ten starts. In 2 columns a word must pass through the others to reach its group: "
        "the theme Mixed takes 40 to 70 steps, and Animals & Colors may leave a word on the "
        "wrong side for good. Every word is TOLD its group here; a language model is not.",
    ),
    _build,
    _update,
    (6.4, 8.0),
)  # fmt: skip


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
