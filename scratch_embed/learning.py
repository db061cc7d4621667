"""A model that learns, a step at a time, and may stop between any two.

learning = Learning(model, Adam(model.parameters()), rng, loss=lambda rng: ...)
while learning.step < 1000:
    learning.take()
checkpoint.save(path, **learning.state_dict())
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextvars import copy_context

import numpy as np

from scratch_embed.arguments import check_count, check_rng_state, generator
from scratch_embed.layers.layer import Layer
from scratch_embed.optim import Optimizer, clip_grad_norm
from scratch_embed.optim.options import in_range
from scratch_embed.tensor import Tensor, lean
from scratch_embed.uninterrupted import uninterrupted


class Learning:
    """A model, its optimiser, what they draw by chance, and how many steps they have taken.

    model : with every part that the loss uses and that learns or draws by chance, a Dropout too: of
        others nothing is saved.
    rng : what batches are drawn from, a Generator or the seed of one.
    loss : draws a batch from the generator, and gives its loss, a Tensor.
    rate : the step size of each step, counted from 0; None leaves what the optimiser has.
    longest : gradients are shortened to this length; None leaves them.

    Raises ValueError for an optimiser that moves no weight of the model, or one that is in none of
    its parts and so in no checkpoint, and for a `longest` below 0; TypeError for a rate that is no
    function.
    """

    def __init__(
        self, model: Layer, optimizer: Optimizer, rng: np.random.Generator | int,
        loss: Callable[[np.random.Generator], Tensor],
        rate: Callable[[int], float] | None = None, longest: float | None = None,
    ):  # fmt: skip
        weights = set(map(id, model.parameters()))
        if weights and weights.isdisjoint(map(id, optimizer.params)):
            raise ValueError(
                "optimizer moves none of the weights of model: it was made for another one"
            )
        for place, param in enumerate(optimizer.params if weights else ()):
            if id(param) not in weights:
                raise ValueError(
                    f"optimizer also moves {param.name or f'its parameter {place}'}, which is no "
                    "weight of model, and would not be saved with it: make it an attribute of a "
                    "Layer that holds both"
                )
        rng = generator(rng)  # a Generator stays the one that it is
        self.model, self.optimizer, self.rng, self.step = model, optimizer, rng, 0
        if not (rate is None or callable(rate)):
            raise TypeError(f"rate is {rate!r}; it must be a function of the step, or None")
        if longest is not None:
            longest = in_range("longest", longest)
        self._loss, self._rate, self._longest = loss, rate, longest

    def take(self) -> float:
        """One step; returns the loss before it.

        After an error, or Ctrl-C, the generators are as they were: the step can be taken again, and
        what is saved goes on to the same bits. (What a part of the model keeps of each call by
        itself, such as a running mean, has moved on.)

        Raises FloatingPointError for a loss that is no number, TypeError for one that is no Tensor,
        and ValueError for one that is of other weights, has been gone back from already, or spawns
        generators.
        """
        # In a context of its own: np.errstate would hold for good where Ctrl-C comes as it begins.
        return copy_context().run(self._retaken)

    def _retaken(self) -> float:
        """A step, or none and nothing drawn."""
        generators, step = self._generators(), self.step
        drawn = [rng.bit_generator.state for rng in generators]
        try:
            return self._take()
        except BaseException:
            if self.step == step:
                with uninterrupted():
                    _rewind(generators, drawn)
            raise

    def _generators(self) -> list[np.random.Generator]:
        """What batches are drawn from, and what the parts of the model draw from."""
        return [self.rng, *self.model.generators()]

    def _spawned(self) -> list[int]:
        """How many others each generator has begun, which is no part of its state."""
        seeds = [getattr(rng.bit_generator, "seed_seq", None) for rng in self._generators()]
        return [getattr(seed, "n_children_spawned", 0) for seed in seeds]

    def _take(self) -> float:
        rule = self.optimizer
        if self._rate is not None:
            rule.lr = self._rate(self.step)
        rule.zero_grad()
        with lean(), np.errstate(all="ignore"):
            spawned = self._spawned()
            loss = self._loss(self.rng)
            if self._spawned() != spawned:
                raise ValueError(
                    "loss spawns from a generator, and how often no checkpoint knows: draw the "
                    "seed of another one from it, np.random.default_rng(rng.integers(2**63))"
                )
            self._check_fresh(loss)
            before = self.check(loss.item())  # it may be a view of a weight, which will move
            loss.backward()
            if all(param.grad is None for param in rule.params):
                raise ValueError("loss was computed without any weight that the optimiser moves")
            if self._longest is not None:
                self._shorten()
            with uninterrupted():  # a step is taken whole, and counted
                rule.step()
                self.step += 1
        return before

    def _check_fresh(self, loss) -> None:
        if not isinstance(loss, Tensor) or loss.size != 1:
            shape = f" of shape {loss.shape}" if isinstance(loss, Tensor) else ""
            what = f"{type(loss).__name__}{shape}"
            raise TypeError(f"loss gave a {what}; it must give a Tensor of one number")
        if any(param.grad is not None for param in self.optimizer.params):
            raise ValueError("loss has called backward; leave it to take, which calls it as well")

    def _shorten(self) -> None:
        try:
            clip_grad_norm(self.optimizer.params, self._longest)
        except FloatingPointError:
            self.check(math.inf)

    def check(self, loss: float) -> float:
        """The loss; FloatingPointError for one that is no finite number."""
        if math.isfinite(loss):
            return loss
        if not self.step:  # which no rate has led astray
            raise FloatingPointError(
                "before the first step the loss or its gradient is no finite number: look for nan "
                "and inf in the data and the weights, and for what is too large in the loss"
            )
        rates = sorted({group["lr"] for group in self.optimizer.param_groups})
        told = " or ".join(f"{rate:g}" for rate in rates)
        raise FloatingPointError(
            f"after {self.step:,} steps the loss or its gradient is no finite number: where the "
            f"data hold no nan, the rate {told} is too large, begin again with a smaller one"
        )

    def state_dict(self) -> dict:
        """What a checkpoint holds."""
        own, *others = (rng.bit_generator.state for rng in self._generators())
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "rng": own,
            "rngs of layers": others,
            "step": self.step,
        }

    def load_state_dict(self, state: Mapping) -> None:
        """Go on where `state_dict` was taken: with all of it, or after an error with nothing.

        Raises what the two `load_state_dict` raise, KeyError for a state that lacks a part, and
        ValueError for another number or kind of generators.
        """
        if missing := self.state_dict().keys() - state.keys():
            names = ", ".join(sorted(missing))
            raise KeyError(f"the state lacks {names}: it is not what Learning.state_dict() made")
        step = check_count(state["step"], "state['step']", 0)
        load = [self.model.loading(state["model"]), self.optimizer.loading(state["optimizer"])]
        generators = self._generators()
        drawn = [state["rng"], *state["rngs of layers"]]
        if len(drawn) != len(generators):
            raise ValueError(
                f"the state is of {len(drawn)} generators, and here are {len(generators)}: one "
                "that draws batches, and those of the model's parts"
            )
        for rng, each in zip(generators, drawn):
            check_rng_state(each, rng)
        with uninterrupted():
            for put in load:
                put()
            _rewind(generators, drawn)
            self.step = step


def _rewind(generators: list[np.random.Generator], drawn: list[dict]) -> None:
    for rng, state in zip(generators, drawn):
        rng.bit_generator.state = state
