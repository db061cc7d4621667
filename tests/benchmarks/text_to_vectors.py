"""word2vec from a file of text to a file of vectors, reading and counting included, and gensim."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from scratch_embed.text import counting, vectors_files
from scratch_embed.text.corpus import python_text, words
from scratch_embed.text.held_out import HeldOut
from scratch_embed.text.sources import open_source
from scratch_embed.text.word2vec_run import Settings, Training

from .registry import Bench, Row, benchmark

MIN_COUNT, LINE = 5, 1000  # gensim wants lines, and leaves windows within one
AT_LEAST = {1: 4, 2: 3}  # how many times as fast, by workers
SEEDS = range(1, 6)  # of the trainings whose loss is compared


@benchmark(
    "text to vectors",
    "from the file to the saved vectors at least 4 times as fast as gensim with one worker and 3 "
    "times with two, at equal or better held-out loss (the mean of five seeds)",
)
def text_to_vectors(bench: Bench) -> None:
    tokens = words(python_text(progress=False))[: 60_000 if bench.quick else 450_000]
    kept = len(tokens) * 9 // 10
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        lines = (" ".join(tokens[at : min(at + LINE, kept)]) for at in range(0, kept, LINE))
        path.write_text("\n".join(lines), encoding="utf-8")
        for workers in [1] if bench.quick else AT_LEAST:
            settings = Settings(workers=workers, epochs=1 if bench.quick else 5)
            compare(bench, path, tokens[kept:], settings)


def compare(bench: Bench, path: Path, unseen: list[str], settings: Settings) -> None:
    plural = "s" * (settings.workers > 1)
    row = bench.row(
        f"{settings.workers} worker{plural}", D=settings.dim, dtype="float32",
        window=settings.window, negatives=settings.negatives, epochs=settings.epochs,
        workers=settings.workers, bytes=path.stat().st_size,
    )  # fmt: skip
    counted, training = ours(path, settings)
    saved = vectors_files.load(path.with_suffix(".bin"))
    row.check("vectors as saved", saved.vectors, training.tables.vectors)
    gensim = bench.peer("gensim")
    ways = {"ours": partial(ours, path, settings)}
    if gensim:
        ways["gensim"] = partial(theirs, gensim, path, settings)
    row.time(ways)
    row.bar("gensim over ours", row.ratio("gensim"), at_least=AT_LEAST[settings.workers])
    losses(bench, row, path, settings, judge_of(counted, unseen, settings))


def losses(bench: Bench, row: Row, path: Path, settings: Settings, judge: HeldOut) -> None:
    """Of several seeds: workers race, and gensim's loss varies by some percent from run to run."""
    gensim, found = bench.peer("gensim"), {"ours": [], "gensim": []}
    for seed in list(SEEDS)[: 1 if bench.quick else None]:
        seeded = replace(settings, seed=seed)
        counted, training = ours(path, seeded)
        found["ours"].append(judge(training.tables.vectors, training.tables.outputs))
        if gensim:
            model = theirs(gensim, path, seeded)
            at = [model.wv.key_to_index[word] for word in counted.words]
            found["gensim"].append(judge(model.wv.vectors[at], model.syn1neg[at]))
    row.note("loss of an example, by frequency alone", round(judge.by_frequency, 4))
    for name, of_seeds in found.items():
        row.note(f"loss of an example, {name}, by seed", np.round(of_seeds, 4).tolist())
    ratio = np.mean(found["ours"]) / np.mean(found["gensim"]) if gensim else None
    row.bar("held-out loss, mean of the seeds, ours over gensim's", ratio, at_most=1)


def ours(path: Path, settings: Settings) -> tuple[counting.Counted, Training]:
    """What the command does, with the text cut at spaces and no checkpoints."""
    ids = path.with_suffix(".ids")
    counted = counting.count(open_source(path).pieces(), ids, str.split, min_count=MIN_COUNT)
    training = Training(counting.Ids(ids), counted.counts, settings)
    while not training.finished:
        training.advance()
    vectors_files.save(path.with_suffix(".bin"), counted.words, training.tables.vectors)
    return counted, training


def theirs(gensim, path: Path, settings: Settings):
    """gensim at its fastest: it reads the file in compiled code."""
    model = gensim.models.Word2Vec(
        corpus_file=str(path), vector_size=settings.dim, window=settings.window,
        negative=settings.negatives, sg=1, hs=0, sample=settings.subsample_at,
        min_count=MIN_COUNT, workers=settings.workers, epochs=settings.epochs, seed=settings.seed,
    )  # fmt: skip
    model.wv.save_word2vec_format(str(path.with_suffix(".gensim.bin")), binary=True)
    return model


def judge_of(counted: counting.Counted, unseen: list[str], settings: Settings) -> HeldOut:
    """One judge for both, on text that neither saw."""
    index = {word: at for at, word in enumerate(counted.words)}
    text = np.array([index[word] for word in unseen if word in index])
    return HeldOut([text], counted.counts, subsample_at=settings.subsample_at, most=50_000)
