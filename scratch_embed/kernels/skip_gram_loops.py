"""The loops of `word2vec_fast`, in plain Python: Numba compiles them as they stand.

They trust their arguments; `word2vec_fast` looks at them first.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.kernels.words import prange, prefetch


def skip_gram(vectors, outputs, text, widths, targets, first, sigmoid, reach, rate, parts):
    """Learn from the places first .. first + len(targets) - 1 of the text, one after the other.

    The word at place i stands in targets[i - first, 0], its K negatives after it. Each neighbour,
    up to widths[i - first] away, is told apart from them: an `sgns` step of size `rate`, with the
    neighbour as c, the word as o and the negatives as u. The place is one small batch (Ji et al.
    2016): all its neighbours share the negatives, and the K + 1 rows of outputs move once, by the
    sum of their steps, when all neighbours have been met. That is less to write, and less that two
    threads take from each other. A negative that is the word itself is passed over, as in
    word2vec.c.

    sigmoid[a] is s(x) for the scores x in the a-th part of -reach .. reach; a table is much faster
    than the exponential, and word2vec.c has one as well.

    Part p takes its share of the places. With more than one, threads write to the same rows without
    waiting for each other (Niu et al. 2011, "Hogwild!"), and now and then a step is lost.
    """
    half, step = len(sigmoid) / 2, len(sigmoid) / (2 * reach)
    size, odd = targets.shape[1], targets.shape[1] % 2
    for part in prange(parts):
        errors = np.empty(size, vectors.dtype)
        moves = np.empty((size, vectors.shape[1]), vectors.dtype)
        last = (part + 1) * len(targets) // parts
        for n in range(part * len(targets) // parts, last):
            i = first + n
            moves[:] = 0
            for j in range(max(i - widths[n], 0), min(i + widths[n] + 1, len(text))):
                if j == i:
                    continue
                c = text[j]
                for k in range(size):
                    u, score = targets[n, k], vectors.dtype.type(0)
                    for d in range(vectors.shape[1]):
                        score += vectors[c, d] * outputs[u, d]
                    errors[k] = score
                for k in range(size):
                    a = int(min(max(errors[k] * step + half, 0), len(sigmoid) - 1))
                    errors[k] = rate * ((k == 0) - sigmoid[a])
                    errors[k] *= k == 0 or targets[n, k] != targets[n, 0]
                for k in range(size):
                    e = errors[k]
                    for d in range(vectors.shape[1]):
                        moves[k, d] += e * vectors[c, d]
                for k in range(odd):
                    e, u = errors[k], targets[n, k]
                    for d in range(vectors.shape[1]):
                        vectors[c, d] += e * outputs[u, d]
                for k in range(odd, size, 2):  # two rows for each time that vectors[c] is written
                    e, u = errors[k], targets[n, k]
                    f, v = errors[k + 1], targets[n, k + 1]
                    for d in range(vectors.shape[1]):
                        vectors[c, d] += e * outputs[u, d] + f * outputs[v, d]
            for k in range(size):
                u = targets[n, k]
                for d in range(vectors.shape[1]):
                    outputs[u, d] += moves[k, d]
                prefetch(outputs, targets[min(n + 1, last - 1), k])


# Let the compiler take a sum in another order, sixteen products at a time, and multiply and add in
# one instruction. That changes the last bits, and it doubles the speed.
skip_gram.fastmath = {"reassoc", "contract", "nsz"}


def cbow(vectors, outputs, text, widths, targets, first, sigmoid, reach, rate, parts):
    """Learn from the same places, by the mean of the neighbours: each place is a `cbow` step.

    The arguments are those of `skip_gram`. Every neighbour is sent the gradient of the mean divided
    by their number, which word2vec.c leaves out (Irsoy et al. 2021, "Corrected CBOW performs as
    well as skip-gram").
    """
    half, step = len(sigmoid) / 2, len(sigmoid) / (2 * reach)
    size = targets.shape[1]
    for part in prange(parts):
        mean = np.empty(vectors.shape[1], vectors.dtype)
        back = np.empty(vectors.shape[1], vectors.dtype)
        last = (part + 1) * len(targets) // parts
        for n in range(part * len(targets) // parts, last):
            i = first + n
            start, stop = max(i - widths[n], 0), min(i + widths[n] + 1, len(text))
            share = vectors.dtype.type(1 / max(stop - start - 1, 1))
            mean[:] = 0
            back[:] = 0
            for j in range(start, stop):
                if j != i:
                    for d in range(vectors.shape[1]):
                        mean[d] += share * vectors[text[j], d]
            for k in range(size):
                u, score = targets[n, k], vectors.dtype.type(0)
                if k > 0 and u == targets[n, 0]:
                    continue
                for d in range(vectors.shape[1]):
                    score += mean[d] * outputs[u, d]
                a = int(min(max(score * step + half, 0), len(sigmoid) - 1))
                e = rate * ((k == 0) - sigmoid[a])
                for d in range(vectors.shape[1]):
                    back[d] += e * outputs[u, d]
                    outputs[u, d] += e * mean[d]
                prefetch(outputs, targets[min(n + 1, last - 1), k])
            for j in range(start, stop):
                if j != i:
                    for d in range(vectors.shape[1]):
                        vectors[text[j], d] += share * back[d]


cbow.fastmath = skip_gram.fastmath
