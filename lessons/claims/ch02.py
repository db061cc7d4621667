"""Chapter 2: the input recipe."""

import numpy as np

from scratch_embed import SGD, Embedding, geometry
from scratch_embed.functional import cross_entropy, lookup
from scratch_embed.layers import (
    BERTInput,
    GPTInput,
    Linear,
    PositionEmbedding,
    SelfAttention,
)
from scratch_embed.lesson.claims import corrected, given, measured, reproduced, undecided, values_of
from scratch_embed.ops.rotary import rotary_forward
from scratch_embed.sizes import layer_params

lesson = values_of("ch02_input_recipe")
E, P, S, ids, segments = lesson.E, lesson.P, lesson.S, lesson.ids, lesson.segments
bert, gpt = lesson.bert, lesson.gpt  # with the tables of the lesson
rng = np.random.default_rng(2)


def refused(call) -> bool:
    try:
        call()
    except (ValueError, IndexError):
        return True
    return False


# ---- order ---------------------------------------------------------------------------------------

mix = SelfAttention(4, causal=False, rng=1, dtype=np.float64)


def order_is_lost(places):
    """Whether 'dog bites man' and 'man bites dog' give each word the same vector."""
    first, second = (mix(E[line] + places).numpy() for line in ([1, 3, 5], [5, 3, 1]))
    return np.allclose(first, second[::-1])


reproduced("000-ch2-order-blind", order_is_lost, np.zeros((3, 4)), counter=P[:3])
reproduced(
    "004-quiz-position",
    lambda source: np.ptp(source(np.array([[1, 1, 1]])).numpy(), axis=1).max() == 0,
    Embedding.from_pretrained(E),  # an id gives one row wherever it stands
    counter=gpt,
)

# ---- the sum -------------------------------------------------------------------------------------

one_by_one = np.array([[E[i] + P[t] + S[s] for t, (i, s) in enumerate(zip(*line))]
                       for line in zip(ids, segments)])  # fmt: skip
reproduced(  # LayerNorm and dropout follow in the same class
    "000-ch2-bert-recipe",
    lambda vectors: np.allclose(vectors.numpy(), one_by_one),
    bert.sum(ids, segments),
    counter=bert(ids, segments),
)
LOST = "the page's three rows were lost in scraping, and only their sum is left"
undecided("000-ch2-hand-lookup", LOST)
undecided("000-ch2-hand-sum", f"{LOST}: rows can be made up for any sum, and lesson 2 does so")
given(
    "000-ch2-cat-id",
    "the example's own numbering; the same text gives 'cat' the ids 3782 and 1 in other examples",
)
given("000-ch2-addition-widget", "how the page's widget opens; simulations/addition.py has it too")
given(
    "000-ch2-toggle-each",
    "what the page's widget does; simulations/addition.py has a switch for each of the three",
)


def token_part_is_fixed(rows):
    return bool(np.ptp(rows, axis=0).max() == 0)


cat_everywhere = lookup(E, np.full(8, 2)).numpy()
reproduced(
    "000-ch2-token-bars-fixed",
    token_part_is_fixed,
    cat_everywhere,
    counter=rotary_forward(cat_everywhere, np.arange(8))[0],  # a scheme that turns the token's row
)
start = BERTInput(1000, 768, rng=0)
kinds = geometry.cosine(
    start.token.weight.data[7] + start.segment.weight.data[0], start.token.weight.data[7]
)
undecided(
    "000-ch2-toggle-position-off",
    "it depends on how small the widget's segment row is, and that is lost; in tables that start "
    f"as BERT's do, all rows are of one length, and the cosine is {kinds:.2f}",
)


def parts_that_matter(layer):
    """How many of token, place and segment change a layer's output."""
    before = layer(np.array([[1, 2]])).numpy()
    other_token = layer(np.array([[1, 3]])).numpy()[0, 1]
    other_place = layer(np.array([[2, 1]])).numpy()[0, 0]
    changed = [other_token, other_place]
    if isinstance(layer, BERTInput):
        changed.append(layer(np.array([[1, 2]]), np.array([[0, 1]])).numpy()[0, 1])
    return sum(not np.allclose(vector, before[0, 1]) for vector in changed)


reproduced("000-ch2-quiz", lambda layer: parts_that_matter(layer) == 3, bert, counter=gpt)


def tables(layer):
    return f"{sum(p.ndim == 2 for p in layer.parameters())} tables"


reproduced("003-bert-bundle", tables, bert, counter=gpt)

# ---- BERT's sizes --------------------------------------------------------------------------------

CONFIG = "bert_config.json of google-research/bert"
given("000-ch2-bert-shapes", f"{CONFIG}: vocab_size, max_position_embeddings, type_vocab_size")
given("000-ch2-hf-shapes", f"{CONFIG}, of bert-base-uncased; hidden_size 768")
given("000-ch2-bert-dropout", f"{CONFIG}: hidden_dropout_prob")
given("000-ch2-position-range", "three examples of places, all below 512")
base = BERTInput(30_522, 768, rng=0)
sizes = [part.weight.size for part in (base.token, base.position, base.segment)]
reproduced(
    "000-ch2-bert-products",
    lambda V: [V * 768, *sizes[1:]],
    len(base.token.weight.data),
    counter=50_257,
)
reproduced("000-ch2-bert-total", sum, sizes, counter=[*sizes, 768, 768])  # with gamma and beta
reproduced("000-ch2-bert-share", lambda V: V / (V + 512 + 2), 30_522, counter=50_257)
reproduced(
    "000-ch2-bert-class-shape",
    lambda shape: start(np.zeros(shape, int)).shape,
    (2, 128),
    counter=((2, 64),),
)

# ---- GPT and Llama -------------------------------------------------------------------------------

given(
    "000-ch2-gpt-recipe",
    "src/model.py of openai/gpt-2, wte and wpe; Brown et al. 2020 build GPT-3 on that model",
)
undecided(
    "000-ch2-gpt-no-pairs",
    "the reports give no reason; the first GPT was tuned on sentence pairs all the same, with a "
    "delimiter token between the two and no segments (Radford et al. 2018, section 3.3)",
)
undecided(
    "000-ch2-gpt4-rope",
    "true of Llama (llama/model.py of meta-llama/llama); nothing is published about GPT-4",
)


def with_a_table():
    return PositionEmbedding(64, 16, rng=0).num_parameters()


plain = SelfAttention(16, rng=0).num_parameters()
reproduced(
    "002-s5-rope-no-table",
    lambda extra: SelfAttention(16, rotary=True, rng=0).num_parameters() + extra == plain,
    0,
    counter=with_a_table(),
)

# ---- past the end --------------------------------------------------------------------------------

learned = PositionEmbedding(512, 4, rng=0, dtype=np.float64)
clamped = PositionEmbedding(512, 4, past_end="clamp", rng=0, dtype=np.float64)
reproduced("000-ch2-pos-beyond-max", lambda n: refused(lambda: learned(n)), 513, counter=512)
reproduced("002-q5", lambda read: "B" if refused(lambda: read(1024)) else "A", learned,
           counter=clamped)  # fmt: skip
vectors = rng.normal(size=(6, 4))
reproduced(
    "002-s5-add-slice",
    lambda first: np.allclose(
        vectors + learned(6).numpy(), vectors + learned.weight.data[first : first + 6]
    ),
    0,
    counter=1,  # places counted from 1
)
corrected(
    "002-q5-reuse-row",
    lambda rows: not refused(lambda: lookup(learned.weight.data[:rows], [256])),
    256,
    counter=257,
    because="a table of L_max rows ends at row L_max - 1: that one can be reused",
)


positions = values_of("labs/past_the_end")
inside, past, far = (
    {way: results.final(way) for way in results.scores}
    for results in (positions.inside, positions.past, positions.far)
)


def share(scores):
    low, high = f"{scores.min():.0%}", f"{scores.max():.0%}"
    return low if low == high else f"{low} to {high}"


measured(
    "002-s5-no-extrapolation",
    lambda scores: scores.max() < 0.2,
    past["learned"],
    counter=past["learned, anywhere"],
    because="there is no row past the table's end, and rows past the end of the training texts are "
    f"no use: of the answers {share(inside['learned'])} are right inside and "
    f"{share(past['learned'])} just past it, no better than chance",
    lab="past_the_end",
)
measured(
    "002-q5-rope",
    lambda scores: scores.min() > 0.95,
    far["rotary"],
    counter=inside["rotary"],
    bears_out=False,
    because="rotary angles can be computed for any length, but the answers fade: trained on texts "
    f"of 16 letters, {share(inside['rotary'])} right inside, {share(far['rotary'])} at places 112 "
    "to 127 of a long text. Position interpolation and YaRN exist for this",
    lab="past_the_end",
)
measured(
    "002-sum-extrapolation",
    lambda scores: bool(
        scores["sinusoids"].min() > scores["learned"].max() + 0.1
        and scores["rotary"].min() > scores["learned"].max() + 0.1
    ),
    past,
    counter=inside,
    because="just past the end of the training texts learned rows answer "
    f"{share(past['learned'])} right, sinusoids {share(past['sinusoids'])}, rotary angles "
    f"{share(past['rotary'])}",
    lab="past_the_end",
)

# ---- add or concatenate --------------------------------------------------------------------------

token, place, segment = E[2], P[3], S[0]
side_by_side = np.concatenate([token, place, segment])
added = token + place + segment
given("000-ch2-concat-3d", "the definition of concatenating three rows of d numbers")
corrected(
    "000-ch2-concat-triples-model",
    lambda weights: weights(3 * 768) / weights(768),
    layer_params,
    counter=lambda width: 4 * width,  # what passes between layers, and biases
    because="a matrix from width to width has nine times the numbers and the work; only the "
    "vectors between layers triple. And one projection back to d costs 1.8 million weights",
)
next_layer = Linear(4, 4, rng=0, dtype=np.float64)
reproduced(
    "000-ch2-concat-vs-sum",
    lambda row: not refused(lambda: next_layer(row[None])),
    added,
    counter=side_by_side,
)


def found(width):
    """Shares of blurred sums of a token and a place whose parts are both found again."""
    shares = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(200, width)), rng.normal(size=(50, width))
        shares.append(lesson.recovered(*rows, rng))
    return shares


wide, narrow = found(64), found(2)
measured(
    "000-ch2-addition-sufficient",
    lambda shares: min(shares) > 0.99,
    wide,
    counter=narrow,
    because="200 tokens plus 50 places with noise 0.5, five seeds: both parts are found in "
    f"at least {min(wide):.0%} of the sums at d = 64, and in at most {max(narrow):.0%} at d = 2",
)

# ---- do the tables avoid each other? -------------------------------------------------------------


def mean_cosine(a, b):
    """Mean size of the cosine of a row of one table with a row of the other."""
    return float(np.abs(geometry.unit_rows(a) @ geometry.unit_rows(b).T).mean())


def trained(seed, width=32, steps=150):
    """Both tables after learning to name the token and the place of a sum."""
    rng = np.random.default_rng(seed)
    source = GPTInput(40, width, 24, p=0.0, rng=rng, init=width**-0.5, position_init=width**-0.5)
    heads = [Linear(width, n, bias=False, rng=rng) for n in (40, 24)]
    optimizer = SGD([p for part in (source, *heads) for p in part.parameters()], lr=3.0)
    here = np.broadcast_to(np.arange(24), (16, 24))
    for _ in range(steps):
        letters = rng.integers(40, size=(16, 24))
        optimizer.zero_grad()
        x = source(letters)
        (cross_entropy(heads[0](x), letters) + cross_entropy(heads[1](x), here)).backward()
        optimizer.step()
    return source.token.weight.data, source.position.weight.data


pairs = [trained(seed) for seed in range(3)]
cosines = [mean_cosine(*pair) for pair in pairs]
by_chance = mean_cosine(*rng.normal(size=(2, 400, 32)))
chance_768 = mean_cosine(*rng.normal(size=(2, 400, 768)))
left = np.arange(32) < 16
kept_apart = [
    (a * left, b * ~left) for a, b in pairs
]  # what "different directions" would look like
corrected(
    "000-ch2-near-orthogonal",
    lambda pairs: max(mean_cosine(*pair) for pair in pairs) < by_chance / 4,
    pairs,
    counter=(kept_apart,),
    because=f"a small cosine shows nothing: random rows of 768 columns have {chance_768:.3f}, "
    f"untrained. In 32 columns chance gives {by_chance:.3f}, and training for token and place "
    f"{min(cosines):.3f} to {max(cosines):.3f} (three seeds): apart a little more, not by much",
)
lab = values_of("labs/column_roles")
scores = np.concatenate([lab.results.final("SGD"), lab.results.final("Adam")])
with_roles = [
    lab.score(np.where(np.arange(16) < 8, E, 0.1 * E), np.where(np.arange(16) < 8, 0.1 * P, P))
    for E, P in (lab.trained(seed, 100, "SGD") for seed in range(3))
]
measured(
    "000-ch2-dims-specialise",
    lambda scores: min(scores) > 2,
    scores,
    counter=with_roles,
    bears_out=False,
    because="directions may take roles, single columns do not: they differ no more than those of "
    "the same space turned at random. With SGD the turned run is the same run; with Adam the "
    "columns are more alike than in turned spaces",
    lab="column_roles",
)
undecided(
    "002-obj-learned-or-fixed",
    "promised among the aims, and no rule follows. Vaswani et al. 2017 (table 3, row E) tried both "
    "and found hardly a difference. A table ends, a formula does not; but just past the training "
    "texts half of the answers that rest on the formula are wrong (the lab past_the_end)",
)
