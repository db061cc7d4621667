"""Skip-gram with negative sampling: words a second, and what was learned, against gensim."""

from __future__ import annotations

from functools import partial

import numpy as np

from scratch_embed import geometry
from scratch_embed.text import toy, word2vec, word2vec_fast
from scratch_embed.text.corpus import Vocabulary, python_text, words
from scratch_embed.text.held_out import HeldOut

from .registry import Bench, benchmark

DIM, WINDOW, NEGATIVES = 100, 5, 5
SENTENCE = 1000  # words handed to gensim at a time; ours takes the text as a whole


@benchmark(
    "skip-gram",
    "at least 3 times gensim's words per second with the same window, negatives, dimensions and "
    "workers, at equal or better held-out loss and neighbour quality",
)
def skip_gram(bench: Bench) -> None:
    ids, num_words = real_text(60_000 if bench.quick else None)
    kept = len(ids) * 9 // 10
    learn, held_out = ids[:kept], ids[kept:]
    for workers in [1] if bench.quick else [1, 2]:
        speed(bench, learn[: 50_000 if bench.quick else 200_000], num_words, workers)
        quality(bench, learn, held_out, num_words, workers)
        neighbours(bench, workers)


def real_text(limit: int | None) -> tuple[np.ndarray, int]:
    """Docstrings of what is installed; words seen fewer than 5 times are left out."""
    tokens = words(python_text(progress=False))[:limit]
    vocabulary = Vocabulary.from_tokens(tokens, min_count=5)
    ids = vocabulary.encode(tokens)
    return ids[ids > 0] - 1, len(vocabulary) - 1  # without the row of OTHER


def open_row(bench: Bench, what: str, words: int, num_words: int, workers: int, dim: int = DIM):
    facts = {"words": words, "window": WINDOW, "negatives": NEGATIVES, "workers": workers}
    return bench.row(
        f"{what}, {workers} worker{'s' * (workers > 1)}",
        V=num_words,
        D=dim,
        dtype="float32",
        **facts,
    )


def ours(ids, num_words: int, workers: int, epochs: int = 1, dim: int = DIM):
    options = {"window": WINDOW, "negatives": NEGATIVES, "epochs": epochs, "subsample_at": None}
    return word2vec_fast.train(ids, num_words, dim, workers=workers, **options)


def gensim_model(gensim, ids, num_words: int, workers: int, epochs: int = 1, dim: int = DIM):
    """(model, sentences), the vocabulary built and nothing learned. No word is thinned out."""
    text = list(map(str, ids.tolist()))
    sentences = [text[start : start + SENTENCE] for start in range(0, len(text), SENTENCE)]
    model = gensim.models.Word2Vec(
        vector_size=dim,
        window=WINDOW,
        negative=NEGATIVES,
        sg=1,
        hs=0,
        sample=0,
        min_count=1,
        workers=workers,
        epochs=epochs,
        seed=1,
    )
    model.build_vocab(sentences)
    return model, sentences


def speed(bench: Bench, ids, num_words: int, workers: int) -> None:
    """Ours counts the words and makes its tables within the time, gensim before it."""
    row = open_row(bench, "speed", len(ids), num_words, workers)
    if workers == 1:
        first, again = (ours(ids[:20_000], num_words, 1) for _ in range(2))
        row.check("a seed gives the same vectors", first.vectors, again.vectors)
    ways = {"ours": lambda: ours(ids, num_words, workers)}
    if bench.peer("gensim"):
        model, sentences = gensim_model(bench.peer("gensim"), ids, num_words, workers)
        ways["gensim"] = lambda: model.train(sentences, total_examples=len(sentences), epochs=1)
    if workers == 1 and not bench.quick:
        options = {"window": WINDOW, "negatives": NEGATIVES, "epochs": 1, "subsample_at": None}
        part = ids[: len(ids) // 20]
        slow = partial(word2vec.train, part, num_words, DIM, **options)
        ways["ours in NumPy, on a twentieth"] = slow
    row.time(ways)
    for name in ways:
        share = 20 if "twentieth" in name else 1
        row.note(f"words/s, {name}", round(len(ids) / share / row.times[name].median))
    row.bar("gensim over ours", row.ratio("gensim"), at_least=3)


def quality(bench: Bench, learn, held_out, num_words: int, workers: int, epochs: int = 5) -> None:
    """One judge for both, on text that neither saw."""
    row = open_row(bench, f"held-out loss after {epochs} epochs", len(learn), num_words, workers)
    counts = np.bincount(learn, minlength=num_words)
    judge = HeldOut([held_out], counts, window=WINDOW, negatives=NEGATIVES, most=100_000)
    run = ours(learn, num_words, workers, epochs)
    row.note("loss a pair, ours", round(judge(run.vectors, run.outputs), 4))
    row.note("loss a pair, untrained", round(judge.untrained, 4))
    ratio = None
    if bench.peer("gensim"):
        vectors, outputs = theirs(bench.peer("gensim"), learn, num_words, workers, epochs)
        row.note("loss a pair, gensim", round(judge(vectors, outputs), 4))
        ratio = judge(run.vectors, run.outputs) / judge(vectors, outputs)
    row.bar("held-out loss, ours over gensim's", ratio, at_most=1)


def theirs(gensim, ids, num_words: int, workers: int, epochs: int, dim: int = DIM):
    """What gensim learned, in the order of our ids."""
    model, sentences = gensim_model(gensim, ids, num_words, workers, epochs, dim)
    model.train(sentences, total_examples=len(sentences), epochs=epochs)
    tables = np.zeros((2, num_words, dim), np.float32)
    for at, word in enumerate(model.wv.index_to_key):
        tables[0, int(word)], tables[1, int(word)] = model.wv.vectors[at], model.syn1neg[at]
    return tables


def neighbours(bench: Bench, workers: int, dim: int = 20, epochs: int = 10) -> None:
    """A made-up language whose words have hidden classes: is a word's nearest one of its own?"""
    corpus = toy.zipf_classes(30_000 if bench.quick else 150_000, 400, 10)
    row = open_row(bench, "neighbours", len(corpus.tokens), 400, workers, dim)
    vectors = ours(corpus.tokens, 400, workers, epochs, dim).vectors
    share = same_class(vectors, corpus.classes)
    row.note("nearest of the same class, ours", round(share, 3))
    ratio = None
    if bench.peer("gensim"):
        vectors, _ = theirs(bench.peer("gensim"), corpus.tokens, 400, workers, epochs, dim)
        row.note("nearest of the same class, gensim", round(same_class(vectors, corpus.classes), 3))
        ratio = share / same_class(vectors, corpus.classes)
    row.bar("share of the same class, ours over gensim's", ratio, at_least=1)


def same_class(vectors, classes) -> float:
    cosines = geometry.cosines(vectors)
    np.fill_diagonal(cosines, -2)
    return float((classes[cosines.argmax(axis=1)] == classes).mean())
