# %% [markdown]
# # 18. The hot loops
#
# A lookup copies rows. Its backward adds rows. Nothing is multiplied, so nothing about it should
# be slow: the limit is how fast the machine's memory can move bytes. This lesson finds out how
# near one can come, and climbs there in steps, from the line that everybody writes first, which is
# wrong, to two short loops that work at about the speed of a copy.
#
# Each step is checked before it is timed. A wrong answer has no speed.

# %%
import numpy as np

from scratch_embed import kernels, plot
from scratch_embed.lesson import begin, compare, options, quiz, save_figure, verdict, worked
from scratch_embed.lesson.timing import in_turns, readable
from scratch_embed.rows import RowGrad
from scratch_embed.sizes import human

begin()

# %% [markdown]
# ## Three ids, two of them equal
# A table of four rows was looked up with the ids 1, 1, 3, and the loss sends a gradient $g$ back
# for each of the three rows that came out. Row 1 was used twice, so it gets two gradients, and
# what it must learn from is their sum. By hand:

# %%
ids, g = np.array([1, 1, 3]), np.array([[1.0, 2.0], [10.0, 20.0], [5.0, 5.0]])
hand = worked.scatter_add("dE", ids, g, 4)

# %% [markdown]
# Finite differences agree, without knowing what a scatter is: nudge one number of the table, and
# see by how much $\sum_n g_n \cdot E[\mathrm{ids}_n]$ moves.


# %%
def slopes(ids: np.ndarray, g: np.ndarray, num_rows: int, h: float = 2.0**-10) -> np.ndarray:
    """d/dE of sum(g * E[ids]), by central differences, one number of the table after the other."""
    table, out = np.zeros((num_rows, g.shape[1])), np.zeros((num_rows, g.shape[1]))
    for place in np.ndindex(table.shape):
        for sign in (1, -1):
            table[place] = sign * h
            out[place] += sign * np.sum(g * table[ids]) / (2 * h)
        table[place] = 0.0
    return out


def added(way, ids: np.ndarray, values: np.ndarray, num_rows: int) -> np.ndarray:
    """What a way of scatter-adding makes of rows of zeros."""
    table = np.zeros((num_rows, values.shape[1]), values.dtype)
    way(table, ids, values)
    return table


numeric = slopes(ids, g, 4)

# %% [markdown]
# ## Six ways to add
# Two loops in plain Python. `kernels.run` has Numba compile them as they stand, and in
# a compiled loop `prange` is a range whose turns may run on several threads. The first of the two
# is what we mean; the second shares out the ids to threads, and is wrong.

# %%
prange = range


def plain_loop(table, ids, values):
    """table[ids[n]] += values[n], for n = 0, 1, ..., N - 1."""
    for n in range(len(ids)):
        row = ids[n]
        for d in range(table.shape[1]):
            table[row, d] += values[n, d]


def racing_loop(table, ids, values, parts):
    """Wrong: two threads that add to the same row read, add and write in each other's way."""
    for part in prange(parts):
        for n in range(part * len(ids) // parts, (part + 1) * len(ids) // parts):
            row = ids[n]
            for d in range(table.shape[1]):
                table[row, d] += values[n, d]


# %% [markdown]
# Beside them the line that one would write first, NumPy's own function for it, and the product that
# an embedding is on paper. The last way is the package's: threads share out the rows.


# %%
def plain_add(table, ids, values):
    kernels.run(plain_loop, 1, table, ids, values)


def racing_add(table, ids, values):
    parts = kernels.get_num_threads()
    kernels.run(racing_loop, parts, table, ids, values, parts)


def fancy_add(table, ids, values):
    table[ids] += values


def one_hot_add(table, ids, values):
    one_hot = (ids[:, None] == np.arange(len(table))).astype(table.dtype)
    table += one_hot.T @ values


SCATTERS = {
    "W[ids] += g": fancy_add,
    "np.add.at": np.add.at,
    "one-hot product": one_hot_add,
    "plain loop": plain_add,
    "racing loop": racing_add,
    "row ranges": kernels.scatter_add,
}
LOSES_REPEATS = ("W[ids] += g", "racing loop")

for name, way in SCATTERS.items():
    if name not in LOSES_REPEATS:
        compare(f"dE, {name}", hand=hand, ours=added(way, ids, g, 4), numeric=numeric)

# %% [markdown]
# ## The line that everybody writes first
# `table[ids] += g` looks like the loop, and is not. NumPy reads all the rows, adds, and then writes
# all of them back. Both copies of row 1 start from the same zero, and the second overwrites the
# first. No error, no warning: a model trained like this just learns less from frequent words.

# %%
lost = added(fancy_add, ids, g, 4)
worked.sum("row 1 should be", g[0, 0], g[1, 0])
print(f"  table[ids] += g leaves {lost[1, 0]:g} there, the last one alone")

# %% [markdown]
# ## The ladder, checked
# Now a batch of the size that training uses. All values are 1, so every entry of the result is a
# count, whole numbers are exact, and what is missing was lost.

# %%
V, D, N = (2_000, 64, 4_096) if options.quick else (2_000, 64, 16_384)
rng = np.random.default_rng(18)
ids, ones = rng.integers(0, V, N), np.ones((N, D), np.float32)
times_drawn = np.bincount(ids, minlength=V)
counts = np.repeat(times_drawn[:, None], D, axis=1)
kept_of_a_column = added(fancy_add, ids, ones, V)[:, 0].sum()
kept_by_fancy = {
    "as many as there are different ids": np.count_nonzero(times_drawn),
    "as many as there are ids that stand only once": np.count_nonzero(times_drawn == 1),
    "half of them": N / 2,
    "all of them, added in another order": N,
}
(kept_ones,) = (text for text, kept in kept_by_fancy.items() if kept == kept_of_a_column)
quiz(
    "own-ch18-kept",
    "More ids are drawn than the table has rows, and a 1 arrives for each. How many of the ones "
    "are in a column of the table after table[ids] += g?",
    kept_ones,
    options=list(kept_by_fancy),
    because=f"{kept_of_a_column:,.0f} of {N:,} here: for each row that occurs the last one stays, "
    "and all before it are overwritten. The right ways of the list below keep all",
)
print(f"  N={N:,} ids on V={V:,} rows, D={D}, {kernels.get_num_threads()} threads\n")
for name, way in SCATTERS.items():
    sums = added(way, ids, ones, V)
    missing = counts.sum() - sums.sum(dtype=float)
    says = "right" if np.array_equal(sums, counts) else f"lost {missing / counts.sum():.2%}"
    print(f"  {name:<16} {says}")
    if name not in LOSES_REPEATS:
        compare(f"sums of ones, {name}", hand=counts, ours=sums)

# %% [markdown]
# Do the two that lose look wrong in a test? Not in one whose ids all differ:

# %%
each_once = rng.permutation(V)
for name in LOSES_REPEATS:
    compare(f"every id once, {name}", hand=np.ones((V, D)),
            ours=added(SCATTERS[name], each_once, np.ones((V, D)), V))  # fmt: skip

# %% [markdown]
# The racing loop deserves a closer look, because it is what one gets by asking the compiler to run
# the plain loop on threads. Adding is three steps: read, add, write. When two threads add to one
# row at the same time, both read the old value, and one of the two sums is overwritten. With 2,000
# rows that is rare, so a test may pass. Let all ids be equal, and it is not rare. Run the lesson
# again and the numbers change; where the threads happen to take turns, on a busy machine or one
# with a single core, nothing is lost at all. That is what makes such a mistake hard to find. Often
# exactly half is kept: each core reads back its own last write, so the two counts never meet, and
# the one that is written last stays.

# %%
same = np.full(1 << (19 if options.quick else 21), 7)
many = np.ones((len(same), 1), np.float32)
for attempt in range(1, 2 if options.quick else 4):
    kept = added(racing_add, same, many, V)[7, 0]
    print(f"  racing loop, run {attempt}: {kept:11,.0f} of {len(same):,} additions kept")
owned = added(kernels.scatter_add, same, many, V)[7, 0]
compare("all ids equal, row ranges", hand=len(same), ours=owned)

# %% [markdown]
# ## Who owns what
# The cure is not a lock, and not an atomic addition, which would be right but would sum in a new
# order every time. Instead every thread owns a range of *rows*. Each reads all the ids, which is
# cheap, and adds only those that fall into its range. No two threads write to one place, and each
# row is summed in the order of $n$, as the plain loop does it. So the bits are the same for every
# number of threads.

# %%
ids, normal = rng.integers(0, V, 1 << 16), rng.standard_normal((1 << 16, D), np.float32)
threads, plain = kernels.get_num_threads(), added(plain_add, ids, normal, V)
for count in (1, 2, 4):
    kernels.set_num_threads(count)
    owned = added(kernels.scatter_add, ids, normal, V)
    compare(f"plain loop and {count} threads", hand=plain, ours=owned, rtol=0, atol=0)
kernels.set_num_threads(threads)

# %% [markdown]
# ## What memory has to move, on paper
# The limit is a copy. Copying $N$ rows of $D$ numbers of 4 bytes reads and writes each byte once.
# A gather does the same, only from scattered places. A scatter-add reads the values, reads the
# row, and writes the row.

# %%
V, D, N = (20_000, 64, 16_384) if options.quick else (50_000, 64, 65_536)
copy_bytes = worked.product("copy: 2 N D 4 bytes", 2, N, D, 4)
gather_bytes = worked.product("gather: 2 N D 4 bytes", 2, N, D, 4)
scatter_bytes = worked.product("scatter-add: 3 N D 4 bytes", 3, N, D, 4)

# %% [markdown]
# And a gradient that is stored in full, with a row for every token of the vocabulary? Before
# anything is added, all of it has to be filled with zeros.

# %%
rows_there, dim, batch = 131_072, 64, 8_192
zero_bytes = worked.product("zeros of a dense gradient: V D 4 bytes", rows_there, dim, 4)
adding = 3 * batch * dim * 4
quiz(
    "own-ch18-dense-bytes",
    "A batch of 8,192 ids, a table of 131,072 rows of 64 float32 numbers. How many times as many "
    "bytes as the scatter-add alone do the zeros and the scatter-add move together?",
    (zero_bytes + adding) / adding,
    tolerance=0.1,
    because=f"(V + 3 N) / 3 N, without D: {zero_bytes:,} bytes of zeros beside the {adding:,} that "
    "the adding moves. A number that is added is moved three times, a zero once",
)

# %% [markdown]
# The product with one-hot rows, which is what a lookup *is* on paper, also reads an $N \times V$
# matrix of zeros and ones, and multiplies by every one of them:

# %%
one_hot_bytes = worked.product("one-hot matrix: N V 4 bytes", N, V, 4)
print(f"  {human(one_hot_bytes)} bytes, {one_hot_bytes / scatter_bytes:,.0f} times the scatter-add")

# %% [markdown]
# ## What the clock says
# The ways run in turns, in an order drawn anew each round, and we look at the middle round: so a
# machine that is busy with something else disturbs all of them alike. "Share of copy" is bytes per
# second over the bytes per second of the copy: 100 % moves what it has to move as fast as this
# machine moves anything. More is possible and no mistake. Rows that repeat, or a table that fits
# into the processor's cache, need not come from memory each time.


# %%
def copy_loop(out, array, parts):
    """out[i] = array[i]. Part p owns its share of out, in one piece."""
    for part in prange(parts):
        first, last = part * len(array) // parts, (part + 1) * len(array) // parts
        out[first:last] = array[first:last]


def copy(out: np.ndarray, array: np.ndarray) -> None:
    """Copy a flat array into another one on all threads: the most that memory can move."""
    parts = kernels.get_num_threads()
    kernels.run(copy_loop, parts, out, array, parts)


table, values = np.zeros((V, D), np.float32), rng.standard_normal((N, D), np.float32)
ids, target = rng.integers(0, V, N), np.empty(N * D, np.float32)
seconds = 0.05 if options.quick else 0.4


def timed(ways: dict, moved: int) -> dict[str, float]:
    """Time the ways beside a copy; print and return each one's share of copy."""
    calls = {"copy": lambda: copy(target, values.reshape(-1)), **ways}
    times, shares = in_turns(calls, seconds), {}
    for name, each in times.items():
        bytes_moved = copy_bytes if name == "copy" else moved
        shares[name] = (times["copy"] / each).median * bytes_moved / copy_bytes
        speed = f"{bytes_moved / each.median / 1e9:7.1f} GB/s"
        print(f"  {name:<12} {readable(each.median):>8} {speed} {shares[name]:7.0%} of copy")
    return shares


def scatter_ways(table, ids, values, names) -> dict:
    return {n: lambda way=SCATTERS[n]: way(table, ids, values) for n in names}


scatter_shares = timed(
    scatter_ways(table, ids, values, ["np.add.at", "plain loop", "row ranges"]), scatter_bytes
)

# %% [markdown]
# The same for the way out, gather. Each way makes a new array here, as a layer does, and the copy
# does not; memory that nobody has used yet costs time of its own.


# %%
def gather_loop(out, table, ids):
    """out[n] = table[ids[n]]."""
    for n in range(len(ids)):
        row = ids[n]
        for d in range(table.shape[1]):
            out[n, d] = table[row, d]


def plain_gather(table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    out = np.empty((len(ids), table.shape[1]), table.dtype)
    kernels.run(gather_loop, 1, out, table, ids)
    return out


GATHERS = {
    "W[ids]": lambda table, ids: table[ids],
    "np.take": lambda table, ids: np.take(table, ids, axis=0),
    "plain loop": plain_gather,
    "threaded": kernels.gather,
}
for name, way in GATHERS.items():
    compare(f"gather, {name}", hand=values[8::-1], ours=way(values, np.arange(8, -1, -1)))
gather_shares = timed(
    {name: lambda way=way: way(table, ids) for name, way in GATHERS.items()}, gather_bytes
)

# %%
fig, axes = plot.figure(1, 2, size=(11, 3.6))
for ax, shares, title in zip(axes, (scatter_shares, gather_shares), ("scatter-add", "gather")):
    percent = [100 * share for share in shares.values()]
    ax.bar_label(ax.barh(list(shares), percent, color=plot.PALETTE["sky blue"]), fmt=" %.0f")
    ax.axvline(100, color=plot.PALETTE["black"], ls="--", lw=1)
    ax.invert_yaxis()
    ax.set_xlabel("share of the machine's copy bandwidth, %")
    ax.set_title(f"{title}, V={V:,} D={D} N={N:,}")
save_figure(fig, "ch18_share_of_copy.png")

# %% [markdown]
# `np.add.at` is right and stays far below the others. It asks, for every single number, where it
# belongs; the compiled loop asks once for a row. Two threads gain most where a row has to come
# from memory, and nothing where the other core is taken: a thread that has to wait for it makes
# the whole loop wait. So `scatter_add` uses threads for large batches only.
#
# ## What costs what
# How does the time grow with the three letters? Theory is short. A scatter-add goes with $N D$,
# and $V$ does not appear in it. A *dense* gradient first fills $V D$ zeros. A row-sparse one
# (`RowGrad`) sorts the ids and keeps only the rows of the batch, so again no $V$. And the product
# with one-hot rows goes with $N V D$. The lines below are computed from the bytes above and the
# copy speed of this run (for the product, from its own fastest rate); the points are measured.

# %%
BASE = {"V": 16_384, "D": 64, "N": 8_192}
SWEEPS = {
    "V": [256, 2_048, 16_384, 131_072],
    "N": [64, 512, 4_096, 32_768],
    "D": [4, 16, 64, 256],
}
MOST_ONE_HOT = 1 << 21  # entries of the one-hot matrix; beyond, the line goes on without points
ADDS = ["np.add.at", "one-hot product", "plain loop", "row ranges"]
FIGURE_WAYS = [*ADDS, "dense gradient", "RowGrad"]


def dense_gradient(ids, values, num_rows):
    """Zeros of order V, and a scatter-add into them."""
    kernels.scatter_add(np.zeros((num_rows, values.shape[1]), values.dtype), ids, values)


def measured(V: int, D: int, N: int) -> dict[str, float]:
    """Seconds of every way at one size."""
    table, values = np.zeros((V, D), np.float32), rng.standard_normal((N, D), np.float32)
    ids = rng.integers(0, V, N)
    names = [n for n in ADDS if n != "one-hot product" or N * V <= MOST_ONE_HOT]
    ways = scatter_ways(table, ids, values, names)
    ways["dense gradient"] = lambda: dense_gradient(ids, values, V)
    ways["RowGrad"] = lambda: RowGrad(ids, values, (V, D))
    return {name: times.median for name, times in in_turns(ways, rounds=3).items()}


points = {letter: [] for letter in SWEEPS}
for letter, sizes in SWEEPS.items():
    for size in sizes[::2] if options.quick else sizes:
        at = {**BASE, letter: size}
        points[letter].append((at, measured(**at)))

# %%
copy_time = in_turns({"copy": lambda: copy(target, values.reshape(-1))}, rounds=9)["copy"]
bandwidth = copy_bytes / copy_time.median
products = [
    (at, took["one-hot product"])
    for sweep in points.values()
    for at, took in sweep
    if "one-hot product" in took
]
rate = max(at["N"] * at["V"] * at["D"] / took for at, took in products)
print(
    f"  a copy moves {bandwidth / 1e9:.1f} GB/s; the product does {rate / 1e9:.1f} billion N V D/s"
)


def theory(V: int, D: int, N: int) -> dict[str, float]:
    """Seconds if memory (or, for the product, the multiplier) were all that counts."""
    return {
        "row ranges": 3 * N * D * 4 / bandwidth,
        "dense gradient": (3 * N * D + V * D) * 4 / bandwidth,
        "one-hot product": N * V * D / rate,
    }


fig, axes = plot.figure(1, 3, size=(15, 5.2))
colours = dict(zip(FIGURE_WAYS, plot.CYCLE))
for ax, (letter, sweep) in zip(axes, points.items()):
    for i, name in enumerate(FIGURE_WAYS):
        found = [(at[letter], 1e3 * took[name]) for at, took in sweep if name in took]
        ax.plot(*zip(*found), plot.MARKERS[i], color=colours[name], ms=7, label=name)
    expected = [(at[letter], theory(**at)) for at, _ in sweep]
    for name in expected[0][1]:
        line = [(size, 1e3 * times[name]) for size, times in expected]
        ax.plot(*zip(*line), "--", color=colours[name], lw=1.3)
    fixed = " ".join(f"{key}={size:,}" for key, size in BASE.items() if key != letter)
    ax.set(xscale="log", yscale="log", xlabel=f"{letter}     ({fixed})", ylim=(1e-3, 3e3))
    ax.minorticks_off()
    ax.grid(alpha=0.25)
axes[0].set_ylabel("milliseconds; dashed: theory")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False)
save_figure(fig, "ch18_cost.png")

# %% [markdown]
# Notice three things. In the left panel the scatter-adds and the RowGrad are flat, while the dense
# gradient rises with $V$ as soon as its zeros outweigh the batch: with a large vocabulary it is not
# the addition that costs, it is the zeros. In the middle, at small $N$, the points leave the line:
# every call has some microseconds of its own. And the product is never near.
#
# ## A row that is hit a million times
# Speed is not all. Float32 keeps 24 binary digits, so a sum that has grown large no longer feels
# what is added to it. The plain loop, `np.add.at` and most libraries lose here; `scatter_add` sums
# rows that are hit more than 16,384 times in double precision.

# %%
hits = 1 << (20 if options.quick else 22)
ids, tenths = np.zeros(hits, np.int64), np.full((hits, 1), 0.1, np.float32)
exact = hits * float(np.float32(0.1))  # 0.1 itself is not a binary fraction; this sum is exact
careful = added(kernels.scatter_add, ids, tenths, 1)[0, 0]
careless = added(plain_add, ids, tenths, 1)[0, 0]
print(f"  plain loop {careless:,.0f}, scatter_add {careful:,.0f}, exact {exact:,.0f}")
compare(f"{hits:,} times 0.1", hand=np.float32(exact), ours=careful)

# %% [markdown]
# ## What to remember
# - `table[ids] += g` and threads that share out the ids both lose gradients of repeated ids, and
#   neither says so.
# - Give each thread its own rows: nothing is lost, and the bits never depend on the threads.
# - The limit is a copy: a gather moves $2 N D$ numbers, a scatter-add $3 N D$. Report the share.
# - With a large vocabulary the zeros of a dense gradient cost more than the addition. Name the
#   rows instead.
#
# `make bench` measures the same loops at the sizes of real models, beside other libraries.

# %%
verdict()
