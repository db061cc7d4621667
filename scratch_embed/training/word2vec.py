"""`scratch-embed word2vec`: from a text to vectors of its words.

Learns a vector for each word of a text from the company that it keeps. With one worker the same
options give the same bits, also when the run was stopped in between; Ctrl-C stops it and saves.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict

from scratch_embed import checkpoint
from scratch_embed.files import check_writable
from scratch_embed.text import counting, vectors_files
from scratch_embed.text.corpus import words
from scratch_embed.text.sources import STANDARD, Source, open_source
from scratch_embed.text.word2vec import MODELS
from scratch_embed.text.word2vec_run import LOSSES, Settings, Training
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
from scratch_embed.training.nearest import nearest_words, picture
from scratch_embed.training.progress import Progress
from scratch_embed.training.results import write_results

IDS = "text.ids"  # the text as row numbers, in the folder of the run
QUICK = {"most_read": 100_000, "dim": 50, "epochs": 1}
FORMATS = tuple(ending[1:] for ending in vectors_files.WRITERS)
CUTS = ("words", "spaces", "pieces")


def made() -> argparse.ArgumentParser:
    """The options of `scratch-embed word2vec`."""
    new = parser("word2vec", __doc__.split("\n\n")[1], resumable=True)
    new.add_argument(
        "text", nargs="?", help="a UTF-8 file, a folder of .txt, .md and .rst files, or - for "
        f"standard input; without it, {STANDARD}: the docstrings of this Python",
    )  # fmt: skip
    kinds = (
        ("cut", CUTS, "into lower-case words, at spaces, or into pieces of byte pair encoding"),
        ("model", MODELS, "a word announces each neighbour, or the neighbours the word"),
        ("loss", LOSSES, "a word against a few drawn by chance, or against all"),
    )
    for name, choices, meaning in kinds:
        told = f"{meaning} ({choices[0]})"
        new.add_argument(f"--{name}", choices=choices, default=choices[0], help=told)
    for name, kind, default, unit, meaning in (
        ("pieces", count, 8000, "MERGES", "that --cut pieces learns from the first 2 MB"),
        ("min-count", count, 5, "TIMES", "that a word with a vector stands in the text, at least"),
        ("max-words", count, None, "WORDS", "that get a vector, the most frequent ones"),
        ("most-read", count, None, "WORDS", "of the text to read"),
        ("dim", count, 100, "NUMBERS", "in a vector"),
        ("window", count, 5, "WORDS", "on each side that are neighbours, at most"),
        ("negatives", count, 5, "WORDS", "drawn by chance for each true one"),
        ("epochs", count, 5, "TIMES", "that the text is gone through"),
        ("lr", positive, 0.025, "SIZE", "of a step; it falls to a hundredth of this"),
        ("power", float, 0.75, "POWER", "of a word's count, in how often it is drawn"),
        ("subsample-at", float, 1e-3, "SHARE", "of the text above which a word is thinned out"),
        ("workers", count, 1, "THREADS", "to learn with; several race, and no two runs are alike"),
    ):
        told = f"{meaning} ({'all' if default is None else default})"
        new.add_argument(f"--{name}", type=kind, default=default, metavar=unit, help=told)
    new.add_argument(
        "--formats", nargs="+", choices=FORMATS, default=["npz"], metavar="FORMAT",
        help=f"of the vectors, of {', '.join(FORMATS)} (npz)",
    )  # fmt: skip
    new.add_argument(
        "--save-every", type=positive, default=30.0, metavar="SECONDS", help="a checkpoint (30)"
    )
    return new


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return ended(lambda: run(*parse(made(), sys.argv[1:] if argv is None else argv, QUICK)))


def run(options: argparse.Namespace, saved: dict) -> int:
    """Read, learn, write; or go on with what is saved."""
    check_writable(options.out / CHECKPOINT)
    saved = saved or read(options)
    ids = counting.Ids(options.out / IDS)
    if ids.checksum() != saved["checksum"]:
        raise ValueError(f"{ids.path} is not the text of the checkpoint; begin without --resume")
    training = Training(ids, saved["counts"], settings(options))
    if "training" in saved:
        training.load_state_dict(saved["training"])
    sitting = Sitting(options, saved, training)
    if not sitting.go_on():
        print(f"stopped at {training.share:.0%}, and saved. To go on:")
        print(f"scratch-embed word2vec --out {options.out} --resume")
        return STOPPED
    report(sitting)
    return 0


def settings(options: argparse.Namespace) -> Settings:
    """The options that the training knows."""
    return Settings(**{name: getattr(options, name) for name in asdict(Settings())})


def read(options: argparse.Namespace) -> dict:
    """Turn the text into ids in the folder; returns what a checkpoint holds of it.

    A run that is saved there stays until the new text is read: it may be no text.
    """
    fresh = options.out / f"{IDS}.new"
    source = open_source(options.text)
    found = with_progress(source)
    cut = {"words": words, "spaces": str.split}.get(options.cut)
    if cut is None:
        cut, found, tokenizer = counting.in_pieces(found, options.pieces)
        tokenizer.save(options.out / "pieces.bpe")
    counted = counting.count(
        found, fresh, cut, options.min_count, options.max_words, options.most_read
    )
    (options.out / CHECKPOINT).unlink(missing_ok=True)  # before its text is replaced
    os.replace(fresh, options.out / IDS)
    kind = "pieces" if options.cut == "pieces" else "words"
    print(f"{counted.read:,} {kind} read, {len(counted.words):,} different ones get a vector.")
    if counted.forgotten:
        print(f"So many differ that those seen up to {counted.forgotten} times were forgotten.")
    return {
        "options": for_checkpoint(options),
        "words": list(counted.words),
        "counts": counted.counts,
        "read": counted.read,
        "checksum": counted.checksum,
        "seconds": 0.0,
    }


def with_progress(source: Source) -> Iterator[str]:
    """The pieces of a text, while a bar tells how much of it is read."""
    with Progress(0, source.size, "byte") as progress:
        progress.says = f"reading {source.name}"
        for piece in source.pieces():
            yield piece
            progress.to(source.done)
            if progress.stopped:
                raise KeyboardInterrupt


class Sitting:
    """A training from where it was left, and what its checkpoint holds besides."""

    def __init__(self, options: argparse.Namespace, saved: dict, training: Training):
        self.options, self.saved, self.training = options, saved, training
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Spent on learning, in earlier sittings as well."""
        return self.saved["seconds"] + time.monotonic() - self._began

    def go_on(self) -> bool:
        """Learn until all epochs are through; False when Ctrl-C came before. Saves in both cases,
        at the beginning, and every so many seconds."""
        training = self.training
        self.save()
        last = time.monotonic()
        with Progress(training.done, training.total, "word") as progress:
            while not (training.finished or progress.stopped):
                training.advance()
                if training.curve:
                    progress.says = f"held-out loss {training.curve[-1][1]:.4f}"
                progress.to(training.done)
                if time.monotonic() - last >= self.options.save_every:
                    self.save()
                    last = time.monotonic()
            self.save()
        return training.finished

    def save(self) -> None:
        """Write the checkpoint: with text.ids, all that `--resume` needs."""
        now = {"seconds": self.seconds, "training": self.training.state_dict()}
        checkpoint.save(self.options.out / CHECKPOINT, **{**self.saved, **now})


def report(sitting: Sitting) -> None:
    """Write vectors, results and picture; show what was learned."""
    options, saved, training = sitting.options, sitting.saved, sitting.training
    tokens, vectors, judge = saved["words"], training.tables.vectors, training.judge
    seconds, loss = sitting.seconds, training.curve[-1][1]
    files = [options.out / f"vectors.{ending}" for ending in options.formats]
    for path in files:
        vectors_files.save(path, tokens, vectors)
    near = nearest_words(tokens, vectors)
    results = {
        "options": for_checkpoint(options),
        "words_read": saved["read"],
        "vocabulary": len(tokens),
        "held_out_loss": {
            "vectors": loss, "frequency alone": judge.by_frequency, "untrained": judge.untrained,
        },
        "held_out_after_words": training.curve,
        "seconds": seconds,
        "words_a_second": training.total / max(seconds, 1e-9),
        "nearest": near,
    }  # fmt: skip
    print("held-out loss of an example, nats:")
    for name, value in results["held_out_loss"].items():
        print(f"  {value:7.4f}  {name}")
    print("nearest words:")
    print(*(f"  {word:<12} {', '.join(others)}" for word, others in near.items()), sep="\n")
    for path in (*files, *write_results(options.out, results, picture(training))):
        print(path)
