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
ZEROS = "    grads = np.zeros(leaves + len(tape))\n"
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
        "transformer_embedding",
        ("factor forgotten backward", "np.sqrt(D) * dout", "dout", "0.5 times what it should be"),
        ("factor twice", "np.sqrt(D) * dout", "D * dout", "2 times what it should be"),
        ("repeats overwritten", "np.add.at(dE, ids, np.sqrt(D) * dout)",
         "dE[ids] += np.sqrt(D) * dout", "keeps only the last use"),
        ("no factor forward", "np.sqrt(D) * E[ids] + PE", "E[ids] + PE", "worked example"),
        ("positions scaled too", "np.sqrt(D) * E[ids] + PE", "np.sqrt(D) * (E[ids] + PE)",
         "worked"),
        ("no positions", " + PE", "", "worked example"),
    ),
    *_of(
        "gpt2_embedding",
        ("too long is not seen", "len(wpe) < T", "False", "must raise ValueError for 4 positions"),
        ("mean over the batch", "dout.sum(axis=0)", "dout.mean(axis=0)", "number of uses"),
        ("first sequence only", "dout.sum(axis=0)", "dout[0]", "only the first use"),
        ("repeats overwritten", "np.add.at(dwte, ids, dout)", "dwte[ids] += dout", "the last use"),
        ("positions by id", "+ wpe[:T]", "+ wpe[ids]", "worked example"),
        ("later positions paid", "np.zeros((num_positions, D))", "np.ones((num_positions, D))",
         "entries of wpe that get none"),
    ),
    *_of(
        "bert_embedding",
        ("segments overwritten", "np.add.at(dsegment, segments, dout)",
         "dsegment[segments] += dout", "only the last use"),
        ("tokens overwritten", "np.add.at(dtoken, ids, dout)", "dtoken[ids] += dout",
         "only the last use"),
        ("position of one sequence", "dout.sum(axis=0)", "dout[0]", "only the first use"),
        ("order of the three", "return dtoken, dposition, dsegment",
         "return dtoken, dsegment, dposition", "result 1, has shape"),
        ("no segment", " + segment[segments]", "", "worked example"),
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
        ("overlapping merge", "i += 2", "i += 1", "worked example"),
        ("last token lost", "while i < len(tokens)", "while i < len(tokens) - 1", "worked example"),
        ("reads past the end", "i + 1 < len(tokens) and ", "", "IndexError"),
        ("first pair not counted", "pairwise(tokens)", "pairwise(tokens[1:])", "worked example"),
        ("each pair once", "counts.get(pair, 0) + 1", "1", "worked example"),
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
        ("slopes forgotten", "slope * grads", "grads", "worked"),
    ),
]  # fmt: skip
