"""Chapter 1: the token table, its size, and which rows learn."""

from itertools import pairwise

import numpy as np

from scratch_embed import SGD, Adam, Embedding, Tensor, geometry
from scratch_embed.functional import lookup
from scratch_embed.lesson.claims import corrected, given, measured, reproduced, undecided, values_of
from scratch_embed.models import NextToken
from scratch_embed.ops.onehot import one_hot
from scratch_embed.text import bpe, corpus
from scratch_embed.text.published import PIECES

lesson = values_of("ch01_token_table")

# ---- memory --------------------------------------------------------------------------------------

layer, batches = Embedding(1000, 64), (1, 32, 1024)
outputs = [layer(np.zeros((batch, 16), dtype=np.int64)) for batch in batches]
reproduced(
    "000-ch1-fixed-memory",
    lambda arrays: len({array.data.nbytes for array in arrays}) == 1,
    [layer.weight for _ in outputs],
    counter=outputs,
)

# ---- the start -----------------------------------------------------------------------------------

corrected(
    "000-ch1-init-std",
    lambda init: Embedding(1000, 512, rng=0, init=init).weight.numpy().std(),
    "N(0,1)",
    counter=0.02,
    because="GPT-2 and BERT draw with 0.02; the layer of the page's own program, nn.Embedding, "
    "draws from N(0, 1), and 1/sqrt(d) is a third habit",
)


def unrelated(D):
    cosines = geometry.cosines(Embedding(1000, D, rng=1, init=0.02).weight.numpy())
    return bool(np.abs(cosines[np.triu_indices(1000, k=1)]).mean() < 0.05)


reproduced("000-ch1-random-start-unrelated", unrelated, 512, counter=3)

# ---- the gradient --------------------------------------------------------------------------------


def gradient(ids, tied=False):
    """dE of a sum of rows, or of a tied next-token model."""
    if tied:
        model = NextToken(6, 3, tied=True, rng=0)
        model.loss(ids, [2] * len(ids)).backward()
        return model.embed.weight.grad
    E = Tensor(np.random.default_rng(0).normal(size=(6, 3)), requires_grad=True)
    lookup(E, ids).sum().backward()
    return E.grad


def careless(ids):
    dE = np.zeros((6, 3))
    dE[ids] += 1
    return dE


def rows_with_gradient(dE):
    return np.flatnonzero(dE.any(axis=1)).tolist()


reproduced(
    "000-ch1-only-selected-rows",
    lambda tied: rows_with_gradient(gradient([1, 2], tied)) == [1, 2],
    False,
    counter=True,  # a head of the same table reads every row
)
reproduced(
    "000-ch1-unselected-zero-grad",
    lambda tied: np.abs(gradient([1, 2], tied)[[0, 3, 4, 5]]).max(),
    False,
    counter=True,
)
reproduced(
    "000-ch1-grad-demo",
    lambda ids: gradient(ids)[:4].tolist() == [[0] * 3, [1] * 3, [1] * 3, [0] * 3],
    [1, 2],
    counter=[1, 1, 2],
)
reproduced(
    "000-ch1-grad-duplicates",
    lambda way: bool((way([1, 1, 2])[1] == 2).all()),
    gradient,
    counter=careless,
)
rng = np.random.default_rng(1)
E, ids, g = rng.normal(size=(6, 3)), np.array([4, 1, 0, 2, 1]), rng.normal(size=(5, 3))


def is_lookup(codes):
    table = Tensor(E, requires_grad=True)
    out = lookup(table, ids)
    out.backward(g)
    return np.array_equal(codes @ E, out.numpy()) and np.allclose(codes.T @ g, table.grad)


reproduced("000-ch1-onehot-product", is_lookup, one_hot(ids, 6), counter=one_hot(ids[::-1], 6))
corrected(
    "000-ch1-row-5291-untouched",
    lambda V: 5291 < V,
    6,  # the table in which "cat" is row 1
    counter=50_257,
    because="two numberings in one sentence: cat 1 goes with dog 2, cat 3782 with dog 5291; in "
    "either of them the point stands",
)


def gradient_of_cat_stays(loss):
    """Whether dE[cat] is the same after only "dog" was moved."""
    found = []
    for moved in (0.0, 1.0):
        table = Tensor(E + moved * (np.arange(6) == 2)[:, None], requires_grad=True)
        loss(lookup(table, [1, 2])).backward()
        found.append(table.grad[1])
    return np.array_equal(*found)


corrected(
    "000-ch1-rows-independent",
    gradient_of_cat_stays,
    lambda rows: 0.5 * (rows.sum(axis=0) * rows.sum(axis=0)).sum(),
    counter=lambda rows: 0.5 * (rows * rows).sum(),
    because="independent in when a row moves, not in where to: its gradient depends on all that "
    "it was calculated with, other rows among it",
)

# ---- the step ------------------------------------------------------------------------------------

reproduced(
    "000-ch1-flow-shape",
    lambda ids: all(Embedding(6, D)(ids).shape == (4, D) for D in (3, 16)),
    [4, 1, 0, 2],
    counter=[4, 1, 0],
)


def moved_by(optimizer, steps):
    """The rows that the last of these steps moves; each names its ids, and sends gradient 1."""
    table = Tensor(np.ones((6, 1)), requires_grad=True)
    step = optimizer([table])
    for read in steps:
        before = table.data.copy()
        table.grad = np.isin(np.arange(6), read).astype(float)[:, None]
        step.step()
    return np.flatnonzero((table.data != before).any(axis=1)).tolist()


reproduced(  # the page's step is plain SGD; Adam goes on moving row 3, read a step before
    "000-ch1-four-rows-touched",
    lambda optimizer: moved_by(optimizer, [[3, 5], [4, 1, 0, 2]]) == [0, 1, 2, 4],
    lambda p: SGD(p, lr=0.1),
    counter=lambda p: Adam(p, lr=0.1),
)


def per_reading(optimizer, gap, steps=2000):
    """How far a reading moves a row that is read in every gap-th step, as a multiple of gap 1."""
    table = Tensor(np.zeros((2, 1)), requires_grad=True)
    step = optimizer([table])
    for n in range(1, steps + 1):
        table.grad = np.array([[1.0], [float(n % gap == 0)]])
        step.step()
    return float(table.data[1, 0] / table.data[0, 0]) * gap


reproduced(  # about sqrt(10) = 3.2 times as far
    "000-ch1-adam-rare-vs-frequent",
    lambda optimizer: per_reading(optimizer, gap=10) > 2,
    lambda p: Adam(p, lr=0.001),
    counter=lambda p: SGD(p, lr=0.001),
)
given(
    "000-ch1-adam-because-rare",
    "one reason of several: Kingma and Ba 2015 name sparse gradients beside noisy ones and "
    "objectives that change",
)

# ---- rare and frequent ---------------------------------------------------------------------------


def updates_of(token, tokens, batch_size):
    return int((np.reshape(tokens, (-1, batch_size)) == token).any(axis=1).sum())


spread = np.arange(400) % 80  # token 7 stands five times, once in each of five batches
reproduced("000-ch1-rare-five-updates", updates_of, 7, spread, 80, counter=(7, np.sort(spread), 80))


def expected_updates(occurrences, steps):
    """Steps whose batch holds a token at least once, where it falls at random (Poisson)."""
    return steps * -np.expm1(-occurrences / steps)


corrected(
    "000-ch1-frequent-five-million-updates",
    expected_updates,
    5e6,
    300e9 / 0.5e6,
    counter=(5e6, 1e9),
    because="a row takes at most one step a batch: in 300 billion tokens, read half a million at a "
    "time, there are 600,000 batches, and 5 million readings hit 599,856 of them",
)
text = corpus.python_text(("numpy",))
tokens = corpus.words(text)
vocabulary = corpus.Vocabulary.from_tokens(tokens)
hits = corpus.batches_read(vocabulary.encode(tokens), len(vocabulary), 64)
reproduced(
    "000-ch1-frequent-thousands",
    lambda word: bool(hits[vocabulary.index[word]] > 1000),
    "the",
    counter="matrices",
)
E_fast, _, start = lesson.learn(eta=0.2)
few = (lesson.updates >= 1) & (lesson.updates <= 5)
rare = [float(np.median(np.linalg.norm((E - start)[few], axis=1))) for E in (lesson.E, E_fast)]
measured(
    "000-ch1-rare-stays-near-init",
    lambda way: way < 0.3,
    rare[0],
    counter=rare[1],
    because=f"rows of length 1 with one to five updates moved by {rare[0]:.2f} (median) at the "
    f"learning rate that is better over the whole text, and by {rare[1]:.2f} at four times it: "
    "the rate has as much to say as the count",
)
undecided(
    "000-ch1-long-word",
    "no training text is named. The example belongs to tables of whole words: a table of pieces "
    "has no row for it",
)
corrected(
    "000-ch1-unhappiness-split",
    lambda pieces: "|".join(pieces),
    PIECES["cl100k_base"]["unhappiness"],
    counter=(("un", "happiness"),),
    because="so the vocabularies of GPT-2 and GPT-4 have it, and chapter 7 of the same text cuts "
    "the word in yet another way",
)

# ---- pieces --------------------------------------------------------------------------------------

pages = text[:100_000]
full = bpe.train(pages, 10_000, boundaries=True, min_count=2, progress=False)


def cut(merges, unused=""):
    return bpe.BPE(full.merges[:merges], (*full.alphabet, *unused), boundaries=True)


def more_rows_fewer_tokens(cuts):
    return all(
        len(small) < len(large) and len(small.pieces(pages)) > len(large.pieces(pages))
        for small, large in pairwise(cuts)
    )


reproduced(
    "000-ch1-bigger-vocab-shorter",
    more_rows_fewer_tokens,
    [cut(0), cut(300), cut(1000)],
    counter=[cut(0), cut(0, unused="\u4e00\u4e01\u4e02")],  # rows that nothing is cut into
)


def no_piece_is_rare(tokenizer, text):
    read = np.bincount(tokenizer.encode(text), minlength=len(tokenizer))
    return bool((read[1:] > 5).all())  # row 0 stands for unknown characters


few_words = "a cat sat on the mat " * 100
rare_pieces = np.mean(np.bincount(full.encode(pages), minlength=len(full))[1:] <= 5)
corrected(
    "000-ch1-subword-no-rare",
    no_piece_is_rare,
    full,
    pages,
    counter=(bpe.train(few_words, 1, progress=False), few_words),
    because=f"pieces make rare rows fewer, they do not end them: merged until no pair stands "
    f"twice, {rare_pieces:.0%} of {len(full):,} pieces stand in the text five times or less",
)
