"""How loops run on several threads: each trap in a process of its own."""

from __future__ import annotations

import os
import signal

import pytest

from scratch_embed.kernels import compiling, threads
from scratch_embed.tensor.adding import adding
from tests.kernels.processes import output

TOGETHER = """
import threading, numpy as np
from scratch_embed.kernels import threads
from scratch_embed.kernels import gather, scatter_add, set_num_threads
set_num_threads(2)
threads.PART = 1 << 16  # so that the loops below use both
table = np.random.default_rng(0).standard_normal((1000, 64))
ids = np.random.default_rng(1).integers(0, 1000, 8192)
expected, right = table.copy(), []
np.add.at(expected, ids, table[ids])
def work():
    for _ in range(20):
        mine = table.copy()
        scatter_add(mine, ids, gather(table, ids))
        right.append(np.array_equal(mine, expected))
workers = [threading.Thread(target=work) for _ in range(3)]
for worker in workers: worker.start()
for worker in workers: worker.join()
assert len(right) == 60 and all(right)
import numba
print(numba.threading_layer())
"""


@pytest.mark.parametrize("layer", ["default", "workqueue"])
def test_python_threads_at_once(layer):
    assert output(TOGETHER, NUMBA_THREADING_LAYER=layer) == layer or layer == "default"


WAITING = """
deadline = time.monotonic() + %d
while time.monotonic() < deadline:
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        sys.exit(status)
    time.sleep(0.01)
os.kill(child, 9)
sys.exit("the child hangs")
"""

FORKED = """
import os, sys, time, numpy as np
from scratch_embed.kernels import table_loops, threads
from scratch_embed.kernels import gather, get_num_threads, run, set_num_threads
set_num_threads(2)
threads.PART = 1 << 16
table, ids = np.random.default_rng(0).standard_normal((1000, 64)), np.arange(8192) % 1000
assert np.array_equal(gather(table, ids), table[ids])
child = os.fork()
if child == 0:
    set_num_threads(2)
    right = np.array_equal(gather(table, ids), table[ids]) and get_num_threads() == 1
    out = np.empty((len(ids), 64))
    run(table_loops.gather, 2, out, table, ids, 2)  # whoever sets the number of parts on their own
    os._exit(0 if right and np.array_equal(out, table[ids]) else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_after_use():
    output(FORKED + WAITING % 30)


WHILE_COMPILING = """
import os, sys, threading, time, numpy as np
from scratch_embed.kernels import gather
gather(np.ones((2, 2)), [1])
from numba.core.compiler_lock import global_compiler_lock
holds = threading.Event()
def compile_slowly():
    with global_compiler_lock:
        holds.set()
        time.sleep(0.5)
threading.Thread(target=compile_slowly).start()
holds.wait()
child = os.fork()
if child == 0:
    os._exit(int(gather(np.ones((2, 2), np.float32), [1])[0, 0]) - 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_another_thread_compiles():
    output(WHILE_COMPILING + WAITING % 60)


WHILE_IMPORTING = """
import os, sys, threading, time, numpy as np
from scratch_embed.kernels import gather, threads
threads.PART = 1 << 16
threads.set_num_threads(2)
thread = threading.Thread(target=gather, args=(np.ones((9, 64)), np.zeros(8192, int)))
thread.start()
while "numba" not in sys.modules:
    time.sleep(0.001)
child = os.fork()
if child == 0:
    os._exit(int(gather(np.ones((2, 2)), [1])[0, 0]) - 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_another_thread_imports_numba():
    output(WHILE_IMPORTING + WAITING % 20)


WHILE_ADDING = """
import os, sys, threading, time
from scratch_embed import Tensor
from scratch_embed.tensor.adding import adding
holds = threading.Event()
def add_slowly():
    with adding:
        holds.set()
        time.sleep(0.5)
threading.Thread(target=add_slowly).start()
holds.wait()
child = os.fork()
if child == 0:
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    os._exit(0 if x.grad.tolist() == [2, 4] else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_another_thread_adds_to_a_gradient():
    output(WHILE_ADDING + WAITING % 20)


def test_the_users_own_number_of_threads_in_numba_stays():
    code = """
import numba, numpy as np
numba.set_num_threads(1)
from scratch_embed.kernels import threads
threads.PART = 1 << 16
from scratch_embed.kernels import gather, set_num_threads
set_num_threads(2)
gather(np.ones((9, 64)), np.zeros(8192, int))
assert numba.get_num_threads() == 1
"""
    output(code)


# ----------------------------------------------------------------- Ctrl-C

INTERRUPTED = """
import random, signal, numpy as np
from scratch_embed.kernels import group_rows
signal.signal(signal.SIGALRM, signal.default_int_handler)  # what Ctrl-C calls
ids, wait, raised = np.arange(300) % 7, random.Random(0), set()
group_rows(ids, 7)
for _ in range(1000):
    try:
        signal.setitimer(signal.ITIMER_REAL, wait.uniform(2e-5, 2e-4))
        while True:
            group_rows(ids, 7)
    except BaseException as error:
        raised.add(type(error).__name__)
print(*raised)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
def test_an_interrupt_is_a_keyboard_interrupt_wherever_it_arrives():
    """A loop that returned arrays, which Numba makes in Python, died of one in 25,000 (3.13)."""
    assert output(INTERRUPTED) == "KeyboardInterrupt"


@pytest.mark.parametrize("lock", [adding, threads._running, compiling.lock])
def test_a_lock_that_ctrl_c_left_taken_stops_its_own_thread_never(lock):
    """Python 3.14 may leave one so, where Ctrl-C comes just as `with` has taken it."""
    taken = [lock.acquire(blocking=False) for _ in range(2)]
    for _ in filter(None, taken):
        lock.release()
    assert taken == [True, True]
