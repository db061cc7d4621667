"""The words of a loop that mean more when it is compiled.

A loop's file imports them from here, so that it can be run as plain Python. Before a loop is
compiled, `instructions.py` says what is put into its file instead:

    prange      range          numba.prange, whose turns may run on several threads
    prefetch    nothing        the processor's instruction that asks for memory early
    copy_row    out[n] = ...   for a long row the C library's memcpy, which stores it faster
    next_part   a counter      the same, in one instruction that no other thread can come between
"""

from __future__ import annotations

prange = range

# Rows lie anywhere in memory, and waiting for one takes longer than adding it. So a loop asks early
# for the row that it needs 16 turns later, the distance that FBGEMM uses as well.
AHEAD = 16


def prefetch(array, row):
    """Ask for the start of a row, without waiting for it."""


def copy_row(out, n, table, row):
    """out[n] = table[row], for two arrays of the same dtype and width that share no memory."""
    out[n] = table[row]


def next_part(given_out):
    """The number of the next part that no thread has taken: 0, 1, 2, ...; given_out counts them."""
    given_out[0] += 1
    return given_out[0] - 1
