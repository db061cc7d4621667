# %% [markdown]
# # 23. The hot loops
#
# **Question.** A lookup copies rows and its backward adds rows. How fast can that be, and how does
# one share it among threads without losing anything?
#
# **Afterwards** you can compile a loop, say why threads must own rows, and measure against the only
# limit there is: the speed of memory.
#
# **Time** 15 minutes. **Needs** lesson 0. **Exercises** `fast_scatter_add`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked

begin()

# %% [markdown]
# ## The loop, once more
# A batch of rows was read, and a gradient comes back for each. Row 1 was read twice.

# %%
V, D = 4, 2
ids = np.array([1, 3, 1])
g = np.array([[1.0, 2.0], [5.0, 5.0], [10.0, 20.0]])
show("g", g, rows=[f"to row {i}" for i in ids])


def scatter_add(table, ids, values):
    for n in range(len(ids)):
        row = ids[n]
        for d in range(table.shape[1]):
            table[row, d] += values[n, d]


# %%
hand = worked.scatter_add("dE", ids, g, num_rows=V, of="g")
slope = worked.nudge("E", lambda E: (E[ids] * g).sum(), np.zeros((V, D)), (1, 1))
nudged = slopes(lambda E: (E[ids] * g).sum(), np.zeros((V, D)))


def _added(way, ids, values, V):
    table = np.zeros((V, values.shape[1]), values.dtype)
    way(table, ids, values)
    return table


# %%
compare("dE", by_hand=hand, loop=_added(scatter_add, ids, g, V), nudged=nudged)

# %% [markdown]
# ## What is the limit?
# Nothing here is worth calling arithmetic: an addition a number. What takes time is memory. Each
# gradient row is read, a table row is read and written. A copy of as many bytes is about the
# fastest thing that one core can do with them; so we measure everything as a **share of a copy**.
# Several cores together may come above 100 percent, and so may one whose table lies in its cache.

# %%
N, V_big, D_big = 8_192, 20_000, 64
q = guess("8,192 rows of 64 numbers in float32: how many MB does a scatter-add move?", unit=" MB")
moved = worked.product(
    "bytes, three passes over N rows",
    3,
    N,
    D_big,
    4,
    why="read the gradient, read the row, write the row",
)
q.answer(moved / 1e6, because="and at 10 GB a second that takes less than a millisecond")

# %% [markdown]
# ## Compile it
# In plain Python the loop is slow for such a batch: the interpreter looks up what `+=` means half a
# million times. Numba reads the same lines once and makes machine code of them. The lines stay as
# they are; `run` compiles a loop and calls it.

# %%
from scratch_embed import kernels

rng = np.random.default_rng(23)
many = rng.integers(V_big, size=N)
values = rng.normal(size=(N, D_big)).astype(np.float32)


def compiled(table, ids, values):
    kernels.run(scatter_add, 1, table, ids, values)


expected = _added(np.add.at, many, values, V_big)
same_bits = np.array_equal(_added(compiled, many, values, V_big), expected)
print(f"  the same bits as np.add.at: {same_bits}")

# %% [markdown]
# ## Threads, the wrong way
# Two cores could share the work. The obvious way is to share out the ids: the first half to one
# thread, the second to the other. `prange` is a range whose turns may run on several threads.

# %%
prange = range  # in a compiled loop: turns that may run at once


def by_ids(table, ids, values, parts):
    N = len(ids)
    for part in prange(parts):
        for n in range(part * N // parts, (part + 1) * N // parts):
            row = ids[n]
            for d in range(table.shape[1]):
                table[row, d] += values[n, d]


def by_rows(table, ids, values, parts):
    V = len(table)
    for part in prange(parts):
        low, high = part * V // parts, (part + 1) * V // parts
        for n in range(len(ids)):
            row = ids[n]
            if low <= row < high:  # this part owns the row
                for d in range(table.shape[1]):
                    table[row, d] += values[n, d]


# %% [markdown]
# `+=` on memory is three steps: read, add, write. If two threads do that with the same row at once,
# both read the old number, and one of the two sums is lost. To see it, let every id be the same.

# %%
q = guess(
    "4,000,000 ones are added to a single number by two threads that share out the ids. The sum "
    "will be ...",
    ["4,000,000, always", "at most 4,000,000, and perhaps less", "more than 4,000,000"],
)
ones, zero_ids = np.ones((4_000_000, 1)), np.zeros(4_000_000, dtype=np.int64)
parts = 2


def _shared(loop):
    return lambda table, ids, values: kernels.run(loop, parts, table, ids, values, parts)


sums = {
    "one thread": [_added(compiled, zero_ids, ones, 2)[0, 0]],
    "two, by ids": [_added(_shared(by_ids), zero_ids, ones, 2)[0, 0] for _ in range(5)],
    "two, by rows": [_added(_shared(by_rows), zero_ids, ones, 2)[0, 0] for _ in range(5)],
}
for name, found in sums.items():
    print(f"  {name:<13} {'  '.join(f'{x:,.0f}' for x in found)}")
racing = max(sums["two, by ids"])
q.answer(
    "at most 4,000,000, and perhaps less" if racing <= 4_000_000 else "more than 4,000,000",
    because="how many get lost depends on who runs when; with one core, or luck, none does",
)

# %% [markdown]
# The other way shares out the **rows**: each thread looks at all ids and takes those that are its
# own. No two threads ever write to the same place, every row is summed in the order of the ids, and
# so the bits do not depend on how many threads there are.

# %%
beside(
    "sum", rows=["all to one row"], by_rows=[sums["two, by rows"][0]], one_thread=sums["one thread"]
)
bits = [_added(_shared(by_rows), many, values, V_big).tobytes() for _ in range(2)]
print(f"  on many rows, the same bits as on one thread: {bits[0] == expected.tobytes()}")

# %% [markdown]
# ## How fast, then?
# All ways in turns, each against a copy of as many bytes in the same moment. (Your numbers depend
# on your machine, and on what else it is doing.)

# %%
from scratch_embed.lesson.timing import in_turns

table = np.zeros((V_big, D_big), np.float32)
source, target = np.ones(moved // 8, np.float32), np.zeros(moved // 8, np.float32)
ways = {
    "copy": lambda: np.copyto(target, source),
    "np.add.at": lambda: np.add.at(table, many, values),
    "compiled loop": lambda: compiled(table, many, values),
    "by rows": lambda: _shared(by_rows)(table, many, values),
    "the package": lambda: kernels.scatter_add(table, many, values),
}
q = guess("How many times as long as the package's does np.add.at take, on this machine?")
times = in_turns(ways, seconds=0.6)
for name, measured in times.items():
    share = (times["copy"] / measured).median
    print(f"  {name:<14} {measured.median * 1e3:7.2f} ms   {share:5.0%} of a copy")
ratio = (times["np.add.at"] / times["the package"]).median
q.answer(
    ratio, tolerance=ratio / 2, because="it works for any shapes and types, a number at a time"
)

# %%
from scratch_embed import plot


def _draw():
    figure, ax = plot.figure(size=(8, 3.6))
    names = [name for name in ways if name != "copy"]
    shares = [100 * (times["copy"] / times[name]).median for name in names]
    plot.bars(
        ax,
        names,
        shares,
        ylabel="share of a copy, %",
        fmt="{:.0f}",
        title="Scatter-add, 8,192 rows of 64 numbers",
    )
    ax.axhline(100, color="black", lw=1, ls="--")
    return figure


save_figure(_draw(), "ch23_share_of_copy.png")

# %% [markdown]
# The package's loop does two things more. It asks for the row that it needs sixteen turns later, so
# that memory has time to bring it. And a row that is hit very often is summed in double precision.
# The file `scratch_embed/kernels/table_loops.py` has both, in plain Python.
#
# ## What did we learn?
# - Gather and scatter-add are bounded by memory, so a copy is the measure.
# - The readable loop, compiled, is already within reach of it.
# - Threads must own rows, not ids: nothing is lost, and the bits stay the same.
#
# Write your own: `python -m lessons exercise fast_scatter_add`. Lesson 24 lets machines own rows,
# as threads did here.
