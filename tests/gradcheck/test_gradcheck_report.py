"""What a report of gradcheck shows: its table, its letters, uses of a row, digits."""

from __future__ import annotations

import re

import numpy as np

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.report import WRONG
from tests.gradcheck import planted
from tests.gradcheck.leaves import leaf, of

IDS = planted.IDS


def test_markdown_and_html_hold_the_table_and_the_cause():
    fn, tensors = planted.MUTANTS[0].build(np.random.default_rng(0))
    tensors[0].name = "<E>"
    report = gradcheck(fn, *tensors, name="a & b")
    markdown, page = report.to_markdown(), report._repr_html_()
    head = next(line for line in markdown.splitlines() if line.startswith("| tensor"))
    assert head.count("|") == 9
    assert "likely: repeated ids are overwritten" in markdown
    assert "exactly those used more than once" in markdown
    assert "<td>&lt;E&gt;</td>" in page and "a &amp; b" in page
    assert page.count("font-weight:bold") == sum(not row.passed for row in report.rows)


def test_a_report_fits_a_terminal():
    """With options, of a large table, by every method; those of the planted bugs do as well."""
    reports = []
    for options in ({"padding_idx": 1}, {"scale_grad_by_freq": True}):
        reports.append(gradcheck(lambda E, o=options: F.lookup(E, IDS, **o), leaf(6, 3, name="E")))
    table = leaf(50_000, 2, name="token.weight")
    reports.append(gradcheck(lambda E: F.lookup(E, [7, 30_000, 7]), table, max_entries=40))
    reports.append(gradcheck(F.relu, of(0.0, -1e-9, 1e-9), method="all"))
    for report in reports:
        assert max(map(len, str(report).splitlines())) <= 80, report


def test_the_rule_says_what_its_letters_are():
    text = " ".join(str(gradcheck(F.tanh, leaf(3))).split())
    for words in ("a by backward", "n by nudging", "g the largest gradient in its tensor"):
        assert words in text
    assert str(gradcheck(F.tanh, leaf(3))).splitlines()[1].split() == [
        "tensor", "entry", "uses", "backward", "nudging", "off", "by", "allowed", "verdict"
    ]  # fmt: skip


def test_uses_count_every_use_of_a_row_and_scoring_is_one():
    """4 is read three times, 1 twice, 0 once; a tied projection scores every row once more."""
    for extra, fn in (
        (0, lambda E: F.lookup(E, IDS)),
        (1, lambda E: F.project(F.lookup(E, IDS), E)),
        (2, lambda E: F.project(F.lookup(E, IDS), E) + E.sum()),
    ):
        uses = {row.index[0]: row.uses for row in gradcheck(fn, leaf(6, 3)).rows}
        assert uses == {v: extra + reads for v, reads in enumerate([1, 2, 0, 0, 3, 0])}
    lost = planted.broken("lookup", lambda g, s: _overwritten(g, s))
    report = gradcheck(lambda E: F.project(lost(E, IDS), E), leaf(6, 3, name="E"))
    assert "rows 1, 4 of E, exactly those read by ids more than once" in str(report)


def _overwritten(dout, saved):
    dE = np.zeros((saved.num_rows, dout.shape[-1]))
    dE[saved.ids] = dout
    return dE


def test_small_numbers_keep_their_digits():
    text = str(gradcheck(lambda x: F.exp(x) * 1e-7, of(0.1, 0.2)))
    assert "e-07" in text.splitlines()[2] or "e-08" in text.splitlines()[2]


def test_the_padding_row_of_a_large_table_is_always_looked_at():
    ids = np.array([7, 30_000, 7])
    fn = planted.broken("lookup", lambda g, s: F.lookup.backward(g, s._replace(padding_idx=None)))
    report = gradcheck(lambda E: fn(E, ids, padding_idx=7), leaf(50_000, 2), max_entries=40)
    assert {row.index[0] for row in report.rows if row.index and not row.passed} == {7}
    assert report.worst.verdict == WRONG


def test_a_report_is_as_true_as_what_it_says():
    x = Tensor([1.0, 2.0], requires_grad=True)
    wrong = differentiable(lambda x: (x**2, (x,)), lambda dout, saved: dout * saved[0], "wrong")
    assert gradcheck(F.exp, x) and not gradcheck(wrong, x)


def test_of_a_table_too_large_to_be_looked_at_whole_it_is_said_what_may_pass():
    def off_by(much):
        def backward(dout, x):
            grad = 2 * dout * x
            grad[700, 3] += much
            return grad

        return differentiable(lambda x: (x * x, x), backward, name="square")

    data = np.random.default_rng(0).standard_normal((2000, 8))
    E = Tensor(data, requires_grad=True, name="E")
    (remark,) = [r for r in gradcheck(off_by(0.0), E).remarks() if r.startswith("sampled")]
    assert remark.startswith("sampled: 199 of the 16,000 entries of E;")
    least = float(re.search(r"less than (\S+), and alone, may pass unseen", remark)[1])
    assert not gradcheck(off_by(20 * least), E).passed
    assert 1e-6 < least < 1e-2
    assert "sampled" not in str(gradcheck(off_by(0.0), E, max_entries=20_000))


def test_where_all_gradients_are_0_it_is_said_that_little_is_told():
    """3 for 1 behind a relu, which no slope shows where nothing comes through."""
    tripled = differentiable(
        lambda x: (np.maximum(x, 0), x), lambda dout, x: 3 * dout * (x > 0), name="tripled"
    )
    off = gradcheck(tripled, Tensor([-1.0, -2.0], requires_grad=True))
    assert off.passed and "all gradients are 0 here" in str(off)
    on = gradcheck(tripled, Tensor([-1.0, 2.0], requires_grad=True))
    assert not on.passed and "all gradients are 0" not in str(on)
