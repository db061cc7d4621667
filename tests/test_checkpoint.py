"""Checkpoints: what was saved comes back, a run that is resumed ends where an unbroken one does."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from scratch_embed import (
    SGD,
    Adagrad,
    Adam,
    AdamW,
    LazyAdam,
    RMSProp,
    RowAdagrad,
    Tensor,
    checkpoint,
)
from scratch_embed.layers.layer import Layer
from scratch_embed.models import NextToken, train
from scratch_embed.optim import warmup_cosine

TOKENS = np.random.default_rng(0).integers(7, size=300)
RULES = {
    "momentum": lambda p: SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: Adam(p, lr=0.01),
    "AdamW": lambda p: AdamW(p, lr=0.01),
    "LazyAdam": lambda p: LazyAdam(p, lr=0.01),
    "RMSProp": lambda p: RMSProp(p, lr=0.01, momentum=0.5),
    "RowAdagrad": lambda p: RowAdagrad(p, lr=0.1),
}


def begin(rule):
    model = NextToken(7, 4, rng=np.random.default_rng(1), body=True, tied=True)
    return model, rule(model.parameters()), np.random.default_rng(2)


def go_on(model, optimizer, rng, first, last):
    for step in range(first, last):
        optimizer.lr = warmup_cosine(step, 8, 0.05, warmup=3)
        train(model, TOKENS, optimizer, 1, batch_size=16, rng=rng)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_resumed_run_ends_on_the_same_bits(rule, tmp_path):
    whole = begin(rule)
    go_on(*whole, 0, 8)

    model, optimizer, rng = begin(rule)
    go_on(model, optimizer, rng, 0, 4)
    checkpoint.save(
        tmp_path / "run",
        model=model.state_dict(),
        optimizer=optimizer.state_dict(),
        step=4,
        rng=rng.bit_generator.state,
    )
    go_on(model, optimizer, rng, 4, 6)  # lost: what came after the checkpoint

    model, optimizer, rng = begin(rule)
    rng.random()
    saved = checkpoint.load(tmp_path / "run")
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    rng.bit_generator.state = saved["rng"]
    go_on(model, optimizer, rng, saved["step"], 8)
    for mine, theirs in zip(model.parameters(), whole[0].parameters()):
        assert mine.data.tobytes() == theirs.data.tobytes()


def test_without_its_state_an_optimiser_ends_elsewhere():
    """The planted bug for the test above: the moments are forgotten at the break."""
    whole, broken = begin(RULES["Adam"]), begin(RULES["Adam"])
    go_on(*whole, 0, 8)
    go_on(*broken, 0, 4)
    model, _, rng = broken
    go_on(model, RULES["Adam"](model.parameters()), rng, 4, 8)
    assert not np.array_equal(model.head.data, whole[0].head.data)


def test_values_come_back_as_they_were(tmp_path):
    parts = {
        "arrays": {"a/b": np.arange(6.0).reshape(2, 3), "empty": np.zeros((0, 2), np.float32)},
        "list": [1, 2.5, None, True, "\u00e4", {"inner": np.array(3)}],
        "large": 2**127,
        "number": np.float64(0.1),
    }
    checkpoint.save(tmp_path / "c.npz", **parts)
    back = checkpoint.load(tmp_path / "c.npz")
    assert back["arrays"]["a/b"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert back["arrays"]["empty"].dtype == np.float32 and back["arrays"]["empty"].shape == (0, 2)
    assert back["list"][:5] == parts["list"][:5] and back["list"][5]["inner"] == 3
    assert back["large"] == 2**127 and back["number"] == 0.1
    with np.load(tmp_path / "c.npz") as entries:  # for those who have only NumPy
        assert "arrays/a/b" in entries.files


def test_arrays_under_names_that_a_zip_file_cannot_hold_come_back(tmp_path):
    """Of "a/b" and {"a": {"b"}} one was lost; "plain" and "file" are arguments of np.savez."""
    names = ["a/b", "\0", "b.npy", "b", "plain", "file", "\ud800", "", "a:b", "a;b"]
    names += ["\u4e00" * 70_000, "\u4e00" * 70_001]
    parts = {name: np.array(k) for k, name in enumerate(names)}
    checkpoint.save(tmp_path / "run.npz", a={"b": np.array(-1)}, plain=np.array(-2), more=parts)
    checkpoint.save(tmp_path / "flat.npz", **parts)
    saved, flat = checkpoint.load(tmp_path / "run.npz"), checkpoint.load(tmp_path / "flat.npz")
    assert (saved["a"]["b"], saved["plain"]) == (-1, -2)
    for found in (saved["more"], flat):
        assert {name: int(array) for name, array in found.items()} == dict(zip(names, range(12)))


def test_a_dict_that_would_be_taken_for_an_array_is_refused(tmp_path):
    with pytest.raises(ValueError, match="marks an array"):
        checkpoint.save(tmp_path / "run.npz", part={"array at": "plain"})


def test_parts_that_hold_themselves_are_told_and_the_file_stays(tmp_path):
    checkpoint.save(tmp_path / "run.npz", step=1)
    circle = {"step": 2}
    circle["itself"] = [circle]
    with pytest.raises(ValueError, match="in a circle, or hundreds deep"):
        checkpoint.save(tmp_path / "run.npz", part=circle)
    assert checkpoint.load(tmp_path / "run.npz") == {"step": 1}


def test_an_array_whose_header_is_no_python_is_told(tmp_path):
    """Whole by its checksum, so only NumPy, which reads the header as source, finds out."""
    path, header = tmp_path / "run.npz", b"{(1,"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("w.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(ValueError, match="is no checkpoint"):
        checkpoint.load(path)


@pytest.mark.parametrize("name", ["plain", "words"])
def test_text_that_is_no_letters_is_told(tmp_path, name):
    checkpoint.save(tmp_path / "run.npz", words=np.array(["a", "b"]))
    arrays = dict(np.load(tmp_path / "run.npz"))
    arrays[name].reshape(-1).view(np.uint32)[0] = 0x110000  # one after the last letter
    np.savez(tmp_path / "run.npz", **arrays)
    with pytest.raises(ValueError, match="is no checkpoint, or only a part of one"):
        checkpoint.load(tmp_path / "run.npz")


def test_a_file_cut_off_or_damaged_anywhere_is_told(tmp_path):
    path = tmp_path / "c.npz"
    checkpoint.save(path, w=np.arange(4.0), step=1)
    whole = path.read_bytes()
    for size in [*range(1, len(whole), 7), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="no checkpoint, or only a part of one"):
            checkpoint.load(path)
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            back = checkpoint.load(path)
        except ValueError:
            continue
        assert back["step"] == 1 and back["w"].tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("content", [b"", b"\x80\x04N.", b"hello", b"\x93NUMPY"])
def test_a_file_of_something_else_is_told(content, tmp_path):
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(ValueError, match="c is (no checkpoint|empty)"):
        checkpoint.load(tmp_path / "c")


def test_a_list_is_no_checkpoint(tmp_path):
    np.savez(tmp_path / "run.npz", plain=np.array("[1]"))
    with pytest.raises(ValueError, match="is no checkpoint.*it holds a list"):
        checkpoint.load(tmp_path / "run.npz")


def test_an_array_alone_is_no_checkpoint(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(2))
    with pytest.raises(ValueError, match="no checkpoint"):
        checkpoint.load(tmp_path / "a.npy")
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    "part",
    [
        {1: 2},
        {"f": print},
        {"o": np.array([print])},
        [{1, 2}],
        np.complex64(1),
        np.ma.array([1.0], mask=[1]),
    ],
)
def test_what_cannot_be_written_is_refused_and_the_old_file_stays(part, tmp_path):
    path = tmp_path / "c"
    checkpoint.save(path, step=1)
    with pytest.raises((TypeError, ValueError), match="part"):
        checkpoint.save(path, part=part)
    assert checkpoint.load(path) == {"step": 1}


# ---- states --------------------------------------------------------------------------------------


def test_weights_are_put_into_the_layers_own_arrays():
    model, other = begin(RULES["Adam"])[0], NextToken(7, 4, tied=True, body=True, rng=5)
    table = model.embed.weight.data
    state = other.state_dict()
    model.load_state_dict(state)
    assert model.embed.weight.data is table and model.head.data is table
    assert table.tobytes() == other.embed.weight.data.tobytes()
    state["embed.weight"] += 1  # a copy
    assert table.tobytes() == other.embed.weight.data.tobytes()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda s: s.pop("body"), KeyError, "lacks body"),
        (lambda s: s.update(extra=np.zeros(1)), KeyError, "holds extra, which NextToken has not"),
        (lambda s: s.update(body=np.zeros((4, 5))), ValueError, r"body has shape \(4, 5\)"),
        (lambda s: s.update(body=np.zeros((4, 4), complex)), TypeError, "body is complex128"),
    ],
)
def test_a_wrong_state_of_a_model_is_named_and_nothing_moves(change, error, words):
    model = NextToken(7, 4, tied=True, body=True, rng=3)
    before, state = model.state_dict(), NextToken(7, 4, tied=True, body=True, rng=4).state_dict()
    change(state)
    with pytest.raises(error, match=words):
        model.load_state_dict(state)
    assert all(np.array_equal(w, before[path]) for path, w in model.state_dict().items())


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda s: s.pop("options"), KeyError, "lacks options"),
        (lambda s: s.update(rule="AdamW"), ValueError, "the state is of AdamW; this is Adam"),
        (lambda s: s["options"][0].pop("eps"), KeyError, "the state for Adam lacks eps"),
        (lambda s: s["options"][0].update(lr=-1), ValueError, "lr is -1"),
        (lambda s: s["state"].pop(), ValueError, "of 1 parameters; here are 2"),
        (lambda s: s["options"].append({}), ValueError, "of 2 groups; here are 1"),
        (lambda s: s["state"][1].pop("m"), KeyError, "parameter 1 of Adam lacks m"),
        (lambda s: s["state"][1].update(m=np.zeros(3)), ValueError, r"state\[1\]\['m'\] has shape"),
        (lambda s: s["state"][0].update(t=-1), ValueError, r"state\[0\]\['t'\] is -1"),
        (lambda s: s.update(state=[{}, None]), TypeError, r"state\[1\] is a NoneType; .* a dict"),
    ],
)
def test_a_wrong_state_of_an_optimiser_is_named_and_nothing_moves(change, error, words):
    model, optimizer, rng = begin(RULES["Adam"])
    go_on(model, optimizer, rng, 0, 2)
    before, state = optimizer.state_dict(), optimizer.state_dict()
    change(state)
    with pytest.raises(error, match=words):
        optimizer.load_state_dict(state)
    after = optimizer.state_dict()
    assert after["options"] == before["options"]
    for mine, kept in zip(after["state"], before["state"]):
        assert all(np.array_equal(mine[name], kept[name]) for name in kept)


class Two(Layer):
    def __init__(self, memory: np.ndarray):
        half = len(memory) // 2
        self.a = Tensor(memory[:half], requires_grad=True)
        self.b = Tensor(memory[half:], requires_grad=True)


def test_a_state_of_the_layers_own_arrays_is_what_it_was_when_it_was_given():
    memory = np.arange(6.0)
    model = Two(memory)
    model.load_state_dict({"a": model.b.data, "b": model.a.data})
    assert memory.tolist() == [3, 4, 5, 0, 1, 2]
    model.load_state_dict({"a": memory[2:5], "b": memory[1:4]})
    assert memory.tolist() == [5, 0, 1, 4, 5, 0]


@pytest.mark.parametrize("keys", [(1, "1"), ("a.b", "a")])
def test_two_weights_of_one_path_are_told_and_not_lost(keys):
    first, second = (Tensor(np.ones(1), requires_grad=True) for _ in keys)
    model = Layer()
    model.held = {keys[0]: first, keys[1]: second if keys[1] == "1" else {"b": second}}
    for use in (model.state_dict, model.name_weights, lambda: model.load_state_dict({})):
        with pytest.raises(ValueError, match=r"two weights are called held\.(1|a\.b)"):
            use()
    assert len(model.parameters()) == 2


def test_a_momentum_that_is_off_for_a_while_begins_anew():
    """As it does in a run that was resumed meanwhile."""
    ends = []
    for resumed in (False, True):
        w = Tensor(np.ones(3), requires_grad=True)
        optimizer = SGD([w], lr=0.1)
        for step, momentum in enumerate((0.9, 0.0, 0.9, 0.9)):
            optimizer.momentum = momentum
            w.grad = np.arange(3.0)
            optimizer.step()
            if resumed and step == 1:
                saved = optimizer.state_dict()
                optimizer = SGD([w], lr=0.1)
                optimizer.load_state_dict(saved)
        ends.append(w.data.tobytes())
    assert ends[0] == ends[1]


@pytest.mark.parametrize(("before", "after"), [(0.9, 0.0), (0.0, 0.9)])
def test_a_state_fits_its_optimiser_also_after_its_options_were_changed(before, after):
    """A momentum that was switched off leaves no velocity, and one switched on begins at 0."""
    ends = []
    for resumed in (False, True):
        w = Tensor(np.ones(3), requires_grad=True)
        optimizer = SGD([w], lr=0.1, momentum=before)
        for t in range(4):
            if t == 2:
                optimizer.momentum = after
                if resumed:
                    saved = optimizer.state_dict()
                    optimizer = SGD([w], lr=0.1)
                    optimizer.load_state_dict(saved)
            w.grad = np.arange(3.0)
            optimizer.step()
        ends.append(w.data.tobytes())
    assert ends[0] == ends[1]


def test_a_state_that_was_put_there_before_the_first_step_is_saved_too():
    w = Tensor(np.ones(3), requires_grad=True)
    optimizer, other = Adagrad([w]), Adagrad([w])
    optimizer.state[0]["sum"] = np.full(3, 0.1)
    other.load_state_dict(optimizer.state_dict())
    assert other.state[0]["sum"].tolist() == [0.1] * 3 and other.state[0]["t"] == 0


def test_what_is_read_only_is_told_before_anything_is_loaded():
    model, optimizer, rng = begin(RULES["Adam"])
    go_on(model, optimizer, rng, 0, 2)
    weights, state = model.state_dict(), optimizer.state_dict()
    go_on(model, optimizer, rng, 2, 4)
    before, states = model.state_dict(), optimizer.state_dict()
    for array in (model.body.data, optimizer.state[1]["v"]):
        array.flags.writeable = False
    with pytest.raises(ValueError, match="body is read-only"):
        model.load_state_dict(weights)
    with pytest.raises(ValueError, match=r"state\['v'\] is read-only"):
        optimizer.load_state_dict(state)
    assert all(np.array_equal(w, before[path]) for path, w in model.state_dict().items())
    optimizer.state[1]["v"].flags.writeable = True
    for mine, kept in zip(optimizer.state_dict()["state"], states["state"]):
        assert all(np.array_equal(mine[name], kept[name]) for name in kept)


def test_a_state_on_disk_is_written_into():
    model, optimizer, rng = begin(RULES["Adam"])
    go_on(model, optimizer, rng, 0, 2)
    saved, ours = optimizer.state_dict(), optimizer.state[0]["m"]
    go_on(model, optimizer, rng, 2, 4)
    optimizer.load_state_dict(saved)
    assert optimizer.state[0]["m"] is ours
    assert ours.tobytes() == saved["state"][0]["m"].tobytes()


def test_a_state_on_disk_stays_where_the_one_that_is_loaded_had_taken_no_step():
    a, b = (Tensor(np.ones(2), requires_grad=True) for _ in "ab")
    first, second = Adagrad([a, b]), Adagrad([a, b])
    a.grad = np.ones(2)
    first.step()
    mine = second.state[1]["sum"] = np.ones(2)
    second.load_state_dict(first.state_dict())
    assert second.state[1]["sum"] is mine and not mine.any()
    b.grad = np.ones(2)
    second.step()
    assert mine.tolist() == [1, 1] and second.state[1]["t"] == 1


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_packed_checkpoint_is_refused_before_it_is_unpacked(tmp_path, how):
    """A few kilobytes may unpack to more than there is room for; `save` packs nothing."""
    saved, packed = tmp_path / "saved.npz", tmp_path / "packed.npz"
    checkpoint.save(saved, step=3, table=np.zeros(1000))
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(packed, "w", how) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(ValueError, match="it is packed"):
        checkpoint.load(packed)


def test_a_time_is_no_number(tmp_path):
    for unit in ("s", "us", "ns"):
        with pytest.raises(TypeError, match="datetime64"):
            checkpoint.save(tmp_path / "c.npz", when=np.datetime64("2026-11-27", unit))
