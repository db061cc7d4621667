"""`scratch-embed recommender`: two towers learn from clicks what the users like best.

The clicks are generated from tastes that we know, so that the answer is known too: the items that a
user likes best. Each tower adds the row of an id and the row of its group; only the rows of a batch
take a step. Beside the two towers stand towers without groups, the items that are clicked most, the
same for everybody, and towers before training. Recall is the share of a user's ten best items that
are among the ten proposed.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from scratch_embed.functional import sgns
from scratch_embed.kernels.ids import count_ids
from scratch_embed.layers import Embedding
from scratch_embed.layers.layer import Layer
from scratch_embed.learning import Learning
from scratch_embed.ops.softmax import softmax_forward
from scratch_embed.optim import RowAdagrad
from scratch_embed.tensor import Tensor, no_grad
from scratch_embed.training.command import (
    Number,
    add_numbers,
    count,
    few,
    parser,
    positive,
    size,
    start,
)
from scratch_embed.training.repeats import Job, ahead, dots, repeat, table
from scratch_embed.training.run import Run

TOWERS, IDS_ONLY, POPULAR, UNTRAINED = WAYS = (
    "two towers", "ids only", "popularity", "untrained",
)  # fmt: skip
BEST = 10  # items proposed to a user
TASTES, GROUPS = 8, 20  # numbers in a true taste; groups of users, and of items
NEGATIVES = 8  # items drawn for each click, to tell it from
BATCH = 256  # clicks a step
QUICK = {"seeds": 2, "users": 200, "items": 80, "clicks": 20, "steps": 200}
ENOUGH = Number(int, 2 * BEST, True, f"{2 * BEST} or more")
NUMBERS = [
    ("seeds", few, 5, "SEEDS", "seeds from --seed on; each makes a world and trains on it"),
    ("users", size, 2000, "USERS", "users who click"),
    ("items", ENOUGH, 500, "ITEMS", "items to click"),
    ("clicks", few, 40, "CLICKS", "clicks of a user to learn from"),
    ("steps", count, 3000, "STEPS", f"steps to train, each on {BATCH} clicks"),
    ("dim", size, 16, "NUMBERS", "numbers in a row"),
    ("rate", positive, 0.1, "SIZE", "step size of RowAdagrad"),
]


def made() -> argparse.ArgumentParser:
    """The options of `scratch-embed recommender`."""
    recommender = parser("recommender", __doc__, resumable=True)
    add_numbers(recommender, NUMBERS)
    return recommender


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return start(made(), work, argv, QUICK)


def work(run: Run) -> int:
    """Train in every world, and say how much of the truth each way found."""
    options = run.options
    seeds = range(options.seed, options.seed + options.seeds)
    steps = {TOWERS: options.steps, IDS_ONLY: options.steps, POPULAR: 0, UNTRAINED: 0}
    found = repeat(run, steps, seeds, lambda way, seed: job(way, seed, options))
    if found is None:
        return run.stopped("in between")
    print(f"recall of the {BEST} best items (by chance {BEST / options.items:.3f}):")
    print(table(found))
    for other in (IDS_ONLY, POPULAR):
        print(f"  {ahead(found, TOWERS, other)}")
    figure = dots(found, "What users like best", f"recall of the {BEST} best items")
    return run.finish({"recall": found}, figure)


class World(NamedTuple):
    """What is true, and what is seen of it."""

    likes: np.ndarray  # (users, items) the logarithm of how much a user likes an item, and more
    user_group: np.ndarray  # (users,)
    item_group: np.ndarray  # (items,)
    clicks: np.ndarray  # (N, 2) user and item


def world(users: int, items: int, clicks: int, rng: np.random.Generator) -> World:
    """Tastes around those of a group, some items liked by all, and clicks drawn from both.

    A user clicks an item with probability softmax(likes), likes = taste . trait + appeal: of the
    tastes and traits half the variance is the group's. The appeal of items has a std of 1.
    """

    def members(number: int) -> tuple[np.ndarray, np.ndarray]:
        group = rng.integers(GROUPS, size=number)
        centres = rng.standard_normal((GROUPS, TASTES))
        own = rng.standard_normal((number, TASTES))
        return group, (centres[group] + own) / 2**0.5

    (user_group, tastes), (item_group, traits) = members(users), members(items)
    likes = tastes @ traits.T / TASTES**0.25 + rng.standard_normal(items)
    upto = softmax_forward(likes)[0].cumsum(axis=1)
    drawn = [np.searchsorted(row, rng.random(clicks) * row[-1]) for row in upto]
    pairs = np.stack([np.repeat(np.arange(users), clicks), np.concatenate(drawn)], axis=1)
    return World(likes, user_group, item_group, pairs)


class Tower(Layer):
    """The row of an id, and the row of its group if it has one: (N,) -> (N, D)"""

    def __init__(self, group: np.ndarray, dim: int, with_groups: bool, rng: np.random.Generator):
        options = {"sparse": True, "init": 0.1, "rng": rng}
        self.id = Embedding(len(group), dim, **options)
        self.group = Embedding(GROUPS, dim, **options) if with_groups else None
        self.group_of = group
        self.name_weights()

    def __call__(self, ids: np.ndarray) -> Tensor:
        rows = self.id(ids)
        return rows if self.group is None else rows + self.group(self.group_of[ids])


class TwoTowers(Layer):
    """A tower for users and one for items; the dot product of their rows is a score."""

    def __init__(self, found: World, dim: int, with_groups: bool, rng: np.random.Generator):
        self.user = Tower(found.user_group, dim, with_groups, rng)
        self.item = Tower(found.item_group, dim, with_groups, rng)
        self.name_weights()

    def scores(self) -> np.ndarray:
        """(users, items) of everybody with everything."""
        user, item = self.user, self.item
        with no_grad():
            rows = [tower(np.arange(len(tower.group_of))).data for tower in (user, item)]
        return rows[0] @ rows[1].T


def job(way: str, seed: int, options: argparse.Namespace) -> Job:
    """One way in the world of this seed; in the end its recall.

    The towers tell what was clicked from items drawn evenly: the score comes to
    log p(item | user) + const. Drawn by popularity instead, the negatives would take popularity
    out of the scores.
    """
    rng = np.random.default_rng([seed, 0])
    found = world(options.users, options.items, options.clicks, rng)
    if way == POPULAR:
        clicked = count_ids(found.clicks[:, 1], options.items)
        return Job(lambda: recall(np.broadcast_to(clicked, found.likes.shape), found.likes))
    rng = np.random.default_rng([seed, 1])
    towers = TwoTowers(found, options.dim, way != IDS_ONLY, rng)

    def loss(rng: np.random.Generator) -> Tensor:
        who, what = found.clicks[rng.integers(len(found.clicks), size=BATCH)].T
        others = rng.integers(options.items, size=(BATCH, NEGATIVES))
        return sgns(towers.user(who), towers.item(what), towers.item(others)) / BATCH

    optimizer = RowAdagrad(towers.parameters(), lr=options.rate)
    learning = Learning(towers, optimizer, rng, loss, rate=lambda step: options.rate)

    def in_the_end() -> float:
        with np.errstate(all="ignore"):
            scores = towers.scores()
        learning.check(float(np.abs(scores).max()))  # the last step may have led astray
        return recall(scores, found.likes)

    return Job(in_the_end, learning)


def recall(scores: np.ndarray, truth: np.ndarray) -> float:
    """The mean share of each row's BEST largest of `truth` that are among those of `scores`."""
    proposed, best = (
        np.argsort(-each, axis=1, kind="stable")[:, :BEST] for each in (scores, truth)
    )
    hits = (proposed[:, :, None] == best[:, None, :]).any(axis=1)
    return float(hits.mean())
