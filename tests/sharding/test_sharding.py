"""A table in shards is the table on one machine: the same rows, the same steps, the same bits."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from scratch_embed import SGD, Adagrad, Embedding, LazyAdam, RowAdagrad, Tensor
from scratch_embed.sharding import Partition, Shard, ShardedEmbedding, embedding

V, D, BATCH = 37, 3, (4, 5)
RULES = {
    "SGD": lambda p: SGD(p, lr=0.1),
    "Adagrad": lambda p: Adagrad(p, lr=0.1),
    "RowAdagrad": lambda p: RowAdagrad(p, lr=0.1),
    "LazyAdam": lambda p: LazyAdam(p, lr=0.1),
}


def batch(step: int):
    """Ids in which a few come often, and a random cotangent."""
    rng = np.random.default_rng([7, step])
    return rng.zipf(1.5, BATCH) % V, rng.standard_normal((*BATCH, D)).astype(np.float32)


def sharded(rule="LazyAdam", shards=4, by="hash", **more):
    return ShardedEmbedding(V, D, shards, RULES[rule], by=by, rng=3, **more)


def learn(layer, first: int, last: int) -> np.ndarray:
    for step in range(first, last):
        ids, dout = batch(step)
        layer(ids).backward(dout)
        layer.step()
    return layer.table()


def on_one_machine(rule: str, steps: int) -> np.ndarray:
    layer = Embedding(V, D, rng=3, sparse=True)
    optimizer = RULES[rule]([layer.weight])
    for step in range(steps):
        ids, dout = batch(step)
        optimizer.zero_grad()
        layer(ids).backward(dout)
        optimizer.step()
    return layer.weight.numpy()


# ---- who owns a row ------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["hash", "range"])
@pytest.mark.parametrize(("rows", "shards"), [(1, 1), (6, 2), (37, 4), (37, 37), (1000, 7), (9, 4)])
def test_every_row_has_one_owner_and_one_place(rows, shards, by):
    cut, ids = Partition(rows, shards, by), np.arange(rows)
    owner, place = cut.owner(ids), cut.place(ids)
    assert len(set(zip(owner.tolist(), place.tolist()))) == rows
    for shard in range(shards):
        mine = cut.rows_of(shard)
        assert (owner[mine] == shard).all() and place[mine].tolist() == list(range(len(mine)))
        assert sorted(mine) == np.flatnonzero(owner == shard).tolist()
    assert sum(len(cut.rows_of(shard)) for shard in range(shards)) == rows


def test_a_hash_gives_each_shard_as_much_and_parts_neighbours():
    cut = Partition(2**31, 64)
    owner = cut.owner(np.arange(64_000))
    counts = np.bincount(owner, minlength=64)
    assert counts.min() > 900 and counts.max() < 1100
    assert np.mean(owner[1:] == owner[:-1]) < 0.05


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((0, 1), "num_embeddings is 0"),
        ((5, 0), "shards is 0"),
        ((5, 6), "shards is 6, and the table has 5 rows"),
        ((2**31 + 1, 2), "at most 2,147,483,648"),
        ((5, 2, "luck"), "by is 'luck'; it must be 'hash' or 'range'"),
    ],
)
def test_a_cut_that_cannot_be_is_told(given, words):
    with pytest.raises(ValueError, match=words):
        Partition(*given)


# ---- the same bits -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shards", "by"), [(1, "hash"), (4, "hash"), (4, "range"), (37, "hash")])
def test_the_rows_begin_as_those_of_one_table(shards, by, dtype):
    whole = Embedding(V, D, rng=3, init="1/sqrt(d)", dtype=dtype).weight.numpy()
    ours = sharded(shards=shards, by=by, init="1/sqrt(d)", dtype=dtype).table()
    assert ours.tobytes() == whole.tobytes() and ours.dtype == dtype


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("shards", "by"), [(1, "hash"), (4, "hash"), (5, "range"), (37, "range")])
def test_training_goes_through_the_same_bits(rule, shards, by):
    assert learn(sharded(rule, shards, by), 0, 6).tobytes() == on_one_machine(rule, 6).tobytes()


def test_a_step_that_only_the_owners_of_the_batch_count_is_noticed():
    """The planted bug: LazyAdam's correction counts all steps, also those without one's rows."""
    layer = sharded("LazyAdam")
    everybody = layer.shards.call

    def only_those_asked(method, arguments):
        for shard, given in zip(layer.shards.shards, arguments):
            if method == "push" and not len(given[0]):
                shard.clock[0] += 1
            else:
                getattr(shard, method)(*given)

    for step in range(6):
        ids, dout = batch(step)
        layer(ids[0, :2]).backward(dout[0, :2])
        layer.shards.call = only_those_asked
        layer.step()
        layer.shards.call = everybody
    right = sharded("LazyAdam")
    for step in range(6):
        ids, dout = batch(step)
        right(ids[0, :2]).backward(dout[0, :2])
        right.step()
    assert layer.table().tobytes() != right.table().tobytes()


def test_two_lookups_in_a_step_and_none():
    layer, whole = sharded("SGD"), Embedding(V, D, rng=3, sparse=True)
    optimizer = RULES["SGD"]([whole.weight])
    (ids, dout), (others, more) = batch(0), batch(1)
    for table in (layer, whole):
        table(ids).backward(dout)
        table(others).backward(more)
    layer.step(), optimizer.step()
    layer.step()  # without a lookup: nothing moves, and the step is counted
    np.testing.assert_allclose(layer.table(), whole.weight.numpy(), rtol=1e-6)
    assert layer.steps == 2


def test_each_distinct_row_travels_once_each_way():
    layer = sharded("SGD")
    layer(np.array([[5, 5, 5], [9, 5, 9]])).sum().backward()
    layer.step()
    assert layer.traffic == {"rows": 2 * D * 4, "gradients": 2 * D * 4}


@pytest.mark.parametrize(
    ("ids", "error"), [([V], IndexError), ([-1], IndexError), ([0.5], TypeError)]
)
def test_wrong_ids_do_not_travel(ids, error):
    layer = sharded()
    with pytest.raises(error, match="ids"):
        layer(ids)
    assert layer.traffic["rows"] == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"workers": 0}, "workers is 0"),
        ({"workers": 2, "worker": 2}, "worker is 2; with 2 workers it is 0..1"),
        ({"staleness": -1}, "staleness is -1"),
        ({"init": "large"}, "init is 'large'"),
    ],
)
def test_wrong_options_are_named(more, words):
    with pytest.raises(ValueError, match=words):
        sharded(**more)


# ---- several workers -----------------------------------------------------------------------------


def workers_of(count, staleness=None):
    """So many layers on the same shards."""
    first = sharded("SGD", workers=count, staleness=staleness)
    more = {"workers": count, "staleness": staleness, "place": lambda _: first.shards}
    layers = [first, *(sharded("SGD", worker=worker, **more) for worker in range(1, count))]
    return layers


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


def one_shard(**more):
    return Shard(Partition(4, 1), 0, 2, RULES["SGD"], **more)


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


# ---- checkpoints ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_a_resumed_table_ends_on_the_same_bits(rule, tmp_path):
    layer = sharded(rule)
    learn(layer, 0, 3)
    layer.save(tmp_path)
    learn(layer, 3, 5)  # lost
    fresh = sharded(rule)
    assert fresh.load(tmp_path) == 3
    assert learn(fresh, 3, 6).tobytes() == on_one_machine(rule, 6).tobytes()


def test_files_of_the_checkpoint_before_go_when_the_new_one_is_whole(tmp_path):
    layer = sharded()
    for step in (1, 2):
        learn(layer, step - 1, step)
        layer.save(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["manifest.json", *(f"shard-{k}-of-4.step-2.npz" for k in (1, 2, 3, 4))]


def die(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("dies", [0, 2, 3, "manifest"])
def test_a_death_in_the_middle_of_saving_costs_what_came_after_the_last(
    dies, tmp_path, monkeypatch
):
    layer = sharded()
    learn(layer, 0, 2)
    layer.save(tmp_path)
    kept = layer.table()
    learn(layer, 2, 3)
    if dies == "manifest":
        monkeypatch.setattr(embedding, "replacing", die)
    else:
        layer.shards.shards[dies].save = die
    with pytest.raises(KeyboardInterrupt):
        layer.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 5 + (4 if dies == "manifest" else dies)
    fresh = sharded()
    assert fresh.load(tmp_path) == 2 and fresh.table().tobytes() == kept.tobytes()


def test_a_checkpoint_of_another_table_or_a_damaged_one_is_told(tmp_path):
    layer = sharded()
    layer.save(tmp_path)
    with pytest.raises(ValueError, match="was cut with by 'hash'; here: 'range'"):
        sharded(by="range").load(tmp_path)
    with pytest.raises(FileNotFoundError):
        layer.load(tmp_path / "nothing")
    (tmp_path / "shard-2-of-4.step-0.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"shard-2-of-4.* is no checkpoint"):
        sharded().load(tmp_path)
    for text in ("{", "[]", '{"files": ["../x"], "step": 1}', '{"files": []}'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(ValueError, match=r"manifest.json is damaged"):
            sharded().load(tmp_path)


def test_gradients_are_those_of_the_whole_table():
    """Random cotangent, repeated ids, through more than the lookup."""
    layer, whole = sharded("SGD"), Embedding(V, D, rng=3, sparse=False)
    ids, dout = batch(3)
    mix = Tensor(np.random.default_rng(0).standard_normal((D, D)).astype(np.float32))
    (layer(ids) @ mix).backward(dout)
    (whole(ids) @ mix).backward(dout)
    distinct, rows = layer._pulled[0]
    np.testing.assert_allclose(rows.grad.values, whole.weight.grad[distinct], rtol=1e-5, atol=1e-6)
    assert (np.diff(distinct) > 0).all()  # each row once
