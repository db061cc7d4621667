"""Byte pair encoding: training on 2 MB of text to 8,000 pieces, and encoding it."""

from __future__ import annotations

import time

import numpy as np

from scratch_embed.text import bpe
from scratch_embed.text.bpe_fast import fast_merges
from scratch_embed.text.corpus import python_text
from scratch_embed.text.pairs import _WORD, merge_steps

from .registry import Bench, benchmark

PIECES, BYTES = 8_000, 2_000_000


@benchmark(
    "byte pair encoding",
    "training on 2 MB of real text to 8,000 pieces not slower than tokenizers, merges identical to "
    "the naive trainer; encoding not slower than its single thread",
)
def byte_pairs(bench: Bench) -> None:
    size, pieces = (200_000, 1_000) if bench.quick else (BYTES, PIECES)
    text = python_text(progress=False).encode("utf-8")[:size].decode("utf-8", "ignore")
    merges = pieces - len(set(text)) - 1
    row = bench.row("train", bytes=size, pieces=pieces, words=len(bpe.split_words(text)))
    same_as_defined(row, text, 50 if bench.quick else 300)
    row.time(training_ways(bench, text, merges, pieces))
    row.bar("tokenizers over ours", row.ratio("tokenizers"), at_least=1)
    trained = bpe.train(text, merges, boundaries=True, progress=False)
    row = bench.row("encode", bytes=size, pieces=pieces, words=len(bpe.split_words(text)))
    row.check("decode undoes encode", trained.decode(trained.encode(text)) == text, True)
    ways = {"ours": lambda: trained.encode(text)}
    if bench.peer("tokenizers"):
        theirs = train_theirs(bench.peer("tokenizers"), text, pieces)
        row.note("pieces, ours", len(trained.encode(text)))
        row.note("pieces, tokenizers", len(theirs.encode(text).ids))
        ways["tokenizers"] = lambda: theirs.encode(text)  # one text is encoded on one thread
    row.time(ways)
    row.bar("tokenizers over ours", row.ratio("tokenizers"), at_least=1)


def same_as_defined(row, text: str, merges: int) -> None:
    """Every merge of the whole text, by the trainer that counts anew each time; it takes its time.

    The first merges only, on a twentieth of the text more of them: the naive trainer needs hours
    for all 8,000.
    """
    began = time.perf_counter()
    for part, most in ((text, min(merges, 5)), (text[: len(text) // 20], merges)):
        defined = [step.pair for step in merge_steps(part, most, boundaries=True)]
        found = fast_merges(bpe.split_words(part), most, progress=False)
        row.check(f"{most} merges of {len(part):,} characters", np.array(found), np.array(defined))
    row.note("seconds for that comparison", round(time.perf_counter() - began, 1))


def training_ways(bench: Bench, text: str, merges: int, pieces: int) -> dict:
    ways = {"ours": lambda: bpe.train(text, merges, boundaries=True, progress=False)}
    tokenizers = bench.peer("tokenizers")
    if tokenizers:
        ways["tokenizers"] = lambda: train_theirs(tokenizers, text, pieces)
    return ways


def train_theirs(tokenizers, text: str, pieces: int):
    """The same rule for words, the same alphabet, the same number of pieces."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    rule = tokenizers.Regex(_WORD.pattern)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(rule, behavior="isolated")
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=pieces, show_progress=False)
    lines = text.splitlines(keepends=True)
    batches = ["".join(lines[start : start + 1000]) for start in range(0, len(lines), 1000)]
    tokenizer.train_from_iterator(batches, trainer)  # several texts, so that it may use its threads
    return tokenizer
