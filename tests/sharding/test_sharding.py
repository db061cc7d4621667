"""A table in shards is the table on one machine: the same rows, the same steps, the same bits."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from scratch_embed import SGD, Adam, Embedding, LazyAdam, Tensor
from scratch_embed.gradcheck import slopes
from scratch_embed.sharding import Partition, Shard, ShardedEmbedding
from scratch_embed.sharding.embedding import pulled
from scratch_embed.trace import trace
from tests.sharding.tables import RULES, D, V, batch, learn, on_one_machine, sharded

# ---- who owns a row ------------------------------------------------------------------------------


def test_small_integers_have_the_same_owner():
    """The product of an id and the multiplier needs up to 62 bits."""
    cut, ids = Partition(100_000, 4), np.arange(0, 100_000, 999)
    assert (cut.owner(ids.astype(np.int32)) == cut.owner(ids)).all()
    assert (cut.place(ids.tolist()) == cut.place(ids)).all()
    with pytest.raises(IndexError, match="100000 is too large"):
        cut.owner([100_000])


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
    for at in cut.split(np.random.default_rng(0).integers(rows, size=500)):
        assert (np.diff(at) > 0).all()  # in the order of the ids that were asked
    sizes = [len(cut.rows_of(shard)) for shard in range(shards)]
    assert sum(sizes) == rows and max(sizes) - min(sizes) <= 1


def test_a_hash_gives_each_shard_as_much_and_parts_neighbours():
    cut = Partition(2**31, 64)
    owner = cut.owner(np.arange(64_000))
    counts = np.bincount(owner, minlength=64)
    assert counts.min() > 900 and counts.max() < 1100
    assert np.mean(owner[1:] == owner[:-1]) < 0.05


@pytest.mark.parametrize("rows", [16_154, 50_257, 1_000_003])
@pytest.mark.parametrize("shards", [8, 64, 1024])
def test_by_hash_the_first_ids_lie_more_evenly_than_by_chance(rows, shards):
    """They are the hot ones. Of 1,024 thrown into 1,024 shards by chance one gets 5 to 7."""
    cut = Partition(rows, shards)
    for each in (1, 2, 4, 8):
        first = cut.owner(np.arange(each * shards))
        assert np.bincount(first, minlength=shards).max() <= each + 3


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


def test_a_shard_a_place_or_a_worker_that_there_is_not_is_told():
    cut = Partition(6, 2)
    shard = Shard(cut, 0, 1, lambda params: SGD(params, lr=0.1), workers=2)
    for use, error, words in (
        (lambda: cut.rows_of(2), ValueError, r"shard is 2; there are 2, 0\.\.1"),
        (lambda: cut.rows_of(-1), ValueError, "shard is -1"),
        (lambda: Shard(cut, 2, 1, SGD), ValueError, "shard is 2"),
        (lambda: shard.pull(np.array([0, -1])), IndexError, r"places\[1\] = -1 is negative"),
        (lambda: shard.pull(np.array([True])), TypeError, r"places\[0\] = True is a boolean"),
        (lambda: shard.push([0], np.ones((1, 1)), worker=-1), ValueError, r"worker is -1; .*\.\.1"),
        (lambda: shard.push([0], np.ones((1, 1)), worker=2), ValueError, "worker is 2"),
        (lambda: shard.go_on(1), RuntimeError, "shard 0 has read no checkpoint"),
    ):
        with pytest.raises(error, match=words):
            use()
    assert shard.clock == [0, 0] and shard.life == 0


# ---- the same bits -------------------------------------------------------------------------------


@dataclass
class Elsewhere:
    """Shards that answer with ones."""

    plans: list

    def call(self, method: str, arguments):
        return [np.ones((len(asked[0]), D), np.float32) for asked in arguments]


def test_a_layer_that_is_sent_elsewhere_leaves_its_zeros_behind():
    layer = ShardedEmbedding(100_000_000, D, 4, LazyAdam, place=Elsewhere)
    layer([1, 5, 1]).sum().backward()
    sent = pickle.dumps(layer)
    assert len(sent) < 10_000
    arrived = pickle.loads(sent)
    assert arrived._whole.grad.rows.tolist() == [1, 5]
    arrived([7]).sum().backward()
    assert arrived._whole.grad.rows.tolist() == [1, 5, 7] and not any(arrived._whole.data.strides)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_shards_in_this_process_are_not_copied(copied):
    with pytest.raises(TypeError, match=r"layer\.save\(folder\) and load into a new layer"):
        copied(sharded().shards)


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
        for shard, given in zip(layer.shards.shards, arguments, strict=True):
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


@pytest.mark.parametrize("lookups", [2, 3, 5])
@pytest.mark.parametrize("apart", [True, False])
def test_several_lookups_in_a_step_add_up_in_the_order_of_one_machine(lookups, apart):
    """Sums of three depend on their order; it is that of the way back, in one loss or in many."""
    layer, whole = sharded("SGD"), Embedding(V, D, rng=3, sparse=True)
    optimizer = RULES["SGD"]([whole.weight])
    for table in (layer, whole):
        losses = [(table(ids) * dout).sum() for ids, dout in map(batch, range(lookups))]
        for loss in losses if apart else [sum(losses[1:], losses[0])]:
            loss.backward()
    layer.step(), optimizer.step()
    assert layer.table().tobytes() == whole.weight.numpy().tobytes()


def test_a_step_without_a_lookup_and_one_that_is_only_looked_at():
    layer = sharded("SGD")
    before = layer.table()
    layer(batch(0)[0])  # an evaluation: no backward
    layer(batch(0)[0]).sum().backward()
    layer.zero_grad()
    layer.step()
    assert layer.table().tobytes() == before.tobytes() and layer.steps == 1


@pytest.mark.filterwarnings("ignore:no parameter has a gradient")
@pytest.mark.parametrize("rule", RULES)
def test_steps_without_a_gradient_count_as_little_as_on_one_machine(rule):
    """A table to which no backward came is passed by; a gradient of no rows is a gradient."""
    layer, alone = sharded(rule, shards=3), Embedding(V, D, rng=3, sparse=True)
    optimizer = RULES[rule]([alone.weight])
    for step in range(6):
        ids, dout = batch(step)
        for table in (layer, alone):
            if step == 2:
                table(ids[:0]).backward(dout[:0])
            elif step not in (1, 3):
                table(ids).backward(dout)
        layer.step()
        optimizer.step()
        optimizer.zero_grad()
        assert layer.table().tobytes() == alone.weight.data.tobytes(), step


def test_a_worker_without_a_gradient_is_waited_for_and_adds_none():
    shard = Shard(Partition(2, 1), 0, 1, lambda p: LazyAdam(p, lr=0.5), workers=2)
    before = shard.weight.data.copy()
    shard.push(None, None, 0, worker=0)
    shard.push(None, None, 0, worker=1)
    assert shard.weight.data.tobytes() == before.tobytes() and shard.clock == [1, 1]
    shard.push(None, None, 1, worker=0)
    shard.push([1], np.ones((1, 1), np.float32), 1, worker=1)
    assert np.allclose(before - shard.weight.data, [[0], [0.5]], atol=1e-6)  # a first step of Adam


def test_ids_may_change_between_forward_and_backward():
    layer, other = sharded("SGD"), sharded("SGD")
    ids, dout = batch(0)
    for table in (layer, other):
        given = ids.copy()
        out = table(given)
        if table is layer:
            given[...] = 0
        out.backward(dout)
        table.step()
    assert layer.table().tobytes() == other.table().tobytes()


def test_each_distinct_row_travels_once_each_way():
    layer = sharded("SGD")
    layer(np.array([[5, 5, 5], [9, 5, 9]])).sum().backward()
    layer.step()
    assert layer.traffic == {"rows": 2 * D * 4, "gradients": 2 * D * 4, "places": 2 * 2 * 8}


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


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        (7, "optimizer is 7; it must be a function"),
        (lambda p: 7, "it must be a function that makes an optimiser"),
        (lambda p: SGD([Tensor(np.zeros(2), requires_grad=True)], lr=0.1), "of the list of Tens"),
        (lambda p: Adam(p, lr=0.1), "Adam moves every row .* use LazyAdam"),
        (lambda p: SGD(p, lr=0.1, momentum=0.9), "SGD moves every row"),
    ],
)
def test_an_optimiser_that_shards_cannot_use_is_refused_before_there_are_any(optimizer, words):
    with pytest.raises(TypeError, match=words):
        ShardedEmbedding(V, D, 4, optimizer, place=pytest.fail)


def test_gradients_are_those_of_the_whole_table():
    """Random cotangent, repeated ids, through more than the lookup."""
    layer, whole = sharded("SGD"), Embedding(V, D, rng=3, sparse=False)
    ids, dout = batch(3)
    mix = Tensor(np.random.default_rng(0).standard_normal((D, D)).astype(np.float32))
    (layer(ids) @ mix).backward(dout)
    (whole(ids) @ mix).backward(dout)
    grad = layer._whole.grad
    np.testing.assert_allclose(grad.to_dense(), whole.weight.grad, rtol=1e-5, atol=1e-6)
    assert (np.diff(grad.rows) > 0).all()  # each row once


def test_a_nudge_of_the_table_finds_the_gradient_and_so_does_a_trace():
    layer = sharded("SGD", dtype=np.float64)
    ids, dout = batch(3)
    distinct, where = np.unique(ids, return_inverse=True)
    rows, where = layer.table()[distinct], where.reshape(ids.shape)

    def loss(change):
        return (pulled.forward(change, ids, rows, where)[0] ** 2 * dout).sum()

    out = layer(ids)
    total = (out * out * dout).sum()
    total.backward()
    nudged = slopes(loss, np.zeros((V, D)))
    np.testing.assert_allclose(layer._whole.grad.to_dense(), nudged, rtol=1e-6, atol=1e-7)
    told = trace(total).text()
    assert "agrees" in told and "DIFFERS" not in told
