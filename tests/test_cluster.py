"""Shards as processes on several machines: three of Ray's nodes on this one, and what dies dies."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from scratch_embed import SGD, Embedding, LazyAdam
from scratch_embed.sharding import ShardedEmbedding

V, D, STEPS = 37, 3, 24


def batch(step: int, worker: int):
    rng = np.random.default_rng([7, step, worker])
    ids = rng.zipf(1.5, (4, 5)) % V
    return ids, rng.standard_normal((4, 5, D)).astype(np.float32)


def work(layer, step, worker):
    ids, dout = batch(step, worker)
    out = layer(ids)
    out.backward(dout)
    time.sleep(0.1)  # so that there is a middle in which something can die
    return float(out.numpy().sum())


def sharded(cluster=None, rule=LazyAdam, **more):
    place = cluster and cluster.place
    return ShardedEmbedding(V, D, 3, lambda p: rule(p, lr=0.1), rng=3, place=place, **more)


def unbroken(steps=STEPS) -> np.ndarray:
    whole = Embedding(V, D, rng=3, sparse=True)
    optimizer = LazyAdam([whole.weight], lr=0.1)
    for step in range(steps):
        ids, dout = batch(step, 0)
        optimizer.zero_grad()
        whole(ids).backward(dout)
        optimizer.step()
    return whole.weight.numpy()


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
    pytest.importorskip("ray", reason="left out without Ray: pip install 'scratch_embed[cluster]'")
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


def killing(how, folder):
    """Do it soon after the checkpoint of step 5, while the next steps are taken."""

    def wait():
        while not (folder / "manifest.json").exists() or '"step": 5' not in (
            folder / "manifest.json"
        ).read_text(encoding="utf-8"):
            time.sleep(0.02)
        time.sleep(0.2)
        how()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_one_worker_goes_through_the_bits_of_one_machine(nodes, tmp_path):
    cluster, _ = nodes
    layer, told = sharded(cluster), []
    losses = cluster.train(work, layer, STEPS, tmp_path, told=told.append)
    assert layer.table().tobytes() == unbroken().tobytes()
    assert len(losses) == STEPS and not told


def test_wrong_ids_are_the_callers_error(nodes):
    cluster, _ = nodes
    with pytest.raises(IndexError, match="ids"):
        sharded(cluster)([V])


def test_two_workers_in_step_end_on_the_same_bits_every_time(nodes, tmp_path):
    cluster, _ = nodes
    tables = []
    for run in range(2):
        layer = sharded(cluster, workers=2)
        losses = cluster.train(work, layer, 8, tmp_path / str(run), workers=2)
        tables.append(layer.table().tobytes())
    assert tables[0] == tables[1] and len(losses[0]) == 2


def test_without_step_all_pushes_arrive(nodes, tmp_path):
    """Plain steps add up, whatever their order: the end is that of both workers' gradients."""
    cluster, _ = nodes
    layer = sharded(cluster, SGD, workers=2, staleness=2)
    cluster.train(work, layer, 8, tmp_path, workers=2)
    whole = Embedding(V, D, rng=3, sparse=True)
    optimizer = SGD([whole.weight], lr=0.1)
    for step in range(8):
        for worker in range(2):
            optimizer.zero_grad()
            ids, dout = batch(step, worker)
            whole(ids).backward(dout)
            optimizer.step()
    np.testing.assert_allclose(layer.table(), whole.weight.numpy(), rtol=1e-4, atol=1e-5)


def test_a_shard_that_is_killed_costs_what_came_after_the_checkpoint(nodes, tmp_path):
    import ray

    cluster, _ = nodes
    layer, told = sharded(cluster), []
    timer = killing(lambda: ray.kill(layer.shards.actors[1]), tmp_path)
    cluster.train(work, layer, STEPS, tmp_path, every=5, told=told.append)
    timer.join()
    assert told and "going back to step 5" in told[0]
    assert layer.table().tobytes() == unbroken().tobytes()


def test_a_machine_that_dies_in_the_middle_leaves_the_same_table(nodes, tmp_path):
    cluster, made = nodes
    layer, told = sharded(cluster), []
    node = max(made.worker_nodes, key=lambda node: node.unique_id)
    timer = killing(lambda: made.remove_node(node, allow_graceful=False), tmp_path)
    cluster.train(work, layer, STEPS, tmp_path, every=5, told=told.append)
    timer.join()
    assert layer.table().tobytes() == unbroken().tobytes()
    assert told  # SPREAD puts a shard or the worker on every node
