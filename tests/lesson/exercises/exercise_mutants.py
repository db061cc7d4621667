"""Wrong answers to every exercise: edits of its solution, and the words that must tell them.

Each is a mistake that a learner makes. `old` stands once in the solution and becomes `new`.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One wrong answer; `says` must occur in what the learner is told."""

    exercise: str
    mistake: str
    old: str
    new: str
    says: str


def _of(exercise: str, *edits: tuple[str, str, str, str]) -> list[Mutant]:
    return [Mutant(exercise, *edit) for edit in edits]


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
ZEROS = "    grads = np.zeros(leaves + len(tape))\n"
FROM_THE_RIGHT = """
    out, i = [], len(tokens) - 1
    while i >= 0:
        joined = i and (tokens[i - 1], tokens[i]) == tuple(pair)
        out.insert(0, tokens[i - 1] + tokens[i] if joined else tokens[i])
        i -= 2 if joined else 1
    return out

    out, i = [], 0"""
TURNED = """
            for at in range(len(word) - 1, 0, -1):
                if at < len(word) and (word[at - 1], word[at]) == best:
                    word[at - 1 : at + 1] = [word[at - 1] + word[at]]
            for token in word:
"""
PLACES = "rows, places = np.unique(ids, return_inverse=True)"

MUTANTS = [
    *_of(
        "lookup_forward",
        ("negative ids wrap", "ids.min() < 0 or ", "", "must raise IndexError for id -1"),
        ("no check at all", "ids.size and", "False and", "must raise IndexError for id -1"),
        ("ids flattened", "E[ids]", "E[ids.reshape(-1)]", "has shape (1, 3) and must have"),
        ("ids counted from 1", "return E[ids]", "return E[ids - 1]", "worked example"),
        ("ids ignored", "return E[ids]", "return E[: ids.size]", "[[0.1, 0.2], [0.3, 0.4]"),
        ("empty ids forgotten", "ids.size and ", "", "zero-size array"),
    ),
    *_of(
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
    *_of(
        "one_hot",
        ("gradients exchanged", "dout @ E.T, codes.T @ dout", "codes.T @ dout, dout @ E.T",
         "result 0, has shape"),
        ("a row for the table missing", "codes.T @ dout", "codes[:1].T @ dout[:1]", "wrong"),
        ("V not respected", "np.eye(num_rows)[ids]", "np.eye(ids.max() + 1)[ids]", "has shape"),
        ("columns for rows", "np.eye(num_rows)[ids]", "np.eye(num_rows)[:, ids]", "shape"),
        ("no codes gradient", "dout @ E.T,", "0 * dout @ E.T,", "sends nothing back to codes"),
    ),
    *_of(
        "repeated_ids",
        ("last value kept", "np.add.at(sums, places.reshape(-1), values)", "sums[places] = values",
         "worked example"),
        ("dense on the way", PLACES,
         f"np.zeros((ids.max(initial=0) + 1, 8)); {PLACES}", "too much memory"),
        ("order of appearance", "return rows, sums", "return rows[::-1], sums[::-1]",
         "worked example"),
        ("only the rows", "return rows, sums", "return rows", "must be 2 results"),
        ("means", "return rows, sums",
         "return rows, sums / np.bincount(places.reshape(-1))[:, None]", "[5.5, 5.5]"),
    ),
    *_of(
        "sinusoids",
        ("even dims only", "[:, : dim // 2]", "", "could not broadcast"),
        ("i for 2i", "np.arange(0, dim, 2) / dim", "np.arange((dim + 1) // 2) / dim", "worked"),
        ("sine and cosine exchanged", "np.sin(angle)", "np.cos(angle)", "worked example"),
        ("positions from 1", "np.arange(max_len)", "np.arange(1, max_len + 1)", "worked example"),
        ("another base", "10000.0", "1000.0", "worked example"),
        ("halves side by side", "PE[:, 0::2]", "PE[:, : (dim + 1) // 2]", "worked"),
    ),
    *_of(
        "input_embedding",
        ("too long is not seen", "len(position) < T", "False",
         "must raise ValueError for 4 positions"),
        ("segments overwritten", "np.add.at(dsegment, segments, dout)",
         "dsegment[segments] += dout", "keeps of each segment only the last use"),
        ("tokens overwritten", "np.add.at(dtoken, ids, dout)", "dtoken[ids] += dout",
         "keeps of a repeated token only the last use"),
        ("position of one sequence", "dout.sum(axis=0)", "dout[0]",
         "pays the positions for the first sequence only"),
        ("mean over the batch", "dout.sum(axis=0)", "dout.mean(axis=0)",
         "averages the positions over the batch"),
        ("order of the three", "return dtoken, dposition, dsegment",
         "return dtoken, dsegment, dposition", "result 1, has shape"),
        ("no segment", " + segment[segments]", "", "worked example"),
        ("positions by id", "position[:T]", "position[ids]", "worked example"),
    ),
    *_of(
        "tied_logits",
        ("one of two", "return dlogits @ E, dlogits.T @ h", "return dlogits @ E",
         "must be 2 results"),
        ("dE transposed", "dlogits.T @ h", "(h.T @ dlogits)", "result 1, has shape (3, 4)"),
        ("sign of dh", "return dlogits @ E,", "return -dlogits @ E,", "has the wrong sign"),
        ("rows not scored", "dlogits.T @ h", "(dlogits.T @ h) * [[1]] * (E > 0)", "wrong"),
        ("table not transposed", "return h @ E.T", "return h @ E", "matmul"),
    ),
    *_of(
        "tied_table",
        ("no scores", "dE = dlogits.T @ E[ids]", "dE = np.zeros(E.shape)",
         "lacks what the scores send back"),
        ("no lookup", "np.add.at(dE, ids, dlogits @ E)", "", "lacks what the lookup sends back"),
        ("repeats overwritten", "np.add.at(dE, ids, dlogits @ E)", "dE[ids] += dlogits @ E",
         "only the last use is left"),
        ("only the rows that were read", "return dE",
         "return dE * np.isin(np.arange(len(E)), ids)[:, None]", "every row was scored"),
    ),
    *_of(
        "bpe_merge",
        ("a token used twice", "i += 2", "i += 1", "merge uses a token twice"),
        ("last token lost", "while i < len(tokens)", "while i < len(tokens) - 1",
         "merge loses the last token"),
        ("reads past the end", "i + 1 < len(tokens) and ", "", "IndexError"),
        ("first pair not counted", "pairwise(tokens)", "pairwise(tokens[1:])",
         "leaves out the first pair"),
        ("each pair once", "counts.get(pair, 0) + 1", "1", "and not how often"),
        ("steps of two", "pairwise(tokens)", "zip(tokens[::2], tokens[1::2])",
         "counts each second pair"),
        ("either way round", "pairwise(tokens)", "map(tuple, map(sorted, pairwise(tokens)))",
         "for one pair"),
        ("overlaps from the right", "    out, i = [], 0", FROM_THE_RIGHT,
         "merge joins overlapping pairs from the right"),
    ),
    *_of(
        "bpe_train",
        ("ties to the last", "max(counts, key=counts.get)", "max(reversed(counts), key=counts.get)",
         "takes the last in the text"),
        ("ties to the alphabet", "max(counts, key=counts.get)",
         "min(counts, key=lambda p: (-counts[p], p))", "the smallest in the alphabet"),
        ("across words", "[list(word) for word in words], []", "[list(''.join(words))], []",
         "counts across words"),
        ("counts once for all", "        counts = {}\n        for word in tokens",
         ("        counts = {} if not merges else {p: counts[p] for p in counts if p != best}\n"
         "        for word in tokens * (not merges)"), "does not update its counts"),
        ("words counted once", "[list(word) for word in words], []",
         "[list(word) for word in dict.fromkeys(words)], []", "counts a word once"),
        ("no end", "        if not counts:\n            break\n", "", "ValueError"),
        ("the rarest", "max(counts, key=counts.get)", "min(counts, key=counts.get)",
         "takes the rarest pair"),
        ("only the first place", "if tokens[n] and (tokens[n][-1], token) == best:",
         ("if best[0] + best[1] not in tokens[n] and tokens[n] and "
         "(tokens[n][-1], token) == best:"), "merges a pair once in a word"),
        ("from the right", "            for token in word:\n", TURNED,
         "overlapping pairs from the right"),
    ),
    *_of(
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
        ("flat arrays only", "np.ndindex(x.shape)", "range(len(x))", "should be"),
    ),
    *_of(
        "tanh_layer",
        ("no tanh forward", "return np.tanh(x @ W)", "return x @ W", "worked example"),
        ("no tanh backward", "da = dout * (1 - out**2)", "da = dout", "leaves out tanh"),
        ("not squared", "1 - out**2", "1 - out", "takes 1 - out for the slope"),
        ("slope at out", "1 - out**2", "1 - np.tanh(out) ** 2", "takes the slope at out"),
        ("dW past tanh", "x.T @ da", "x.T @ dout", "and not for dW"),
        ("dx past tanh", "da @ W.T", "dout @ W.T", "and not for dx"),
        ("transposed", "x.T @ da", "(x.T @ da).T", "result 1, has shape"),
    ),
    *_of(
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
        ("one maximum for all", "z.max(axis=-1, keepdims=True)", "z.max()", "is nan"),
    ),
    *_of(
        "rms_norm",
        ("size held constant", "(dout - n * (dout * n).mean(axis=-1, keepdims=True))", "dout",
         "holds the size of the row constant"),
        ("sum for mean", "(dout * n).mean", "(dout * n).sum", "where the mean belongs"),
        ("x for n", "(dout - n * (dout * n)", "(dout - x * (dout * x)",
         "takes x where x / rms belongs"),
        ("mean taken away", "n * (dout * n).mean", "dout.mean", "RMSNorm subtracts none"),
        ("sign", "dout - n", "dout + n", "adds the path through the size"),
        ("no eps", "return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)",
         "return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))", "should be"),
    ),
    *_of(
        "standardize",
        ("no path through the mean", "return dc - dc.mean(axis=-1, keepdims=True)", "return dc",
         "lacks the path through the mean"),
        ("no path through the variance", "dn - n * (dn * n).mean(axis=-1, keepdims=True)", "dn",
         "lacks the path through the variance"),
        ("of D - 1", "return c / np.sqrt((c**2).mean(axis=-1, keepdims=True) + eps)",
         "return c / np.sqrt(x.var(axis=-1, ddof=1, keepdims=True) + eps)", "worked example"),
        ("no mean forward", "    c = x - x.mean(axis=-1, keepdims=True)\n    return", ("    c = x\n"
         "    return"), "worked example"),
        ("eps outside", "    n = c / std", "    n = c / std + eps", "wrong"),
    ),
    *_of(
        "attention_backward",
        ("not divided", "dq = ds @ k / root\n    dk = ds.T @ q / root",
         "dq = ds @ k\n    dk = ds.T @ q", "forgets to divide dq and dk by sqrt(D)"),
        ("divided twice", "dq = ds @ k / root\n    dk = ds.T @ q / root",
         "dq = ds @ k / root**2\n    dk = ds.T @ q / root**2", "divides dq and dk by D"),
        ("no sharing", "(dp - (dp * p).sum(axis=1, keepdims=True))", "dp",
         "lacks the term that the scores of a row share"),
        ("no softmax", "ds = p * (dp - (dp * p).sum(axis=1, keepdims=True))", "ds = dp",
         "leaves out the softmax"),
        ("along the keys", "(dp * p).sum(axis=1", "(dp * p).sum(axis=0", "along the wrong axis"),
        ("dv without a transpose", "p.T @ dout", "p @ dout", "matmul"),
        ("q and k exchanged", "return dq, dk, dv", "return dk, dq, dv", "result 0, has shape"),
    ),
    *_of(
        "rotary",
        ("turned the other way", ("x[:, 0::2] * cos - x[:, 1::2] * sin\n"
         "    out[:, 1::2] = x[:, 0::2] * sin + x"), ("x[:, 0::2] * cos + x[:, 1::2] * sin\n"
         "    out[:, 1::2] = -x[:, 0::2] * sin + x"), "rotary turns the other way"),
        ("turned on", ("dout[:, 0::2] * cos + dout[:, 1::2] * sin\n"
         "    dx[:, 1::2] = dout[:, 1::2] * cos - dout"),
         ("dout[:, 0::2] * cos - dout[:, 1::2] * sin\n"
         "    dx[:, 1::2] = dout[:, 1::2] * cos + dout"), "turns on instead of back"),
        ("not turned back", "    T, D = dout.shape", "    return dout\n    T, D = dout.shape",
         "wrong"),
        ("half of it", "dx[:, 1::2] = dout[:, 1::2] * cos - dout[:, 0::2] * sin",
         "dx[:, 1::2] = dout[:, 1::2] * cos", "worked example"),
        ("places from 1", "    T, D = x.shape\n    angle = np.arange(T)",
         "    T, D = x.shape\n    angle = np.arange(1, T + 1)", "worked example"),
    ),
    *_of(
        "ppmi",
        ("bits", "np.log(ratio)", "np.log2(ratio)", "log2, and the natural one"),
        ("negative kept", "np.maximum(np.log(ratio), 0)", "np.log(ratio)",
         "keeps what is negative"),
        ("rows twice", "P.sum(axis=0, keepdims=True)", "P.sum(axis=1, keepdims=True).T",
         "the sums of the rows for both words"),
        ("P(u) alone", " * P.sum(axis=0, keepdims=True)", "", "divides by P(u) alone"),
        ("all alike", "P.sum(axis=1, keepdims=True) * P.sum(axis=0, keepdims=True)",
         "np.full(P.shape, 1 / P.size)", "every pair for equally likely"),
        ("nan for nobody", "np.divide(P, chance, out=np.ones(P.shape), where=counts > 0)",
         "P / chance", "is nan"),
    ),
    *_of(
        "padding_and_max_norm",
        ("padding paid", "    dE[padding_idx] = 0\n", "", "pays the padding row"),
        ("row 0 for the padding", "dE[padding_idx] = 0", "dE[0] = 0", "drops what arrives at row"),
        ("repeats overwritten", "np.add.at(dE, ids, dout)", "dE[ids] += dout", "only the last"),
        ("all rows", "rows = np.unique(ids)", "rows = np.arange(len(E))",
         "rows that ids does not name"),
        ("short ones too", "long = lengths > max_norm", "long = lengths > 0",
         "makes short rows longer"),
        ("no root", "np.sqrt((E[rows] ** 2).sum(axis=1))", "(E[rows] ** 2).sum(axis=1)",
         "divides by the square of the length"),
        ("a copy", "rows = np.unique(ids)", "E = E.copy(); rows = np.unique(ids)",
         "worked example"),
    ),
    *_of(
        "tied_model",
        ("no lookup", "    np.add.at(dE, ids, da @ W.T)\n", "", "lacks what the lookup sends back"),
        ("no scores", "dE = dz.T @ h", "dE = np.zeros(E.shape)", "lacks what the scores send back"),
        ("repeats lost", "np.add.at(dE, ids, da @ W.T)", "dE[ids] += da @ W.T",
         "keeps of a repeated id only the last"),
        ("no tanh backward", "(dz @ E) * (1 - h**2)", "dz @ E", "leaves out the slope of tanh"),
        ("no target", "    p[places, targets] -= 1\n", "", "forgets the target"),
        ("not divided", "dz = p / len(ids)", "dz = p", "does not divide by N"),
        ("uphill", "rate = lr *", "rate = -lr *", "train goes uphill"),
        ("steps all alike", "lr * (1 - k / len(batches))", "lr", "does not shorten its steps"),
        ("guesses what it reads", "text[places + 1])", "text[places])", "the letter that it reads"),
        ("E alone learns", "        W -= rate * dW\n", "", "lets E learn, and not W"),
        ("one before the other", "        W -= rate * dW\n",
         "        W -= rate * model_backward(E, W, text[places], text[places + 1])[1]\n",
         "changes E before it takes the gradient of W"),
        ("new tables", "E -= rate * dE", "E = E - rate * dE", "should be"),
    ),
    *_of(
        "cross_entropy",
        ("sum for mean", ".mean()", ".sum()", "cross_entropy_forward(logits, targets) is"),
        ("not divided by N", "dloss * p / len(targets)", "dloss * p", "does not divide by 4"),
        ("no target", "p[np.arange(len(targets)), targets] -= 1", "", "forgets the target"),
        ("dloss ignored", "dloss * p", "p", "does not multiply by dout"),
        ("sign", "return dloss", "return -dloss", "has the wrong sign"),
        ("overflow", "np.exp(logits - logits.max(axis=1, keepdims=True))", "np.exp(logits)",
         "is nan"),
        ("log of zero", "z - np.log(np.exp(z).sum(axis=1, keepdims=True))",
         "np.log(np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))", "is inf"),
    ),
    *_of(
        "sparse_sgd",
        ("repeats lost", "np.subtract.at(E, ids, lr * dout)", "E[ids] -= lr * dout", "worked"),
        ("dense gradient", "np.subtract.at(E, ids, lr * dout)",
         "dE = np.zeros(E.shape); np.add.at(dE, ids, dout); E -= lr * dE", "too much memory"),
        ("a new table", "np.subtract.at(E, ids, lr * dout)",
         "E = E.copy(); np.subtract.at(E, ids, lr * dout)", "worked example"),
        ("uphill", "np.subtract.at", "np.add.at", "worked example"),
        ("lr forgotten", "lr * dout", "dout", "worked example"),
    ),
    *_of(
        "bag_mean",
        ("sum forward", "return out / np.maximum(sizes, 1)[:, None]", "return out", "worked"),
        ("empty bag divides by 0", "return out / np.maximum(sizes, 1)[:, None]",
         "return out / sizes[:, None]", "worked example"),
        ("not divided backward", "(dout / np.maximum(sizes, 1)[:, None])[bags]", "dout[bags]",
         "worked example"),
        ("repeats in a bag lost", "np.add.at(dE, ids, (dout", "dE[ids] += ((dout",
         "keeps only the last use"),
        ("all bags alike", "(dout / np.maximum(sizes, 1)[:, None])[bags]",
         "(dout / np.mean(sizes))[bags]", "worked example"),
    ),
    *_of(
        "unfold_fold",
        ("channels last", "transpose(1, 3, 0, 2, 4)", "transpose(1, 3, 2, 4, 0)", "should be"),
        ("columns first", "transpose(1, 3, 0, 2, 4)", "transpose(3, 1, 0, 2, 4)", "worked example"),
        ("pixels exchanged", "transpose(2, 0, 3, 1, 4)", "transpose(2, 0, 4, 1, 3)", "worked"),
        ("only reshaped", "grid.transpose(1, 3, 0, 2, 4).reshape", "grid.reshape", "worked"),
        ("fold only reshapes", "grid.transpose(2, 0, 3, 1, 4).reshape", "grid.reshape", "worked"),
    ),
    *_of(
        "layer_norm_backward",
        ("statistics held constant", "(g - g.mean(axis=-1, keepdims=True) - along)", "g",
         "holds mean and variance constant"),
        ("no path through the variance", " - along) / std", ") / std",
         "lacks the path through the variance"),
        ("no path through the mean", "g - g.mean(axis=-1, keepdims=True) - along", "g - along",
         "lacks the path through the mean"),
        ("gamma forgotten", "g = gamma * dout", "g = dout", "forgets gamma"),
        ("std of D - 1", "x.var(axis=-1, keepdims=True)", "x.var(axis=-1, keepdims=True, ddof=1)",
         "worked example"),
        ("dgamma without x_hat", "(dout * x_hat).sum(axis=0)", "dout.sum(axis=0)",
         "gamma gets that of another input"),
        ("dbeta averaged", "dout.sum(axis=0)", "dout.mean(axis=0)", "the mean of its copies"),
    ),
    *_of(
        "negative_sampling",
        ("true ones pushed apart", "e = -dloss", "e = dloss", "every entry for o is minus"),
        ("no target", "-np.logaddexp(0, positive)", "-np.logaddexp(0, -positive)", "wrong"),
        ("centre forgets negatives", " + (f[:, :, None] * u).sum(axis=1)", "",
         "lacks the chance words in dc"),
        ("dloss ignored", "f = dloss * np", "f = np", "wrong"),
        ("overflow", "np.logaddexp(0, -positive).sum()",
         "-np.log(1 / (1 + np.exp(-positive))).sum()", "is inf"),
        ("negatives counted as true", "np.logaddexp(0, negative)", "np.logaddexp(0, -negative)",
         "worked example"),
    ),
    *_of(
        "lazy_adam",
        ("all rows fade", "m[rows] = 0.9 * m[rows] + 0.1 * grads",
         "m *= 0.9\n    m[rows] += 0.1 * grads", "after lazy_adam_step, m at"),
        ("no correction", "step = m[rows] / (1 - 0.9**t)", "step = m[rows]", "worked example"),
        ("eps inside the root", "(np.sqrt(v[rows] / (1 - 0.999**t)) + 1e-8)",
         "np.sqrt(v[rows] / (1 - 0.999**t) + 1e-8)", "should be"),
        ("correction kept", "step = m[rows] / (1 - 0.9**t)",
         "m[rows] /= 1 - 0.9**t\n    step = m[rows]", "worked example"),
        ("sign of g lost", "0.001 * grads**2", "0.001 * grads", "worked example"),
        ("the whole table moves", "E[rows] -= lr * step",
         "full = np.zeros(E.shape); full[rows] = step; E[rows] -= lr * full[rows]",
         "too much memory"),
    ),
    *_of(
        "fast_scatter_add",
        ("set for add", "table[row, d] += values[n, d]", "table[row, d] = values[n, d]", "worked"),
        ("last place missed", "range(len(ids))", "range(len(ids) - 1)", "worked example"),
        ("not for Numba", "table[row, d] += values[n, d]", "np.add.at(table, ids, values)",
         "scatter_add"),
        ("one column", "range(table.shape[1])", "range(1)", "worked example"),
        ("not in place", "    for n in", "    table = table.copy()\n    for n in", "worked"),
        ("repeats lost", "@njit\ndef scatter_add(table, ids, values):",
         "def scatter_add(table, ids, values):\n    table[ids] += values\n    return", "worked"),
    ),
    *_of(
        "backward_order",
        ("straight into the inputs", ZEROS, EAGER, "are passed on again"),
        ("each value entered once", ZEROS, ONCE, "what arrives later is lost"),
        ("every path by itself", ZEROS, EVERY_PATH, "calls itself"),
        ("set for add", "grads[value] += ", "grads[value] = ", "worked example"),
        ("from the first line", "reversed(range(len(tape)))", "range(len(tape))", "worked example"),
        ("calls itself for every line", ZEROS, RECURSIVE, "comes to an end on a small input"),
        ("slopes forgotten", "slope * grads", "grads", "worked"),
    ),
]  # fmt: skip
