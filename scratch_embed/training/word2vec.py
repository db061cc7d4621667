"""`scratch-embed word2vec`: from a text to vectors of its words.

Learns a vector for each word of a text from the company that it keeps. With one worker the same
options give the same bits, also when the run was stopped in between; Ctrl-C stops it and saves.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from scratch_embed.look.terminal import harmless
from scratch_embed.text import counting, vectors_files
from scratch_embed.text.corpus import words
from scratch_embed.text.held_out import LOSSES
from scratch_embed.text.word2vec import MODELS
from scratch_embed.text.word2vec_run import Settings, Training
from scratch_embed.training.command import (
    Number,
    add_numbers,
    count,
    named,
    parser,
    positive,
    share,
    size,
    start,
    threads,
)
from scratch_embed.training.nearest import nearest_words, picture
from scratch_embed.training.progress import Progress
from scratch_embed.training.reading import (
    WHAT,
    check_same,
    ids_of,
    new_ids,
    pieces_of,
    source,
)
from scratch_embed.training.run import Run

QUICK = {"most_read": 100_000, "dim": 50, "epochs": 1}
FORMATS = tuple(ending[1:] for ending in vectors_files.WRITERS)
PIECES = "pieces.bpe"  # the tokenizer of a run with --cut pieces
CUTS = ("words", "spaces", "pieces")
SOME = Number(int, 2, True, "2 or more")
NUMBERS = [
    ("pieces", size, 8000, "MERGES", "merges that --cut pieces learns from 2 million letters"),
    ("min-count", count, 5, "TIMES", "a rarer word gets no vector"),
    ("max-words", SOME, None, "WORDS", "words that get a vector: the most frequent ones"),
    ("most-read", count, None, "WORDS", "words of the text to read"),
    ("dim", size, 100, "NUMBERS", "numbers in a vector"),
    ("window", size, 5, "WORDS", "neighbours on each side, at most"),
    ("negatives", size, 5, "WORDS", "random words drawn for each true one"),
    ("epochs", count, 10, "TIMES", "passes over the text; a short text wants many"),
    ("lr", positive, 0.05, "SIZE", "step size at the start; it falls to a hundredth of this"),
    ("power", share, 0.75, "POWER", "words are drawn in proportion to count ** POWER"),
    ("subsample-at", share, 1e-3, "SHARE", "words with a larger share are thinned out; 0: none"),
    ("workers", threads, 1, "THREADS", "threads; several race, and no two runs are alike"),
]

NEEDS = {name: ("loss", "negative") for name in ("negatives", "power", "workers")}
NEEDS["pieces"] = ("cut", "pieces")


def made() -> argparse.ArgumentParser:
    """The options of `scratch-embed word2vec`."""
    new = parser("word2vec", __doc__, resumable=True)
    new.add_argument("text", nargs="?", type=named, help=WHAT)
    kinds = (
        ("cut", CUTS, "into lower-case words, at spaces, or into pieces of byte pair encoding"),
        ("model", MODELS, "a word announces each neighbour, or the neighbours the word"),
        ("loss", LOSSES, "a word against a few drawn by chance, or against all"),
    )
    for name, choices, meaning in kinds:
        told = f"{meaning} (default {choices[0]})"
        new.add_argument(f"--{name}", choices=choices, default=choices[0], help=told)
    add_numbers(new, NUMBERS)
    new.add_argument(
        "--formats", nargs="+", action="extend", choices=FORMATS, metavar="FORMAT",
        help=f"files of vectors to write: {', '.join(FORMATS)} (default npz)",
    )  # fmt: skip
    return new


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return start(made(), work, argv, QUICK, NEEDS)


def work(run: Run) -> int:
    """Read, learn, write; or go on with what is saved."""
    for path in written(run.options):
        run.will_write(path.name)
    if run.earlier and not run.saved:
        mine = ", ".join(path.name for path in files(run.options))
        print(f"Of an earlier run: {', '.join(map(str, run.earlier))}. This one will write {mine}.")
    saved = run.saved or read(run)
    with run.restoring():
        counts, checksum = np.asarray(saved["counts"]), saved["checksum"]
        if len(saved["words"]) != len(counts):
            raise ValueError(f"{len(saved['words'])} words and {len(counts)} counts")
        saved |= {"words": list(map(_word, saved["words"])), "seconds": float(saved["seconds"])}
    training = Training(ids_of(run.options.out, checksum), counts, settings(run.options))
    if run.saved:
        with run.restoring():
            training.load_state_dict(saved["training"])
            if training.finished and not training.curve:
                raise ValueError("all is read, and nothing held out was ever measured")
    sitting = Sitting(run, saved, training)
    if not sitting.go_on():
        return run.stopped(f"at {training.share:.0%}")
    return report(sitting)


def files(options: argparse.Namespace) -> tuple[Path, ...]:
    """The files of vectors that are asked for."""
    endings = dict.fromkeys(options.formats or ["npz"])  # each once
    return tuple(options.out / f"vectors.{ending}" for ending in endings)


def written(options: argparse.Namespace) -> tuple[Path, ...]:
    """The files that this command writes besides what every training does."""
    beside = (vectors_files.words_beside(path) for path in files(options) if path.suffix == ".tsv")
    pieces = [options.out / PIECES] if options.cut == "pieces" else []
    return (*files(options), *beside, *pieces)


def _word(word: str) -> str:
    if not isinstance(word, str):
        raise TypeError(f"a word is {word!r}")
    return word


def settings(options: argparse.Namespace) -> Settings:
    """The options that the training knows."""
    return Settings(**{name: getattr(options, name) for name in asdict(Settings())})


def read(run: Run) -> dict:
    """Turn the text into ids in the folder; returns what a checkpoint holds of it."""
    options = run.options
    found = pieces_of(source(options.text))
    cut = {"words": words, "spaces": str.split}.get(options.cut)
    limits = options.min_count, options.max_words, options.most_read
    with new_ids(run) as path:
        if cut is None:
            found, tokenizer = counting.learn_pieces(found, options.pieces)
            cut = counting.cut_by(tokenizer)
        counted = counting.count(found, path, cut, *limits)
        check_same(options.out, "words", counted.words)
    if options.cut == "pieces":
        tokenizer.save(options.out / PIECES)
    kind = "pieces" if options.cut == "pieces" else "words"
    print(f"{counted.read:,} {kind} read, {len(counted.words):,} different ones get a vector.")
    if counted.forgotten:
        print(f"So many differ that those seen up to {counted.forgotten} times were forgotten.")
    return {
        "words": list(counted.words),
        "counts": counted.counts,
        "read": counted.read,
        "checksum": counted.checksum,
        "seconds": 0.0,
    }


class Sitting:
    """A training from where it was left, and what its checkpoint holds besides."""

    def __init__(self, run: Run, saved: dict, training: Training):
        self.run, self.saved, self.training = run, saved, training
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
        with Progress(training.done, training.total, "word") as progress:
            while not (training.finished or progress.stopped):
                training.advance()
                if training.curve:
                    progress.says = f"held-out loss {training.curve[-1][1]:.4f}"
                progress.to(training.done)
                if self.run.due:
                    self.save()
            self.save()
        return training.finished

    def save(self) -> None:
        """Write the checkpoint: with text.ids, all that `--resume` needs."""
        now = {"seconds": self.seconds, "training": self.training.state_dict()}
        self.run.save(**{**self.saved, **now})


def report(sitting: Sitting) -> int:
    """Write vectors, results and picture; show what was learned. Returns the exit code."""
    run, saved, training = sitting.run, sitting.saved, sitting.training
    tokens, vectors, judge = saved["words"], training.tables.vectors, training.judge
    seconds, loss = sitting.seconds, training.curve[-1][1]
    for path in files(run.options):
        vectors_files.save(path, tokens, vectors)
    near = nearest_words(tokens, vectors)
    results = {
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
    if round(loss, 4) > round(judge.untrained, 4):  # by the digits that are shown
        print("Worse than before the first word: take a smaller --lr or --window, or more text.")
    print("nearest words:")
    for word, others in near.items():
        print(harmless(f"  {word:<12} {', '.join(others)}"))
    return run.finish(results, picture(training), written(run.options))
