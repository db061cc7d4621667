"""The loops of `word2vec_fast`, in plain Python: Numba compiles them as they stand.

They trust their arguments; `word2vec_fast` looks at them first.

sigmoid[a] is s(x) for the scores x in the a-th part of -reach .. reach; a table is much faster than
the exponential, and word2vec.c has one as well.

Part p takes its share of the places. With more than one, threads write to the same rows without
waiting for each other (Niu et al. 2011, "Hogwild!"), and now and then a step is lost.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.kernels.words import prange, prefetch

# So many rows of outputs, the word and five negatives, does a neighbour meet in one pass over its
# numbers. They are written out: a loop for each row would take half as long again. More than five
# negatives follow as batches of their own.
SIX = 6


def skip_gram(vectors, outputs, text, widths, targets, first, sigmoid, reach, rate, parts):
    """Learn from the places first .. first + len(targets) - 1 of the text, one after the other.

    The word at place i stands in targets[i - first, 0], its K negatives after it. Each neighbour,
    up to widths[i - first] away, is told apart from them: an `sgns` step of size `rate`, with the
    neighbour as c, the word as o and the negatives as u. The place is one small batch (Ji et al.
    2016): all its neighbours share the negatives, and the rows of outputs move once, by the sum of
    their steps, when all neighbours have been met. That is less to write, and less that two threads
    take from each other. A negative that is the word itself is passed over, as in word2vec.c.
    """
    half, step, zero = len(sigmoid) / 2, len(sigmoid) / (2 * reach), vectors.dtype.type(0)
    for part in prange(parts):
        rows, e = np.empty(SIX, np.int64), np.empty(SIX, vectors.dtype)
        moves = np.empty((SIX, vectors.shape[1]), vectors.dtype)
        last = (part + 1) * len(targets) // parts
        for n in range(part * len(targets) // parts, last):
            i, word = first + n, targets[n, 0]
            for six in range(0, targets.shape[1], SIX):
                for k in range(SIX):  # in place of those that are missing the word: passed over
                    rows[k] = targets[n, six + k] if six + k < targets.shape[1] else word
                u0, u1, u2, u3, u4, u5 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
                moves[:] = 0
                for j in range(max(i - widths[n], 0), min(i + widths[n] + 1, len(text))):
                    if j == i:
                        continue
                    c = text[j]
                    prefetch(vectors, text[min(j + 1, len(text) - 1)])
                    s0 = s1 = s2 = s3 = s4 = s5 = zero
                    for d in range(vectors.shape[1]):
                        x = vectors[c, d]
                        s0 += x * outputs[u0, d]
                        s1 += x * outputs[u1, d]
                        s2 += x * outputs[u2, d]
                        s3 += x * outputs[u3, d]
                        s4 += x * outputs[u4, d]
                        s5 += x * outputs[u5, d]
                    e[0], e[1], e[2], e[3], e[4], e[5] = s0, s1, s2, s3, s4, s5
                    for k in range(SIX):
                        at = e[k] * step + half
                        a = int(min(at, len(sigmoid) - 1)) if at > 0 else 0  # NaN, too
                        e[k] = rate * ((six + k == 0) - sigmoid[a])
                        e[k] *= six + k == 0 or rows[k] != word
                    e0, e1, e2, e3, e4, e5 = e[0], e[1], e[2], e[3], e[4], e[5]
                    for d in range(vectors.shape[1]):
                        x = vectors[c, d]
                        back = e0 * outputs[u0, d] + e1 * outputs[u1, d] + e2 * outputs[u2, d]
                        back += e3 * outputs[u3, d] + e4 * outputs[u4, d] + e5 * outputs[u5, d]
                        vectors[c, d] = x + back
                        moves[0, d] += e0 * x
                        moves[1, d] += e1 * x
                        moves[2, d] += e2 * x
                        moves[3, d] += e3 * x
                        moves[4, d] += e4 * x
                        moves[5, d] += e5 * x
                for k in range(SIX):
                    u = rows[k]
                    for d in range(vectors.shape[1]):
                        outputs[u, d] += moves[k, d]
            for k in range(targets.shape[1]):
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
                at = score * step + half
                a = int(min(at, len(sigmoid) - 1)) if at > 0 else 0  # NaN, too
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
