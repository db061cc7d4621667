"""How loops are compiled: each trap in a process of its own."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from scratch_embed.kernels import compiling
from tests.kernels.processes import output, python

# ----------------------------------------------------------------- compiled or not

ANSWERS = """
import hashlib, numpy as np
from scratch_embed.kernels import gather, scatter_add, group_rows, sum_groups, sum_over
from scratch_embed.kernels import compiling, set_num_threads, sums, tables, threads
threads.PART, tables.LONG, tables.RUN, sums.SMALL, sums.BLOCK = 100, 200, 64, 1, 16
set_num_threads(3)
rng, digest = np.random.default_rng(0), hashlib.sha256()
from scratch_embed import Adagrad, LazyAdam, RowAdagrad, RowGrad, SGD, Tensor
for dtype in ("float32", "float64"):
    table = rng.standard_normal((50, 2)).astype(dtype)
    ids = np.concatenate((rng.integers(0, 50, 400), np.full(300, 3)))
    values = rng.standard_normal((len(ids), 2)).astype(dtype)
    rows = gather(table, ids)
    scatter_add(table, ids, values)
    groups = group_rows(ids, 50)
    added = sum_over(values, axis=0), sum_over(table[:, ::-1], axis=0)
    for array in (rows, table, *groups, sum_groups(values, groups), *added):
        digest.update(array.tobytes())
    for rule in (SGD, Adagrad, RowAdagrad, LazyAdam):
        w = Tensor(rng.standard_normal((9, 16)).astype(dtype), requires_grad=True)
        w.grad = RowGrad(ids[:20] % 9, rng.standard_normal((20, 16)).astype(dtype), w.shape)
        rule([w], lr=0.1).step()
        digest.update(w.data.tobytes())
print(digest.hexdigest(), compiling.is_interpreted())
"""


def test_the_same_answers_without_compiling():
    compiled, interpreted = output(ANSWERS), output(ANSWERS, NUMBA_DISABLE_JIT="1")
    assert compiled.split()[0] == interpreted.split()[0]
    assert interpreted.endswith("True")


def test_numba_is_imported_by_the_first_call():
    code = """
import sys, numpy
import scratch_embed.kernels as k
assert "numba" not in sys.modules
k.gather(numpy.ones((2, 2)), [1])
assert "numba" in sys.modules
"""
    output(code)


def test_a_loop_that_stands_in_no_file_runs_too():
    """One that was typed at a prompt or in a notebook. It is compiled, and not kept."""
    code = """
import numpy as np
from scratch_embed import kernels
source = "def double(out):\\n    for n in range(len(out)):\\n        out[n] *= 2"
names = {}
exec(compile(source, "<cell 1>", "exec"), names)
out = np.arange(3.0)
kernels.run(names["double"], 1, out)
print(out.tolist(), "prange" in names)
"""
    assert output(code) == "[0.0, 2.0, 4.0] True"


RETURNED = (
    ANSWERS
    + """
from scratch_embed.text import bpe
from scratch_embed.kernels import run
from scratch_embed.kernels.compiling import compiled
bpe.train("the cat sat on the mat, the cat ran", 40)
def planted(n):
    return np.empty(n)
run(planted, 1, 3)
made = {
    loop.__name__
    for (loop, _), dispatcher in compiled.items()
    for kind in dispatcher.overloads.values()
    if type(kind.signature.return_type).__name__ not in ("NoneType", "Boolean", "Integer", "Float")
}
print(len(compiled), *sorted(made))
"""
)


def test_no_loop_returns_an_array():
    """Numba would make it in Python, where Ctrl-C has ended the process. One is planted."""
    count, *made = output(RETURNED).splitlines()[-1].split()
    assert int(count) > 12 and made == ["planted"]


# ----------------------------------------------------------------- a word while it compiles


def dispatcher(compile_now, found=None):
    """What Numba makes of a loop, as far as it matters here: it asks what is kept, then compiles.

    A loop that is kept is `found`, and reading it may take its time too.
    """
    cache = SimpleNamespace(load_overload=lambda *signature: found)

    def compile(signature):
        kept = cache.load_overload(signature)
        answer = compile_now(signature)
        return kept or answer

    return SimpleNamespace(__name__="gather", compile=compile, _cache=cache)


def test_a_slow_compile_says_so_and_a_quick_one_does_not(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "SLOW", 0.05)
    compiling._announced(dispatcher(time.sleep), Path("place")).compile(0.3)
    assert capsys.readouterr().err == "scratch_embed: compiling gather, once: it is kept in place\n"
    assert compiling._announced(dispatcher(lambda seconds: seconds), None).compile(0.3) == 0.3
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_a_kept_loop_that_loads_slowly_says_nothing(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "SLOW", 0.05)
    slow = compiling._announced(dispatcher(time.sleep, found="machine code"), Path("place"))
    assert slow.compile(0.3) == "machine code"
    assert capsys.readouterr().err == ""


# ----------------------------------------------------------------- without Numba

WITHOUT_NUMBA = "import sys; sys.modules['numba'] = None  # as if it were not installed\n"


def test_the_same_answers_without_numba():
    done = python(WITHOUT_NUMBA + ANSWERS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == output(ANSWERS).split()[0]
    assert done.stderr.count("scratch_embed: Numba cannot be imported") == 1
    assert done.stderr.count("\n") == 1


# ----------------------------------------------------------------- Ctrl-C while it compiles


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_an_interrupt_waits_until_numba_is_through():
    """An interrupted Numba may fail from then on. Here it is interrupted when it has half done."""
    steps = []

    def compile_slowly(signature):
        steps.append("begun")
        signal.raise_signal(signal.SIGINT)
        steps.append("done")
        return signature

    with pytest.raises(KeyboardInterrupt):
        compiling._announced(dispatcher(compile_slowly), None).compile(0)
    assert steps == ["begun", "done"]
    with pytest.raises(KeyboardInterrupt):  # and then it comes at once again
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_is_left_alone_on_other_threads_and_where_it_is_ignored():
    def compiled(signature):
        return signal.getsignal(signal.SIGINT)

    before, handlers = signal.getsignal(signal.SIGINT), []
    quick = compiling._announced(dispatcher(compiled), None)
    other = threading.Thread(target=lambda: handlers.append(quick.compile(0)))
    other.start()
    other.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        handlers.append(quick.compile(0))
    finally:
        signal.signal(signal.SIGINT, before)
    assert handlers == [before, signal.SIG_IGN]
