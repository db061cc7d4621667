"""Optimizer: what all optimisers share. A rule says what happens to a block of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from scratch_embed.arguments import (
    check_count,
    check_dict,
    check_names,
    check_unmasked,
    data_of,
    fitted,
)
from scratch_embed.kernels.steps import every_row, is_for_a_loop
from scratch_embed.kernels.tables import Groups, apart, check_dtype
from scratch_embed.optim.groups import check_options, make_groups
from scratch_embed.optim.options import Number, Optioned
from scratch_embed.optim.states import check_state, native
from scratch_embed.rows import RowGrad
from scratch_embed.tensor import Tensor
from scratch_embed.uninterrupted import uninterrupted
from scratch_embed.watch import wrote

# A dense step goes over a table in blocks of rows of about this many bytes. What a formula makes on
# the way is then as large as a block and not as the table, and stays in the processor's cache. For
# arrays above 128 kB many systems map fresh memory every time, which takes longer than the step.
BLOCK = 120_000


class Optimizer(Optioned):
    """Keeps the parameters in groups and, for each parameter, a dict of state arrays.

    Parameters
    ----------
    params : the Tensors to learn; or groups of them, each a dict with its `params` and options of
        its own, `[{"params": [E], "lr": 0.1}, {"params": [W, b]}]`. What a group leaves out it
        takes from the keyword arguments. These very Tensors are moved: of another one that a layer
        is given as its weight afterwards the optimiser knows nothing, so make a new one.

    Attributes
    ----------
    param_groups : tuple of dicts, `params` and every option; options may change between steps.
    params, state : all parameters, and their dicts of state arrays in the same order. An array may
        be put there before the first step, one on disk for example: "sum" of Adagrad and
        RowAdagrad, "m" and "v" of Adam, AdamW and LazyAdam, "mean" of RMSProp, "velocity" of a
        momentum. Beside "m" and "v" goes "t", how many steps are in them.

    A NaN or an infinity in a gradient is followed like any other number, as in PyTorch: it
    spoils the entries that it belongs to (under RowAdagrad their whole row) and their state.
    To look for one would cost a pass over every gradient; where you expect it, ask
    `np.isfinite(param.grad).all()` before the step; of a RowGrad its `values`.

    Raises, when constructed: TypeError for a parameter that is no Tensor and an option that is no
    number; ValueError for no parameters, one that was computed or is in two groups, and an option
    that does not exist or is out of range. Two Tensors over one array are warned of. An attribute
    with the name of an option that the rule does not have is an AttributeError.

    Raises, in `step` and before any parameter has moved: ValueError for a gradient or state of
    another shape than its parameter, a read-only array, an option out of range; TypeError for a
    gradient that is no array, one that is complex where the parameter is real, a complex parameter
    where the rule takes roots, and a RowGrad where the rule moves all rows; KeyError for a state
    array that the rule would not use.
    """

    lr = Number()
    counts = False  # whether the rule needs to know how many steps are in its state
    complex_too = False  # whether the rule makes sense for complex numbers

    def __init__(self, params: Iterable[Tensor] | Iterable[dict], **options):
        self.param_groups = make_groups(params, options, type(self).__name__)
        self._checks = {name: getattr(type(self), name).check for name in options}
        for group in self.param_groups:
            group.update(self._checked(group))
        self.params: list[Tensor] = [p for group in self.param_groups for p in group["params"]]
        self.state: list[dict] = [{} for _ in self.params]

    def zero_grad(self) -> None:
        """Forget all gradients. Backward only ever adds, so forgetting is your decision."""
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        """Move every parameter that has a gradient, in place; a RuntimeWarning where none has.

        What is refused is refused before any of them moves. Where NumPy is told to raise in the
        midst of it, `np.errstate(all="raise")`, or Ctrl-C or another signal ends it, some have
        moved and others not; `learning.Learning` lets signals wait.

        Beside the state a dense gradient needs room for a few blocks of 120 kB, whatever the size
        of the table; a RowGrad for a row. From a million numbers in rows of 8 or more on, SGD,
        Adagrad and Adam take a compiled loop, with the same bits and 8 bytes for each row; there,
        as with a RowGrad, NumPy sees no overflow and warns of none.
        """
        ready = []
        for param, state, options in self._each():
            if param.requires_grad and param.grad is not None:
                self._check(param, options)
                ready.append((param, state, self._held(param, state, options), options))
        if not ready:
            told = "no parameter has a gradient, so none moves: was backward called, on their loss?"
            warnings.warn(told, RuntimeWarning, stacklevel=2)
        for param, state, held, options in ready:
            t = held.pop("t") + 1
            state.update(t=t, **held)
            self._move(param, list(held.values()), options | {"t": t})
            wrote(param.data, step=True)

    def state_dict(self) -> dict:
        """What a training needs to go on: {"rule": "Adam", "options": [of each group], "state": [of
        each param]}.

        Copies: the options with their values, and for each parameter t and the state arrays, also
        of a momentum that is off now and may be on again.
        """
        states = []
        for param, state, options in self._each():
            held = {**state, **self._held(param, state, options)} if state else {}
            states.append({k: v if k == "t" else np.copy(v) for k, v in held.items()})
        return {
            "rule": type(self).__name__,
            "options": [self._checked(group) for group in self.param_groups],
            "state": states,
        }

    def load_state_dict(self, saved: Mapping) -> None:
        """Go on from a `state_dict` of the same rule over the same parameters, in their order.

        All is taken over, or after an error nothing. An array that stands in `state` already, on
        disk for example, is written into. Raises KeyError for other options or state arrays than
        this rule has, ValueError for another rule (AdamW decays otherwise than Adam), another
        number of groups or parameters, a wrong shape and an option out of range, TypeError for what
        is no number, or no dict.
        """
        load = self.loading(saved)
        with uninterrupted():
            load()

    def loading(self, saved: Mapping) -> Callable[[], None]:
        """The first half of `load_state_dict`, which raises, and as an answer the second half.

        So several can be looked at before any of them changes.
        """
        rule = type(self).__name__
        check_dict(saved, rule)
        saved = {"rule": rule, **saved}  # in files of version 0.1 it has no name
        check_names(saved, ("rule", "options", "state"), rule)
        if str(saved["rule"]) != rule:
            raise ValueError(
                f"the state is of {saved['rule']}; this is {rule}, which takes other steps: go on "
                "with the rule that saved it, or begin without its state"
            )
        options, states = saved["options"], saved["state"]
        for name, given, mine in (
            ("groups", options, self.param_groups),
            ("parameters", states, self.params),
        ):
            if len(given) != len(mine):
                raise ValueError(f"the state is of {len(given)} {name}; here are {len(mine)}")
        for given in options:
            check_names(given, self._checks, rule)
        options = [self._checked(given) for given in options]
        ready, count = [], 0
        for group, group_options in zip(self.param_groups, options):
            for param in group["params"]:
                ready.append(self._saved(states[count], count, param, group_options))
                count += 1
        for state, new in zip(self.state, ready):
            for name in (set(state) & set(new)) - {"t"}:
                check_state(name, state[name], new[name].shape, new[name].dtype)
        return partial(self._load, options, ready)

    def _load(self, options: list[dict], ready: list[dict]) -> None:
        for group, group_options in zip(self.param_groups, options):
            group.update(group_options)
        for state, new in zip(self.state, ready):
            for name, value in new.items():
                if isinstance(state.get(name), np.ndarray):
                    state[name][...] = value
                else:
                    state[name] = value
            for name in set(state) - set(new):
                del state[name]

    def _each(self) -> Iterator[tuple[Tensor, dict, dict]]:
        """Each parameter, its state and its options, which may have been changed since."""
        held = [param for group in self.param_groups for param in group["params"]]
        if list(map(id, held)) != list(map(id, self.params)):
            raise ValueError(
                "the params of the groups are others than when the optimiser was made, and the "
                "state belongs to those: make a new one"
            )
        states = iter(self.state)
        for group in self.param_groups:
            options = self._checked(group)
            yield from ((param, next(states), options) for param in group["params"])

    def _saved(self, given: Mapping, k: int, param: Tensor, options: dict) -> dict:
        """A copy of one parameter's saved state; where that is none, for it had not taken a step,
        zeros for the arrays that stand here."""
        if not isinstance(given, Mapping):
            raise TypeError(f"state[{k}] is a {type(given).__name__}; it must be a dict")
        shapes, dtype = self._keeps(param.shape, options), native(param.dtype)
        if not given:
            here = {name: np.zeros(shapes[name], dtype) for name in shapes if name in self.state[k]}
            return {"t": 0, **here} if here else {}
        shapes |= {n: s for n, s in self._in_all(param, options).items() if n in given}
        check_names(given, ("t", *shapes), f"parameter {k} of {type(self).__name__}")
        arrays = {
            name: fitted(given[name], np.empty(shape, dtype), f"state[{k}][{name!r}]").astype(dtype)
            for name, shape in shapes.items()
        }
        return {"t": check_count(given["t"], f"state[{k}]['t']", 0), **arrays}

    def _move(self, param: Tensor, arrays: list[np.ndarray], options: dict) -> None:
        """The one place where the numbers of a parameter change."""
        w, g = param.data, param.grad
        if not w.size:
            return  # a mean over no columns would be no number
        if isinstance(g, RowGrad):
            self._follow_rows(w, *g.grouped(), *arrays, **options)
            return
        g = apart(g, w)  # a view of the parameter, in another order, would change on the way
        if self._same_in_rows(options) and is_for_a_loop(w, g, *arrays):
            self._follow_rows(w, np.asarray(g), every_row(len(w)), *arrays, **options)
            return
        wide = np.result_type(g, w)  # the square of a small integer would wrap round
        for block in _blocks(w):
            state = (array[block] for array in arrays)
            self._follow(w[block], np.asarray(g[block], wide), *state, **options)

    # ---- what each rule says of itself -----------------------------------------------------------

    def _follow(self, w: np.ndarray, g: np.ndarray, *arrays: np.ndarray, t: int, **options) -> None:
        """The rule on a block of rows, in place; t counts the steps of this parameter from 1."""

    def _follow_rows(
        self, w: np.ndarray, values: np.ndarray, groups: Groups, *arrays, t: int, **options
    ) -> None:
        """The same on the rows that a RowGrad names (`RowGrad.grouped`), by a compiled loop."""

    def _same_in_rows(self, options: dict) -> bool:
        """Whether `_follow_rows` of every row does what `_follow` does, to the last bit."""
        return False

    def _keeps(self, shape: tuple[int, ...], options: dict) -> dict[str, tuple[int, ...]]:
        """The names and shapes of the state arrays of a parameter of this shape."""
        raise TypeError(f"{type(self).__name__} has no rule of its own; use SGD, Adam, ...")

    def _in_all(self, param: Tensor, options: dict) -> dict[str, tuple[int, ...]]:
        """The same with every option on: one that is off now may have been on, and be so again."""
        return self._keeps(param.shape, dict.fromkeys(options, True))

    def _instead(self, options: dict) -> str | None:
        """What to use for a RowGrad, where the rule also moves rows that it does not name."""
        return None

    # ---- looking before anything moves -----------------------------------------------------------

    def _checked(self, group: dict) -> dict:
        """The options of a group as floats, each in its range."""
        check_options(group, self._checks, "a group", type(self).__name__)
        return {name: check(group[name]) for name, check in self._checks.items()}

    def _check(self, param: Tensor, options: dict) -> None:
        """Whether the gradient of a parameter can be followed."""
        if isinstance(param.data, np.generic):  # of a single number `t.data - step` is no array
            param.data = np.array(param.data)
        w, g, whose = param.data, param.grad, f" of {param.name}" if param.name else ""
        data_of(w, param.name or "param")
        if not isinstance(g, (np.ndarray, np.generic, RowGrad)):  # sums without axes are no arrays
            raise TypeError(f"gradient{whose} is a {type(g).__name__}, not an array or a RowGrad")
        check_unmasked(g, f"{param.name or 'param'}.grad")
        if g.shape != w.shape:
            raise ValueError(f"gradient{whose} of shape {g.shape} for a tensor of shape {w.shape}")
        if w.dtype.char not in "fdFD":
            raise TypeError(
                f"the parameter{whose} is {w.dtype}; a rule moves float32, float64, complex64 or "
                "complex128: write param.data = param.data.astype(np.float32)"
            )
        if g.dtype != w.dtype and not np.can_cast(g.dtype, w.dtype, "same_kind"):
            raise TypeError(f"gradient{whose} is {g.dtype} for a tensor of {w.dtype}")
        if w.dtype.kind == "c" and not self.complex_too:
            raise TypeError(
                f"the parameter{whose} is {w.dtype}, and {type(self).__name__} divides by the root "
                "of g^2, which is no size for a complex number; use SGD, or two real tensors"
            )
        if not w.flags.writeable:
            raise ValueError(
                f"the parameter's array{whose} is read-only and cannot be moved; pass a copy"
            )
        instead = self._instead(options)
        if isinstance(g, RowGrad):
            check_dtype(w, param.name or "param.data")
            check_dtype(g, f"{param.name or 'param'}.grad")
        if isinstance(g, RowGrad) and instead:
            raise TypeError(
                f"{type(self).__name__} moves every row at every step, also rows that this "
                f"RowGrad{whose} does not name; use {instead}, or grad.to_dense() to pay for all "
                "rows"
            )

    def _held(self, param: Tensor, state: dict, options: dict) -> dict:
        """t and the state arrays in the order in which the rule takes them; zeros the first time.

        `state` itself stays as it is: another parameter may still be refused.
        """
        shapes = self._keeps(param.shape, options)
        known = self._in_all(param, options) if "t" in state else shapes
        if unknown := sorted(set(state) - set(known) - {"t"}):
            raise KeyError(
                f"state holds {unknown[0]!r}, which {type(self).__name__} would not use; it keeps "
                f"{', '.join(map(repr, shapes)) or 'nothing'}"
            )
        if self.counts and state and "t" not in state:
            raise KeyError(
                f"state holds {min(state)!r} and no 't', how many steps there are in it: put 0 for "
                "new arrays, and for old ones what it was"
            )
        held = {"t": check_count(state.get("t", 0), "state['t']", 0)}  # a uint8 would wrap round
        dtype = native(param.dtype)
        for name, shape in shapes.items():
            held[name] = state[name] if name in state else np.zeros(shape, dtype)
            check_state(name, held[name], shape, dtype)
        return held


def _blocks(array: np.ndarray) -> Iterator:
    """Slices of the first axis, each about BLOCK bytes."""
    if not array.ndim:
        yield ...  # a single number
        return
    rows = max(1, BLOCK * len(array) // max(1, array.nbytes))
    for start in range(0, len(array), rows):
        yield slice(start, start + rows)
