"""One-hot codes: the lookup as a matrix product, what it costs, and why rows instead of codes."""

import numpy as np

from scratch_embed import geometry, sizes
from scratch_embed.lesson.claims import (
    corrected,
    given,
    measured,
    reproduced,
    undecided,
    values_of,
)
from scratch_embed.ops.lookup import lookup_forward
from scratch_embed.text.published import IDS

lesson = values_of("ch10_one_hot")
E, one_hot = lesson.E, lesson.one_hot
rng = np.random.default_rng(0)
GPT2 = sizes.MODELS["GPT-2 small"]


def read(table, ids):
    return lookup_forward(table, np.asarray(ids))[0]


def multiply(table, ids):
    return one_hot(ids, len(table)) @ table


def pooled(table, ids):
    return read(table, ids).mean(axis=0)


# ---- the product is the lookup -------------------------------------------------------------------

reproduced("002-ex1-onehot", lambda id: multiply(E, [id])[0], 1, counter=2)
reproduced(  # the lecture counts from 1, and says so: its token 2 is index 1
    "002-ex1-token2", lambda first: read(E, [2 - first])[0], 1, counter=0
)
given("002-s1-index-base", "a choice of the lecture: it numbers tokens 1 to V, its arrays from 0")
given("001-math-index-range", "a choice of the page: ids are 0 to V - 1, as NumPy counts")


def same_bits(table):
    ids = rng.integers(len(table), size=40)
    with np.errstate(invalid="ignore"):
        return multiply(table, ids).tobytes() == read(table, ids).tobytes()


def with_infinity(table):
    table = table.copy()
    table[-1, 0] = np.inf
    return table


for id, rows, columns in (
    ("002-s1-onehot", 3, 2),
    ("003-onehot-identity", 300, 16),
    ("004-onehot-equals-lookup", GPT2.num_embeddings, 4),
):
    table = rng.standard_normal((rows, columns), dtype=np.float32).astype(float)
    reproduced(id, same_bits, table, counter=with_infinity(table))


def one_row_each(operation):
    table = rng.standard_normal((100, 48))
    return all(operation(table, np.arange(T)).shape == (T, 48) for T in (1, 7, 100))


reproduced("002-s1-stack-shape", one_row_each, read, counter=pooled)
reproduced("001-math-output-shape", one_row_each, read, counter=pooled)
reproduced(
    "001-intro-row42",
    lambda table, id: np.flatnonzero((table == read(table, [id])).all(axis=1)),
    rng.standard_normal((1000, 8)),
    42,
    counter=(np.zeros((1000, 8)), 42),  # where all rows are one, nobody can tell which was read
)

# ---- but nobody multiplies -----------------------------------------------------------------------


def leaves_bits_alone(operation):
    odd = np.array([[1.0, -0.0], [np.inf, 5e-324], [2.0, 3.0]])
    with np.errstate(invalid="ignore"):
        return operation(odd, [0, 1, 2]).tobytes() == odd.tobytes()


def touches_one_row_only(operation):
    table = np.full((50, 8), np.nan)  # whatever else is touched turns the answer into nan
    table[7] = 1.0
    return bool(np.isfinite(operation(table, [7])).all())


reproduced("001-intro-no-arithmetic", leaves_bits_alone, read, counter=multiply)
reproduced("003-gather-not-matmul", touches_one_row_only, read, counter=multiply)


class Counted(float):
    """A number that counts how often numbers of its kind are multiplied."""

    multiplications = 0

    def __mul__(self, other):
        Counted.multiplications += 1
        return Counted(float(self) * other)

    __rmul__ = __mul__

    def __add__(self, other):
        return Counted(float(self) + other)


def work(operation, rows, columns):
    """Multiplications for one id, and numbers handed out."""
    Counted.multiplications = 0
    numbers = [Counted(x) for x in rng.random(rows * columns)]
    out = operation(np.array(numbers, dtype=object).reshape(rows, columns), [3])
    return Counted.multiplications + out.size


def costs_as_printed(look_up, product):
    """Whether the first grows with D alone, and the second with V times D."""
    grows = [
        [work(f, *size) / work(f, 50, 8) for size in ((500, 8), (50, 80))]
        for f in (look_up, product)
    ]
    return bool(np.allclose(grows, [[1, 10], [10, 10]], rtol=0.05))


def gather(table, ids):
    return table[ids]


reproduced("004-lookup-cost", costs_as_printed, gather, multiply, counter=(multiply, gather))

# ---- what a code weighs --------------------------------------------------------------------------


def code_bytes(V):
    return one_hot([0], V).astype(np.float32).nbytes


def row_bytes(D):
    return np.zeros(D, np.float32).nbytes


V, D = GPT2.num_embeddings, GPT2.embedding_dim
reproduced("004-onehot-200kb", code_bytes, 50_000, counter=25_000)
reproduced("004-table-embedding-kb", row_bytes, D, counter=1024)
corrected(
    "004-table-onehot-kb",
    code_bytes,
    V,
    counter=50_000,
    because="50,257 numbers of 4 bytes are 201 KB (196 KiB); 200 is the figure of a rounded V",
)
corrected(
    "004-recap-67x",
    lambda code, row: code / row,
    code_bytes(V),
    row_bytes(D),
    counter=(200, 3),
    because="67 is 200 / 3, a quotient of two rounded numbers; V / D is 50,257 / 768 = 65.4",
)
reproduced(  # as long as no two rows are equal the row names its id
    "004-recap-lossless",
    lambda table: len(np.unique(table, axis=0)) == len(table),
    rng.standard_normal((V, 2)),
    counter=rng.standard_normal((V, 1)).round(2),
)
undecided(
    "001-alt-onehot",
    f"nothing happens at 1,000: the cost grows in proportion to V. There a code has "
    f"{code_bytes(1000):,} bytes, a row of Llama 2 7B "
    f"{row_bytes(sizes.MODELS['Llama 2 7B'].embedding_dim):,}. It is a matter of taste",
)
given("004-onehot-position", "3,797 is ' cat' in GPT-2's vocabulary (tiktoken's r50k_base)")
given("004-onehot-dot", "by definition: the codes of two ids have no 1 in the same place")
chance = geometry.cosines(rng.standard_normal((200, D)))[np.triu_indices(200, 1)]
undecided(
    "004-table-similarity",
    "the 0.0 is a definition; for the 0.85 the page shows no rows. It would be far from chance: "
    f"of 19,900 pairs of random rows with 768 columns none exceeds {np.abs(chance).max():.2f}. In "
    "a trained table whose rows share a mean, strangers get there (lab `chance_and_cosines`)",
)
given("004-lookup-count", "the sentence that is printed has six words, each with an id of its own")

# ---- the six rows that are shown -----------------------------------------------------------------

gpt2_ids = {text: id for text, (id,) in IDS["r50k_base"].items()}
for id in ("The-cap", "cat", "on", "the", "mat"):
    text = "The" if id == "The-cap" else f" {id}"
    given(f"004-lookup-id-{id}", f"{gpt2_ids[text]:,} is '{text}' in tiktoken's r50k_base")
corrected(
    "004-lookup-id-sat",
    lambda ids: ids[" sat"],
    gpt2_ids,
    counter={" sat": gpt2_ids[" dog"]},
    because=f"' sat' is {gpt2_ids[' sat']} in tiktoken's r50k_base; 3290 is ' dog'",
)

PICTURE = {
    "The": [0.12, -0.34, 0.78, 0.01, -0.56, 0.23, -0.89, 0.45],
    "cat": [0.67, 0.15, -0.42, 0.88, 0.03, -0.71, 0.29, -0.14],
    "sat": [0.55, 0.08, -0.39, 0.81, 0.11, -0.63, 0.34, -0.22],
    "on": [-0.23, 0.91, 0.05, -0.67, 0.44, 0.18, -0.52, 0.76],
    "the": [0.11, -0.31, 0.75, -0.02, -0.53, 0.21, -0.85, 0.42],
    "mat": [0.61, 0.19, -0.45, 0.83, 0.07, -0.68, 0.31, -0.18],
}
shown, words = np.array(list(PICTURE.values())), list(PICTURE)
moved = np.roll(shown, 1, axis=0)  # each row under the word after its own


def nearest(rows, word, k):
    return {words[row] for row in geometry.neighbours(rows, words.index(word), k=k).rows}


reproduced(
    "004-lookup-similar-tags",
    lambda rows: nearest(rows, "cat", 2) == {"sat", "mat"},
    shown,
    counter=moved,
)
reproduced(
    "004-lookup-The-the", lambda rows: nearest(rows, "The", 1) == {"the"}, shown, counter=moved
)
corrected(
    "004-lookup-dims",
    lambda widths: [max(widths), shown.shape[1]],
    [model.embedding_dim for model in sizes.MODELS.values()],
    counter=[768, 4096],
    because="the picture has 8, but models do not stop at 4,096: GPT-3, in the same page's own "
    "table, has 12,288",
)

# ---- why rows ------------------------------------------------------------------------------------

lab = values_of("labs/rows_or_codes")


def carries_over(scores):
    return bool((scores["trained rows"] > scores["codes"] + 0.2).all())


ends = {name: lab.results.final(name) for name in lab.names}
measured(
    "004-deeper-reason",
    carries_over,
    ends,
    counter={**ends, "trained rows": ends["shuffled text"]},
    because="what is learned about one word carries over to words like it. Without their label a "
    f"linear classifier tells the class of {ends['trained rows'].min():.0%} of the words or more "
    f"from trained rows, and of {ends['codes'].max():.0%} or less from codes",
    lab="rows_or_codes",
)

# ---- questions -----------------------------------------------------------------------------------

CALCULATIONS = {
    "A": lambda E, t: E[t, :],
    "B": lambda E, t: E[:, t],
    "C": lambda E, t: E @ one_hot([t], len(E))[0],
    "D": lambda E, t: np.exp(E[t]) / np.exp(E[t]).sum(),
}


def or_none(calculate, table, t):
    try:
        return calculate(table, t)
    except ValueError:  # shapes that do not fit
        return None


def letter(result):
    return next(
        name for name, f in CALCULATIONS.items() if np.array_equal(or_none(f, E, 1), result)
    )


def has_V_numbers(table):
    result = or_none(CALCULATIONS["C"], table, 1)
    return result is not None and len(result) == len(table)


reproduced("002-q1", letter, multiply(E, [1])[0], counter=E[:, 1])
corrected(
    "002-q1-option-c",
    has_V_numbers,
    E,
    counter=np.eye(3),
    because="(V, D) times (V,) is not defined unless V = D; then it reads a column",
)
given("002-q-numbering", "the quiz as it stands has Q1, Q3 and Q5; Q2 and Q4 were lost")
