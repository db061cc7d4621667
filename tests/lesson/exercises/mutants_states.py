"""Wrong answers to the exercises on states, nearness, hashes and reports."""

from tests.lesson.exercises.mutant import of

STATE = "    p = e / e.sum()\n    return"
STATES = [
    *of(
        "contextual_row",
        ("plain mean", "    return p @ x\n", "    return x.mean(axis=0)\n", "takes the plain mean"),
        ("not divided", STATE, "    p = np.exp(x @ x[t])\n    return", "do not sum to 1"),
        ("scores mix", "    return p @ x\n", "    return (x @ x[t]) @ x\n", "with the scores"),
        ("first asks", STATE, "    e = np.exp(x @ x[0])\n" + STATE, "lets the first token ask"),
        ("a row for a place", STATE, "    e = np.exp(x @ E[t])\n" + STATE, "t is a place"),
        ("not mixed in", "dx = np.outer(p, dstate)", "dx = 0 * np.outer(p, dstate)",
         "forgets that each row is mixed in"),
        ("not looked at", "    dx += np.outer(ds, x[t])  # looked at\n", "",
         "forgets that each row is looked at"),
        ("nobody asks", "    dx[t] += ds @ x  # asking\n", "", "at place t asks"),
        ("weights constant", ("    dx += np.outer(ds, x[t])  # looked at\n"
         "    dx[t] += ds @ x  # asking\n"), "", "takes the weights for constants"),
        ("no shared term", "p * (dp - p @ dp)", "p * dp", "lacks the term that the scores share"),
        ("repeats lost", "np.add.at(dE, ids, dx)", "dE[ids] = dx", "keeps only the last place"),
    ),
    *of(
        "nearest_rows",
        ("itself", "    cosines[row] = -np.inf\n", "", "lists the row itself"),
        ("dot products", " / (lengths * lengths[row])", "", "compares dot products"),
        ("distances", "E @ E[row] / (lengths * lengths[row])", "-((E - E[row]) ** 2).sum(axis=1)",
         "distance from point to point"),
        ("zero row", "    lengths[lengths == 0] = 1\n", "", "0 / 0 is nan"),
        ("upwards", "np.argsort(-cosines", "np.argsort(cosines", "so with the farthest"),
        ("upwards without itself", "np.argsort(-cosines",
         "np.argsort(np.where(cosines == -np.inf, np.inf, cosines)", "sort downwards"),
        ("ties turned", 'np.argsort(-cosines, kind="stable")',
         'np.argsort(cosines, kind="stable")[::-1]', "turns equal cosines round"),
    ),
    *of(
        "hashed_rows",
        ("mixes late", "((h ^ byte) * 16777619)", "((h * 16777619) ^ byte)",
         "multiplies before it mixes"),
        ("letters", "for byte in text.encode():", "for byte in map(ord, text):", "through letters"),
        ("no remainder", ") % 2**32", ")", "lets its number grow"),
        ("plus", "((h ^ byte) *", "((h + byte) *", "adds the byte"),
        ("remainder each time", ") % 2**32", ") % V", "the remainder by V at each byte"),
        ("mean of rows", "    return E[rows[:, 0]] + E[rows[:, 1]]\n",
         "    return (E[rows[:, 0]] + E[rows[:, 1]]) / 2\n", "the mean of the two rows"),
        ("one row", "    return E[rows[:, 0]] + E[rows[:, 1]]\n", "    return E[rows[:, 0]]\n",
         "reads one row of the two"),
        ("shared rows lost", ("    np.add.at(dE, rows[:, 0], dout)\n"
         "    np.add.at(dE, rows[:, 1], dout)\n"),
         "    dE[rows[:, 0]] += dout\n    dE[rows[:, 1]] += dout\n", "keeps only the last name"),
        ("one of two", "    np.add.at(dE, rows[:, 1], dout)\n", "", "pays the first row alone"),
        ("halves", "dE = np.zeros((num_rows, dout.shape[1]))",
         "dE, dout = np.zeros((num_rows, dout.shape[1])), 0.5 * dout", "halves what arrives"),
        ("once for both", "    np.add.at(dE, rows[:, 1], dout)\n",
         ("    apart = rows[:, 0] != rows[:, 1]\n"
          "    np.add.at(dE, rows[apart, 1], dout[apart])\n"), "pays a row once"),
    ),
    *of(
        "diagnose",
        ("to the last bit", "np.abs(code - nudged) > allowed", "code != nudged", "every bit"),
        ("one allowance", "allowed = 1e-6 * np.abs(nudged).max()", "allowed = 1e-6",
         "small and large gradients"),
        ("no factor", '        return "factor"\n', "        pass\n", "one factor of all entries"),
        ("any repeat", "(times > 1).all()", "(times > 1).any()", "as soon as one row"),
        ("reading first", '    if (times > 1).all():\n        return "repeats"\n',
         '    if (times > 0).all():\n        return "reading"\n', "reading before repeats"),
        ("sums", "    if not off.any():", "    if abs((code - nudged).sum()) <= allowed:",
         "compares the sums"),
        ("shown and not returned", 'return "scoring"', 'print("scoring")', "is None"),
    ),
]  # fmt: skip
