"""Chapter 4: one table that reads and writes."""

import copy
import warnings

import numpy as np

from scratch_embed import Embedding, Tensor, geometry
from scratch_embed.functional import cross_entropy, lookup, project
from scratch_embed.layers import TiedHead
from scratch_embed.lesson.claims import corrected, given, measured, reproduced, undecided, values_of
from scratch_embed.models import NextToken
from scratch_embed.ops.project import project_forward
from scratch_embed.simulations import tied as switch

lesson = values_of("ch04_tied")
lab = values_of("labs/tied_or_untied")
parts = values_of("labs/parts_of_a_tied_gradient")

E, h, words = lesson.E, lesson.h, lesson.words
rng = np.random.default_rng(4)

# ---- the logits of four words --------------------------------------------------------------------


def logit(E, word):
    return project_forward(h, E)[0][words.index(word)]


def agrees_with_product(score):
    """Whether a way to score gives h E^T, on tables nobody chose."""
    table, state = rng.normal(size=(50, 8)), rng.normal(size=8)
    found = np.asarray(score(state, table))
    return found.shape == (50,) and np.allclose(found, state @ table.T, rtol=1e-12)


def sum_by_sum(h, E):
    return [sum(h[d] * E[v, d] for d in range(len(h))) for v in range(len(E))]


def by_layer(h, E):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows of N(0, 1): only the product is looked at
        return TiedHead(Embedding.from_pretrained(E))(h).numpy()


def cosines(h, E):
    return [geometry.cosine(h, row) for row in E]


for word in words:
    reproduced(f"000-ch4-logits-{word}", logit, E, word, counter=(E[[3, 2, 0, 1]], word))
reproduced(
    "000-ch4-argmax",
    lambda E: f"token {project_forward(h, E)[0].argmax()}",
    E,
    counter=lesson.double_the,
)
reproduced(
    "000-ch4-most-similar",
    lambda h: words[int(np.argmax(cosines(h, E)))],
    h,
    counter=np.array([0.1, 0.6, 0.3]),
)
for row, score in (
    ("000-ch4-logits-shape", sum_by_sum),
    ("001-math-tied-logits", by_layer),
    ("003-tie-logit", sum_by_sum),
    ("004-tied-logits", by_layer),
):
    reproduced(row, agrees_with_product, score, counter=cosines)


def near_rows_near_scores(score):
    table, states = rng.normal(size=(60, 8)), rng.normal(size=(200, 8))
    scores = np.array([score(state, table) for state in states])
    gaps = np.abs(scores[:, :, None] - scores[:, None, :])
    allowed = np.linalg.norm(states, axis=1)[:, None, None] * geometry.distances(table)
    return bool((gaps <= allowed + 1e-9).all())


reproduced(
    "000-ch4-close-rows-close-logits",
    near_rows_near_scores,
    lambda h, E: h @ E.T,
    counter=lambda h, E: np.round(h @ E.T),  # a score that jumps
)


def names_the_best(reading):
    """In how many of 300 random tables a reading of "high logit" names the predicted row."""
    named = 0
    for _ in range(300):
        table, state = rng.normal(size=(20, 6)), rng.normal(size=6)
        named += reading(state, table) == (table @ state).argmax()
    return named / 300


def nearest(h, E):
    return np.linalg.norm(E - h, axis=1).argmin()


corrected(
    "000-ch4-closer-higher",
    lambda reading: names_the_best(reading) > 0.99,
    nearest,
    counter=lambda h, E: (E @ h / np.linalg.norm(h)).argmax(),  # how far along h the row reaches
    because=f"the nearest row has the highest logit in {names_the_best(nearest):.0%} of 300 random "
    "tables; the row that reaches furthest along h always has it",
)
undecided(
    "004-geometric-meaning",
    "the answers to choose from are lost; z = |h| |e| cos(h, e), so it means that e reaches "
    "further along h than other rows do, by direction and length together",
)

# ---- one tensor ----------------------------------------------------------------------------------

embed = Embedding(40, 6, rng=0, init=0.02)
head = TiedHead(embed)


def same_numbers(embed, head):
    ends = (end.weight.numpy().__array_interface__["data"][0] for end in (embed, head))
    return len(set(ends)) == 1


def distinct(tensors):
    """How many numbers these tensors hold, each counted once."""
    return sum(tensor.size for tensor in {id(t): t for t in tensors}.values())


def vocabulary_numbers(model):
    return distinct([model.embed.weight, model.head])


reproduced("000-ch4-same-pointer", same_numbers, embed, head, counter=(embed, copy.deepcopy(head)))
given(
    "000-ch4-demo-memory",
    "the arguments of the snippet: a float32 table of 500 MiB; torch.nn.Linear makes another of "
    "that size first, which the assignment drops",
)
one_table, two_tables = (NextToken(400, 16, tied=tied) for tied in (True, False))
reproduced(
    "001-intro-tying-halves",
    lambda one, two: 2 * vocabulary_numbers(one) == vocabulary_numbers(two),
    one_table,
    two_tables,
    counter=(one_table, NextToken(500, 16)),
)
undecided(
    "000-ch4-quiz",
    f"the answers to choose from are lost; tying leaves {vocabulary_numbers(one_table):,} of "
    f"{vocabulary_numbers(two_tables):,} numbers (V = 400, D = 16), and one geometry for two jobs",
)
undecided(
    "004-why-tying",
    "the answer is lost; here it saves V times D numbers, and every row gets a gradient at every "
    "position, because every row is scored",
)


reproduced(
    "004-tied-class-params",
    distinct,
    [lesson.rows, lesson.rows],
    counter=[lesson.rows, lesson.rows[:]],  # two objects: what an untied class would hold
)
reproduced("000-ch4-widget", lambda tied: switch.view(tied).label, False, counter=True)


class TiedLM:
    """As printed: the rows of the ids are fetched, and dropped."""

    def __init__(self, num_embeddings, embedding_dim):
        self.embed = Embedding(num_embeddings, embedding_dim, rng=0, init=0.02)
        self.head = TiedHead(self.embed)

    def forward(self, ids, hidden):
        self.embed(ids)
        return self.head(hidden)


hidden = rng.standard_normal((2, 3, 8)).astype(np.float32)
some, other = rng.integers(50, size=(2, 2, 3))


def is_head_of_hidden(forward):
    logits = forward(some, hidden).numpy()
    return logits.shape == (2, 3, 50) and np.array_equal(logits, forward(other, hidden).numpy())


printed_model, lm = TiedLM(50, 8), NextToken(50, 8, tied=True, body=True, init=0.02)
reproduced(
    "000-ch4-tiedlm-forward",
    is_head_of_hidden,
    printed_model.forward,
    counter=lambda ids, hidden: printed_model.head(printed_model.embed(ids) + hidden),
)
reproduced(
    "001-code-lm-class",
    lambda lm: lm(some).shape == (2, 3, 50) and lm.head is lm.embed.weight,
    lm,
    counter=NextToken(50, 8, tied=False),
)

# ---- the start -----------------------------------------------------------------------------------

corrected(
    "000-ch4-tied-default-init",
    lambda s: lesson.mean_loss(s**2 * lesson.logits, lesson.wanted) < 1.2 * np.log(lesson.V),
    1.0,
    counter=0.02,
    because=f"with the printed class, whose rows are N(0, 1), a model of GPT-2's size begins at "
    f"{lesson.mean_loss(lesson.logits, lesson.wanted):.0f} nats where even chances cost "
    f"{np.log(lesson.V):.1f}; draw the rows with std 0.02",
)


def own_input_is_best(W):
    read = np.arange(40)
    rows = rng.standard_normal((40, 16))
    return bool(((rows[read] @ W @ rows.T).argmax(axis=1) == read).mean() > 0.9)


reproduced(
    "004-class-predicts-itself",
    lambda model: model(some).shape == (2, 3, 50),
    NextToken(50, 8, tied=True),
    counter=NextToken(51, 8, tied=True),
)
corrected(
    "004-class-is-a-model",
    lambda W: not own_input_is_best(W),
    np.eye(16),
    counter=rng.standard_normal((16, 16)),  # anything between reading and writing
    because="with no layer in between, h is the row just read, and the class predicts its own "
    "input (here at more than 90 % of positions), at any scale of the rows",
)

# ---- learning ------------------------------------------------------------------------------------

ids, targets, W = lesson.ids, lesson.targets, lesson.W


def reaches_rows_nobody_read(head_of):
    table = Tensor(E, requires_grad=True)
    cross_entropy(project(lookup(table, ids) @ W, head_of(table)), targets).backward()
    return bool(table.grad[np.setdiff1d(np.arange(len(E)), ids)].any(axis=1).all())


reproduced(
    "000-ch4-gradient-flows-both",
    reaches_rows_nobody_read,
    lambda table: table,
    counter=lambda table: table.numpy(),  # the bare numbers: only the reading end is left
)


def span(values):
    return f"{values.min():.2f} to {values.max():.2f}"


one, two = lab.maps.final("tied"), lab.maps.final("untied")
measured(
    "000-ch4-tying-regularises",
    lambda agreement: bool((agreement < 0.9).all()),
    two,
    counter=one,
    because=f"untied, the similarities in the two tables correlate by {span(two)} only. Whether "
    "one table generalises better changes with the seed at every width, so that the lab claims "
    "nothing there; the quick size here is too short to say",
    lab="tied_or_untied",
)
measured(
    "003-tie-aligned",
    lambda pair: bool((pair[0] - pair[1] > 0.1).all()),
    (one, two),
    counter=(two, two),
    because=f"two tables agree by {span(two)} only; one table agrees with itself by definition",
    lab="tied_or_untied",
)


def centred(x):
    """What is left of a table of numbers when the means of its rows and columns are taken away."""
    return x - x.mean(axis=0) - x.mean(axis=1, keepdims=True)


def follows_counts(logits_of):
    """Correlation of h_i . e_j with ln(1 + how often j came after i), beyond rows' and columns'."""
    found = []
    for (tied, width, seed), (_, _, logits, _) in lab.kept.items():
        if tied and width == 16:
            counts = np.log1p(lab.counts_of(lab.text_of(seed)[1][0]))
            both = centred(logits_of(logits)).ravel(), centred(counts).ravel()
            found.append(np.corrcoef(*both)[0, 1])
    return np.array(found)


high = follows_counts(lambda logits: logits)
measured(
    "002-s3-high-dot",
    lambda r: r.min() > 0.3,
    high,
    counter=follows_counts(lambda logits: np.roll(logits, 1, axis=0)),  # another word's states
    because="in a tied model h . e_j follows the logarithm of how often j came after the word in h "
    f"(correlation {span(high)}), and not how often it came after another",
    lab="tied_or_untied",
)
near, far = (lab.neighbours.final(f"tied, {who}") for who in ("nearest", "any other"))
measured(
    "004-predict-either",
    lambda pair: pair[0].min() > pair[1].max() + 0.3,
    (near, far),
    counter=(far, far),
    because=f"the logits of a word and of its nearest row rise and fall together ({span(near)}), "
    f"those of any two words do not ({span(far)}); with two tables it is so as well",
    lab="tied_or_untied",
)
every = np.concatenate([at for way in parts.gains.scores.values() for at in way.values()])
measured(
    "000-ch4-one-update-improves-both",
    lambda gains: np.mean(gains > 0) > 0.9,
    every,
    counter=-every,
    because=f"both jobs gain in {(every > 0).sum()} of {every.size} looks; nothing makes them, and "
    "narrow tables (D = 2) have exceptions. The parts help each other early on (D = 32, after 20 "
    f"steps: cosine {span(parts.cosines.scores['tied, D = 32'][20])}), later they are unrelated",
    lab="parts_of_a_tied_gradient",
)
