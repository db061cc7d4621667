# %% [markdown]
# # 20. Row-sparse gradients, and an Adam that is lazy
#
# **Question.** A batch touches a few rows of a million. Must the gradient have a million rows, and
# what becomes of an optimiser that remembers?
#
# **Afterwards** you can keep a gradient as ids and rows, step with it, and say how LazyAdam differs
# from Adam, to the digit.
#
# **Time** 20 minutes. **Needs** lessons 0, 1. **Exercises** `sparse_sgd`, `lazy_adam`.

# %%
import numpy as np

from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## A gradient that names its rows
# Four ids were read from a table of six rows, and four gradients come back.

# %%
V, D = 6, 2
E = np.array([[0.5, 0.1], [0.2, -0.3], [0.9, 0.4], [-0.6, 0.8], [0.3, 0.3], [-0.2, -0.7]])
ids = np.array([4, 1, 4, 2])
g = np.array([[1.0, 2.0], [0.5, -0.5], [10.0, 20.0], [-1.0, 3.0]])
show("E", E)
show("g", g, rows=[f"id {i}" for i in ids])

# %% [markdown]
# The dense gradient of lesson 0 has a row for every row of $E$, and most are zeros. Keep the others
# only: the distinct ids, sorted, and for each the sum of its gradients.


# %%
def row_gradient(g, ids):
    rows, place = np.unique(ids, return_inverse=True)
    values = np.zeros((len(rows), g.shape[1]))
    for n, u in enumerate(place):
        values[u] += g[n]  # id 4 came twice: both go to one place
    return rows, values


q = guess("How many rows will it hold?")
rows, values = row_gradient(g, ids)
show("values", values, rows=[f"row {i}" for i in rows])
worked.sum("row 4", g[0], g[2], why="collect both uses")
q.answer(
    len(rows),
    because="four ids, one of them twice",
    slips={4: "Id 4 stands twice, and has one row.", 6: "Rows that nobody read are not kept."},
)

# %% [markdown]
# The nudge finds the same sum. The loss is again the sum of rows times $g$.

# %%
dense = np.zeros((V, D))
np.add.at(dense, ids, g)
spread = np.zeros((V, D))
spread[rows] = values


def loss(E):
    return (E[ids] * g).sum()


from scratch_embed.gradcheck import slopes

slope = worked.nudge("E", loss, E, (4, 1))
compare("dE[4]", rows_kept=spread[4], dense=dense[4], nudged=slopes(loss, E)[4])

# %% [markdown]
# ## What it saves
# For GPT-2's table, 50,257 rows of 768 numbers, and a batch of 8 sequences of 128 words, all
# different at the worst:

# %%
q = guess("By which factor is the row-sparse gradient smaller, at least?")
all_bytes = worked.product("dense, bytes", 50_257, 768, 4)
why = "768 numbers of 4 bytes in each row, and its id of 8"
few_bytes = worked.product("row-sparse, bytes", 8 * 128, 768 * 4 + 8, why=why)
factor = worked.quotient("factor", all_bytes, few_bytes)
q.answer(factor, tolerance=5, because="only rows count, and the batch has at most 1,024 of them")

# %% [markdown]
# And a step of plain gradient descent touches nothing else either: `E[rows] -= eta * values`. The
# rows are distinct now, so NumPy's short form is right for once.

# %%
eta = 0.1
by_rows = E.copy()
by_rows[rows] -= eta * values
compare("after a step", by_rows=by_rows, dense=E - eta * dense)

# %% [markdown]
# The package returns such a gradient with `sparse=True`:

# %%
from scratch_embed import Tensor
from scratch_embed.functional import lookup

table = Tensor(E, requires_grad=True, name="E")
lookup(table, ids, sparse=True).backward(g)
print(table.grad)
compare("dE", by_hand=dense, code=table.grad)
play("touched")

# %% [markdown]
# ## Adam remembers
# Plain descent forgets a gradient as soon as it has stepped. Adam keeps two averages for each
# number: $m$ of the gradients, $v$ of their squares, both fading by a factor each step. It divides
# one by the root of the other. At the beginning both averages are too small, for they start from 0;
# dividing by $1 - b^t$ mends that.


# %%
def adam_step(w, grad, m, v, t, eta=0.1, b1=0.9, b2=0.999, eps=1e-8):
    m = b1 * m + (1 - b1) * grad
    v = b2 * v + (1 - b2) * grad**2
    m_hat = m / (1 - b1**t)  # undo the start from 0
    v_hat = v / (1 - b2**t)
    return w - eta * m_hat / (np.sqrt(v_hat) + eps), m, v


# %% [markdown]
# One number of one row, by hand. It begins at 1. In step 1 its gradient is 2; in step 2 the word is
# not in the batch, and its gradient is 0.

# %%
w, m, v = 1.0, 0.0, 0.0
m1 = worked.line("m after step 1", "0.9 * 0 + 0.1 * 2", 0.1 * 2)
v1 = worked.line("v after step 1", "0.999 * 0 + 0.001 * 2^2", 0.001 * 4)
worked.line("m, mended", f"{m1} / (1 - 0.9)", m1 / 0.1)
worked.line("v, mended", f"{v1} / (1 - 0.999)", v1 / 0.001)
w1 = worked.line("w after step 1", "1 - 0.1 * 2 / sqrt(4)", 1 - 0.1 * 2 / 2)
q_still = guess(
    "In step 2 the gradient is 0. Does the number stand still?",
    ["it stands still", "it moves on", "it moves back"],
)

# %%
w1_code, m1_code, v1_code = adam_step(1.0, 2.0, 0.0, 0.0, 1)
w2, m2, v2 = adam_step(w1_code, 0.0, m1_code, v1_code, 2)
worked.line("m after step 2", f"0.9 * {m1_code:.4g} + 0.1 * 0", m2)
worked.line("v after step 2", f"0.999 * {v1_code:.4g} + 0", v2)
m_hat = worked.quotient("m, mended", m2, 1 - 0.9**2)
v_hat = worked.quotient("v, mended", v2, 1 - 0.999**2)
worked.line("w after step 2", f"{w1_code:.4g} - 0.1 * {m_hat:.4g} / sqrt({v_hat:.4g})", w2)
compare("w after step 1", by_hand=w1, code=w1_code)
q_still.answer(
    "it moves on" if w2 < w1_code else "it stands still",
    because="m has not faded yet: Adam coasts on what it remembers",
)

# %% [markdown]
# So Adam moves every row that was **ever** read at **every** step. A row-sparse gradient cannot
# tell it to leave a row alone. Either one pays for all rows, or one changes the algorithm: LazyAdam
# touches $m$, $v$ and $w$ of the rows in the batch, and nothing of the others.

# %%
from scratch_embed import Adam, LazyAdam

batches = [np.array([4, 1]), np.array([2]), np.array([4, 0])]
pull = np.array([[1.0, 2.0]])


def _run(make, sparse):
    table = Tensor(E.copy(), requires_grad=True, name="E")
    optimizer = make([table], lr=0.1)
    path = [table.data.copy()]
    for batch in batches:
        optimizer.zero_grad()
        lookup(table, batch, sparse=sparse).backward(np.repeat(pull, len(batch), axis=0))
        optimizer.step()
        path.append(table.data.copy())
    return np.array(path)


def by_hand(lazy, row, column):
    w, m, v = E[row, column], 0.0, 0.0
    for t, batch in enumerate(batches, start=1):
        if row in batch or not lazy:
            grad = pull[0, column] if row in batch else 0.0
            w, m, v = adam_step(w, grad, m, v, t)
    return w


q_rows = guess(
    "Rows 4 and 1 are read in step 1, row 2 in step 2. How many rows move in step 2, with Adam?"
)
adam, lazy = _run(Adam, False), _run(LazyAdam, True)
show("step 2, Adam", (adam[2] - adam[1]).round(4))

# %%
show("step 2, LazyAdam", (lazy[2] - lazy[1]).round(4))
q_rows.answer(
    int(np.any(adam[2] != adam[1], axis=1).sum()),
    because="rows 4 and 1 coast, row 2 is read; with LazyAdam row 2 alone",
)
compare("E[4, 0], Adam", by_hand=by_hand(False, 4, 0), code=adam[-1][4, 0])
compare("E[4, 0], LazyAdam", by_hand=by_hand(True, 4, 0), code=lazy[-1][4, 0])
beside(
    "E[4, 0] in the end",
    dense_Adam=[by_hand(False, 4, 0)],
    LazyAdam=[lazy[-1][4, 0]],
    code_of_Adam=[adam[-1][4, 0]],
    wrong="LazyAdam",
)

# %% [markdown]
# Neither is wrong. They are two algorithms, and a rare word feels the difference: with Adam it is
# carried on for dozens of steps after it was last seen; with LazyAdam it waits.

# %%
from scratch_embed import plot


def _paths(steps=60):
    tables = {name: Tensor(np.zeros((2, 1)), requires_grad=True) for name in ("Adam", "LazyAdam")}
    makers = {"Adam": (Adam, False), "LazyAdam": (LazyAdam, True)}
    paths = {name: [0.0] for name in tables}
    for name, table in tables.items():
        make, sparse = makers[name]
        optimizer = make([table], lr=0.1)
        for step in range(steps):
            row = 0 if step % 20 == 0 else 1  # the rare word's row 0 is read every 20 steps
            optimizer.zero_grad()
            lookup(table, [row], sparse=sparse).backward([[1.0]])
            optimizer.step()
            paths[name].append(-float(table.data[0, 0]))
    return paths


def _draw(paths):
    figure, ax = plot.figure(size=(8, 4))
    plot.lines(
        ax,
        np.arange(61),
        paths,
        xlabel="step",
        ylabel="how far the row has moved",
        title="A word that is read at steps 0, 20 and 40, with the same gradient each time",
    )
    return figure


paths = _paths()
save_figure(_draw(paths), "ch20_rare_word.png")
print("  moved in all: " + ", ".join(f"{name} {path[-1]:.3f}" for name, path in paths.items()))

# %% [markdown]
# ## What did we learn?
# - A gradient can be kept as distinct rows and their sums: the size of the batch, not of the table.
# - Plain descent steps with it exactly; Adam cannot, for it moves rows that were read before.
# - LazyAdam is another algorithm: absent rows wait.
#
# Write them: `python -m lessons exercise sparse_sgd`, then `lazy_adam`. Lesson 21 has fewer rows
# than words.
