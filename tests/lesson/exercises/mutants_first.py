"""Wrong answers to the exercises of the first path."""

from tests.lesson.exercises.mutant import of

AT = "np.add.at(dE, ids, dout)"
ENTER = """
    grads = np.zeros(leaves + len(tape))

    def enter(value, part):
        first = grads[value] == 0
        grads[value] += part
        if value >= leaves and (CONDITION):
            for parent, slope in zip(*tape[value - leaves]):
                enter(parent, slope * PART)

    enter(leaves + len(tape) - 1, 1.0)
    return grads
"""  # go straight into the inputs
EAGER = ENTER.replace("CONDITION", "True").replace("PART", "grads[value]")
ONCE = ENTER.replace("CONDITION", "first").replace("PART", "grads[value]")
EVERY_PATH = ENTER.replace("CONDITION", "True").replace("PART", "part")
RECURSIVE = """
    grads = np.zeros(leaves + len(tape))

    def enter(line):
        if line >= 0:
            for value, slope in zip(*tape[line]):
                grads[value] += slope * grads[leaves + line]
            enter(line - 1)

    grads[-1] = 1.0
    enter(len(tape) - 1)
    return grads
"""  # right, and too deep for a long tape
COUNTED = """
    grads, waits = np.zeros(leaves + len(tape)), [0] * (leaves + len(tape))
    for values, _ in tape:
        for value in values:
            waits[value] += 1
    grads[-1], ready = 1.0, [len(grads) - 1]
    while ready:
        maker = ready.pop()
        for value, slope in zip(*tape[maker - leaves]) if maker >= leaves else ():
            grads[value] += slope * grads[maker]
            waits[value] -= 1
            if waits[value] == 0:
                ready.append(value)
    return grads
"""  # right where every line leads to the last value
ZEROS = "    grads = np.zeros(leaves + len(tape))\n"
PLACES = "rows, places = np.unique(ids, return_inverse=True)"

FIRST = [
    *of(
        "lookup_forward",
        ("empty, of two axes", "ids.size", "len(np.atleast_1d(ids))", "zero-size array"),
        ("negative ids wrap", "ids.min() < 0 or ", "", "must raise IndexError for id -1"),
        ("several axes in another order", "    return E[ids]\n",
         "    return E[ids.T].reshape(*ids.shape, E.shape[1])\n", "and should be"),
        ("one id refused", "ids.min() < 0", "(ids == -1).any()", "IndexError for id -3"),
        ("several refused alone", "ids.size and (ids.min() < 0 or ids.max() >= len(E))",
         "(ids < 0).sum() == 1", "must raise IndexError for id -1"),
        ("another error", "raise IndexError", "raise ValueError", "raises ValueError: ids must"),
        ("no check at all", "ids.size and", "False and", "must raise IndexError for id -1"),
        ("ids flattened", "E[ids]", "E[ids.reshape(-1)]", "has shape (1, 3) and must have"),
        ("ids counted from 1", "return E[ids]", "return E[ids - 1]", "counts rows from 1"),
        ("ids ignored", "return E[ids]", "return E[: ids.size]", "[[0.1, 0.2], [0.3, 0.4]"),
        ("empty ids forgotten", "ids.size and ", "", "zero-size array"),
    ),
    *of(
        "finite_differences",
        ("up only", "(f(up) - f(down)) / (2 * h)", "(f(up) - f(x)) / h", "nudges up only"),
        ("divided by h", "/ (2 * h)", "/ h", "divides by h, but"),
        ("all at once", "up[i] += h\n        down[i] -= h", "up += h\n        down -= h",
         "nudges all numbers at once"),
        ("not put back", "    for i in np.ndindex(x.shape):\n        up, down = x.copy(), x.copy()",
         "    down = x.copy()\n    for i in np.ndindex(x.shape):\n        up = down.copy()",
         "does not put a nudged number back"),
        ("in place", "up, down = x.copy(), x.copy()", "up, down = x, x.copy()",
         "changes its argument x"),
        ("put back but for rounding", "    return g", "        x[i] = x[i] + 1 - 1\n    return g",
         "changes its argument x"),
        ("flat arrays only", "np.ndindex(x.shape)", "range(len(x))", "should be"),
    ),
    *of(
        "lookup_backward",
        ("repeats overwritten", AT, "dE[ids] += dout", "keeps only the last use of a row"),
        ("first use kept", AT, "dE[ids[::-1]] = dout[::-1]", "keeps only the first use"),
        ("reversed", AT, "np.add.at(dE, ids[::-1], dout)", "reversed order"),
        ("averaged", AT, "np.add.at(dE, ids, dout / np.bincount(ids)[ids][:, None])",
         "divides each row by its number of uses"),
        ("sign", AT, "np.subtract.at(dE, ids, dout)", "has the wrong sign"),
        ("unused rows paid", AT, f"{AT}; dE[[v not in ids for v in range(num_rows)]] = 1e-3",
         "entries of E that get none"),
        ("last place missed", AT, "np.add.at(dE, ids[:-1], dout[:-1])", "last position"),
        ("rows of the batch only", "num_rows, dout", "len(set(ids)), dout", "out of bounds"),
    ),
    *of(
        "repeated_ids",
        ("sums of 0 left out", "    return rows, sums",
         "    return rows[sums.any(axis=1)], sums[sums.any(axis=1)]", "has shape (0,)"),
        ("rows by way of floats", "return rows, sums",
         "return rows.astype(float).astype(int), sums", "is 1.15292e+18 and should be"),
        ("rows as floats", "return rows, sums", "return rows * 1.0, sums", "must hold integers"),
        ("last value kept", "np.add.at(sums, places.reshape(-1), values)", "sums[places] = values",
         "keeps of a repeated id only its last value"),
        ("dense on the way", PLACES,
         f"np.zeros((ids.max(initial=0) + 1, 8)); {PLACES}", "too much memory"),
        ("order of appearance", "return rows, sums", "return rows[::-1], sums[::-1]",
         "names the ids from the largest down"),
        ("only the rows", "return rows, sums", "return rows", "must be 2 results"),
        ("means", "return rows, sums",
         "return rows, sums / np.bincount(places.reshape(-1))[:, None]", "[5.5, 5.5]"),
    ),
    *of(
        "one_hot",
        ("nothing for no ids", "return np.eye(num_rows)[ids]",
         "return np.stack([np.arange(num_rows) == i for i in ids])", "need at least one array"),
        ("gradients exchanged", "dout @ E.T, codes.T @ dout", "codes.T @ dout, dout @ E.T",
         "results in another order"),
        ("a row for the table missing", "codes.T @ dout", "codes[:1].T @ dout[:1]", "wrong"),
        ("V not respected", "np.eye(num_rows)[ids]", "np.eye(ids.max() + 1)[ids]", "has shape"),
        ("columns for rows", "np.eye(num_rows)[ids]", "np.eye(num_rows)[:, ids]", "shape"),
        ("no codes gradient", "dout @ E.T,", "0 * dout @ E.T,", "sends nothing back to codes"),
    ),
    *of(
        "tanh_layer",
        ("no tanh forward", "return np.tanh(x @ W)", "return x @ W", "worked example"),
        ("no tanh backward", "da = dout * (1 - out**2)", "da = dout", "leaves out tanh"),
        ("not squared", "1 - out**2", "1 - out", "takes 1 - out for the slope"),
        ("slope at out", "1 - out**2", "1 - np.tanh(out) ** 2", "the slope of tanh at out"),
        ("dW past tanh", "x.T @ da", "x.T @ dout", "and not for dW"),
        ("dx past tanh", "da @ W.T", "dout @ W.T", "and not for dx"),
        ("transposed", "x.T @ da", "(x.T @ da).T", "result 1, has shape"),
    ),
    *of(
        "backward_order",
        ("stops at a slope of 0", "            grads[value] += slope * grads[leaves + line]",
         ("            if slope == 0:\n                break\n"
          "            grads[value] += slope * grads[leaves + line]"), "is 0 and should be 2"),
        ("one leaf reckoned with", "slope * grads[leaves + line]", "slope * grads[1 + line]",
         "sends nothing back to x"),
        ("straight into the inputs", ZEROS, EAGER, "came before is passed on again"),
        ("each value entered once", ZEROS, ONCE, "what arrives later is lost"),
        ("every path by itself", ZEROS, EVERY_PATH, "calls itself"),
        ("set for add", "grads[value] += ", "grads[value] = ", "worked example"),
        ("from the first line", "reversed(range(len(tape)))", "range(len(tape))",
         "reads the tape from its first line"),
        ("waits for every line", ZEROS, COUNTED, "a line that leads nowhere"),
        ("calls itself for every line", ZEROS, RECURSIVE, "comes to an end on a small input"),
        ("slopes forgotten", "slope * grads", "grads", "worked"),
    ),
    *of(
        "softmax_backward",
        ("each for itself", "p * (dp - (dp * p).sum(axis=-1, keepdims=True))", "p * (1 - p) * dp",
         "its own probability only"),
        ("no shared term", "(dp - (dp * p).sum(axis=-1, keepdims=True))", "dp",
         "lacks the term that all scores"),
        ("plain sum", "(dp * p).sum(axis=-1", "dp.sum(axis=-1", "as the plain sum of dp"),
        ("along the column", "(dp * p).sum(axis=-1", "(dp * p).sum(axis=0",
         "along the wrong axis"),
        ("added", "dp - (dp * p)", "dp + (dp * p)", "adds the shared term"),
        ("overflow", "np.exp(z - z.max(axis=-1, keepdims=True))", "np.exp(z)", "is nan"),
        ("the mean for the maximum", "z.max(axis=-1, keepdims=True)",
         "z.mean(axis=-1, keepdims=True)", "is nan"),
        ("one maximum for all", "z.max(axis=-1, keepdims=True)", "z.max()", "is nan"),
        ("the first for the maximum", "z.max(axis=-1, keepdims=True)", "z[:, :1]", "is nan"),
    ),
    *of(
        "cross_entropy",
        ("sum for mean", ".mean()", ".sum()", "cross_entropy_forward(logits, targets) is"),
        ("not divided by N", "dloss * p / len(targets)", "dloss * p", "does not divide by 4:"),
        ("no target", "p[np.arange(len(targets)), targets] -= 1", "", "does not take 1 away"),
        ("added at the target", "p[np.arange(len(targets)), targets] -= 1",
         "p[np.arange(len(targets)), targets] += 1", "does not take 1 away at the target"),
        ("every row", "p[np.arange(len(targets)), targets] -= 1", "p[:, targets] -= 1",
         "from every row at every target"),
        ("dloss ignored", "dloss * p", "p", "does not multiply by dloss what"),
        ("sign", "return dloss", "return -dloss", "has the wrong sign"),
        ("overflow", "np.exp(logits - logits.max(axis=1, keepdims=True))", "np.exp(logits)",
         "is nan"),
        ("log of zero", "z - np.log(np.exp(z).sum(axis=1, keepdims=True))",
         "np.log(np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))", "is inf"),
    ),
    *of(
        "tied_logits",
        ("one of two", "return dlogits @ E, dlogits.T @ h", "return dlogits @ E",
         "must be 2 results"),
        ("dE transposed", "dlogits.T @ h", "(h.T @ dlogits)", "result 1, has shape (3, 4)"),
        ("sign of dh", "return dlogits @ E,", "return -dlogits @ E,", "has the wrong sign"),
        ("rows not scored", "dlogits.T @ h", "(dlogits.T @ h) * [[1]] * (E > 0)", "wrong"),
        ("table not transposed", "return h @ E.T", "return h @ E", "matmul"),
    ),
    *of(
        "tied_table",
        ("no scores", "dE = dlogits.T @ E[ids]", "dE = np.zeros(E.shape)",
         "lacks what the scores send back"),
        ("no lookup", "np.add.at(dE, ids, dlogits @ E)", "", "lacks what the lookup sends back"),
        ("repeats overwritten", "np.add.at(dE, ids, dlogits @ E)", "dE[ids] += dlogits @ E",
         "only the last use is left"),
        ("only the rows that were read", "return dE",
         "return dE * np.isin(np.arange(len(E)), ids)[:, None]", "every row was scored"),
    ),
]  # fmt: skip
