"""Several seeds, several ways: all ways on the same seeds, also after Ctrl-C and in between."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from scratch_embed import Adam, Tensor, checkpoint
from scratch_embed.layers import Dropout, Linear
from scratch_embed.layers.layer import Layer
from scratch_embed.learning import Learning
from scratch_embed.training import command
from scratch_embed.training.repeats import Job, ahead, dots, repeat, table

WAYS = {"learned": 4, "counted": 0}


class Point(Layer):
    """A number that wanders, by draws of its own."""

    def __init__(self, rng):
        self.x = Tensor(rng.standard_normal(1), requires_grad=True)


def job(way, seed) -> Job:
    rng = np.random.default_rng([seed, 1])
    if way == "counted":
        return Job(lambda: float(seed))
    point = Point(rng)
    learning = Learning(
        point, Adam(point.parameters()), rng, lambda rng: (point.x * rng.random()).sum(),
        rate=lambda step: 0.1 / (1 + step),
    )  # fmt: skip
    return Job(lambda: float(point.x.data[0]), learning)


def begun(folder, *words):
    made = command.parser("trial", "A title.\n\nA trial.", resumable=True)
    return command.parse(made, ["--out", str(folder), *words])


@pytest.mark.parametrize("stops", [[0], [3], [4], [2, 2, 2], [1] * 8])
def test_stopped_anywhere_it_goes_on_to_the_same_scores(tmp_path, monkeypatch, stops):
    whole = repeat(begun(tmp_path / "whole"), WAYS, [3, 4], job)
    assert whole["counted"] == [3, 4] and len(set(whole["learned"])) == 2
    take, stops, count = Learning.take, list(stops), 0

    def stopping(self):
        nonlocal count
        if stops and count == stops[0]:
            stops.pop(0)
            count = -1
            signal.raise_signal(signal.SIGINT)
        count += 1
        return take(self)

    monkeypatch.setattr(Learning, "take", stopping)
    found, sittings = None, 0
    while found is None:
        found = repeat(begun(tmp_path / "broken", "--resume"), WAYS, [3, 4], job)
        sittings += 1
    assert found == whole and sittings > 1
    assert repeat(begun(tmp_path / "broken", "--resume"), WAYS, [3, 4], job) == whole


def test_what_dies_before_its_first_checkpoint_is_not_taken_for_the_run_before(
    tmp_path, monkeypatch, capsys
):
    run = begun(tmp_path, "--quick")
    run.finish({"found": repeat(run, WAYS, [3], job)})

    def dies(self):
        raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(Learning, "take", dies)
        repeat(begun(tmp_path, "--seed", "7"), WAYS, [7], job)
    run = begun(tmp_path, "--resume")
    assert f"Going on with the run in {tmp_path}: seed 7." in capsys.readouterr().out
    assert repeat(run, WAYS, [7], job)["counted"] == [7]


@pytest.mark.parametrize("found", [([], [1.0]), ([1.0, 2.0], []), ([1.0] * 3, [1.0] * 3)])
def test_scores_that_no_run_has_are_told(tmp_path, found):
    run = begun(tmp_path)
    run.save(found=dict(zip(WAYS, found)), learning=None)
    with pytest.raises(ValueError, match="is not as this command writes it .*scores; each seed"):
        repeat(begun(tmp_path, "--resume"), WAYS, [3, 4], job)


def test_dropout_goes_on_where_it_was(tmp_path):
    """A layer's own generator is part of what a training draws by chance."""
    ends = []
    for resumed in (False, True):
        head = Linear(4, 4, rng=0)
        head.dropout, rng = Dropout(0.5, rng=1), np.random.default_rng(2)

        def loss(rng, head=head):
            return (head.dropout(head(rng.standard_normal((3, 4)))) ** 2).mean()

        learning = Learning(head, Adam(head.parameters()), rng, loss)
        if resumed:
            learning.load_state_dict(checkpoint.load(tmp_path / "run.npz"))
        while learning.step < 4:
            learning.take()
            if learning.step == 2:
                checkpoint.save(tmp_path / "run.npz", **learning.state_dict())
        ends.append(head.weight.data.tobytes())
    assert ends[0] == ends[1]


def test_what_was_found_is_told():
    found = {"a": [3.0, 4.0, 5.0], "b": [3.5, 3.0, 2.0]}
    assert table(found).splitlines()[1].split() == ["a", "4.000", "3.000", "5.000"]
    assert ahead(found, "a", "b") == "a above b: with 2 of 3 seeds"


def test_the_picture_has_a_dot_for_every_seed():
    ax = dots({"a": [0.1, 0.2, 0.3], "b, c": [0.4]}, "Title", "share").axes[0]
    heights = [dot.get_offsets()[:, 1].tolist() for dot in ax.collections[::2]]
    np.testing.assert_allclose(np.concatenate(heights), [0.1, 0.2, 0.3, 0.4])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b,\nc"]


@pytest.mark.parametrize("wrong", ["x", None, {"learned": [1.0]}, {"learned": 1, "counted": []}])
def test_scores_of_another_form_are_told_of_the_checkpoint(wrong, tmp_path):
    run = begun(tmp_path)
    run.saved = {"found": wrong, "learning": None}
    with pytest.raises(ValueError, match=r"checkpoint\.npz is not as this command writes it"):
        repeat(run, WAYS, range(2), job)
