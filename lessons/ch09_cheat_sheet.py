# %% [markdown]
# # 9. The cheat sheet
#
# One page to pin up: what to choose, what there is, how to write it, and the numbers that come up
# in every conversation. Nothing on it is copied from another page. The choices come from
# a function, the shapes from layers that we build, the snippets are run, and the sizes are
# multiplied.

# %%
import math
from dataclasses import dataclass, field

import numpy as np

from scratch_embed import SGD, Embedding, Tensor, plot
from scratch_embed.functional import cross_entropy, onehot_product
from scratch_embed.layers import (
    BERTInput,
    HashEmbedding,
    Linear,
    PatchEmbed,
    PositionEmbedding,
    TiedHead,
    ViTInput,
)
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    quiz,
    reference,
    save_figure,
    verdict,
    worked,
)
from scratch_embed.lesson.claims.snippets import undefined_names
from scratch_embed.lesson.look.terminal import table as columns
from scratch_embed.lesson.look.terminal import width, wrap
from scratch_embed.ops.onehot import one_hot
from scratch_embed.positions import sinusoidal
from scratch_embed.sizes import MODELS, RELEASED, gpt2_params, human, layer_params, table_params
from scratch_embed.text import bpe
from scratch_embed.text.published import IDS, PIECES

begin()
WIDE = 78  # columns of text
page: dict[str, str] = {}  # title -> text, filled as we go

# %% [markdown]
# ## What to choose
# The few decisions in front of a new model, each with its reason: rules of thumb, not laws. Here
# they are as functions, one for text and one for images. Models of 1 to 7 billion numbers tie their
# head or do not, and then the answer is None.


# %%
ONE_LANGUAGE, MANY_LANGUAGES = 32_000, 128_000  # rows: as in Llama 2, and as in Llama 3
TIE_BELOW, UNTIE_ABOVE = 1e9, 7e9  # numbers in the whole model
PATCH_SIDE = {"standard": 16, "fast": 32, "fine": 8}  # in pixels


@dataclass
class Plan:
    """What was decided. `reasons` maps each decision to its answer and why."""

    num_embeddings: int | None = None  # V; None for images, which are projected
    tied: bool | None = None
    scale: float = 1.0  # factor on token rows before positions are added
    params: int = 0  # numbers in the token table, or in the patch projection (without bias)
    reasons: dict[str, tuple[str, str]] = field(default_factory=dict)


def choose_for_text(
    embedding_dim: int = 768, languages: int = 1, params: float = 1e8, positions: str = "rotary"
) -> Plan:
    """params: numbers in the whole model. positions: "sinusoidal", "learned" or "rotary"."""
    plan = Plan(num_embeddings=ONE_LANGUAGE if languages == 1 else MANY_LANGUAGES)
    plan.params = table_params(plan.num_embeddings, embedding_dim)
    plan.reasons["vocabulary"] = (
        f"V = {plan.num_embeddings:,}, {human(plan.params)} numbers",
        "enough for one language" if languages == 1 else "other scripts and words want rows too",
    )
    plan.tied = True if params < TIE_BELOW else False if params > UNTIE_ABOVE else None
    plan.reasons["tie the head"] = {
        True: ("yes", f"a second table would be {plan.params / params:.0%} of the model on top"),
        False: ("no", "the second table is cheap here; yet some models of this size tie (Gemma)"),
        None: ("either", "between 1 and 7 billion parameters models do both; measure"),
    }[plan.tied]
    plan.scale = math.sqrt(embedding_dim) if positions == "sinusoidal" else 1.0
    plan.reasons["scale the rows"] = {
        "sinusoidal": (
            f"times {plan.scale:.1f}", "if they start with length 1; sines and cosines are long"),
        "learned": ("no", "positions are learned as well; Gemma scales all the same"),
        "rotary": ("no", "positions turn queries and keys; Gemma scales all the same"),
    }[positions]  # fmt: skip
    return plan


def choose_for_images(
    embedding_dim: int = 768, detail: str = "standard", image_size: int = 224
) -> Plan:
    """detail: "standard", "fast" or "fine". image_size: the side of a square image in pixels."""
    side = PATCH_SIDE[detail]
    tokens = (image_size // side) ** 2
    plan = Plan(params=table_params(3 * side * side, embedding_dim))
    plan.reasons["patches"] = (
        f"{side} by {side} pixels, {tokens} tokens",
        f"a projection of {human(plan.params)} numbers, {tokens**2:,} scores a head",
    )
    return plan


# %% [markdown]
# Three texts and one kind of image. Each answer has its reason, and where models disagree the
# chooser says so.

# %%
cases = {
    "small model, one language": choose_for_text(params=1.2e8, positions="learned"),
    "7B model, many languages": choose_for_text(4096, languages=30, params=7.5e9),
    "first Transformer": choose_for_text(512, positions="sinusoidal", params=6.5e7),
    "photographs": choose_for_images(),
}
for name, plan in cases.items():
    print(f"  {name}")
    for what, (answer, why) in plan.reasons.items():
        print("\n".join(wrap(f"{answer}: {why}", width(), f"    {what:<14}  ")))
page["What to choose"] = columns(["for", "decision", "answer"], [
    [name if n == 0 else "", what, answer] for name, plan in cases.items()
    for n, (what, (answer, _)) in enumerate(plan.reasons.items())], WIDE)  # fmt: skip

base = {"params": 1.2e8, "positions": "learned"}  # the first of the cases
changes = {
    "30 languages in place of one": {"languages": 30},
    "a hundred times as many numbers": {"params": 1.2e10},
    "sinusoids in place of learned positions": {"positions": "sinusoidal"},
    "rows twice as wide": {"embedding_dim": 2 * 768},
}
factors = {change: choose_for_text(**(base | new)).scale for change, new in changes.items()}
quiz(
    "own-ch9-what-asks-for-scaling",
    "The small model of the first case does not scale its rows. Which one change would make the "
    "chooser scale them?",
    answer=next(
        change for change, factor in factors.items() if factor != choose_for_text(**base).scale
    ),
    options=list(changes),
    because=f"learned rows find a length of their own; sinusoids cannot, and rows of length 1 take "
    f"a factor of {max(factors.values()):.1f} to be heard. More languages ask for more rows, a "
    "larger model for a head of its own",
)

llama2, llama3 = MODELS["Llama 2 7B"], MODELS["Llama 3 8B"]
rule = [choose_for_text(languages=n).num_embeddings for n in (1, 30)]
reference(
    "000-ch9-flow-vocab",
    [llama2.num_embeddings, llama3.num_embeddings],
    printed="32K; 100K+",
    source="Llama 2 (Touvron et al. 2023) and Llama 3, whose report gives 28,000 of its tokens to "
    f"other languages than English; the chooser says {rule[0]:,} and {rule[1]:,}",
)
gemma = MODELS["Gemma 7B"]
between = choose_for_text(params=3e9).tied
erratum(
    "000-ch9-flow-tie",
    gemma.tied and between is None and choose_for_text(params=8e9).tied is False,
    printed="<1B; >7B",
    shown={"Gemma 7B (8.5B numbers in all) ties": gemma.tied, "Llama 3.2 1B ties":
           MODELS["Llama 3.2 1B"].tied, "the rule at 3B": str(between)},
    because="between 1B and 7B the rule says nothing, and above it Gemma 7B ties all the same",
)  # fmt: skip
tokens = [
    PatchEmbed(224, side, embedding_dim=8, rng=0)(np.zeros((3, 224, 224))).shape[0]
    for side in (16, 32, 8)
]
check("000-ch9-flow-patches", tokens, printed="196; 49; 784")

# %% [markdown]
# ## What there is
# Seven components. Each is built here, small, and its shape read off. A page that gives one shape
# for each hides a difference: a projection is stored as (out, in), so what mathematics writes
# as (patch_dim, d) lies in memory as (d, patch_dim), and the CLS row carries a batch axis.

# %%
V, L, D, P = 1000, 64, 32, 16
token, position = Embedding(V, D, rng=0, init=0.02), PositionEmbedding(L, D, rng=0)
bert_input = BERTInput(V, D, max_len=L, rng=0)
vit_input = ViTInput(32, P, embedding_dim=D, rng=0)
patch, head = PatchEmbed(32, P, embedding_dim=D, rng=0), TiedHead(token)
bert_shapes = {p.name: p.shape for p in bert_input.parameters()}
vit_shapes = {p.name: p.shape for p in vit_input.parameters()}
print("  BERT's input:", bert_shapes)
print("  ViT's input: ", vit_shapes)
erratum(
    "000-ch9-catalog-shapes",
    patch.projection.weight.shape == (D, 3 * P * P) != (3 * P * P, D)
    and token.weight.shape == (V, D),
    printed="(V,d) (max_len,d) (2,d) (patch_dim,d) (1,d)",
    shown={"token": token.weight.shape, "position": position.weight.shape,
           "segment": bert_shapes["segment.weight"], "projection, as stored":
           patch.projection.weight.shape, "as the kernel of a convolution":
           patch.projection.weight.data.reshape(D, 3, P, P).shape,
           "CLS, with a batch axis": vit_input.cls.weight.data[None].shape},
    because="(patch_dim, d) is how one writes x W; layers store (d, patch_dim), a convolution "
    "(d, 3, P, P), and published ViT code keeps CLS as (1, 1, d)",
)  # fmt: skip

# %% [markdown]
# Has only BERT segment rows, and is CLS a part of ViT? The size of a released model tells. From all
# its numbers take away the parts that nobody doubts: tokens, positions, layers, norms, what stands
# at the end. What is left, in rows of the table's width, are the segments and CLS.

# %%
layer, pooler = layer_params(768), 768 * 769  # a layer is the same in all four
ENCODERS = {  # all numbers in the published weights, the undoubted parts, width of a row
    "BERT-base": (109_482_240, (30_522 + 512 + 2) * 768 + 12 * layer + pooler, 768),
    "ALBERT-base": (11_683_584, (30_000 + 512 + 2) * 128 + 129 * 768 + layer + pooler, 128),
    "RoBERTa-base": (124_645_632, (50_265 + 514 + 2) * 768 + 12 * layer + pooler, 768),
    "ViT-B/16": (86_567_656, 769 * 768 + (197 + 2) * 768 + 12 * layer + 769 * 1000, 768),
}
left = {name: (total - sure) / row for name, (total, sure, row) in ENCODERS.items()}
for name, rows in left.items():
    print(f"  {name:<13} {ENCODERS[name][0]:>11,} numbers, rows left over: {rows:g}")
erratum(
    "000-ch9-catalog-segment",
    left["ALBERT-base"] == left["BERT-base"] == 2,
    printed="BERT-specific",
    shown={f"rows left in {name}": rows for name, rows in left.items() if "BERT" in name},
    because="ALBERT has two segment rows like BERT; RoBERTa keeps one, so it tells nothing apart",
)
ARXIV = {"BERT": "1810.04805", "ViT": "2010.11929"}  # a number begins with year and month
erratum(
    "000-ch9-catalog-cls",
    ARXIV["BERT"] < ARXIV["ViT"] and left["ViT-B/16"] == 1
    and left["BERT-base"] == bert_input.segment.weight.shape[0],
    printed="ViT",
    shown={"rows left in ViT-B/16": left["ViT-B/16"], "in BERT-base": left["BERT-base"],
           "BERT's segments": bert_input.segment.weight.shape[0],
           "papers": ", ".join(ARXIV.values())},
    because="only ViT stores CLS by itself; it took it over from BERT, where no row is left for it "
    "beside the segments: there CLS is an ordinary row of the vocabulary",
)  # fmt: skip


def built(array) -> str:
    """The shape as it is usually written: 1000 x 32."""
    return " x ".join(map(str, array.shape))


page["What there is"] = columns(["component", "shape", "here", "remember"], [
    ["token table", "(V, D)", built(token.weight), "a lookup copies a row"],
    ["position table", "(max_len, D)", built(position.weight), "added, not appended"],
    ["segment table", "(2, D)", built(bert_input.segment.weight), "which of two texts"],
    ["patch projection", "(D, 3 P P)", built(patch.projection.weight), "= convolution, stride P"],
    ["tied head", "saves V D", built(head.weight), "one array, two gradients"],
    ["scale", "one number", f"{math.sqrt(D):.2f}", "know the rows' length first"],
    ["CLS", "(1, D)", built(vit_input.cls.weight), "a row for the whole"],
], WIDE)  # fmt: skip

# %% [markdown]
# ## How to write it
# Six snippets. They are kept as text, and this cell runs them one after the other, each with
# nothing but the imports and what the earlier ones made.

# %%
snippets = {
    "look up": "emb = Embedding(32_000, 768, rng=0, init='1/sqrt(d)')\n"
               "vectors = emb([42, 1337])",
    "tie": "head = TiedHead(emb)\nlogits = head(vectors)",
    "scale": "ids = np.array([[5, 3, 8]])\nscaled = emb(ids) * math.sqrt(768)",
    "patches": "images = np.zeros((2, 3, 224, 224))\n"
               "patches = PatchEmbed(224, 16, 3, 768, rng=0)(images)",
    "BERT's sum": "bert = BERTInput(1000, 768, rng=0).eval()\n"
                  "x = bert(ids, segments=[[0, 0, 1]])",
    "subwords": "tokens = bpe.train('low lower lowest', 6, unit='byte', progress=False)\n"
                "text = tokens.decode(tokens.encode('slow'))",
}  # fmt: skip
imports = {"Embedding": Embedding, "TiedHead": TiedHead, "PatchEmbed": PatchEmbed, "math": math,
           "BERTInput": BERTInput, "bpe": bpe, "np": np}  # fmt: skip
ran = dict(imports)
for name, source in snippets.items():
    exec(source, ran)  # noqa: S102 - to show that it runs is the point
    made = source.rsplit("\n", 1)[1].partition(" = ")[0]
    result = getattr(ran[made], "shape", ran[made])
    print(f"  # {name}\n  " + source.replace("\n", "\n  ") + f"    # {result}")
page["How to write it"] = columns(["to", "write"], [
    [name if n == 0 else "", line] for name, source in snippets.items()
    for n, line in enumerate(source.split("\n"))], 90)  # fmt: skip

check("000-ch9-quick-basic", ran["vectors"].shape, printed="(2, 768)")
before = ran["emb"].weight.data[7, 0].item()
ran["emb"].weight.data[7, 0] += 1
check(
    "000-ch9-quick-tie",
    ran["head"].weight is ran["emb"].weight
    and ran["head"].weight.data[7, 0] != before,
    printed="same tensor",
    shown={"one array": str(np.shares_memory(ran["head"].weight.data, ran["emb"].weight.data)),
           "numbers in it": ran["head"].weight.size},
)  # fmt: skip
ran["emb"].weight.data[7, 0] = before
check("000-ch9-quick-patch", ["B", *ran["patches"].shape[1:]], printed="(B, 196, 768)")

# %% [markdown]
# Scaling by $\sqrt{768}$ is said to bring the rows to the size of the sinusoids. That depends on
# where they start: rows drawn from $N(0, 1)$, which is what a plain layer has, already are longer.

# %%
wave = np.linalg.norm(sinusoidal(512, 768), axis=1).mean()
plain = np.linalg.norm(Embedding(500, 768, rng=0).weight.numpy(), axis=1).mean()
unit = np.linalg.norm(ran["scaled"].numpy()[0], axis=1).mean()
erratum(
    "000-ch9-quick-scale",
    plain * math.sqrt(768) > 30 * wave and unit > 1.3 * wave,
    printed="match",
    shown={"length of a sinusoid": wave, "of a default row": plain,
           "default row, scaled": plain * math.sqrt(768), "row of length 1, scaled": unit},
    because="with the default rows of the page's own snippet the tokens become 39 times as long; "
    "even rows of length 1 end at sqrt(2) times the sinusoids",
)  # fmt: skip

# %% [markdown]
# Does the page's own quick reference run? Below are its statements. We run them with a stand-in for
# each import that does whatever it is asked. Where Python meets a name that nobody has made, we
# note it, stand in for it too, and run again. The compiler's table of names, which runs nothing,
# should list the same ones.

# %%
PAGE = """
emb = nn.Embedding(32000, 768)
vectors = emb(torch.tensor([42, 1337]))
lm_head = nn.Linear(768, 32000, bias=False)
lm_head.weight = emb.weight
scaled = emb(ids) * math.sqrt(768)
patch_emb = nn.Conv2d(3, 768, kernel_size=16, stride=16)
patches = patch_emb(img).flatten(2).transpose(1, 2)
x = emb(token_ids) + pos_emb(positions) + seg_emb(segment_ids)
enc = tiktoken.encoding_for_model("gpt-4")
tokens = enc.encode("transformerization")
"""
stops, unbound = undefined_names(PAGE, imported=["torch", "nn", "math", "tiktoken"])
erratum(
    "000-ch9-quick-undefined",
    len(stops) > 0 and set(stops) == unbound,
    shown={"Python stops at": stops[:1], "and then at": stops[1:],
           "read and never made, by the compiler": len(unbound)},
    because="copied as printed, the third snippet ends in a NameError",
)  # fmt: skip
ids_given = IDS["cl100k_base"]["transformerization"]
erratum(
    "000-ch9-quick-tokens",
    all(isinstance(i, int) for i in ids_given),
    printed="['transform', 'er', 'ization']",
    shown={"encode gives": ids_given, "decoded one by one":
           "|".join(PIECES["cl100k_base"]["transformerization"])},
    because="encode returns integers; the strings appear when each is decoded by itself",
)  # fmt: skip

# %% [markdown]
# ## The one gradient to remember
# A tied table is read at one end and scores at the other, so its gradient has two parts. Read
# token 1, expect token 2; the hidden state is the row itself. With $\delta = p - y$:
# $\partial L / \partial E = \delta\, h^\top$ in every row, and $E^\top \delta$ more in row 1.

# %%
E = Tensor(np.array([[0.2, -0.1, 0.4], [0.5, 0.3, -0.2], [-0.3, 0.6, 0.1], [0.1, 0.1, 0.7]]),
           requires_grad=True, name="E")  # fmt: skip
h = E.data[1]
p = worked.softmax("z", E.data @ h)
delta = p - one_hot([2], 4)[0]
output_part = np.outer(delta, h)
input_part = np.zeros_like(E.data)
input_part[1] = worked.matmul("more", delta[None], E.data)[0]
by_hand = output_part + input_part


def tied_loss(table: Tensor) -> Tensor:
    """Read row 1, score all rows with the same table, expect row 2."""
    return cross_entropy(onehot_product(one_hot([1], 4), table) @ table.T, [2])


tied_loss(E).backward()
numeric = np.zeros_like(E.data)
for index in np.ndindex(E.shape):
    x, step = E.data[index], 2.0**-16
    E.data[index] = x + step
    above = tied_loss(E).item()
    E.data[index] = x - step
    numeric[index] = (above - tied_loss(E).item()) / (2 * step)
    E.data[index] = x
for v in range(4):
    compare(f"tied dE[{v}]", hand=by_hand[v], ours=E.grad[v], numeric=numeric[v])
page["Gradients"] = columns(["of", "is"], [
    ["lookup", "dE[v] = sum of g[n] over ids[n] = v (scatter-add)"],
    ["tied head", "delta h^T in every row, plus the lookup's"],
    ["cross-entropy", "delta = softmax(z) - onehot(target), sums to 0"],
    ["patches", "fold(g W): each pixel lies in one patch"],
], WIDE)  # fmt: skip

# %% [markdown]
# ## The numbers

# %%
gpt2, gpt3, bert = MODELS["GPT-2 small"], MODELS["GPT-3 175B"], MODELS["BERT-base"]
vit, guess = MODELS["ViT-B/16"], MODELS["GPT-4 (estimate, D = 4096)"]
guess_wide = MODELS["GPT-4 (estimate, D = 8192)"]
named = {"GPT-2 small": gpt2, "BERT-base": bert, "GPT-3 175B": gpt3, "Llama 2 7B": llama2,
         "Llama 3 8B": llama3, "Gemma 7B": gemma, "ViT-B/16": vit}  # fmt: skip
yes = {True: "yes", False: "no", None: "-"}
key_rows = [
    [name, f"{m.num_embeddings:,}", f"{m.embedding_dim:,}", human(m.params), yes[m.tied],
     m.positions]
    for name, m in named.items()
]  # fmt: skip
page["The numbers"] = columns(["model", "V", "D", "V D", "tied", "positions"], key_rows, WIDE,
                              right=[1, 2, 3])  # fmt: skip
print(page["The numbers"])

# %% [markdown]
# Two questions to answer with this table in sight, and with pencil and paper.

# %%
exam = {"token table, also the head": (100_000, 2048), "position table": (4096, 2048)}
counted = {name: np.broadcast_to(np.float16(0), shape).size for name, shape in exam.items()}
words, places = counted.values()
quiz(
    "own-ch9-exam",
    "A model has V = 100,000, D = 2,048, tied weights, and learned positions for max_len = 4,096. "
    "How many numbers do its embeddings hold?",
    answer=words + places,
    tolerance=500_000,
    because=f"V D + max_len D. {2 * words + places:,} would count the tied head as a second table, "
    f"{words:,} forgets that learned positions are a table too",
)
for name, shape in exam.items():
    worked.product(name, *shape)
worked.sum("in all", words, places)

# %% [markdown]
# And one across the rows of the table:

# %%
ends = {name: m.params * (1 if m.tied else 2) for name, m in named.items() if m is not vit}
heavy, widest = max(ends, key=ends.get), max(ends, key=lambda name: named[name].params)
quiz(
    "own-ch9-table-and-head",
    "Which of these models spends most numbers on its token table and its head together?",
    answer=heavy,
    options=["BERT-base", "GPT-3 175B", "Llama 2 7B", "Llama 3 8B", "Gemma 7B"],
    because=f"{heavy}, with two tables: {human(ends[heavy])}. {widest} has the largest single "
    f"table, {human(ends[widest])}, and ties; GPT-3, the largest model, has "
    f"{human(ends['GPT-3 175B'])}",
)

# %% [markdown]
# Now against the page:

# %%
check("000-ch9-key-gpt2", gpt2.params, printed="38.6 M")
check("000-ch9-key-bert", bert.params, printed="23.4 M")
check("000-ch9-key-llama2", llama2.params, printed="131 M")
check("000-ch9-key-llama3", llama3.params, printed="525 M")
check("000-ch9-key-vit", vit.params, printed="0.6 M")
printed_columns = {gpt2: (True, "learned"), bert: (True, "learned"), llama2: (False, "rotary"),
                   llama3: (False, "rotary"), vit: (None, "learned")}  # fmt: skip
reference(
    "000-ch9-key-tied-position",
    all((m.tied, m.positions) == told for m, told in printed_columns.items()),
    source="; ".join(m.source for m in printed_columns) + " (this page's first chapter says that "
    "Llama ties, and contradicts its last)",
    shown={name: f"{yes[m.tied]}, {m.positions}" for name, m in named.items()
           if m in printed_columns},
)  # fmt: skip

# %% [markdown]
# Another page prints the same table with the cells of the products left blank. We fill them, and
# count once more in another way: the cells of an array of that shape (a view of a single number, so
# that it takes no memory).

# %%


def cells(model) -> int:
    """How many cells an array of the table's shape has, counted by NumPy."""
    shape = model.num_embeddings, model.embedding_dim
    return np.broadcast_to(np.float16(0), shape).size


def filled(model) -> dict:
    """What the row of the table should say."""
    return {"d": model.embedding_dim, "V": model.num_embeddings, "V d": model.params,
            "tied": yes[model.tied]}  # fmt: skip


BLANK = "the page leaves the number of parameters blank; it is V d"
erratum("004-real-gpt2", cells(gpt2) == gpt2.params and gpt2.tied, shown=filled(gpt2),
        printed="768; 50,257; blank; Yes", because=BLANK)  # fmt: skip
erratum("004-real-gpt3", cells(gpt3) == gpt3.params and gpt3.tied, shown=filled(gpt3),
        printed="12,288; 50,257; blank; Yes", because=BLANK)  # fmt: skip
erratum("004-real-llama2", cells(llama2) == llama2.params and not llama2.tied,
        shown=filled(llama2), printed="4,096; 32,000; blank; No", because=BLANK)  # fmt: skip
erratum("004-real-llama3", cells(llama3) == llama3.params and not llama3.tied,
        shown=filled(llama3), printed="4,096; 128,256; blank; No", because=BLANK)  # fmt: skip
erratum("004-real-bert", cells(bert) == bert.params and bert.tied, shown=filled(bert),
        printed="768; blank; blank; Yes", because="two cells are blank: V, and V d")  # fmt: skip
erratum(
    "004-real-gpt4",
    guess_wide.params == 2 * guess.params and "never published" in guess.source,
    printed="~400 M",
    shown={"V d, with d = 4,096": guess.params, "with d = 8,192, as another page has it":
           guess_wide.params},
    because="two pages guess two widths and differ by a factor of two; OpenAI published neither",
)  # fmt: skip
reference(
    "004-real-tied-column",
    [yes[m.tied] for m in (gpt2, gpt3, guess, llama2, llama3, bert)]
    == ["yes", "yes", "-", "no", "no", "yes"],
    source="; ".join(m.source for m in (gpt2, gpt3, llama2, llama3, bert)),
    shown={"GPT-2, GPT-3, BERT": "yes", "Llama 2, Llama 3": "no", "GPT-4": guess.source},
)
whole = gpt2_params(gpt3.num_embeddings, gpt3.embedding_dim, gpt3.max_len, gpt3.num_layers)
worked.quotient("share of the table in GPT-3", gpt3.params, whole)
worked.quotient("share of the table in GPT-2 small", gpt2.params, gpt2_params())
check("004-gpt3-175b", whole, printed="175B")
erratum("001-hist-400m", table_params(100_000, 4096), printed="400 M",
        because="100,000 * 4,096 = 409,600,000, which rounds to 410 M")  # fmt: skip
llama70 = MODELS["Llama 2 70B"]
reference(
    "002-s2-dims",
    [m.embedding_dim for m in (gpt2, gpt3, llama2, llama70)],
    printed="768; 12,288; 4,096; 8,192",
    source=f"{gpt2.source}; {gpt3.source}; {llama70.source} (the first Llama had no 70B)",
)
reference(
    "004-dims-range",
    [gpt2.embedding_dim, llama2.embedding_dim],
    printed="768; 4096",
    source=f"{gpt2.source}; {llama2.source}",
)

# %% [markdown]
# ## First in every network?
# An embedding layer, it is said, comes first in every network that reads discrete inputs. Nearly.
# A small integer can be written in binary digits and fed to an ordinary linear layer: 16 digits
# tell 50,257 tokens apart, with no table. Or tokens are hashed into a few rows. Below, a linear
# layer learns from 4 digits which of 16 ids are above 7, without any table.

# %%
digits = (np.arange(gpt2.num_embeddings)[:, None] >> np.arange(16)) & 1
few = digits[:16, :4].astype(float) - 0.5
linear = Linear(4, 2, rng=0)
above_seven = (np.arange(16) > 7).astype(np.int64)
descent = SGD(linear.parameters(), lr=1.0)
for _ in range(60):
    descent.zero_grad()
    cross_entropy(linear(few), above_seven).backward()
    descent.step()
learned = (linear(few).numpy().argmax(axis=1) == above_seven).mean()
hashed = HashEmbedding(64, 8, rng=0)
erratum(
    "000-ch9-first-thing",
    len(np.unique(digits, axis=0)) == gpt2.num_embeddings and learned == 1
    and hashed(["never", "listed"]).shape == (2, 8),
    printed="every",
    shown={"ids told apart by 16 digits": len(np.unique(digits, axis=0)),
           "learned from 4 digits, no table": learned, "rows of a hashed table for any word":
           hashed.num_buckets},
    because="binary digits into a linear layer, or hashed rows, also take discrete input; a row "
    "for each id is the usual way, not the only one",
)  # fmt: skip

# %% [markdown]
# ## Where it comes from

# %%
READING = {  # authors: (year, what it brought)
    "Bengio et al.": (2003, "a neural language model with a table of word vectors (JMLR 3)"),
    "Mikolov et al.": (2013, "word2vec: skip-gram and CBOW (arXiv 1301.3781)"),
    "Pennington et al.": (2014, "GloVe: a factorisation of log counts (EMNLP)"),
    "Olah, representations": (2014, "Deep Learning, NLP, and Representations (colah.github.io)"),
    "Olah, manifolds": (2014, "Neural Networks, Manifolds, and Topology (colah.github.io)"),
    "Sennrich et al.": (2016, "byte pair encoding of rare words (ACL)"),
    "Press & Wolf": (2017, "tying input and output table (EACL)"),
    "Inan et al.": (2017, "tying, found independently (ICLR)"),
    "Vaswani et al.": (2017, "the Transformer, which shares its tables (section 3.4)"),
}
print(columns(["who", "year", "what"], [[w, str(y), t] for w, (y, t) in READING.items()]))
year = {who: when for who, (when, _) in READING.items()}
reference(
    "001-hist-dates",
    [year[w] for w in ("Bengio et al.", "Mikolov et al.", "Pennington et al.", "Press & Wolf",
                       "Inan et al.")],
    printed="2003; 2013; 2014; 2017; 2017",
    source="JMLR 3; ICLR workshop; EMNLP; EACL (preprint 2016); ICLR (preprint 2016)",
)  # fmt: skip
reference(
    "004-further-reading",
    [year[w] for w in ("Mikolov et al.", "Pennington et al.", "Press & Wolf",
                       "Olah, representations", "Olah, manifolds")],
    printed="2013; 2014; 2017; 2014; 2014",
    source="title pages of the papers, and the dates on colah.github.io",
)  # fmt: skip
reference("001-hist-original-transformer", year["Vaswani et al."], printed="2017",
          source="Vaswani et al. 2017, section 3.4: both embeddings and the pre-softmax "
          "projection share one matrix")  # fmt: skip

# %% [markdown]
# Is tying the default today? Nobody need be believed: count the released weights. Without the
# layers and the last norm, what is left is one table, or two.

# %%
SINCE_2023 = {  # widths of feed-forward, queries and keys
    "Llama 2 7B": (11_008, 4096, 4096),
    "Llama 2 70B": (28_672, 8192, 1024),
    "Llama 3 8B": (14_336, 4096, 1024),
    "Llama 3.2 1B": (8192, 2048, 512),
    "Mistral 7B": (14_336, 4096, 1024),
    "Gemma 2B": (16_384, 2048, 256),
    "Gemma 7B": (24_576, 4096, 4096),
}
tables = {}
for name, (mlp, queries, keys) in SINCE_2023.items():
    model = MODELS[name]
    a_layer = model.embedding_dim * (2 * queries + 2 * keys + 3 * mlp + 2)
    rest = RELEASED[name] - model.num_layers * a_layer - model.embedding_dim
    tables[name] = rest / model.params
    print(f"  {name:<13} {rest:>13,} numbers outside the layers = {tables[name]:g} x V D")
ties = [name for name, n in tables.items() if n == 1]
erratum(
    "001-hist-default-today",
    2 * len(ties) < len(tables)
    and all(n == (1 if MODELS[name].tied else 2) for name, n in tables.items()),
    printed="default",
    shown={"models since 2023 counted": len(tables), "with one table": ", ".join(ties)},
    because="Llama 2 and 3 and Mistral keep two tables; small models and Gemma tie",
)

# %% [markdown]
# ## Questions people ask in interviews
# Six of them, in our words, and the lesson that answers each by a measurement.

# %%
interview = {
    "Why are rows 768 to 4,096 wide, and not 64 or 16,384?": 6,
    "What is weight tying, and why does it help?": 4,
    "What does a subword tokenizer do with a word it never saw?": 7,
    "How do you measure whether vectors caught the meaning?": 14,
    "What do learned rows have that one-hot codes have not?": 10,
    "Why are positions added, and what is lost without them?": 2,
}
for question, number in interview.items():
    print(f"  lesson {number:>2}: {question}")
check("004-interview-count", len(interview), printed="6")

# %% [markdown]
# ## The page
# Everything above, on one page, here and as a picture.

# %%
for title, text in page.items():
    print(f"\n  {title.upper()}\n\n" + "\n".join(f"  {line}" for line in text.splitlines()))

fig, ax = plot.figure(size=(13.4, 8.4), title="Embeddings on one page")
ax.set_axis_off()
ax.set(xlim=(0, 1), ylim=(0, 1))
sides = {0.0: ("What to choose", "What there is", "Gradients"),
         0.5: ("How to write it", "The numbers")}  # fmt: skip
for left, titles in sides.items():
    top, line = 0.99, 0.0245  # of the height of the page
    for title in titles:
        ax.text(left, top, title, fontsize=13, weight="bold", va="top", color=plot.PALETTE["blue"])
        ax.text(left, top - 1.8 * line, page[title], fontsize=9.4, va="top",
                family="DejaVu Sans Mono", linespacing=1.3)  # fmt: skip
        top -= (page[title].count("\n") + 5) * line
save_figure(fig, "ch09_cheat_sheet.png")
verdict()
