"""What a page shows: bundles, folds and tables, with everything escaped that was printed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from scratch_embed import RowGrad, Tensor
from scratch_embed.gradcheck import gradcheck
from scratch_embed.look import page
from scratch_embed.trace import trace
from scratch_embed.working import Line, Working


def test_an_array_is_a_table_with_the_middle_left_out():
    text = page.array(np.arange(40.0).reshape(20, 2), "E <b>")
    assert "<caption>E &lt;b&gt;</caption>" in text
    assert text.count("<tr>") == 1 + 8  # heads, four rows, dots, three rows
    assert '<tr><th scope="row">19</th><td>38</td><td>39</td></tr>' in text
    assert '<tr><th scope="row">...</th><td>...</td><td>...</td></tr>' in text
    assert '<th scope="row">4</th>' not in text


@pytest.mark.parametrize(
    ("tensor", "told"),
    [
        (Tensor([[1.0, 2.5]], name="<E>"), "<td>2.5</td>"),
        (Tensor([1.0, 2.5]), "<td>2.5</td>"),
        (Tensor(2.5), "<pre>Tensor(2.5)</pre>"),
        (Tensor(np.zeros((2, 2, 2))), "<pre>Tensor("),
        (Tensor(np.zeros((0, 2))), "<pre>Tensor("),
    ],
)
def test_a_tensor_of_any_shape_shows_itself(tensor, told):
    text = tensor._repr_html_()
    assert told in text and "<E>" not in text


def test_a_row_gradient_shows_its_rows_by_their_numbers():
    text = RowGrad([4, 1], np.array([[1.0, 1.0], [2.0, 2.0]]), (6, 2))._repr_html_()
    assert text.index("row 1") < text.index("row 4") and "2 of 6 rows" in text


def test_a_working_of_one_line_stands_there_and_a_longer_one_is_a_fold():
    part = Line("p", ("1 < 2",))
    one = Line("a", ("1", "2"), why="so & so", parts=(part,))
    text = Working("a", (one,)).page()
    assert "so &amp; so" in text and "1 &lt; 2" in text
    assert text.count("<details>") == 1  # the part
    two = Working("sum", (one, Line("b", ("3", "4"))))
    assert "<details open><summary>sum: b = 3 = 4</summary>" in two.page()
    assert "<details><summary>sum: b = 3 = 4</summary>" in two.page(opened=False)


def test_a_trace_and_a_report_show_themselves():
    a = Tensor(3.0, requires_grad=True, name="a<b")
    walk = trace(a * a)
    text = walk._repr_html_()
    assert text.count("<details>") == len(walk) and "a&lt;b" in text and "a<b" not in text
    report = gradcheck(lambda x: x * x, a)
    assert "a&lt;b" in report._repr_html_() and "a<b" not in report._repr_html_()


def test_bundles_go_to_the_notebook_that_runs_and_to_no_other_shell(monkeypatch):
    assert page.notebook() is None or "IPython" in sys.modules
    published = []
    shell = SimpleNamespace(kernel=object(), display_pub=SimpleNamespace(publish=published.append))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    page.notebook()(page.bundle("text", "<p>page</p>"))
    assert published == [{"text/plain": "text", "text/html": "<p>page</p>"}]
    shell.kernel = None  # IPython in a terminal
    assert page.notebook() is None
