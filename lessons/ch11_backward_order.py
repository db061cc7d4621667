# %% [markdown]
# # 11. The order of backward
#
# **Question.** A table is used in two places. When may its gradient be passed on?
#
# **Afterwards** you can write a tape with its backward pass in fifteen lines, and say what goes
# wrong, and by how much, when the lines are read in another order.
#
# **Time** 15 minutes. **Needs** lessons 0 and 10.
# **Exercises** `tanh_layer`, `backward_order`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked

begin()

# %% [markdown]
# Forward runs as we wrote it. Backward runs in an order that the machine has to find, and there is
# one rule for it: **a gradient may be passed on only when all parts of it have arrived.** Here we
# break the rule, get wrong numbers, and see where each of them comes from.
#
# ## Write down what you do
# Take a number, $x = 8$, and double it twice: $y = x + x$, then $z = y + y$. Meanwhile we keep
# two notes: what each name is worth, and which operation made it from what. The second is the tape.


# %%
def record(result, operation, *inputs):
    values[result] = operation(*(values[name] for name in inputs))  # do it
    tape[result] = operation, inputs  # and write down what was done


def _print_tape():
    for result, (operation, inputs) in tape.items():
        worth, call = values[result], f"{operation.__name__}({', '.join(inputs)})"
        print(f"  {result:<7} {call:<22}", f"{worth:g}" if np.ndim(worth) == 0 else worth.shape)


values, tape = {"x": 8.0}, {}
record("y", np.add, "x", "x")
record("z", np.add, "y", "y")
_print_tape()

# %% [markdown]
# The tape has two lines, in the order in which they ran. `x` has no line: nothing made it, it was
# given. Such a thing is a leaf. A model's leaves are what it learns. (In the nudge, $L$ is z.)

# %%
q = guess("x is nudged up a little. How many times as much does z move?")
slope = worked.nudge("x", lambda x: (x + x) + (x + x), 8.0, ())
q.answer(slope, because="y moves twice as much as x, and z twice as much as y")

# %% [markdown]
# ## Read it from the last line
# This slope is the gradient of $z$ for $x$; call it `dx`. To find it without nudging, begin at the
# end, where the slope of $z$ for itself is 1, and go up the tape. For each operation we need one
# rule, kept in `BACK`: if $g$ has arrived at the result, what goes to each input? For a sum, all of
# $g$ goes to each, since the sum moves by as much as either does.


# %%
def add_back(g, a, b):
    return g, g


def shares(result, g):
    if result not in tape:  # a leaf passes nothing on
        return []
    operation, inputs = tape[result]
    parts = BACK[operation](g, *(values[name] for name in inputs))
    return list(zip(inputs, parts))


def backward(last):
    grads = {last: 1.0}
    for result in reversed(tape):
        for name, part in shares(result, grads[result]):
            grads[name] = grads.get(name, 0) + part  # collect
    return grads


BACK = {np.add: add_back}
grads = backward("z")
worked.sum("dy", grads["z"], grads["z"], why="line z sends its g to y, and again to y")
dx = worked.sum("dx", grads["y"], grads["y"], why="line y sends what it has: all of dy, twice")
compare("dx", by_hand=dx, tape=grads["x"], nudged=slope)

# %% [markdown]
# ## Straight into the inputs
# Do we need the tape's order at all? Here is a shorter idea. A part arrives; add it to what is
# there; pass on what is there; go into the inputs at once, by a function that calls itself (a
# recursion). The rules are the same, `shares` is the same, only the order differs.


# %%
def eager(name, part, grads):
    arrived.append((name, part))  # to look at afterwards
    grads[name] = grads.get(name, 0) + part
    for parent, share in shares(name, grads[name]):
        eager(parent, share, grads)
    return grads


arrived = []
q = guess("Begin with eager('z', 1.0, {}). Which gradient does x end up with?")
by_eager = eager("z", 1.0, {})
worked.sum("dx, eager", *(part for name, part in arrived if name == "x"))
q.answer(
    by_eager["x"],
    because="at its first part y passes on 1, twice; at its second it has 2, and passes on 2, "
    "twice. So the first part goes through y again",
    slips={4: "That is right, but it is not what this function finds."},
)

# %% [markdown]
# Too much. The obvious repair is to enter each name only once.


# %%
def once(name, part, grads):
    first = name not in grads
    grads[name] = grads.get(name, 0) + part
    for parent, share in shares(name, grads[name]) if first else []:
        once(parent, share, grads)
    return grads


options = {6: "6, as before", 4: "4, as it should be", 2: "2"}
q = guess("And now: which gradient does x end up with?", list(options.values()))
by_once = once("z", 1.0, {})
ways = {"tape": grads, "eager": by_eager, "once": by_once}
ways = {way: [found["y"], found["x"]] for way, found in ways.items()}
nudged = [float(slopes(lambda y: y + y, 16.0)), slope]
beside("", rows=["dy", "dx"], **ways, nudged=nudged, wrong=["eager", "once"])
q.answer(options[by_once["x"]], because="y passed on its first part, and kept the second")

# %% [markdown]
# Too much, too little. Both have the right `dy` in the end. They passed it on before it was whole.
#
# ## Right, and far too slow
# One recursion is right: pass on each part by itself, never the sum. It goes every way from the end
# to $x$: by the first $y$ or the second, to the first $x$ or the second. Each of the four ways
# brings 1. Then we try a longer tape.


# %%
def every_path(name, part, grads):
    arrived.append((name, part))
    grads[name] = grads.get(name, 0) + part
    for parent, share in shares(name, part):  # the part, not grads[name]
        every_path(parent, share, grads)
    return grads


q = guess("Twelve doublings, one after the other: how many parts arrive at x, one by one?")
values, tape, arrived = {"x": 8.0}, {}, []
for k in range(12):
    record(f"y{k}", np.add, *[f"y{k - 1}" if k else "x"] * 2)
compare("dx", every_path=every_path("y11", 1.0, {})["x"], tape=backward("y11")["x"])
print(f"  every path: {len(arrived) - 1:,} parts in all. The tape: {2 * len(tape)} parts.")
q.answer(
    sum(name == "x" for name, _ in arrived),
    because="each doubling doubles the number of ways: 2 to the power of 12",
    slips={24: "The tape brings 2 for each of 12 lines. Here every way is gone by itself."},
)

# %% [markdown]
# One sum for each name makes backward cheap. Waiting until the sum is whole makes it right.
#
# ## A table used twice
# Back to tables. Take one, and a few pairs of words. For each pair multiply the two rows, place by
# place, and add everything up. That number is our loss, and the table is read twice for it.

# %%
words = ["the", "cat", "dog"]
U, W = np.array([[0.5], [2.0], [-1.0]]), np.array([[1.0, -0.4]])
E = U @ W
first, second = np.array([1, 2, 1]), np.array([2, 0, 0])  # cat dog, dog the, cat the
show("E", E, rows=words)
print("  pairs   ", ", ".join(f"{words[a]} {words[b]}" for a, b in zip(first, second)))


def lookup(E, ids):
    return E[ids]


def pairs_loss(E):
    return np.sum(lookup(E, first) * lookup(E, second))


# %% [markdown]
# We need three more rules. A product place by place sends $g$ times the other factor; a sum of
# everything sends its $g$ to every place; and lookup adds each gradient to the row that its vector
# came from, as in lesson 0. Here the $g$ of each place is 1, so each row gets its partner. (A
# function of each number by itself, such as tanh in the exercise, sends $g$ times its slope there.)


# %%
def multiply_back(g, a, b):
    return g * b, g * a


def sum_back(g, a):
    return (np.full(a.shape, g),)


def lookup_back(g, E, ids):
    dE = np.zeros(E.shape)
    for n, row in enumerate(ids):
        dE[row] += g[n]
    return (dE,)  # the ids have no gradient


def record_loss():
    record("right", lookup, "E", "second")
    record("left", lookup, "E", "first")
    record("places", np.multiply, "left", "right")
    record("loss", np.sum, "places")


def _by_all_ways(name):
    found = [backward("loss"), eager("loss", 1.0, {}), once("loss", 1.0, {})]
    return dict(zip(["tape", "eager", "once"], (grads[name] for grads in found)))


BACK.update({np.multiply: multiply_back, np.sum: sum_back, lookup: lookup_back})
values, tape, arrived = {"E": E, "first": first, "second": second}, {}, []
record_loss()
_print_tape()

# %%
options = ["both do", "only eager", "only once", "neither"]
q = guess("E collects two parts here. Do eager and once get its gradient right?", options)
dE_left = worked.scatter_add("dE_left", first, E[second], 3, of="right")
dE_right = worked.scatter_add("dE_right", second, E[first], 3, of="left")
dE, ways = dE_left + dE_right, _by_all_ways("E")
beside("dE", rows=words, by_hand=dE, **ways, nudged=slopes(pairs_loss, E))
wrong = {way: not np.allclose(ways[way], dE) for way in ("eager", "once")}
q.answer(
    options[2 * wrong["eager"] + wrong["once"]],
    because="E is a leaf. It collects and passes nothing on, so nothing goes on too early",
)

# %% [markdown]
# That is how such a bug stays hidden. In most models every table is a leaf, until one day a table
# is computed.
#
# ## The table is computed
# To save memory, a large table can be kept as a product of two thin ones, $E = UW$, as in ALBERT
# (Lan et al., 2020). Ours was made like this, too. Now $U$ and $W$ are the leaves, and $E$ passes
# on. The rule of the product is that of lesson 10: $g W^\top$ goes to $U$, and $U^\top g$ to $W$.


# %%
def matmul_back(g, a, b):
    return g @ b.T, a.T @ g


BACK[np.matmul] = matmul_back
values, tape, arrived = {"U": U, "W": W, "first": first, "second": second}, {}, []
show("U", U, rows=words)
show("W", W)
record("E", np.matmul, "U", "W")
record_loss()

# %%
options = ["both parts once", "left alone", "left twice, right once", "left once, right twice"]
q = guess(
    "The recursions enter left before right, so the left part reaches E first. Which parts of dE "
    "does eager pass on to U, all in all?",
    options,
)
dU = np.array([[worked.dot(f"dU[{word}]", row, W[0])] for word, row in zip(words, dE)])
nudged = slopes(lambda U: pairs_loss(U @ W), U)
ways = _by_all_ways("U")
beside("dU", rows=words, by_hand=dU, **ways, nudged=nudged, wrong=["eager", "once"])
sent = [(a * dE_left + b * dE_right) @ W.T for a, b in [(1, 1), (1, 0), (2, 1), (1, 2)]]
q.answer(
    options[[np.allclose(parts, ways["eager"]) for parts in sent].index(True)],
    because="E passes the left part on as soon as it comes, and again with the right part",
)

# %% [markdown]
# Look at the rows. "the" stands only on the right, and eager has it right. "cat" stands only on the
# left: eager doubles it. `once` passes the left part alone, so "the" learns nothing. No error.
#
# ## The package's tape
# A `Tensor` is an array that remembers the operation and the inputs that made it: its line of the
# tape. The lines are numbered as they are written. `backward()` reads them from the highest number
# down, and does what our six lines of `backward` do.

# %%
from scratch_embed import Tensor, functional
from scratch_embed.trace import trace

leaf_U, leaf_W = Tensor(U, requires_grad=True, name="U"), Tensor(W, requires_grad=True, name="W")
table = leaf_U @ leaf_W
table.name = "E"
right, left = functional.lookup(table, second), functional.lookup(table, first)
places = left * right
loss = places.sum()
loss.backward()
compare("dU", by_hand=dU, our_tape=ways["tape"], package=leaf_U.grad, nudged=nudged)
compare("dW", by_hand=U.T @ dE, our_tape=backward("loss")["W"], package=leaf_W.grad)
walk = trace(loss)

# %% [markdown]
# `python -m lessons 11 --trace` walks through these steps one by one. The picture shows the moment
# that matters: $E$ has one of its two parts. It must wait.

# %%
first_part = next(k for k in range(len(walk)) if "E" in walk.state(k).gradients)
save_figure(walk.figure(first_part), "ch11_one_of_two_parts.png")

# %% [markdown]
# Why is the order of writing always good enough? An operation can only use what is there already,
# so each line stands below everything it needs. Read upwards, whoever uses a name comes before it.
# Textbooks call such an order a topological sort. Here nothing needs sorting.
#
# ## A long tape
# One more try. Multiply `x0` by 1.0001, ten thousand times over. The slope is $1.0001^{10000}$.
# There is only one way from the end to `x0`, so no part can go on too early.

# %%
options = ["the right slope", "another number", "nothing: Python stops it"]
q = guess("What does eager find here?", options)
values, tape, arrived = {"x0": 1.0, "growth": 1.0001}, {}, []
for k in range(10_000):
    record(f"x{k + 1}", np.multiply, f"x{k}", "growth")
slope = worked.line("dx0", "1.0001^10000", 1.0001**10_000)
compare("dx0", by_hand=slope, tape=backward("x10000")["x0"])
try:
    found = options[0 if np.isclose(eager("x10000", 1.0, {})["x0"], slope) else 1]
except RecursionError:
    found = options[2]
q.answer(found, because="it calls itself for every line, and Python allows about 1,000 such calls")

# %% [markdown]
# ## What did we learn?
# - A gradient is complete when every use has sent its part. Passed on before, parts are counted
#   twice or lost. A leaf hides the mistake.
# - The tape, read from its last line, never does that, and goes through each line once.
# - No recursion is needed. The lines are in order because they were written in order.
#
# Now write one yourself: `python -m lessons exercise backward_order`. Lesson 12 begins with scores.
