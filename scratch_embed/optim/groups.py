"""Groups of parameters: a list of Tensors, or of dicts that bring options of their own."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from scratch_embed.arguments import data_of
from scratch_embed.tensor import Tensor
from scratch_embed.watch import owner


def make_groups(params: Iterable, defaults: dict, rule: str) -> tuple[dict, ...]:
    """What an optimiser was given, as dicts with `params` and every option.

    A plain list of Tensors is one group. A Tensor that comes twice in a group is taken once, for
    a tied table takes one step; in two groups it could not follow both, and ValueError says so.
    Two Tensors over one array are two, and a RuntimeWarning tells it.
    """
    params = listed(params)
    if not any(isinstance(group, dict) for group in params):
        groups = [{**defaults, "params": leaves(params, "params")}]
    else:
        groups = [_group(each, i, defaults, rule) for i, each in enumerate(params)]
    if not any(group["params"] for group in groups):
        raise ValueError("params is empty: there is nothing to learn")
    _refuse_shared(groups)
    _warn_of_one_array([param for group in groups for param in group["params"]])
    return tuple(groups)


def listed(params, name: str = "params") -> list:
    """The parameters as a list; TypeError for a single Tensor, which has rows to go through, and
    for a set, whose order would be another in each run, and that of a saved state with it."""
    if isinstance(params, Tensor):
        raise TypeError("params is one Tensor; put it in a list: [tensor]")
    if not isinstance(params, Iterable):
        kind = type(params).__name__
        raise TypeError(f"{name} is a {kind}; pass a list of Tensors, as its .parameters() gives")
    if isinstance(params, set | frozenset):
        raise TypeError(f"{name} is a set, which has no order; pass a list of Tensors")
    return list(params)


def _group(group, position: int, defaults: dict, rule: str) -> dict:
    where = f"params[{position}]"
    if not isinstance(group, dict):
        kind = type(group).__name__
        raise TypeError(f'{where} is a {kind} beside groups; make it a group: {{"params": [...]}}')
    if "params" not in group:
        raise ValueError(f"{where} has no 'params', the list of its Tensors")
    check_options(group, defaults, where, rule)
    given = group["params"]
    given = [given] if isinstance(given, Tensor) else listed(given, f"{where}['params']")
    return {**defaults, **group, "params": leaves(given, f"{where}['params']")}


def check_options(group: dict, known: Iterable[str], where: str, rule: str) -> None:
    """ValueError for an option of a group that the rule does not know."""
    for name in group:
        if name != "params" and name not in known:
            raise ValueError(
                f"{where} has an option {name!r}; those of {rule} are {', '.join(known)}"
            )


def leaves(given: list, where: str) -> tuple[Tensor, ...]:
    """Each Tensor once, when all are leaves that can learn."""
    for position, param in enumerate(given):
        if not isinstance(param, Tensor):
            raise TypeError(f"{where}[{position}] is a {type(param).__name__}, not a Tensor")
        if param.node is not None:
            raise ValueError(
                f"{where}[{position}] was computed (by {param.node.name}) and collects no "
                "gradient; pass the tensors that it was computed from"
            )
        data_of(param.data, param.name or f"{where}[{position}]")
        if param.dtype.kind not in "fc":  # whole numbers would swallow every step below 1
            raise TypeError(f"{where}[{position}] is {param.dtype}; a step needs floating point")
    return tuple({id(param): param for param in given}.values())


def _refuse_shared(groups: list[dict]) -> None:
    home: dict[int, int] = {}
    for position, group in enumerate(groups):
        for param in group["params"]:
            first = home.setdefault(id(param), position)
            if first != position:
                name = param.name or f"a Tensor of shape {param.shape}"
                raise ValueError(
                    f"{name} is in group {first} and in group {position}; it takes one step, so "
                    "put it in one of them"
                )


def _warn_of_one_array(params: list[Tensor]) -> None:
    """As `head.weight.data = table.weight.data` leaves them: the array is moved twice a step."""
    views: dict[int, list[int]] = {}
    for position, param in enumerate(params):
        if param.requires_grad:
            views.setdefault(id(owner(param.data)), []).append(position)
    for a, b in (pair for of_one in views.values() for pair in combinations(of_one, 2)):
        if np.shares_memory(params[a].data, params[b].data):
            first, second = (params[k].name or f"parameter {k}" for k in (a, b))
            warnings.warn(
                f"{first} and {second} are two Tensors over one array: each takes a step of its "
                "own there. To tie them, use one Tensor in both places",
                RuntimeWarning,
                stacklevel=4,
            )
