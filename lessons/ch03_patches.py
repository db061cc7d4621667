# %% [markdown]
# # 3. Patches: a picture as a sequence
#
# **Question.** A Transformer reads a sequence of vectors. How does a picture become one, and how
# does a gradient get back to the pixels?
#
# **Afterwards** you can write both ways of a patch embedding in bare NumPy, recognise it as a
# convolution, and say what smaller patches cost.
#
# **Time** 20 minutes. **Needs** lessons 0, 2, 15. **Exercises** `unfold_fold`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## A picture has no words
# Here is a grey picture of 6 by 6 pixels. Nothing in it has an id, so there is no row to look up.

# %%
digits = ("123789", "450654", "781321", "234876", "567543", "890210")
image = np.array([[int(digit) for digit in row] for row in digits], float)[None]  # (C, H, W)
C, H, W = image.shape
show("image", image[0])

# %% [markdown]
# Could every pixel be a token? Attention scores every token against every other.

# %%
q = guess("One token a pixel, 224 by 224: how many scores in one attention, in billions?")
pixels = worked.product("tokens", 224, 224)
q.answer(
    worked.product("scores", pixels, pixels) / 1e9,
    tolerance=0.5,
    because="the count of tokens is squared, and that for each head in each layer",
)

# %% [markdown]
# So the picture is cut into squares, the **patches**, and each is one token. They are read like the
# words of a page, and each is flattened row by row into one vector.


# %%
def windows(image, P):
    """Where each patch lies: all channels, P rows, P columns."""
    _, H, W = image.shape
    for top in range(0, H, P):
        for left in range(0, W, P):
            yield np.s_[:, top : top + P, left : left + P]


def unfold(image, P):
    return np.array([image[at].ravel() for at in windows(image, P)])


P = 3
patches = unfold(image, P)
worked.unfold("patch", image[0], P)
print("  image", image.shape, "-> patches", patches.shape)

# %% [markdown]
# ## The tempting reshape
# Patches (4, 9) have 36 numbers, and so has the picture. So why a loop?


# %%
def by_reshape(image, P):
    return image.reshape(-1, image.shape[0] * P * P)  # the shape fits


# %% [markdown]
# Try it on pixels that carry their own address, 0 to 35, so that each one tells where it is from.

# %%
q = guess("How many of the 36 numbers land in the right place?")
address = np.arange(36.0).reshape(1, 6, 6)
right, wrong = unfold(address, P), by_reshape(address, P)
for n in range(4):
    print(f"  patch {n}", right[n].astype(int), " reshape", wrong[n].astype(int))
q.answer(
    int((right == wrong).sum()),
    because="a reshape keeps the reading order of the whole picture, and cuts it every 9 pixels",
)

# %% [markdown]
# The shape is right, the loss falls, and every "patch" is a strip of the wrong pixels. The loop can
# be avoided, but one step is missing: split both sides, then **swap axes**, so that the two counts
# of patches come first and the two sides of a square last.


# %%
def split_and_swap(image, P):
    C, H, W = image.shape
    grid = image.reshape(C, H // P, P, W // P, P)
    return grid.transpose(1, 3, 0, 2, 4).reshape(-1, C * P * P)


compare("patches", loop=patches, split_and_swap=split_and_swap(image, P))

# %% [markdown]
# ## From 9 numbers to D
# The model wants rows of length $D$. One matrix $M$ with $C P P$ rows and $D$ columns makes them,
# the same for every patch: $y = p\,M$. In a model $M$ is learned; we make one up, with $D = 4$.

# %%
rng = np.random.default_rng(3)
M = rng.integers(-9, 10, size=(C * P * P, 4)) / 10
worked.dot("y[0, 0]", patches[0], M[:, 0], why="each pixel counts with its own weight")
y = worked.matmul("y", patches, M)

# %% [markdown]
# Four tokens of length 4: a Transformer can read them like four words.
#
# ## The same numbers as a convolution
# A convolution lays a small window on the picture, multiplies pixel by weight, adds up, and moves
# on. Usually it moves by one pixel. Let it move by its own width, and each stop is a patch. Nothing
# is flattened here: `tensordot` multiplies window and kernel pixel by pixel, for D kernels at once.


# %%
def convolution(image, kernel):
    stops = [image[at] for at in windows(image, kernel.shape[-1])]
    return np.array([np.tensordot(kernel, stop, axes=3) for stop in stops])


kernel = M.T.reshape(4, C, P, P)  # a column of M is a little picture of weights
compare("y", patches_M=y, convolution=convolution(image, kernel))

# %% [markdown]
# So "a convolution with stride P" and "cut, flatten, multiply" are two names for one calculation,
# as long as kernel and patches are flattened in the same order.
#
# ## Backward: how does a pixel hear of it?
# A gradient $g$ arrives, a row for each patch. As in lesson 0 the loss that goes with it is the sum
# of $y$ times $g$. There are two ways on: to the weights $M$, and to the pixels.

# %%
g = rng.integers(-5, 6, size=y.shape) / 10
show("g", g, rows=[f"patch {n}" for n in range(4)])
q_weight = guess("How many patches use the same number of M, so that its slope has a term of each?")
q_pixel = guess("Each pixel is in how many patches?")


def loss(image, M):
    return (unfold(image, P) @ M * g).sum()


# %% [markdown]
# The corner weight $M_{00}$ met the first pixel of every patch. So its slope is one dot product:

# %%
worked.dot("dM[0, 0]", patches[:, 0], g[:, 0], why="first pixels, times what arrives")
worked.nudge("M", lambda M: loss(image, M), M, (0, 0))
q_weight.answer(len(patches), because="the weights are shared: M is the same for all patches")

# %% [markdown]
# A pixel is multiplied by the row of $M$ that belongs to its place in the patch. The pixel in row
# 2, column 3 is in patch 1, at place 6.

# %%
worked.dot("dimage[2, 3]", g[1], M[6], why="what arrives at patch 1, through row 6 of M")
worked.nudge("image", lambda image: loss(image, M), image, (0, 2, 3))
uses = np.bincount(right.astype(int).ravel())
q_pixel.answer(int(uses.max()), because="squares side by side: no pixel twice, and none left out")

# %% [markdown]
# For all pixels at once: $g\,M^\top$ is a gradient for every number of every patch. Lay these
# squares down where they were cut out: a **fold**. The `+=` is for squares that overlap.


# %%
def fold(patches, shape, P):
    out = np.zeros(shape)
    for patch, at in zip(patches, windows(out, P)):
        out[at] += patch.reshape(-1, P, P)
    return out


def backward(g, image, M, P):
    dM = unfold(image, P).T @ g
    dimage = fold(g @ M.T, image.shape, P)
    return dimage, dM


# %% [markdown]
# And the tempting one puts the squares back with a reshape. Rows 1 and 2 of the picture, left half:

# %%
dimage, dM = backward(g, image, M, P)
nudged = slopes(lambda image: loss(image, M), image)
ways = {"fold": dimage, "reshape": (g @ M.T).reshape(image.shape), "nudged": nudged}
left = {name: array[0, 1:3, :3] for name, array in ways.items()}
beside("dimage", rows=["row 1", "row 2"], **left, wrong="reshape")
compare("dM", by_hand=dM, nudged=slopes(lambda M: loss(image, M), M))

# %% [markdown]
# Why is fold the right way back? Unfold only moves numbers, from pixel to place; its gradient moves
# them from place to pixel. As matrices the two are transposes. The test: for any picture $x$ and
# any patches $p$, unfold(x) times p sums to the same number as x times fold(p).

# %%
x, p = rng.normal(size=(3, 4, 6)), rng.normal(size=(6, 12))  # three colours, P = 2
compare("sum", unfolded=[(unfold(x, 2) * p).sum()], folded=[(x * fold(p, x.shape, 2)).sum()])

# %% [markdown]
# The convolution has a backward of its own, and finds the same. Each window gets its share back
# where it lay; the kernel collects from all its stops.


# %%
def convolution_backward(g, image, kernel):
    dkernel, dimage = np.zeros_like(kernel), np.zeros_like(image)
    for arriving, at in zip(g, windows(image, kernel.shape[-1])):
        dkernel += np.multiply.outer(arriving, image[at])
        dimage[at] += np.tensordot(arriving, kernel, axes=1)
    return dimage, dkernel


by_window, dkernel = convolution_backward(g, image, kernel)
compare("dimage", fold=dimage, convolution=by_window)
compare("dM", patches=dM, convolution=dkernel.reshape(4, -1).T)

# %% [markdown]
# The package has both ways as one operation on tensors:

# %%
from scratch_embed import Tensor, functional

leaf = Tensor(image, requires_grad=True, name="image")
out = functional.unfold(leaf, P) @ M
out.backward(g)
compare("y", by_hand=y, code=out.numpy())
compare("dimage", by_hand=dimage, code=leaf.grad)

# %% [markdown]
# ## A photograph
# Commodore Grace Hopper, who led the way to the first compilers: 224 by 224 pixels, three colours.
# Patches of 16 by 16 are those of ViT-B/16, a well-known vision transformer.

# %%
from scratch_embed import plot
from scratch_embed.layers import PatchEmbed, ViTInput
from scratch_embed.simulations.patches import picture

photo = picture()
q = guess("How many patches are there, and so how many tokens?")
per_side = worked.quotient("patches a side", 224, 16)
cut = unfold(photo, 16)
q.answer(len(cut), because="14 in a row, 14 rows")
worked.product("numbers in a patch", 16, 16, 3)
print("  photo", photo.shape, "-> tokens", PatchEmbed(224, 16, 3, 768, rng=0)(photo).shape)

# %% [markdown]
# Beside the photograph stand its patches, with a gap between them, and what the tempting reshape
# calls patches: each is made of three and a half rows of one colour.


# %%
def _tiled(patches):
    """The patches as a picture, white lines of 3 pixels between them."""
    tiles = np.ones((14, 14, 3, 19, 19))
    tiles[..., :16, :16] = patches.reshape(14, 14, 3, 16, 16)
    return tiles.transpose(0, 3, 1, 4, 2).reshape(266, 266, 3)


figure, axes = plot.figure(1, 3, size=(12, 4.4))
shown = [np.moveaxis(photo, 0, -1), _tiled(cut), _tiled(by_reshape(photo, 16))]
titles = ["the photograph", "unfold: 196 patches", "reshape: 196 strips"]
for ax, pixels, title in zip(axes, shown, titles):
    ax.imshow(pixels)
    ax.set(title=title, xticks=[], yticks=[])
save_figure(figure, "ch03_patches.png")
play("patches")

# %% [markdown]
# ## One token more, and a place for each
# A picture is judged as a whole, so a token is put in front that stands for no patch: **CLS**, a
# learned row, the same for every picture. And each token gets the row of its place added, as in
# lesson 2. That is the whole input of a vision transformer:


# %%
def vit_input(image, M, cls, places, P):
    tokens = np.concatenate([cls[None], unfold(image, P) @ M])
    return tokens + places


cls, places = rng.normal(size=4), rng.normal(size=(5, 4))
pair = np.stack([image, image[:, ::-1]])  # the picture, and the same upside down
rows = np.stack([vit_input(one, M, cls, places, P) for one in pair])
q = guess("Row 0 is that of CLS. By how much does it differ between the two pictures?")
show("picture 0", rows[0].round(2))
show("picture 1", rows[1].round(2))
q.answer(
    float(np.abs(rows[0, 0] - rows[1, 0]).max()),
    because="CLS has seen no pixel yet; attention will let it gather from the patches",
)

# %% [markdown]
# The row of CLS was read once for each picture, so on the way back it collects from each.

# %%
layer = ViTInput(6, P, 1, 4, dtype=np.float64)
layer.patches.projection.weight.data[:] = M.T  # the layer keeps its matrix as (D, C P P)
layer.cls.weight.data[:], layer.position.weight.data[:] = cls, places
g = rng.integers(-5, 6, size=rows.shape) / 10
tokens = layer(pair)
tokens.backward(g)
compare("rows", by_hand=rows, code=tokens.numpy())
dcls = worked.sum("dcls", g[0, 0], g[1, 0], why="collect from both pictures")
compare("dcls", by_hand=dcls, code=layer.cls.weight.grad[0])

# %% [markdown]
# ## What does a smaller patch cost?
# One layer of a Transformer takes $12\,T D^2$ multiply-adds for the matrices that each of its $T$
# tokens meets, and $2\,T^2 D$ where tokens meet tokens: for the scores, and to mix the values.


# %%
q = guess("From P = 16 to P = 8: how many times the work of a layer with D = 768?")
D, sides = 768, np.array([32, 16, 8, 4])
T = (224 // sides) ** 2 + 1  # and CLS
work = 12 * T * D**2 + 2 * T**2 * D
squared = 2 * T**2 * D / work
print("   P  patches  tokens T        T^2  one layer, 10^9  of it squared")
for line in zip(sides, T - 1, T, T**2, work / 1e9, squared):
    print("  {:>2}  {:>7,}  {:>8,}  {:>9,}  {:>15.2f}  {:>12.1%}".format(*line))
worked.quotient("the scores", T[2] ** 2, T[1] ** 2)
q.answer(
    worked.quotient("the layer", work[2], work[1]),
    tolerance=0.3,
    because="the scores take 16 times the work, but at 197 tokens they are a small part of it",
    slips={16: "That is the part that is squared.", 4: "That would be so without attention."},
)

# %% [markdown]
# So "half the patch, sixteen times the work" is a common mistake: it is true of one part, and that
# part is small where the step is usually made. Even at patches of 4 it is less than half.
#
# ## What did we learn?
# - Unfold moves pixels into patches; a reshape alone makes strips. Fold is the way back.
# - Patches times a matrix is a convolution whose stride is its width.
# - A token more for the whole, a row added for the place, and a picture reads like a sentence.
#
# Write both ways without a loop: `python -m lessons exercise unfold_fold`. Lesson 6 asks what the
# space looks like in which all these rows live.
