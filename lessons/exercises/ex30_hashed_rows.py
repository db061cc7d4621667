"""A table without a list of words: two hashes, two rows, and the way back to both.

A hash makes a number of any text. Two of them give a name two rows, whose sum is its vector; so two
names that share the one row can still be told apart by the other.
"""

import numpy as np

LESSON = 21
LEVEL = "medium"
HINTS = """
The hash goes byte by byte through `text.encode()`: first `h ^ byte`, then times 16777619, and the
remainder by 2**32. The remainder by V comes once, at the end.

Backward: a name's vector is a sum of two rows, so each of the two gets the whole of dout[n].

Rows meet: two names may share one, and both hashes of one name may fall on the same row. Each use
adds, so `np.add.at`, once for each of the two columns of rows.
"""


def hash_of(text, V):
    """The row of a text: FNV-1a of its bytes, in 32 bits, and of that the remainder by V

    text  a str, of any letters.
    V     the number of rows.

    h = 2166136261, then for each byte of text.encode(): h = ((h ^ byte) * 16777619) mod 2^32.

    No byte leaves h as it begins; "a" is one byte, 97, and its h is 3826002220:

    >>> hash_of("", 10), hash_of("a", 1000)
    (1, 220)
    """
    h = 2166136261
    for byte in text.encode():
        h = ((h ^ byte) * 16777619) % 2**32
    return h % V


def two_rows_forward(E, rows):
    """out[n] = E[rows[n, 0]] + E[rows[n, 1]]     (V, D), (N, 2) -> (N, D)

    >>> two_rows_forward(np.array([[1.0], [10.0]]), np.array([[0, 1], [1, 1]])).tolist()
    [[11.0], [20.0]]
    """
    return E[rows[:, 0]] + E[rows[:, 1]]


def two_rows_backward(dout, rows, num_rows):
    """dE, the gradient of `two_rows_forward` by the table     (N, D), (N, 2) -> (V, D)

    Where both hashes of a name fall on one row, that row was added twice, and gets dout twice:

    >>> two_rows_backward(np.array([[1.0], [5.0]]), np.array([[0, 1], [1, 1]]), 3).tolist()
    [[1.0], [11.0], [0.0]]
    """
    dE = np.zeros((num_rows, dout.shape[1]))
    np.add.at(dE, rows[:, 0], dout)
    np.add.at(dE, rows[:, 1], dout)
    return dE


def check(trial):
    for text, V in (("news.org", 10**6), ("\u732b", 97), ("b\u00fccher.de", 10**6), ("a/b", 5),
                    ("bu\u0308cher.de", 10**6), (" Los Angeles\n", 2**20), ("a/b", 9),
                    ("", 7), (300 * "\u732b ", 10**6)):  # fmt: skip
        trial.same("hash_of", mistakes=HASHES, text=text, V=V)
    for rng in trial.rounds(4):
        E, rows = rng.standard_normal((6, 3)), trial.ids(rng, 6, 4, 2)
        rows[1] = rows[1, 0]  # both hashes on one row
        trial.same("two_rows_forward", mistakes=FORWARD, E=E, rows=rows)
        trial.gradients(
            "two_rows_backward",
            forward=lambda E, r=rows: E[r].sum(axis=1),
            backward=lambda g, r=rows: trial.yours.two_rows_backward(g, r, 6),
            mistakes=_mistakes(rows),
            E=E,
            rows=rows,
        )
    apart = trial.apart  # what one row gets is nothing to the next
    trial.same("two_rows_backward", by_row=True, dout=apart, rows=np.arange(8).reshape(4, 2),
               num_rows=8)  # fmt: skip


def _hashed(values, step, bits=2**32):
    def wrong(text, V):
        h = 2166136261
        for value in values(text):
            h = step(h, value)
            h = h % bits if bits else h
        return h % V

    return wrong


def _fnv(h, byte):
    return (h ^ byte) * 16777619


HASHES = {
    ("hash_of makes capitals small: each letter counts as it stands", r"lower|casefold"):
        _hashed(lambda text: text.lower().encode(), _fnv),
    ("hash_of joins a letter and its dots to one character: each counts as it stands",
     r"normalize"): _hashed(lambda text: text.replace("u\u0308", "\u00fc").encode(), _fnv),
    ("hash_of cuts off the spaces at the ends: they count, too", r"strip"):
        _hashed(lambda text: text.strip().encode(), _fnv),
    ("hash_of reads the beginning of a long text alone: each byte counts", r"\[.*:"):
        _hashed(lambda text: text.encode()[:64], _fnv),
    ("hash_of multiplies before it mixes the byte in: h ^ byte comes first", r"16777619"):
        _hashed(str.encode, lambda h, byte: (h * 16777619) ^ byte),
    ("hash_of goes through letters: text.encode() gives bytes, and a letter may be several",
     r"\bfor\b|ord"): _hashed(lambda text: map(ord, text), _fnv),
    ("hash_of reads another coding than UTF-8: text.encode() gives its bytes", r"encode\(."):
        _hashed(lambda text: text.encode("latin-1", "replace"), _fnv),
    ("hash_of lets its number grow: take the remainder by 2**32 at each byte", r"16777619"):
        _hashed(str.encode, _fnv, None),
    ("hash_of adds the byte: ^ is another mixture, bit by bit", r"16777619"):
        _hashed(str.encode, lambda h, byte: (h + byte) * 16777619),
    ("hash_of takes the remainder by V at each byte: once, at the end", r"% *V"):
        lambda text, V: _hashed(str.encode, _fnv, V)(text, V),
}  # fmt: skip
FORWARD = {
    ("two_rows_forward takes the mean of the two rows: it is their sum", r"return|/"):
        lambda E, rows: E[rows].mean(axis=1),
    ("two_rows_forward reads one row of the two", r"return|rows"): lambda E, rows: E[rows[:, 0]],
}  # fmt: skip


def _mistakes(rows):
    def wrong(pairs, values, put):
        def backward(dout):
            dE = np.zeros((6, dout.shape[1]))
            for which in pairs:
                put(dE, rows[:, which], values * dout)
            return dE

        return backward

    def last(dE, at, values):
        dE[at] += values

    def once(dout):
        dE = np.zeros((6, dout.shape[1]))
        for n, pair in enumerate(rows):
            for row in set(pair.tolist()):
                dE[row] += dout[n]
        return dE

    name = "two_rows_backward"
    return {
        (f"{name} keeps only the last name of a row that several share", r"\bdE\["):
            wrong((0, 1), 1, last),
        (f"{name} pays the first row alone: both were added", r"add\.at|\bdE\["):
            wrong((0,), 1, np.add.at),
        (f"{name} pays the second row alone: both were added", r"add\.at|\bdE\["):
            wrong((1,), 1, np.add.at),
        (f"{name} halves what arrives: each row of a sum gets the whole of it", r"/|0\.5"):
            wrong((0, 1), 0.5, np.add.at),
        (f"{name} pays a row once where both hashes fall on it: it was added twice",
         r"\bset\b|unique|!="): once,
    }  # fmt: skip
