"""Static rows and contextual states: the lecture note, the interview page, the reference page."""

import numpy as np

from scratch_embed import Embedding, Tensor, geometry, sizes
from scratch_embed.functional import onehot_product
from scratch_embed.lesson.claims import (
    corrected,
    given,
    reproduced,
    undecided,
    values_of,
)
from scratch_embed.ops.onehot import one_hot

lesson = values_of("ch16_contextual")
layer = Embedding(1000, 8, rng=0, dtype=np.float64)
table = layer.weight.numpy()

# ---- ids and rows --------------------------------------------------------------------------------


def rows_read(ids):
    """In which row of the table each vector that came out stands."""
    return [int(np.flatnonzero((table == row).all(axis=1))[0]) for row in layer(ids).numpy()]


reproduced("003-ids", rows_read, [57, 12, 908], counter=[57, 12, 909])
reproduced(
    "003-sequence-shape",
    lambda ids: layer(ids).shape == (len(ids), 8),
    np.arange(5),
    counter=np.zeros((5, 2), dtype=int),  # a batch keeps its own axes in front
)
given("003-three-objects", "definitions of four words: id, matrix, embedding, vector")


def order_tells(table):
    """Rank correlation of the gap of two ids and the distance of their rows."""
    a, b = np.triu_indices(200, 1)
    return geometry.rank_correlation(
        np.abs(a - b).astype(float), geometry.distances(table[:200])[a, b]
    )


sorted_table = np.cumsum(np.abs(table), axis=0)  # a table whose rows do lie in the order of ids
reproduced(
    "003-ids-no-order", lambda t: bool(abs(order_tells(t)) < 0.05), table, counter=sorted_table
)


def loss_after_permuting(what):
    """Whether the loss stays when ids, rows and (or not) targets are dealt anew."""
    targets = lesson.pi[lesson.following] if what == "everything" else lesson.following
    return abs(lesson.model_loss(lesson.E_new, lesson.pi[lesson.inputs], targets)
               - lesson.before) < 1e-9  # fmt: skip


reproduced(
    "003-permute",
    lambda what: "yes" if loss_after_permuting(what) else "no",
    "everything",
    counter="inputs and rows alone",
)


def is_linear_in(codes):
    half = (codes[:1] + codes[1:2]) / 2
    rows = onehot_product(Tensor(codes), layer.weight).numpy()
    return np.allclose(onehot_product(Tensor(half), layer.weight).numpy(), rows[:2].mean(axis=0))


reproduced(  # linear in one-hot codes, not in ids
    "003-lookup-incomplete",
    lambda f: np.allclose(f(np.array([0.5, 0.5])), (table[57] + table[13]) / 2),
    lambda mix: mix @ one_hot(np.array([57, 13]), 1000) @ table,
    counter=lambda mix: table[int(mix @ [57, 13])],
)

# ---- one row, many states ------------------------------------------------------------------------


def differ(x):
    return bool(np.abs(x[0, 1] - x[1, 1]).max() > 0.1)


reproduced("003-bank", differ, lesson.states, counter=lesson.rows)
reproduced(
    "004-static-then-contextual",
    differ,
    lesson.states,
    counter=np.tanh(lesson.rows @ np.ones((2, 2))),  # a layer that does not mix tokens
)


def senses_told(seed):
    """Whether states of 'bank' fall into two groups by what stood before; and its rows."""
    made, mix = lesson._train(seed)
    states = mix(made(lesson.ids)).numpy()[:, 1]
    rows = made(lesson.ids).numpy()[:, 1]
    kind = np.arange(24) < 12
    rows = rows + 1e-6 * np.random.default_rng(seed).normal(size=rows.shape)  # they are all equal
    return [geometry.neighbour_accuracy(x, kind) for x in (states, rows)]


told = np.array([senses_told(seed) for seed in range(3)])
corrected(
    "001-intro-entire-meaning",
    lambda accuracy: "entire" if accuracy.min() > 0.9 else "a part",
    told[:, 1],
    counter=told[:, 0],
    because="the row is all that is known before the context is read; which sense is meant stands "
    "in the states (three seeds of three), and the weights that make them are knowledge too",
)
given(
    "001-uses-clip",
    "CLIP takes the state at the end-of-text token, the highest id of a sentence, and no average: "
    "openai/CLIP, model.py, encode_text",
)
deep = {name: model.num_layers for name, model in sizes.MODELS.items() if model.num_layers}
corrected(
    "004-96-layers",
    lambda depths: bool(np.median(list(depths)) >= 96),
    deep.values(),
    counter=[deep["GPT-3 175B"]],
    because=f"96 layers is GPT-3; the median of {len(deep)} models listed here is "
    f"{np.median(list(deep.values())):.0f}",
)
undecided(
    "004-raw-table-syntactic",
    "a claim on published tables, none of which is at hand; in small models rows hold class, "
    "states the sense (lab `one_row_many_states`), and the length of a row tells how frequent its "
    "word is, one way early and the other way late (lab `long_rows`)",
)
given(
    "004-recap-bert-vs-gpt2",
    "no figure for GPT-2 stands on the page. Reimers and Gurevych (2019, table 1) found BERT's raw "
    "averaged vectors below averaged GloVe; they become good when trained for it",
)

undecided(
    "004-few-layers",
    "neither few nor rich has a figure. In lesson 16 one layer that mixes neighbours is enough to "
    "part two senses of a word",
)
given("003-elmo", "Peters et al., NAACL 2018; Devlin et al., NAACL 2019")

# ---- references and media ------------------------------------------------------------------------

given("003-ref-list", "arXiv and ACL Anthology numbers, which begin with the year")
given(
    "003-ref-gaps",
    "counted in the note: nine entries whose numbers run to 16, two of them never cited; the list "
    "was cut out of a longer one",
)
given("003-ref-press-wolf", "arXiv 1608.05859 is of 2016; the paper appeared at EACL 2017")
given("003-ref-sennrich", "arXiv 1508.07909 is of 2015; the paper appeared at ACL 2016")
undecided("003-companion-code", "the notebook and the files are named by the page and not with it")
undecided("003-videos", "five videos are named by the page; none came with it")
