"""Several workers on one table: in step, or apart by a bound."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from unittest.mock import Mock

import numpy as np
import pytest

from scratch_embed import SGD, Embedding
from scratch_embed.sharding import Partition, Shard, ShardedEmbedding, in_process
from tests.sharding.tables import RULES, D, V, batch, sharded, workers_of


def at_once(works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_in_step_two_workers_make_the_step_of_both_batches_whoever_comes_first():
    ends = set()
    for _ in range(5):
        layers = workers_of(2)

        def work(layer):
            for step in range(4):
                ids, dout = batch(2 * step + layer.worker)
                layer(ids).backward(dout)
                layer.step()

        at_once([lambda layer=layer: work(layer) for layer in layers])
        ends.add(layers[0].table().tobytes())
    assert len(ends) == 1
    whole = Embedding(V, D, rng=3, sparse=True)
    optimizer = RULES["SGD"]([whole.weight])
    for step in range(4):
        optimizer.zero_grad()
        for worker in range(2):
            ids, dout = batch(2 * step + worker)
            whole(ids).backward(dout)
        optimizer.step()
    np.testing.assert_allclose(
        np.frombuffer(ends.pop(), np.float32).reshape(V, D),
        whole.weight.numpy(),
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.parametrize("staleness", [None, 1])
def test_a_worker_that_waits_for_itself_is_told(staleness, monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest-xdist has threads of its own
    one, other = workers_of(2, staleness)
    steps = 1 + (staleness or 0)
    with pytest.raises(RuntimeError, match="waits for worker 1, which has pushed 0 steps"):
        for _ in range(steps + 1):  # alone in this thread, and nobody else is there
            one(batch(0)[0])
            one.step()
    for _ in range(steps):
        other.step()
    one(batch(0)[0])  # in turns, one thread can be both


def test_a_worker_that_waits_for_itself_is_told_whoever_else_is_there():
    one, other = workers_of(2)
    ends = threading.Event()
    somebody = threading.Thread(target=ends.wait)
    somebody.start()
    try:
        for layer in (one, other, one):
            layer.step()
        with pytest.raises(RuntimeError, match="step 2 waits for worker 1, .* pushed 1 steps"):
            one(batch(0)[0])
    finally:
        ends.set()
        somebody.join()


def one_shard(**more):
    return Shard(Partition(4, 1), 0, 2, RULES["SGD"], **more)


def test_gradients_are_added_in_the_order_of_the_workers_whoever_comes_first():
    """Sums of three numbers of single precision depend on their order."""
    ends, row = set(), np.array([1])
    values = [np.full((1, 2), x, np.float32) for x in (1e8, -1e8, 1.25)]
    for order in permutations(range(3)):
        shard = one_shard(workers=3)
        for worker in order:
            shard.push(row, values[worker], 0, worker)
        ends.add(shard.pull(row, 1).tobytes())
    assert len(ends) == 1
    assert len({sum(values[w] for w in order).tobytes() for order in permutations(range(3))}) > 1


def test_a_step_waits_for_every_worker():
    shard, row = one_shard(workers=2), np.array([1])
    shard.pull(row, 0)
    shard.push(row, np.ones((1, 2), np.float32), 0, worker=0)
    with pytest.raises(TimeoutError, match="step 1 waits for worker 1, which has pushed 0 steps"):
        shard.pull(row, 1, patience=0.01)
    shard.push(row, np.ones((1, 2), np.float32), 0, worker=1)
    assert shard.pull(row, 1, patience=0.01).shape == (1, 2)


@pytest.mark.parametrize("bound", [0, 1, 3])
def test_without_step_a_worker_is_ahead_by_the_bound_and_no_more(bound):
    shard, row, one = one_shard(workers=2, staleness=bound), np.array([1]), np.ones((1, 2))
    before = shard.pull(row).copy()
    for step in range(bound + 1):
        shard.pull(row, step, patience=0.01)
        shard.push(row, one, step, worker=0)
    np.testing.assert_allclose(shard.pull(row, 0), before - 0.1 * (bound + 1), rtol=1e-5)
    with pytest.raises(TimeoutError, match="waits for worker 1"):
        shard.pull(row, bound + 1, patience=0.01)
    shard.push(row, one, 0, worker=1)
    shard.pull(row, bound + 1, patience=0.01)


def test_a_push_that_comes_twice_counts_once():
    shard, row, one = one_shard(), np.array([1]), np.ones((1, 2))
    shard.push(row, one, 0)
    after = shard.pull(row).copy()
    shard.push(row, one, 0)
    assert np.array_equal(shard.pull(row), after) and shard.clock == [1]
    with pytest.raises(ValueError, match="worker 0 pushes step 2, and it is at step 1"):
        shard.push(row, one, 2)


def test_a_step_that_is_sent_again_after_an_error_is_taken_once_by_every_shard():
    layer, right = sharded(), sharded()
    everybody = layer.shards.call
    for table in (layer, right):
        ids, dout = batch(0)
        table(ids).backward(dout)
    right.step()

    def two_of_them(method, arguments):
        for shard, given in zip(layer.shards.shards[:2], arguments):
            getattr(shard, method)(*given)
        raise ConnectionError

    layer.shards.call = two_of_them
    with pytest.raises(ConnectionError):
        layer.step()
    layer.shards.call = everybody
    layer.step()
    assert layer.table().tobytes() == right.table().tobytes()
    assert layer.steps == 1 and layer.traffic["gradients"] == right.traffic["gradients"]


def test_a_step_that_fails_keeps_the_gradients_of_all_workers(monkeypatch):
    shard, row, one = one_shard(workers=2), np.array([1]), np.ones((1, 2))
    before = shard.pull(row).copy()
    shard.push(row, one, 0, worker=0)
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(shard.optimizer, "step", Mock(side_effect=MemoryError))
        shard.push(row, one, 0, worker=1)
    shard.push(row, one, 0, worker=1)
    np.testing.assert_allclose(shard.pull(row, 1), before - 0.1 * 2, rtol=1e-6)


@pytest.mark.parametrize("bound", [0, 2])
def test_two_workers_at_random_speeds_never_part_by_more_than_the_bound(bound):
    """How far apart they are is looked up in the shards whenever one is let in."""
    layers = workers_of(2, staleness=bound)
    shards, ahead = layers[0].shards.shards, []
    for shard in shards:
        inside = shard._check_life

        def seen(life, shard=shard, inside=inside):
            ahead.append(max(shard.clock) - min(shard.clock))
            inside(life)

        shard._check_life = seen

    def work(layer):
        rng = np.random.default_rng(layer.worker)
        for step in range(12):
            ids, dout = batch(2 * step + layer.worker)
            layer(ids).backward(dout)
            if layer.worker:
                time.sleep(rng.uniform(0, 0.01))
            layer.step()

    at_once([lambda layer=layer: work(layer) for layer in layers])
    assert max(ahead) <= bound + 1  # a step that began with the bound, and has been pushed
    assert all(shard.clock == [12, 12] for shard in shards)


def test_who_goes_back_through_a_lookup_of_before_the_last_step_is_told():
    layer = sharded("SGD")
    first, second = layer([0, 1]), layer([0, 1])
    first.sum().backward()
    layer.step()
    with pytest.warns(RuntimeWarning, match="as it was before an optimiser's last step"):
        second.sum().backward()


@pytest.mark.filterwarnings("ignore:pulled took change as it was")
def test_a_worker_that_has_nothing_to_look_up_may_be_ahead_and_loses_nothing():
    """Only a pull waits. Each step is made of the gradients of that step."""
    one, other = workers_of(2)
    before = one.table()
    grads = np.zeros((V, D), np.float32)
    pushes = [(one, 0), (one, None), (one, 2), (other, 3), (other, 4), (other, None)]
    looked = {step: layer(batch(step)[0]) for layer, step in pushes if step is not None}
    for layer, step in pushes:
        if step is not None:
            ids, dout = batch(step)
            looked[step].backward(dout)
            np.add.at(grads, ids, dout)
        layer.step()
    np.testing.assert_allclose(one.table(), before - 0.1 * grads, rtol=1e-5, atol=1e-6)


def test_threads_may_change_workers():
    """The one that is ahead waits, though it has taken the other's last step itself."""
    one, other = workers_of(2)
    first, then = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    def epoch(layer):
        for _ in range(2):
            rows = layer([1, 2])
            time.sleep(0.02 if layer is one else 0)
            rows.sum().backward()
            layer.step()

    for pairs in (((first, one), (then, other)), ((first, other), (then, one))):
        for job in [pool.submit(epoch, layer) for pool, layer in pairs]:
            job.result(timeout=60)
    assert one.shards.shards[0].clock == [4, 4]


def test_who_saves_and_waits_for_itself_is_told(tmp_path):
    one, other = workers_of(2)
    for layer in (one, other, one):
        layer.step()
    with pytest.raises(RuntimeError, match="step 2 waits for worker 1, .* pushed 1 steps"):
        one.save(tmp_path)


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("asked", [False, True])
def test_a_worker_whose_thread_ended_by_an_error_is_not_waited_for_without_end(
    steps, asked, monkeypatch
):
    """Whether it had taken a step, and whether the thread that only watches has asked, or not."""
    monkeypatch.setattr(in_process, "PATIENCE", 0.3)
    monkeypatch.setattr(in_process, "FIRST", 0.3)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    one, other = workers_of(2)
    if asked:
        one.table()
    told = []

    def work(layer):
        for step in range(4):
            layer([V if layer is other and step == steps else 1]).sum().backward()
            layer.step()

    def watched():
        with pytest.raises(RuntimeError, match=f"worker 1, which has pushed {steps} steps, and in"):
            work(one)
        told.append(True)

    at_once([watched, lambda: work(other)])
    assert told and one.shards.shards[0].clock == [steps + 1, steps]
    other([1]).sum().backward()  # whoever takes its part now
    other.step()
    assert one([1]).shape == (1, D)


def test_one_thread_that_is_both_workers_is_told_though_another_has_asked_once(monkeypatch):
    monkeypatch.setattr(in_process, "PATIENCE", 0.3)
    one, other = workers_of(2)
    one.table()
    told = []

    def both():
        for layer in (one, other, one):
            layer.step()
        with pytest.raises(RuntimeError, match="step 2 waits for worker 1, .* no other thread has"):
            one([1])
        told.append(True)

    at_once([both])
    assert told


def test_a_slow_worker_is_waited_for_as_long_as_its_thread_lives(monkeypatch):
    monkeypatch.setattr(in_process, "PATIENCE", 0.05)
    monkeypatch.setattr(in_process, "GLANCE", 0.01)
    one, other = workers_of(2)

    def work(layer):
        for step in range(3):
            time.sleep(0.3 if layer is other and step else 0)
            layer([1]).sum().backward()
            layer.step()

    at_once([lambda: work(one), lambda: work(other)])
    assert one.shards.shards[0].clock == [3, 3]


def test_a_worker_whose_task_in_a_pool_has_failed_is_not_waited_for_without_end(monkeypatch):
    """Its thread lives on, and waits for other work."""
    monkeypatch.setattr(in_process, "PATIENCE", 0.3)
    one, other = workers_of(2)

    def work(layer):
        for step in range(4):
            layer([V if layer is other and step == 2 else 1]).sum().backward()
            layer.step()

    with ThreadPoolExecutor(2) as pool:
        watched, failed = pool.submit(work, one), pool.submit(work, other)
        with pytest.raises(RuntimeError, match="worker 1, which has pushed 2 steps, and in"):
            watched.result(timeout=60)
        with pytest.raises(IndexError):
            failed.result(timeout=60)


@pytest.mark.parametrize("staleness", [None, 0])
def test_a_step_that_ctrl_c_ends_and_that_is_asked_for_again_is_taken_once(staleness, monkeypatch):
    """The signal comes while the rows move."""
    made = {"rng": 0, "dtype": np.float64, "staleness": staleness}
    alone, layer = (ShardedEmbedding(V, D, 2, _descent, **made) for _ in "ab")
    for each in (alone, layer):
        each([1, 2, 1]).sum().backward()
    alone.step()
    whole = SGD.step

    def struck(optimizer):
        whole(optimizer)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(SGD, "step", struck)
    with pytest.raises(KeyboardInterrupt):
        layer.step()
    monkeypatch.setattr(SGD, "step", whole)
    layer.step()
    np.testing.assert_array_equal(layer.table(), alone.table())


def _descent(params):
    return SGD(params, lr=0.1)
