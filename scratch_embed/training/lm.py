"""`scratch-embed lm`: a small language model on a text, beside what counting achieves.

A tenth of the text, in stretches from all over it, is held out. The rest is cut by byte pair
encoding and learned by a `Transformer`; unigram and bigram count the same tokens and answer for the
same places, so that the three losses can be compared.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed import checkpoint
from scratch_embed.files import check_writable
from scratch_embed.optim import AdamW, warmup_cosine
from scratch_embed.plot import CYCLE, figure
from scratch_embed.text import bpe, corpus
from scratch_embed.text.ngrams import Bigram, Unigram
from scratch_embed.training.command import (
    CHECKPOINT,
    STOPPED,
    count,
    ended,
    for_checkpoint,
    parse,
    parser,
    positive,
)
from scratch_embed.training.memory import keep_freed_memory
from scratch_embed.training.progress import Progress
from scratch_embed.training.results import write_results
from scratch_embed.training.transformer import Transformer, take_step

QUICK = {"steps": 60, "every": 20, "rows": 400, "dim": 32, "length": 32, "heads": 2}
QUICK_TEXT = 400_000  # characters
STRETCH = 2_000  # characters that are held out or learned together
HELD_OUT = 10  # one stretch in so many
WINDOWS = 512  # of the held-out text, on which losses are measured
SPLIT, WEIGHTS, BATCHES, SAMPLE = range(4)  # what the seed is used for, each with its own stream


def made() -> argparse.ArgumentParser:
    """The options of `scratch-embed lm`."""
    lm = parser("lm", __doc__.split("\n\n")[1], resumable=True)
    lm.add_argument("file", nargs="?", type=Path, help="a UTF-8 text (Python's own docstrings)")
    for name, kind, default, meaning in (
        ("steps", count, 2000, "to train; each reads batch-size sequences"),
        ("batch-size", count, 16, "sequences a step"),
        ("length", count, 64, "of a sequence, in tokens"),
        ("rows", count, 1000, "of the table: 256 bytes and the merges of byte pair encoding"),
        ("dim", count, 96, "numbers in a row"),
        ("blocks", count, 2, "of attention and MLP, one after the other"),
        ("heads", count, 4, "of attention; they share the numbers of a row"),
        ("rate", positive, 3e-3, "the largest step size of AdamW: a cosine from there to 0"),
        ("every", count, 100, "steps from one checkpoint to the next"),
    ):
        lm.add_argument(f"--{name}", type=kind, default=default, help=f"{meaning} ({default})")
    lm.add_argument("--prompt", default="The ", metavar="TEXT", help="what the sample goes on from")
    return lm


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return ended(lambda: run(*parse(made(), sys.argv[1:] if argv is None else argv, QUICK)))


def run(options: argparse.Namespace, saved: dict) -> int:
    """Train from the beginning or from a checkpoint, and say what came out."""
    check_writable(options.out / CHECKPOINT)
    text = read(options)
    data = prepare(text, options, saved)
    training = Training(data, options, saved)
    print(
        f"{data.learned.size:,} tokens to learn from, {data.windows[:, 1:].size:,} held out; "
        f"{training.model.num_parameters():,} numbers to learn"
    )
    print("held-out loss, nats a token:")
    for name, loss in data.baselines.items():
        print(f"  {loss:6.3f}  {name}")
    if not training.go_on():
        print(f"stopped after step {training.step:,}, and saved. To go on:")
        print(f"scratch-embed lm --out {options.out} --resume")
        return STOPPED
    report(training, data, options)
    return 0


def read(options: argparse.Namespace) -> str:
    """The text to learn from."""
    text = corpus.python_text() if options.file is None else corpus.read_text(options.file)
    return text[:QUICK_TEXT] if options.quick else text


class Data(NamedTuple):
    """The text as tokens."""

    mark: int  # CRC-32 of the text, by which a resumed run knows it
    tokenizer: bpe.BPE
    learned: np.ndarray  # (N,) ids to learn from
    windows: np.ndarray  # (W, T + 1) held-out ids
    baselines: dict[str, float]  # held-out loss of what counting achieves


def prepare(text: str, options: argparse.Namespace, saved: dict) -> Data:
    """Split the text, cut it into tokens, and count. Raises ValueError for too short a text."""
    mark = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    if saved and saved["text"] != mark:
        raise ValueError(
            f"the text is not the one that the run in {options.out} began with: give that one, or "
            "begin anew without --resume"
        )
    rng = np.random.default_rng([options.seed, SPLIT])
    stretches = [text[at : at + STRETCH] for at in range(0, len(text), STRETCH)]
    held = rng.permutation(len(stretches)) < len(stretches) / HELD_OUT
    known = "".join(part for part, out in zip(stretches, held) if not out)
    unseen = "".join(part for part, out in zip(stretches, held) if out)
    if saved:
        pairs = [tuple(t.encode("latin-1") for t in pair) for pair in saved["merges"]]
        tokenizer = bpe.BPE(tuple(pairs), bpe.BYTES, "byte", True)
    elif not known.strip():
        raise ValueError(f"the text of {len(text):,} characters is too short to hold a part out")
    else:
        tokenizer = bpe.train(known, max(options.rows - 256, 0), unit="byte", boundaries=True)
    learned, unseen = tokenizer.encode(known), tokenizer.encode(unseen)
    length, whole = options.length, (len(unseen) - 1) // options.length
    if len(learned) <= length or whole < 1:
        raise ValueError(
            f"the text of {len(text):,} characters is too short: {len(learned):,} tokens to learn "
            f"from and {len(unseen):,} held out, and a sequence takes {length + 1:,}"
        )
    starts = rng.permutation(whole)[:WINDOWS, None] * length
    windows = unseen[starts + np.arange(length + 1)]
    before, after = windows[:, :-1], windows[:, 1:]
    baselines = {
        "unigram": Unigram(learned, len(tokenizer)).loss(after),
        "bigram, Kneser-Ney": Bigram(learned, len(tokenizer)).loss(before, after),
    }
    return Data(mark, tokenizer, learned, windows, baselines)


class Training:
    """The model, its optimiser, and how far they are."""

    def __init__(self, data: Data, options: argparse.Namespace, saved: dict):
        keep_freed_memory()
        self.data, self.options = data, options
        self.model = Transformer(
            len(data.tokenizer), options.dim, options.length, options.blocks, options.heads,
            rng=np.random.default_rng([options.seed, WEIGHTS]),
        )  # fmt: skip
        self.optimizer = AdamW(self.model.parameters(), lr=options.rate)
        self.rng = np.random.default_rng([options.seed, BATCHES])
        self.step, self.losses, self.held_out = 0, [], []  # held_out: (step, loss)
        if saved:
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.rng.bit_generator.state = saved["rng"]
            self.step, self.held_out = saved["step"], saved["held_out"]
            self.losses = saved["losses"].tolist()

    def go_on(self) -> bool:
        """Take the steps that are left; False when Ctrl-C came in between. Saves in both cases."""
        options = self.options
        with Progress(self.step, options.steps) as progress:
            for step in progress:
                if step % options.every == 0:
                    self.measure()
                    self.save()
                self.losses.append(self.take(step))
                self.step = step + 1
                progress.says = f"loss {self.losses[-1]:.3f}, held out {self.held_out[-1][1]:.3f}"
        if not progress.stopped:
            self.measure()
        self.save()
        return not progress.stopped

    def take(self, step: int) -> float:
        """One step on random stretches of the text; the loss before it."""
        options = self.options
        starts = self.rng.integers(len(self.data.learned) - options.length, size=options.batch_size)
        batch = self.data.learned[starts[:, None] + np.arange(options.length + 1)]
        self.optimizer.lr = warmup_cosine(step, options.steps, options.rate, options.steps // 20)
        return take_step(self.model, self.optimizer, batch)

    def measure(self) -> None:
        """Note the held-out loss, once for a step."""
        if not self.held_out or self.held_out[-1][0] != self.step:
            self.held_out.append([self.step, self.model.held_out_loss(self.data.windows)])

    def save(self) -> None:
        """Write the checkpoint: all that `--resume` needs to go on to the same bits."""
        merges = [[t.decode("latin-1") for t in pair] for pair in self.data.tokenizer.merges]
        checkpoint.save(
            self.options.out / CHECKPOINT,
            options=for_checkpoint(self.options),
            text=self.data.mark,
            merges=merges,
            model=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),
            rng=self.rng.bit_generator.state,
            step=self.step,
            losses=np.array(self.losses),
            held_out=self.held_out,
        )


def report(training: Training, data: Data, options: argparse.Namespace) -> None:
    """The loss, a sample, and the files."""
    loss = training.held_out[-1][1]
    print(f"  {loss:6.3f}  this model, after {training.step:,} steps")
    start = data.tokenizer.encode(options.prompt or "\n")
    rng = np.random.default_rng([options.seed, SAMPLE])
    sample = data.tokenizer.decode(training.model.sample(start, 120, rng=rng))
    print(f"\nIt goes on from {options.prompt!r}:\n{options.prompt}{sample}\n")
    results = {
        "options": for_checkpoint(options),
        "parameters": training.model.num_parameters(),
        "tokens": data.learned.size,
        "held_out_loss": {**data.baselines, "model": loss},
        "held_out_after_steps": training.held_out,
        "sample": sample,
    }
    for path in write_results(options.out, results, picture(training, data)):
        print(path)


def picture(training: Training, data: Data):
    """The losses over the steps, and what counting achieves as lines."""
    fig, ax = figure(title="A small language model")
    ax.plot(training.losses, color=CYCLE[0], alpha=0.3, lw=0.8, label="batch")
    ax.plot(*zip(*training.held_out), color=CYCLE[0], marker="o", ms=3, label="held out")
    for (name, loss), colour, dashes in zip(data.baselines.items(), CYCLE[1:], ("--", "-.")):
        ax.axhline(loss, color=colour, ls=dashes, label=f"{name}, held out")
    ax.set(xlabel="step", ylabel="loss, nats a token")
    ax.legend(frameon=False)
    return fig
