"""Checkpoints of a table in shards: whole or not at all, and the same bits afterwards."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import numpy as np
import pytest

from scratch_embed import LazyAdam
from scratch_embed.sharding import ShardedEmbedding, embedding
from tests.sharding.tables import RULES, D, V, learn, on_one_machine, sharded, workers_of


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
    learn(fresh, 2, 4)
    monkeypatch.undo()
    fresh.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 5  # what that save had begun with has gone


@pytest.mark.parametrize("dies", [2, None])
def test_a_checkpoint_of_the_same_step_leaves_the_one_before_whole(dies, tmp_path):
    """As of a training that is begun anew every night, and saves where it did yesterday."""
    yesterday, today = sharded(), sharded()
    learn(yesterday, 0, 2)
    learn(today, 1, 3)
    kept = (yesterday if dies else today).table()
    yesterday.save(tmp_path)
    if dies:
        today.shards.shards[dies].save = die
    with pytest.raises(KeyboardInterrupt) if dies else nullcontext():
        today.save(tmp_path)
    fresh = sharded()
    assert fresh.load(tmp_path) == 2 and fresh.table().tobytes() == kept.tobytes()
    assert len(list(tmp_path.iterdir())) == 5 + (dies or 0)


def test_a_table_goes_on_with_the_rate_that_it_was_made_with(tmp_path):
    first, then = (
        ShardedEmbedding(V, D, 4, lambda p, lr=lr: LazyAdam(p, lr=lr), rng=3) for lr in (0.5, 0.125)
    )
    learn(first, 0, 2)
    first.save(tmp_path)
    then.load(tmp_path)
    before = then.table()
    both = [learn(layer, 2, 3) - before for layer in (first, then)]
    np.testing.assert_allclose(both[0], 4 * both[1], rtol=1e-3, atol=1e-6)
    assert both[1].any()


def test_two_tables_do_not_save_into_one_folder(tmp_path):
    users, items = sharded(), ShardedEmbedding(V + 1, D, 4, RULES["SGD"])
    users.save(tmp_path)
    kept = users.table()
    with pytest.raises(ValueError, match=f"holds a table with num_embeddings {V}; here: {V + 1}"):
        items.save(tmp_path)
    learn(users, 0, 1)
    users.load(tmp_path)
    assert users.table().tobytes() == kept.tobytes()


def test_two_tables_of_one_size_do_not_save_into_one_folder(tmp_path):
    inner, outer = (ShardedEmbedding(V, D, 4, RULES["SGD"], rng=seed) for seed in (1, 2))
    inner.save(tmp_path)
    kept = inner.table()
    with pytest.raises(ValueError, match="holds a table of seed 1; here: 2. Each table has a"):
        outer.save(tmp_path)
    learn(inner, 0, 1)
    inner.load(tmp_path)
    assert inner.table().tobytes() == kept.tobytes()
    outer.load(tmp_path)
    outer.save(tmp_path)  # it goes on with that one
    assert ShardedEmbedding(V, D, 4, RULES["SGD"], rng=1).load(tmp_path) == 0


def test_who_was_given_up_is_not_heard_any_more(tmp_path):
    """A push that is still on its way when all go back must not count in what comes after."""
    late, layer = workers_of(2, staleness=1)
    for table in (late, layer):
        table([1]).sum().backward()
        table.step()
    layer.save(tmp_path)
    kept = layer.table()
    late([1]).sum().backward()
    assert layer.load(tmp_path) == 1
    with pytest.raises(RuntimeError, match="has gone back to a checkpoint since"):
        late.step()
    with pytest.raises(RuntimeError, match="has gone back"):
        late([1])
    assert layer.table().tobytes() == kept.tobytes()
    late.load(tmp_path)


def test_each_worker_may_load_by_itself_and_the_others_follow(tmp_path):
    """What the first has pushed since is not taken back; another checkpoint, or a second time, is
    another life."""
    one, other = workers_of(2)
    one.save(tmp_path / "here")
    one.save(tmp_path / "there")
    before = one.table()
    one.load(tmp_path / "here")
    one([1]).sum().backward()
    one.step()
    assert other.load(tmp_path / "here") == 0 and other.life == one.life == 1
    other([2]).sum().backward()
    other.step()
    moved = before.copy()
    moved[[1, 2]] -= np.float32(0.1)
    np.testing.assert_allclose(one.table(), moved, rtol=1e-6)
    for again, follows in ((one, other), (other, one)):
        again.load(tmp_path / "there")
        with pytest.raises(RuntimeError, match="has gone back to a checkpoint since"):
            follows([1])
        follows.load(tmp_path / "there")
        assert one.life == other.life and one.table().tobytes() == before.tobytes()


def test_of_two_that_read_different_checkpoints_at_once_the_second_is_told(tmp_path):
    one, other = workers_of(2)
    one.save(tmp_path / "here")
    one.save(tmp_path / "there")
    shard = one.shards.shards[0]
    for layer, name in ((one, "here"), (other, "there")):
        file = tmp_path / name / "shard-1-of-4.step-0.npz"
        assert shard.read(file, 0, layer.worker, layer.life) == 1
    shard.go_on(1, one.worker)
    with pytest.raises(RuntimeError, match="shard 0 has gone back to a checkpoint since"):
        shard.go_on(1, other.worker)


def test_files_with_other_names_stay(tmp_path):
    layer = sharded()
    layer.save(tmp_path)
    copy = tmp_path / "shard-1-of-4.step-0 (copy).npz"
    copy.write_bytes((tmp_path / "shard-1-of-4.step-0.npz").read_bytes())
    learn(layer, 0, 1)
    layer.save(tmp_path)
    assert copy.exists() and not (tmp_path / "shard-1-of-4.step-0.npz").exists()


def test_a_step_that_was_not_complete_is_forgotten_and_taken_again(tmp_path):
    """Worker 0 had pushed its part, and has another one waiting; then all go back."""
    tables = []
    for broken in (True, False):
        one, other = workers_of(2)
        one.save(tmp_path)
        if broken:
            one([1, 2]).sum().backward()
            one.step()
            other([7]).sum().backward()
            for layer in (one, other):
                layer.load(tmp_path)
        other([3]).sum().backward()
        other.step()
        one([1]).sum().backward()
        one.step()
        tables.append(one.table().tobytes())
    assert tables[0] == tables[1]


def test_saving_waits_for_the_steps_of_the_others(tmp_path):
    one, other = workers_of(2)
    one.step()
    saving = threading.Thread(target=one.save, args=(tmp_path,))
    saving.start()
    saving.join(0.1)
    assert saving.is_alive()
    other.step()
    saving.join()
    assert other.load(tmp_path) == 1


def test_workers_save_where_all_have_taken_the_same_steps(tmp_path):
    ahead, behind = workers_of(2, staleness=2)
    ahead.step()
    with pytest.raises(ValueError, match="at step 0, and worker 0 has pushed 1"):
        behind.save(tmp_path)
    behind.step()
    behind.save(tmp_path)
    assert ahead.load(tmp_path) == 1


def test_a_damaged_shard_leaves_all_of_them_as_they_were(tmp_path):
    layer = sharded()
    layer.save(tmp_path)
    learn(layer, 0, 2)
    now = layer.table()
    whole = (tmp_path / "shard-4-of-4.step-0.npz").read_bytes()
    (tmp_path / "shard-4-of-4.step-0.npz").write_bytes(whole[:300])
    with pytest.raises(ValueError, match=r"shard-4-of-4.* is no checkpoint"):
        layer.load(tmp_path)
    assert layer.table().tobytes() == now.tobytes() and layer.steps == 2
    learn(layer, 2, 3)
    (tmp_path / "shard-4-of-4.step-0.npz").write_bytes(
        (tmp_path / "shard-3-of-4.step-0.npz").read_bytes()
    )
    with pytest.raises(ValueError, match=r"shard-4-of-4.* holds shard 2, .* here: shard 3, "):
        layer.load(tmp_path)


def test_a_shard_of_another_optimiser_leaves_all_of_them_as_they_were(tmp_path):
    layer = sharded("Adagrad")
    for rule, folder in (("Adagrad", "ours"), ("LazyAdam", "theirs")):
        other = sharded(rule)
        learn(other, 0, 1)
        other.save(tmp_path / folder)
    name = "shard-3-of-4.step-1.npz"
    (tmp_path / "ours" / name).write_bytes((tmp_path / "theirs" / name).read_bytes())
    now = learn(layer, 0, 2)
    with pytest.raises(ValueError, match=r"shard-3-of-4.* does not fit .*is of LazyAdam"):
        layer.load(tmp_path / "ours")
    assert layer.table().tobytes() == now.tobytes() and layer.steps == 2
    manifest = tmp_path / "theirs" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"{name}",', ""))
    with pytest.raises(ValueError, match=r"manifest.json names 3 files for 4 shards"):
        sharded("LazyAdam").load(tmp_path / "theirs")


def test_a_checkpoint_of_another_table_or_a_damaged_one_is_told(tmp_path):
    layer = sharded()
    layer.save(tmp_path)
    with pytest.raises(ValueError, match=r"float32.* here: .* of float64"):
        sharded(dtype=np.float64).load(tmp_path)
    with pytest.raises(ValueError, match="holds a table with by 'hash'; here: 'range'"):
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
