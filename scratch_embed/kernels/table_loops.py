"""The hot loops, in plain Python: Numba compiles them as they stand.

They trust their arguments: `tables.py` looks at shapes and dtypes, and then calls them. Ids are
looked at by those that read them from the caller's own array: gather, copy_ids and sort.

A large loop is cut into parts, and each part owns its own rows of the result: no two threads ever
write to the same place, and every row is summed in the order of n. That is why the bits depend
neither on how many threads there are nor on who takes which part. Inner loops over d are written
out, because a row slice (`out[n] += values[n]`) is two to four times slower in compiled code.

They fill arrays that they are given, and return no more than a number: to make an array of a result
Numba runs Python code, and Ctrl-C in the midst of that has ended whole processes.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.kernels.words import AHEAD, copy_row, next_part, prange, prefetch

PIECE = 1 << 16  # numbers of a piece of a gather: 256 KB of float32, copied in some 10 microseconds


def copy_ids(own, ids, num_rows):
    """own[n] = ids[n]; returns whether every id is in 0 .. num_rows - 1.

    Each is read once: what was looked at is what own holds, whoever writes into ids meanwhile.
    """
    wrong = 0
    for n in range(len(ids)):
        row = ids[n]
        wrong += (row < 0) | (row >= num_rows)
        own[n] = row
    return wrong == 0


def gather(out, table, ids, threads):
    """out[n] = table[ids[n]]. Any thread copies any piece of out, whichever comes next: one that
    wakes up late, or has to share its core, copies fewer.

    The one loop that looks at the ids itself: for a small batch another call would take longer
    than the copy. Returns False, and copies nothing, when an id names no row. It looks again where
    it reads a row, as the ids are the caller's own: another thread may write there in between.
    """
    wrong = 0
    for n in range(len(ids)):
        wrong += (ids[n] < 0) | (ids[n] >= table.shape[0])
    if wrong:
        return False
    size = max(PIECE // max(table.shape[1], 1), 1)
    given_out, gone = np.zeros(1, np.int64), np.zeros(1, np.bool_)
    for _ in prange(threads):
        part = next_part(given_out)
        while part * size < len(ids):
            last = min((part + 1) * size, len(ids))
            for n in range(part * size, last):
                prefetch(table, ids[min(n + AHEAD, last - 1)])
                row = ids[n]
                if 0 <= row < table.shape[0]:
                    copy_row(out, n, table, row)
                else:
                    gone[0] = True
            part = next_part(given_out)
    return not gone[0]


def scatter_add(table, ids, values):
    """table[ids[n]] += values[n], on one thread. An id of V, one past the last row, is skipped."""
    for n in range(len(ids)):
        prefetch(table, ids[min(n + AHEAD, len(ids) - 1)])
        row = ids[n]
        if row < table.shape[0]:
            for d in range(table.shape[1]):
                table[row, d] += values[n, d]


def scatter_add_parts(table, ids, values, edges):
    """The same on several. Part p owns the rows edges[p] .. edges[p + 1] - 1 of table."""
    for part in prange(len(edges) - 1):
        low, high = edges[part], edges[part + 1]
        mine = np.empty(8192, np.int64)
        for first in range(0, len(ids), len(mine)):
            # Which of the next 8192 ids are mine? Counted rather than asked with an `if`: on
            # random ids a processor guesses such a branch wrong every other time.
            count = 0
            for n in range(first, min(first + len(mine), len(ids))):
                mine[count] = n
                count += (low <= ids[n]) & (ids[n] < high)
            for i in range(count):
                later = mine[min(i + AHEAD, count - 1)]
                prefetch(table, ids[later])
                prefetch(values, later)
                n = mine[i]
                row = ids[n]
                for d in range(table.shape[1]):
                    table[row, d] += values[n, d]


def sum_groups(out, values, order, starts, longest, edges):
    """out[u] = the sum of values[n] over group u, unless the group is longer than `longest`.

    Part p owns the groups edges[p] .. edges[p + 1] - 1.
    """
    zero = values.dtype.type(0)
    for part in prange(len(edges) - 1):
        for u in range(edges[part], edges[part + 1]):
            if starts[u + 1] == starts[u]:
                for d in range(out.shape[1]):
                    out[u, d] = 0
            elif starts[u + 1] - starts[u] <= longest:
                prefetch(values, order[min(starts[u] + AHEAD, len(order) - 1)])
                n = order[starts[u]]
                for d in range(out.shape[1]):
                    out[u, d] = zero + values[n, d]  # as onto a row of zeros: -0.0 becomes 0.0
                for i in range(starts[u] + 1, starts[u + 1]):
                    prefetch(values, order[min(i + AHEAD, len(order) - 1)])
                    n = order[i]
                    for d in range(out.shape[1]):
                        out[u, d] += values[n, d]


def sum_runs(sums, values, order, firsts, lasts, parts):
    """sums[r] = the sum of values[order[firsts[r]:lasts[r]]], in the precision of sums."""
    for part in prange(parts):
        for run in range(part * len(sums) // parts, (part + 1) * len(sums) // parts):
            for i in range(firsts[run], lasts[run]):
                n = order[i]
                for d in range(sums.shape[1]):
                    sums[run, d] += values[n, d]


def sum_blocks(sums, values, size, parts):
    """sums[b] = the sum of the b-th `size` rows of values, in the precision of sums."""
    for part in prange(parts):
        for block in range(part * len(sums) // parts, (part + 1) * len(sums) // parts):
            for n in range(block * size, min((block + 1) * size, len(values))):
                for d in range(values.shape[1]):
                    sums[block, d] += values[n, d]


def count_crowded(counts, ids, longest):
    """How many ids have last 12 bits that more than `longest` ids have; counts[low] is of all."""
    for n in range(len(ids)):
        counts[ids[n] & 4095] += 1
    total = 0
    for low in range(len(counts)):
        total += counts[low] if counts[low] > longest else 0
    return total


def crowded(positions, counts, ids, longest):
    """The positions of these ids."""
    i = 0
    for n in range(len(ids)):
        if counts[ids[n] & 4095] > longest:
            positions[i] = n
            i += 1


def sort(pairs, moved, ids, largest, digits, width, shift):
    """Radix sort, one digit of `width` bits after the other from the lowest; every pass is stable.

    An id and its position n travel in one integer: the id above, the position in `shift` bits. A
    pass takes all from one array into the other; they end in `pairs`. Returns how many distinct ids
    there are, or -1 when an id is not in 0 .. largest.
    """
    wrong = 0
    for n in range(len(ids)):
        row = ids[n]
        wrong += (row < 0) | (row > largest)
        pairs[n] = (row << shift) | n
    if wrong:
        return -1
    mask, there, count = (1 << width) - 1, False, 0
    for digit in range(digits):
        low = shift + digit * width
        place = np.zeros(mask + 2, np.int64)  # where the next id with this digit goes
        for n in range(len(pairs)):
            place[((pairs[n] >> low) & mask) + 1] += 1
        if len(pairs) and place[((pairs[0] >> low) & mask) + 1] == len(pairs):
            continue  # all have the same digit here
        for value in range(mask):
            place[value + 1] += place[value]
        for n in range(len(pairs)):
            value = (pairs[n] >> low) & mask
            moved[place[value]] = pairs[n]
            place[value] += 1
        pairs, moved, there = moved, pairs, not there
    if there:
        for n in range(len(pairs)):
            moved[n] = pairs[n]
    for n in range(len(pairs)):
        count += n == 0 or pairs[n] >> shift != pairs[n - 1] >> shift
    return count


def group(rows, order, starts, pairs, shift):
    """Rows, order and starts of sorted pairs of id and position."""
    u = 0
    for n in range(len(pairs)):
        row = pairs[n] >> shift
        order[n] = pairs[n] - (row << shift)
        if n == 0 or row != rows[u - 1]:
            rows[u] = row
            starts[u] = n
            u += 1
    starts[u] = len(pairs)
