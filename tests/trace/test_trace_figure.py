"""The picture of a trace: what stands in the boxes, where they stand, and its Graphviz text."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from scratch_embed import Tensor
from scratch_embed.models import NextToken
from scratch_embed.trace import graph, trace
from scratch_embed.trace.choice import first
from scratch_embed.trace.layout import place


@pytest.fixture(scope="module")
def walk():
    model = NextToken(12, 3, tied=True, body=True, rng=0)
    return trace(model.loss(np.array([1, 7, 1]), np.array([7, 1, 3])))


def states(walk, step: int) -> dict[str, str]:
    return {box.name: box.state for box in graph.boxes(walk, step)}


def test_boxes_go_from_not_yet_to_current_to_done(walk):
    names = ["E", "ids", "W", "targets", *(s.name for s in walk.forward)]
    assert list(states(walk, 0)) == names
    assert states(walk, 0)["loss"] == graph.WAITING and states(walk, 0)["E"] == graph.DONE
    assert states(walk, 1)["lookup_1"] == graph.CURRENT
    assert states(walk, 2)["lookup_1"] == graph.DONE
    first = states(walk, 7)  # the first step backward
    assert (first["loss"], first["logits"]) == (graph.CURRENT, graph.COLLECTING)
    assert (first["E"], first["ids"]) == (graph.WAITING, graph.CONSTANT)
    waiting = next(k for k in range(7, 13) if states(walk, k)["E"] == graph.COLLECTING)
    assert walk.state(waiting).gradients["E"].of == 2
    last = states(walk, 12)
    assert set(last.values()) == {graph.DONE, graph.CURRENT, graph.CONSTANT}


def test_a_box_never_shows_a_gradient_before_it_is_computed(walk):
    for step in range(len(walk) + 1):
        state = walk.state(step)
        for box in graph.boxes(walk, step):
            told = "\n".join(box.text)
            assert (box.name in state.values) == ("shape" in told and "\nnot yet" not in told)
            if box.name in ("ids", "targets"):
                assert "gradient" not in told
            else:
                assert (box.name in state.gradients) != ("gradient not yet computed" in told)


def test_figures_draw_every_box_and_edge_and_keep_their_size(walk):
    sizes = set()
    for step, figure in enumerate(walk.frames()):
        (ax,) = figure.axes
        drawn = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
        assert [p.get_gid() for p in drawn] == list(states(walk, step).values())
        assert sum(isinstance(p, FancyArrowPatch) for p in ax.patches) == 10
        texts = [t.get_text() for t in ax.texts]
        assert "E" in texts and graph.title(walk, step)[0] in texts
        sizes.add(tuple(figure.get_size_inches()))
    assert step == len(walk) and len(sizes) == 1


def test_a_chosen_entry_is_marked_and_worked_out_in_figure_and_dot(walk):
    back = len(walk.forward) + 2  # tanh(...) @ E.T, in these names
    part = walk.backward[1].parts[0]
    entry = (0, (1, 2))
    _, formula = graph.title(walk, back)
    assert part.parent in formula and "dout" not in formula
    told = "\n".join(text.get_text() for text in walk.figure(back, entry).axes[0].texts)
    number = f"d{part.parent}[1,2] = "
    plain = "\n".join(text.get_text() for text in walk.figure(back).axes[0].texts)
    for text in (told, walk.dot(back, entry)):
        assert number in text and "agrees" in text and f">{part.value[1, 2]:.3g}<" in text
    assert number not in plain and number not in walk.dot(back)
    box = next(box for box in graph.boxes(walk, 1, first(walk, 1)) if box.name == "lookup_1")
    assert ">" in "".join(box.text)
    for draw in (walk.figure, walk.dot):
        with pytest.raises(IndexError, match="index is"):
            draw(back, (0, (1, 99)))


def test_text_stays_inside_its_box(walk):
    figure = walk.figure()
    figure.canvas.draw()
    (ax,) = figure.axes
    boxes = [p.get_window_extent() for p in ax.patches if isinstance(p, FancyBboxPatch)]
    texts = [t for t in ax.texts if t.get_family() == ["DejaVu Sans Mono"] and t.get_size() == 8]
    assert len(texts) > 40
    for text in texts:
        extent = text.get_window_extent()
        assert any(b.x0 <= extent.x0 and extent.x1 <= b.x1 and b.y0 <= extent.y0 + 1
                   and extent.y1 <= b.y1 + 1 for b in boxes), text.get_text()  # fmt: skip


def test_no_box_lies_on_another():
    rng = np.random.default_rng(0)
    for _ in range(20):
        count = int(rng.integers(2, 25))
        sizes = {f"n{k}": tuple(rng.uniform(0.3, 2.0, 2)) for k in range(count)}
        edges = {(f"n{int(rng.integers(k))}", f"n{k}") for k in range(1, count) for _ in range(2)}
        spot = place(sizes, sorted(edges))
        rects = [(*spot.centre[name], *sizes[name]) for name in sizes]
        for i, (x, y, w, h) in enumerate(rects):
            assert w / 2 - 1e-9 <= x <= spot.width - w / 2 + 1e-9
            assert h / 2 - 1e-9 <= y <= spot.height - h / 2 + 1e-9
            for x2, y2, w2, h2 in rects[:i]:
                apart = abs(x - x2) >= (w + w2) / 2 or abs(y - y2) >= (h + h2) / 2 - 1e-9
                assert apart
        for parent, child in edges:  # data flows from left to right
            assert spot.centre[parent][0] < spot.centre[child][0]
            way = [x for x, _ in spot.route[parent, child]]
            assert way == sorted(way)


def test_used_twice_by_one_operation_is_one_edge_that_says_so():
    a = Tensor(1.0, requires_grad=True, name="a")
    walk = trace(a + a)
    (edge,) = graph.edges(walk, 2)
    assert (edge.count, edge.note, edge.backward) == (2, "parts 1, 2 of 2", True)
    assert graph.edges(walk, 1)[0].backward is False


def test_dot_escapes_names_and_has_every_edge():
    name = 'say "E\\n" <b>{x|y}\nnew line'
    a = Tensor(1.0, requires_grad=True, name=name)
    text = trace(a * a).dot()
    assert r'label="say \"E\\n\" <b>{x|y}\nnew line\l' in text
    assert text.count("n0 -> n1") == 2 and text.startswith("digraph") and text.endswith("}\n")
    unescaped = text.replace("\\\\", "").replace('\\"', "")
    assert unescaped.count('"') % 2 == 0
    before = trace(a * a).dot(0)
    assert "gradient not yet computed" in before and "dir=back" not in before
