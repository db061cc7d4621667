"""`scratch-embed recommender`: the truth is known, and the towers come nearer to it than counts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scratch_embed import RowGrad
from scratch_embed.__main__ import main
from scratch_embed.training import recommender
from scratch_embed.training.recommender import (
    BEST,
    POPULAR,
    TOWERS,
    UNTRAINED,
    Tower,
    recall,
    world,
)


def test_recall_is_the_share_of_the_best_that_were_proposed():
    truth = np.arange(40.0)[None, :].repeat(2, axis=0)
    assert recall(truth, truth) == 1
    assert recall(-truth, truth) == 0
    shifted = np.roll(truth, -3, axis=1)  # its ten largest are places 27 to 36
    assert recall(shifted, truth) == pytest.approx((BEST - 3) / BEST)


def test_clicks_follow_what_users_like():
    found = world(users=3, items=30, clicks=20_000, rng=np.random.default_rng(0))
    for user, likes in enumerate(found.likes):
        mine = found.clicks[found.clicks[:, 0] == user, 1]
        chances = np.exp(likes - likes.max())
        seen = np.bincount(mine, minlength=30) / len(mine)
        np.testing.assert_allclose(seen, chances / chances.sum(), atol=0.015)


def test_only_the_rows_of_a_batch_get_a_gradient():
    tower = Tower(np.array([0, 1, 0, 1]), 3, True, np.random.default_rng(0))
    tower(np.array([2, 2, 3])).backward(np.ones((3, 3), np.float32))
    assert all(isinstance(weight.grad, RowGrad) for weight in tower.parameters())
    assert sorted(set(tower.id.weight.grad.rows.tolist())) == [2, 3]
    np.testing.assert_array_equal(tower.id.weight.grad.to_dense()[2], 2)


def test_the_towers_find_more_than_popularity(tmp_path, capsys):
    assert main(["recommender", "--quick", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["recall"]
    chance = BEST / recommender.QUICK["items"]
    for towers, popular, untrained in zip(found[TOWERS], found[POPULAR], found[UNTRAINED]):
        assert towers > popular + 0.1 > chance + 0.2
        assert abs(untrained - chance) < 0.05
    assert "by chance 0.125" in capsys.readouterr().out


def test_too_few_items_are_told(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["recommender", "--items", "19", "--out", str(tmp_path)])
    assert "'19' is not a whole number, 20 or more" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["recommender", "patches"])
def test_a_last_step_that_leads_astray_has_no_score(command, tmp_path, capsys):
    options = ["--quick", "--seeds", "1", "--steps", "1", "--rate", "1e38"]
    assert main([command, *options, "--out", str(tmp_path)]) == 1
    assert "no finite number" in capsys.readouterr().err
    assert not (tmp_path / "results.json").exists()
