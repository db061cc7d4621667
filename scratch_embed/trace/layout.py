"""Where the boxes of a layered graph go: left to right, few crossings, no box on another.

The classic recipe of Sugiyama, Tagawa and Toda (1981) in four small steps: a layer for each box,
a stand-in for an edge in every layer that it passes through, an order in each layer by the mean
place of the neighbours, and heights that draw neighbours together.
"""

from __future__ import annotations

from typing import NamedTuple

GAP_X, GAP_Y = 1.05, 0.30  # inches between layers, and between boxes in a layer
SWEEPS = 8


class Layout(NamedTuple):
    """In inches, from the lower left corner of the drawing."""

    width: float
    height: float
    centre: dict[str, tuple[float, float]]
    route: dict[tuple[str, str], list[tuple[float, float]]]  # of an edge, left to right


def place(sizes: dict[str, tuple[float, float]], edges: list[tuple[str, str]]) -> Layout:
    """Places for boxes of these (width, height), and a way for each (parent, child) edge.

    Boxes come in an order in which every child stands after its parents.
    """
    layer = _layers(list(sizes), edges)
    sizes = dict(sizes)
    links, stand_ins = [], {}
    for parent, child in edges:  # an edge over several layers becomes a chain of short ones
        chain = [parent]
        for between in range(layer[parent] + 1, layer[child]):
            chain.append(f"\0{parent}\0{child}\0{between}")
            layer[chain[-1]] = between
            sizes[chain[-1]] = (0.0, 0.12)
        stand_ins[parent, child] = chain[1:]
        links += zip(chain, [*chain[1:], child])
    columns = _order(layer, links)
    x, width = _across(columns, sizes)
    y, height = _heights(columns, links, sizes)
    route = {}
    for (parent, child), chain in stand_ins.items():
        left = x[parent] + sizes[parent][0] / 2
        right = x[child] - sizes[child][0] / 2
        way = [(left, y[parent])]
        for name in chain:  # straight through the layer, so that the line passes between boxes
            half = max(sizes[other][0] for other in columns[layer[name]]) / 2
            way += [(x[name] - half, y[name]), (x[name] + half, y[name])]
        route[parent, child] = [*way, (right, y[child])]
    centre = {name: (x[name], y[name]) for name in x if not name.startswith("\0")}
    return Layout(width, height, centre, route)


def _layers(names: list[str], edges: list[tuple[str, str]]) -> dict[str, int]:
    """As close to what uses it as can be: the longest way to the end, counted from the left."""
    users: dict[str, list[str]] = {name: [] for name in names}
    for parent, child in edges:
        users[parent].append(child)
    depth: dict[str, int] = {}
    for name in reversed(names):
        depth[name] = 1 + max((depth[user] for user in users[name]), default=-1)
    return {name: max(depth.values()) - depth[name] for name in names}


def _neighbours(links: list[tuple[str, str]]) -> tuple[dict, dict]:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for parent, child in links:
        before.setdefault(child, []).append(parent)
        after.setdefault(parent, []).append(child)
    return before, after


def _order(layer: dict[str, int], links: list[tuple[str, str]]) -> list[list[str]]:
    """The boxes of each layer from top to bottom, sorted by the mean place of their neighbours."""
    columns: list[list[str]] = [[] for _ in range(max(layer.values()) + 1)]
    for name in layer:
        columns[layer[name]].append(name)
    before, after = _neighbours(links)
    for sweep in range(SWEEPS):
        side = before if sweep % 2 == 0 else after
        rank = {name: i / len(column) for column in columns for i, name in enumerate(column)}
        for column in columns if sweep % 2 == 0 else reversed(columns):
            means = {}
            for name in column:
                near = [rank[other] for other in side.get(name, [])]
                means[name] = sum(near) / len(near) if near else rank[name]
            column.sort(key=means.__getitem__)
            rank.update((name, i / len(column)) for i, name in enumerate(column))
    return columns


def _across(columns: list[list[str]], sizes: dict) -> tuple[dict[str, float], float]:
    x, left = {}, 0.0
    for column in columns:
        wide = max(sizes[name][0] for name in column)
        x.update((name, left + wide / 2) for name in column)
        left += wide + GAP_X
    return x, left - GAP_X


def _heights(columns: list[list[str]], links, sizes: dict) -> tuple[dict[str, float], float]:
    """Each box near the mean height of its neighbours, the boxes of a layer kept apart."""
    y: dict[str, float] = {}
    for column in columns:
        _stack(column, {name: 0.0 for name in column}, sizes, y)
    before, after = _neighbours(links)
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            wanted = {}
            for name in column:
                near = [y[other] for other in before.get(name, []) + after.get(name, [])]
                wanted[name] = sum(near) / len(near) if near else y[name]
            _stack(column, wanted, sizes, y)
    low = min(y[name] - sizes[name][1] / 2 for name in y)
    high = max(y[name] + sizes[name][1] / 2 for name in y)
    return {name: at - low for name, at in y.items()}, high - low


def _stack(column: list[str], wanted: dict[str, float], sizes: dict, y: dict[str, float]) -> None:
    """Down the column, each where it wants to be or below the one above; then the mean restored."""
    top = None
    for name in column:
        half = sizes[name][1] / 2
        y[name] = wanted[name] if top is None else min(wanted[name], top - half)
        top = y[name] - half - GAP_Y
    shift = sum(wanted[name] - y[name] for name in column) / len(column)
    for name in column:
        y[name] += shift
