"""All hot code in one room: gather rows, scatter-add rows, group ids by row, sum the groups.

    tables.py            the public kernels: they look at their arguments, then run a loop
    sums.py              a sum over any axes that keeps its precision
    steps.py             an optimiser's step on the rows of a batch
    ids.py               what an id is, and the error for what is none
    *_loops.py           the loops, in plain Python: tables, optimiser steps, BPE, skip-gram
    words.py             what a loop may say that plain Python does not know
    compiling.py         how a loop is compiled when it is first needed
    instructions.py      what its words become then, written by hand
    kept.py              how it is kept on disk
    threads.py           how it is run, on one thread or on several

Code outside comes in by the functions of `tables` and `steps`; what has a loop of its own, such as
BPE, calls `run(loop, parts, *arguments)`. Nothing outside this folder knows of Numba.
"""

from .steps import step_rows
from .sums import sum_over
from .tables import Groups, gather, group_rows, scatter_add, sum_groups
from .threads import get_num_threads, run, set_num_threads

__all__ = [
    "Groups",
    "gather",
    "get_num_threads",
    "group_rows",
    "run",
    "scatter_add",
    "set_num_threads",
    "step_rows",
    "sum_groups",
    "sum_over",
]
