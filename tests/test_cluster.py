"""Shards as processes on several machines: three of Ray's nodes on this one, and what dies dies."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from scratch_embed import SGD, Adam, Embedding, LazyAdam
from scratch_embed.functional import tanh
from scratch_embed.sharding import ShardedEmbedding

V, D, STEPS = 37, 3, 16


def batch(step: int, worker: int):
    rng = np.random.default_rng([7, step, worker])
    ids = rng.zipf(1.5, (4, 5)) % V
    return ids, rng.standard_normal((4, 5, D)).astype(np.float32)


def work(layer, step, worker):
    ids, dout = batch(step, worker)
    out = layer(ids)
    out.backward(dout)
    return (tanh(out) * 1.0).sum()  # a Tensor, by an operation that was imported by its name


def waiting_for_a_death(folder):
    """The same, which in step 7 waits until something has died."""

    def patient(layer, step, worker):
        while step == 7 and not (folder / "killed").exists():
            time.sleep(0.02)
        return work(layer, step, worker)

    return patient


def sharded(cluster=None, rule=LazyAdam, **more):
    more = {"place": cluster and cluster.place, **more}
    return ShardedEmbedding(V, D, 3, lambda p: rule(p, lr=0.1), rng=3, **more)


def unbroken(steps=STEPS) -> np.ndarray:
    """The table on one machine."""
    whole = Embedding(V, D, rng=3, sparse=True)
    optimizer = LazyAdam([whole.weight], lr=0.1)
    for step in range(steps):
        ids, dout = batch(step, 0)
        optimizer.zero_grad()
        whole(ids).backward(dout)
        optimizer.step()
    return whole.weight.numpy()


def two_unbroken(steps: int) -> np.ndarray:
    """The table after steps of two workers in step, with all shards in this process."""
    first = sharded(workers=2)
    second = sharded(workers=2, worker=1, place=lambda _: first.shards)
    for step in range(steps):
        for layer in (first, second):
            ids, dout = batch(step, layer.worker)
            layer(ids).backward(dout)
        first.step(), second.step()
    return first.table()


def test_without_ray_it_says_what_to_install():
    source = (
        "import sys; sys.modules['ray'] = None\n"
        "import scratch_embed.sharding\n"
        "try: import scratch_embed.cluster\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    assert "pip install 'scratch_embed[cluster]'" in done.stdout


@pytest.fixture(scope="module")
def nodes():
    """(scratch_embed.cluster, Ray's cluster of a head and two more nodes)."""
    pytest.importorskip("ray", reason="ray is not installed (the extra 'cluster')")
    import ray
    from ray.cluster_utils import Cluster

    from scratch_embed import cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    for _ in range(2):
        made.add_node(num_cpus=2)
    cluster.start(made.address)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers know no tests/
    yield cluster, made
    ray.shutdown()
    made.shutdown()


@pytest.mark.parametrize(
    ("address", "set_to", "joined"),
    [(None, None, "local"), (None, "10.0.0.1:6379", "10.0.0.1:6379"), ("auto", None, "auto")],
)
def test_nobody_elses_cluster_is_joined_without_being_named(monkeypatch, address, set_to, joined):
    ray = pytest.importorskip("ray", reason="ray is not installed (the extra 'cluster')")
    from scratch_embed import cluster

    given = {}
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **options: given.update(options))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if set_to:
        monkeypatch.setenv("RAY_ADDRESS", set_to)
    cluster.start(address, num_cpus=1)
    assert given["address"] == joined and given["num_cpus"] == 1


def killing(how, folder):
    """Do it after the checkpoint of step 5, while the next steps are taken, and leave a sign."""

    def wait():
        manifest = folder / "manifest.json"
        while not (manifest.exists() and '"step": 5' in manifest.read_text(encoding="utf-8")):
            time.sleep(0.02)
        try:
            how()
        finally:
            (folder / "killed").touch()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_without_step_a_fast_worker_runs_ahead_by_the_bound_and_no_more(nodes, tmp_path):
    """Plain steps add up, whatever their order: the end is that of both workers' gradients."""
    cluster, _ = nodes
    bound, steps = 2, 10

    def uneven(layer, step, worker):
        asked = time.monotonic()
        ids, dout = batch(step, worker)
        layer(ids).backward(dout)
        came = time.monotonic()
        time.sleep(0.15 * worker)
        return asked, came

    layer = sharded(cluster, SGD, workers=2, staleness=bound)
    times = np.array(cluster.train(uneven, layer, steps, tmp_path, workers=2))  # (steps, 2, 2)
    asked, came = times[..., 0], times[..., 1]
    # Let in at step s means: the other has pushed all steps before s - bound, so it has begun them.
    for one, other in ((0, 1), (1, 0)):
        assert (came[bound + 1 :, one] > asked[: -bound - 1, other]).all()
    assert (came[1:, 0] < asked[:-1, 1]).any()  # in step that cannot be

    whole = Embedding(V, D, rng=3, sparse=True)
    optimizer = SGD([whole.weight], lr=0.1)
    for step in range(steps):
        for worker in range(2):
            optimizer.zero_grad()
            ids, dout = batch(step, worker)
            whole(ids).backward(dout)
            optimizer.step()
    np.testing.assert_allclose(layer.table(), whole.weight.numpy(), rtol=1e-4, atol=1e-5)


def test_a_shard_that_is_killed_costs_what_came_after_the_checkpoint(nodes, tmp_path):
    """One worker: the bits of one machine."""
    import ray

    cluster, _ = nodes
    layer, told = sharded(cluster), []
    timer = killing(lambda: ray.kill(layer.shards.actors[1]), tmp_path)
    waiting = waiting_for_a_death(tmp_path)
    losses = cluster.train(waiting, layer, STEPS, tmp_path, every=5, told=told.append)
    timer.join()
    assert len(told) == 1 and "going back to step 5" in told[0]
    assert len(losses) == STEPS
    assert layer.table().tobytes() == unbroken().tobytes()


def test_a_worker_that_is_killed_takes_its_step_again(nodes, tmp_path):
    """Two workers, in step; one ends its own process in the middle of step 7, once."""
    cluster, _ = nodes
    layer, told = sharded(cluster, workers=2), []

    def mortal(layer, step, worker):
        if (step, worker) == (7, 1) and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            import os
            import signal

            os.kill(os.getpid(), signal.SIGKILL)
        return work(layer, step, worker)

    losses = cluster.train(mortal, layer, 10, tmp_path, workers=2, every=5, told=told.append)
    assert told == ["lost: ActorDiedError; going back to step 5"]
    assert np.shape(losses) == (10, 2) and isinstance(losses[0][0], float)
    assert layer.table().tobytes() == two_unbroken(10).tobytes()


def machine_of(actor) -> str:
    import ray

    where = actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
    return ray.get(where)


def wait_until_silent(actor):
    """What ran on a dead machine may answer for a moment yet: the training could end before."""
    import ray

    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            ray.get(actor.__ray_call__.remote(lambda _: None), timeout=5)
            time.sleep(0.05)
        except ray.exceptions.RayActorError:
            return
        except ray.exceptions.GetTimeoutError:
            continue


def test_a_machine_that_dies_in_the_middle_leaves_the_same_table(nodes, tmp_path):
    """The machine of a shard; not the head, without which there is no cluster of Ray."""
    cluster, made = nodes
    mortal = {node.node_id: node for node in made.worker_nodes}
    for _ in range(10):  # Ray spreads actors as well as it can, and promises nothing
        layer, told = sharded(cluster), []
        machines = {machine_of(actor): actor for actor in layer.shards.actors}
        if found := [machine for machine in machines if machine in mortal]:
            break
    victim = machines[found[0]]

    def dies():
        made.remove_node(mortal[found[0]], allow_graceful=False)
        wait_until_silent(victim)

    timer = killing(dies, tmp_path)
    waiting = waiting_for_a_death(tmp_path)
    cluster.train(waiting, layer, STEPS, tmp_path, every=5, told=told.append)
    timer.join()
    assert told and "going back to step" in told[0]
    assert layer.table().tobytes() == unbroken().tobytes()


def test_what_is_wrong_is_told_and_not_tried_again(nodes, tmp_path):
    cluster, _ = nodes
    layer, told = sharded(cluster), []  # of those who run into what is deadly
    with pytest.raises(IndexError, match="ids"):
        layer([V])
    with pytest.raises(ValueError, match="workers is 2, and the layer was made for 1"):
        cluster.train(work, layer, 4, tmp_path, workers=2)
    with pytest.raises(TypeError, match=r"ShardedEmbedding\(37, 3, .* make it with place="):
        cluster.train(work, sharded(), 4, tmp_path)

    def wrong(layer, step, worker):
        return layer(np.full(3, -1))

    with pytest.raises(IndexError, match="ids"):
        cluster.train(wrong, layer, 4, tmp_path / "wrong")

    def forgetful(layer, step, worker):
        return layer(batch(step, worker)[0]).sum()

    with pytest.raises(RuntimeError, match=r"call loss\.backward\(\) in it"):
        cluster.train(forgetful, sharded(cluster), 4, tmp_path / "forgetful")

    def choosy(layer, step, worker):
        loss = forgetful(layer, step, worker)
        loss.backward()
        if step < 2:
            layer.zero_grad()
        return loss

    cluster.train(choosy, sharded(cluster), 4, tmp_path / "choosy", every=1)

    def deadly(layer, step, worker):
        import os

        os._exit(1)

    cluster.TRIES, before = 2, cluster.TRIES
    try:
        with pytest.raises(cluster.LOST):
            cluster.train(deadly, layer, 4, tmp_path / "deadly", told=told.append)
    finally:
        cluster.TRIES = before
    assert len(told) == 1
    with pytest.raises(TypeError, match="use LazyAdam"):
        ShardedEmbedding(V, D, 3, lambda p: Adam(p, lr=0.1), place=cluster.place)
