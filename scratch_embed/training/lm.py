"""`scratch-embed lm`: a small language model on a text, beside what counting achieves.

A tenth of the text, in stretches from all over it, is held out. The rest is cut by byte pair
encoding and learned by a `Transformer`; unigram and bigram count the same tokens and answer for the
same places, so that the three losses can be compared. However long the text, its tokens stay on the
disk.
"""

from __future__ import annotations

import argparse

import numpy as np

from scratch_embed.learning import Learning
from scratch_embed.look.terminal import harmless
from scratch_embed.models import NextToken
from scratch_embed.optim import AdamW, warmup_cosine
from scratch_embed.plot import CYCLE, figure
from scratch_embed.text.pairs import check_text
from scratch_embed.training.command import (
    Number,
    add_numbers,
    count,
    named,
    parser,
    positive,
    size,
    some,
    start,
)
from scratch_embed.training.language import held_out_loss, sample
from scratch_embed.training.memory import keep_freed_memory
from scratch_embed.training.progress import Progress
from scratch_embed.training.reading import WHAT
from scratch_embed.training.run import Run
from scratch_embed.training.tokens import Tokens
from scratch_embed.training.transformer import Transformer

QUICK = {
    "steps": 60, "every": 20, "rows": 400, "dim": 32, "length": 32, "heads": 2,
    "most_read": 400_000,
}  # fmt: skip
SPLIT, WEIGHTS, BATCHES, SAMPLE = range(4)  # what the seed is used for, each with its own stream
MODELS = ("transformer", "next-token", "next-token-untied")
ROWS = Number(int, 256, True, "256 or more")
NUMBERS = [
    ("most-read", count, None, "LETTERS", "letters of the text to read"),
    ("rows", ROWS, 1000, "ROWS", "rows of the table: 256 bytes and the merges of byte pairs"),
    ("length", size, 64, "TOKENS", "tokens in a sequence"),
    ("dim", size, 96, "NUMBERS", "numbers in a row"),
    ("blocks", some, 2, "BLOCKS", "blocks of attention and MLP, one after the other"),
    ("heads", size, 4, "HEADS", "attention heads; they share the numbers of a row"),
    ("steps", count, 2000, "STEPS", "steps to train"),
    ("batch-size", size, 16, "SEQUENCES", "sequences that a step reads"),
    ("rate", positive, 3e-3, "SIZE", "largest step size of AdamW; a cosine falls from it to 0"),
    ("every", count, 100, "STEPS", "steps between two looks at the held-out loss"),
]

NEEDS = {name: ("model", "transformer") for name in ("blocks", "heads")}


def made() -> argparse.ArgumentParser:
    """The options of `scratch-embed lm`."""
    lm = parser("lm", __doc__, resumable=True)
    lm.add_argument("text", nargs="?", type=named, help=WHAT)
    lm.add_argument(
        "--model", choices=MODELS, default=MODELS[0], help="a Transformer; or one that looks at a "
        "single token, with a body, and with one table or two, as the labs train it "
        f"(default {MODELS[0]})",
    )  # fmt: skip
    add_numbers(lm, NUMBERS)
    prompt = "what the sample goes on from (default 'The ')"
    lm.add_argument("--prompt", default="The ", metavar="TEXT", help=prompt)
    return lm


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return start(made(), work, argv, QUICK, NEEDS)


def work(run: Run) -> int:
    """Train from the beginning or from a checkpoint, and say what came out."""
    options = run.options
    check_text(options.prompt, "prompt")
    if options.model == MODELS[0] and options.dim % options.heads:
        more = -options.dim % options.heads
        raise ValueError(
            f"dim is {options.dim}, which {options.heads} heads cannot share evenly; give a "
            f"multiple of {options.heads}, such as {options.dim + more}"
        )
    tokens = Tokens(run, rng=np.random.default_rng([options.seed, SPLIT]))
    training = Training(run, tokens)
    print(
        f"{tokens.learned:,} tokens to learn from, {tokens.windows[:, 1:].size:,} held out; "
        f"{training.model.num_parameters():,} numbers to learn"
    )
    print("held-out loss, nats a token:")
    for name, loss in tokens.baselines.items():
        print(f"  {loss:6.3f}  {name}", flush=True)
    if not training.go_on():
        return run.stopped(f"after step {training.learning.step:,}")
    return report(training)


def new_model(num_embeddings: int, options: argparse.Namespace) -> Transformer | NextToken:
    """The model that the options ask for, untrained."""
    V, D, rng = num_embeddings, options.dim, np.random.default_rng([options.seed, WEIGHTS])
    if options.model == "transformer":
        return Transformer(V, D, options.length, options.blocks, options.heads, rng=rng)
    tied = options.model == "next-token"
    return NextToken(V, D, tied=tied, body=True, rng=rng, dtype=np.float32)


class Training:
    """The model that learns, and its losses on the way."""

    def __init__(self, run: Run, tokens: Tokens):
        keep_freed_memory()
        self.run, self.tokens, options = run, tokens, run.options
        self.model = new_model(len(tokens.tokenizer), options)
        self.learning = Learning(
            self.model, AdamW(self.model.parameters(), lr=options.rate),
            rng=np.random.default_rng([options.seed, BATCHES]),
            loss=self.loss_of_a_batch,
            rate=lambda step: warmup_cosine(
                step, options.steps, options.rate, options.steps // 20
            ),
            longest=1.0,
        )  # fmt: skip
        self.losses, self.held_out = [], []  # held_out: [step, loss]
        if run.saved:
            with run.restoring():
                self.learning.load_state_dict(run.saved["learning"])
                self.losses = run.saved["losses"].tolist()
                self.held_out = [[int(step), float(loss)] for step, loss in run.saved["held_out"]]

    def loss_of_a_batch(self, rng: np.random.Generator):
        """The loss on sequences from random places of the text."""
        batch = self.tokens.sequences(self.run.options.batch_size, rng)
        return self.model.loss(batch[:, :-1], batch[:, 1:])

    def go_on(self) -> bool:
        """Take the steps that are left; False when Ctrl-C came in between. Saves in both cases."""
        options = self.run.options
        self.save()  # the text has been read
        with Progress(self.learning.step, options.steps) as progress:
            for step in progress:
                if step % options.every == 0:
                    self.measure()
                if self.run.due:
                    self.save()
                self.losses.append(self.learning.take())
                progress.says = f"loss {self.losses[-1]:.3f}, held out {self.held_out[-1][1]:.3f}"
        if not progress.stopped:
            self.measure()
        self.save()
        return not progress.stopped

    def measure(self) -> None:
        """Note the held-out loss, once for a step."""
        if not self.held_out or self.held_out[-1][0] != self.learning.step:
            loss = held_out_loss(self.model, self.tokens.windows)
            self.held_out.append([self.learning.step, self.learning.check(loss)])

    def save(self) -> None:
        """Write the checkpoint."""
        self.run.save(
            **self.tokens.state_dict(),
            learning=self.learning.state_dict(),
            losses=np.array(self.losses),
            held_out=self.held_out,
        )


def report(training: Training) -> int:
    """The loss, a sample, and the files. Returns the exit code."""
    run, tokens, model = training.run, training.tokens, training.model
    loss, prompt = training.held_out[-1][1], run.options.prompt
    print(f"  {loss:6.3f}  this model, after {training.learning.step:,} steps")
    print_if_behind(training)
    begin = tokens.tokenizer.encode(prompt or "\n")
    rng = np.random.default_rng([run.options.seed, SAMPLE])
    written = tokens.tokenizer.decode(sample(model, begin, 120, run.options.length, rng=rng))
    print(f"\nIt goes on from {prompt!r}:\n{harmless(prompt + written)}\n")
    results = {
        "parameters": model.num_parameters(),
        "tokens": tokens.learned,
        "held_out_loss": {**tokens.baselines, "model": loss},
        "held_out_after_steps": training.held_out,
        "sample": written,
    }
    return run.finish(results, picture(training))


def print_if_behind(training: Training) -> None:
    """What is ahead of the model, if anything is, and what to do about it."""
    loss, untrained = training.held_out[-1][1], training.held_out[0][1]
    ahead = [name for name, counted in training.tokens.baselines.items() if counted <= loss]
    if loss > untrained:
        by_heart = training.losses[-1] < untrained
        way_out = "more text, or fewer steps" if by_heart else "take a smaller --rate"
        print(f"          worse than before the first step ({untrained:.3f}): {way_out}")
    elif ahead:
        print(f"          counting is ahead still ({' and '.join(ahead)}): this takes more steps")


def picture(training: Training):
    """The losses over the steps, and what counting achieves as lines."""
    fig, ax = figure(title="A small language model")
    ax.plot(training.losses, color=CYCLE[0], alpha=0.3, lw=0.8, label="batch")
    ax.plot(*zip(*training.held_out), color=CYCLE[0], marker="o", ms=3, label="held out")
    counted = training.tokens.baselines.items()
    for (name, loss), colour, dashes in zip(counted, CYCLE[1:], ("--", "-.")):
        ax.axhline(loss, color=colour, ls=dashes, label=f"{name}, held out")
    ax.set(xlabel="step", ylabel="loss, nats a token")
    ax.legend(frameon=False)
    return fig
