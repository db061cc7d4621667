"""`scratch-embed recommender`: two towers learn from clicks what the users like best.

The clicks are generated from tastes that we know, so that the answer is known too: the items that a
user likes best. Each tower adds the row of an id and the row of its group; only the rows of a batch
take a step. Beside the two towers stand towers without groups, the items that are clicked most, the
same for everybody, and towers before training. Recall is the share of a user's ten best items that
are among the ten proposed.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import numpy as np

from scratch_embed.files import check_writable
from scratch_embed.functional import sgns
from scratch_embed.kernels.ids import count_ids
from scratch_embed.layers import Embedding
from scratch_embed.layers.layer import Layer
from scratch_embed.ops.softmax import softmax_forward
from scratch_embed.optim import RowAdagrad
from scratch_embed.tensor import Tensor, no_grad
from scratch_embed.training.command import (
    STOPPED,
    count,
    ended,
    for_checkpoint,
    parse,
    parser,
    positive,
)
from scratch_embed.training.repeats import dots, repeat, table
from scratch_embed.training.results import write_results

TOWERS, IDS_ONLY, POPULAR, UNTRAINED = WAYS = (
    "two towers", "ids only", "popularity", "untrained",
)  # fmt: skip
BEST = 10  # items proposed to a user
TASTES, GROUPS = 8, 20  # numbers in a true taste; groups of users, and of items
NEGATIVES = 8  # items drawn for each click, to tell it from
BATCH = 256  # clicks a step
QUICK = {"seeds": 2, "users": 200, "items": 80, "clicks": 20, "steps": 200}


def made() -> argparse.ArgumentParser:
    """The options of `scratch-embed recommender`."""
    recommender = parser("recommender", __doc__.split("\n\n")[1])
    for name, kind, default, meaning in (
        ("seeds", count, 5, "worlds and runs of each model, from --seed on"),
        ("users", count, 2000, "who click"),
        ("items", count, 500, "to be clicked, at least 20"),
        ("clicks", count, 40, "of a user, to learn from"),
        ("steps", count, 3000, f"to train, each on {BATCH} clicks"),
        ("dim", count, 16, "numbers in a row"),
        ("rate", positive, 0.1, "the step size of RowAdagrad"),
    ):
        text = f"{meaning} ({default})"
        recommender.add_argument(f"--{name}", type=kind, default=default, help=text)
    return recommender


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return ended(lambda: run(parse(made(), sys.argv[1:] if argv is None else argv, QUICK)[0]))


def run(options: argparse.Namespace) -> int:
    """Train in every world, and say how much of the truth each way found."""
    if options.items < 2 * BEST:
        raise ValueError(f"items is {options.items}; to choose {BEST} takes {2 * BEST} or more")
    check_writable(options.out / "results.json")
    seeds = range(options.seed, options.seed + options.seeds)
    found, whole = repeat(WAYS, seeds, lambda way, seed: recall_of(way, seed, options))
    if found[TOWERS]:
        print(f"recall of the {BEST} best items (by chance {BEST / options.items:.3f}):")
        print(table(found))
        title, label = "What users like best", f"recall of the {BEST} best items"
        results = {"options": for_checkpoint(options), "recall": found}
        for path in write_results(options.out, results, dots(found, title, label)):
            print(path)
    return 0 if whole else STOPPED


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


def recall_of(way: str, seed: int, options: argparse.Namespace) -> float:
    """The recall of one way in the world of this seed."""
    rng = np.random.default_rng([seed, 0])
    found = world(options.users, options.items, options.clicks, rng)
    if way == POPULAR:
        clicked = count_ids(found.clicks[:, 1], options.items)
        return recall(np.broadcast_to(clicked, found.likes.shape), found.likes)
    rng = np.random.default_rng([seed, 1])
    user, item = (
        Tower(group, options.dim, way != IDS_ONLY, rng)
        for group in (found.user_group, found.item_group)
    )
    if way != UNTRAINED:
        train(user, item, found.clicks, options, rng)
    with no_grad():
        scores = user(np.arange(options.users)).data @ item(np.arange(options.items)).data.T
    return recall(scores, found.likes)


def train(user: Tower, item: Tower, clicks: np.ndarray, options: argparse.Namespace, rng) -> None:
    """Tell what was clicked from items drawn evenly: the score comes to log p(item | user) + const.

    Drawn by popularity instead, the negatives would take popularity out of the scores.
    """
    optimizer = RowAdagrad([*user.parameters(), *item.parameters()], lr=options.rate)
    for _ in range(options.steps):
        who, what = clicks[rng.integers(len(clicks), size=BATCH)].T
        others = rng.integers(options.items, size=(BATCH, NEGATIVES))
        optimizer.zero_grad()
        (sgns(user(who), item(what), item(others)) / BATCH).backward()
        optimizer.step()


def recall(scores: np.ndarray, truth: np.ndarray) -> float:
    """The mean share of each row's BEST largest of `truth` that are among those of `scores`."""
    proposed, best = (
        np.argsort(-each, axis=1, kind="stable")[:, :BEST] for each in (scores, truth)
    )
    hits = (proposed[:, :, None] == best[:, None, :]).any(axis=1)
    return float(hits.mean())
