"""The pages of the book as Markdown, and what is wrong with a book when links lead nowhere."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scratch_embed.book import __main__ as command
from scratch_embed.book import claims_page, html, links, markdown, reference
from scratch_embed.book.pieces import cut
from scratch_embed.book.running import Ran
from scratch_embed.book.script_page import Links, page
from scratch_embed.book.site import Site
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.course import Course
from scratch_embed.simulations import NAMES

COURSE = Course(Path(__file__).parents[2] / "lessons")
LINKS = Links(COURSE.lessons, ["one_hot"], "lessons/ch00_lookup")


def test_prose_links_the_lessons_and_exercises_that_it_names():
    text = LINKS.prose("See lesson 10, lessons 0 and 11, lesson 99; `one_hot`, `lesson 10`, $10$.")
    assert "[lesson 10](../lessons/ch10_one_hot.md)" in text
    assert "[0](../lessons/ch00_lookup.md) and [11](../lessons/ch11_backward_order.md)" in text
    assert "lesson 99;" in text and "[`one_hot`](../exercises/one_hot.md)" in text
    assert text.endswith("`lesson 10`, $10$.")  # code and formulas stay as they are


@pytest.mark.parametrize(
    ("said", "written"),
    [("a_b*c", r"a\_b\*c"), ("`a_b` <c>", r"`a_b` \<c\>"), ("E[ids] $5", r"E\[ids\] \$5"),
     ("a&lt;b", r"a\&lt;b"), ("1. one\n- two 3.5", "1\\. one\n\\- two 3.5"), ("% c", r"\% c")],
)
def test_plain_text_means_nothing_to_markdown(said, written):
    assert markdown.plain(said) == written


def test_a_fence_is_longer_than_those_inside():
    assert markdown.code("```\nx\n```").startswith("````{code-block} python\n")
    assert markdown.code("x", "text", "output") == "```{code-block} text\n:class: output\n\nx\n```"


def shown(tmp_path: Path) -> str:
    path = tmp_path / "ch00_made.py"
    path.write_text(
        "# %% [markdown]\n# # 0. Made\n\n# %%\nimport math\n\nq = guess('?')\nx = 1\n"
        "play('lookup')\n\n# %% [markdown]\n# ## The end\n",
        encoding="utf-8",
    )
    pieces = cut(cells.load(path)).cells
    outputs = [[], [], [{"text/html": "<p>asked</p>"}], [{"stream": "1\n"}], [], []]
    outputs[4].append({"text/html": "as it opens"})
    outputs[3].append({"text/plain": "Figure: one", "image/png": "AAAA"})
    one = Ran(path, pieces, outputs, {"8": "<html>", "9": ""})
    return page(one, LINKS, lambda name, data: f"../{name}", {"lookup": "Read & see"})


def test_a_page_folds_imports_hides_the_quiz_and_keeps_the_order(tmp_path):
    text = shown(tmp_path)
    order = ["# 0. Made", "{download}`script <../downloads/ch00_made.py>`", "<summary>imports",
             "import math", "<p>asked</p>", "x = 1", ":class: output", ":alt: Figure: one",
             "../traces/ch00_made_8.html", "simulations/lookup.html", "## The end"]  # fmt: skip
    places = [text.find(part) for part in order]
    assert places == sorted(places) and places[0] >= 0
    assert "guess(" not in text and "ch00_made_9" not in text and "Read &amp; see" in text
    assert "play(" not in text and "as it opens" not in text  # the simulation is there itself


def test_every_simulation_has_its_place_in_a_lesson():
    lessons = [cut(cells.load(COURSE.lessons[n])).cells for n in sorted(COURSE.lessons)]
    calls = [node for pieces in lessons for piece in pieces if piece.role == "play"
             for node in piece.nodes]  # fmt: skip
    assert [ast.literal_eval(call.value.args[0]) for call in calls] == list(NAMES)


CLAIM = {"source": "note <b>", "section": "s_1", "statement": "x*y", "printed": "0.5", "place": 3}


def test_claims_and_errata_say_source_print_verdict_and_reason():
    verdict = {"claim": CLAIM, "word": "corrected", "computed": "0.6", "told": "see lesson 10",
               "lab": "swaps"}  # fmt: skip
    judged = {"title": "T", "below": "", "verdicts": [verdict], "calls": []}
    text = claims_page.page(judged, LINKS)
    for part in ("**corrected** note \\<b\\>, s\\_1", "x\\*y", "“0.5”", "computed 0.6",
                 "[lesson 10](", "labs/swaps.md", "1 corrected."):  # fmt: skip
        assert part in text
    assert "x\\*y" in claims_page.errata("note <b>", [verdict], LINKS)
    assert "x\\*y" not in claims_page.errata("another", [verdict], LINKS)


def documented():
    """out[n] = f(x[n])        (N,) -> (N,)

    A sentence with a_name,
    on two lines.

    x : what goes in,
        on two lines.
    *rest : more.

    >>> 1 + 1
    2
    """


def test_a_docstring_keeps_what_is_laid_out_and_flows_where_it_is_prose():
    formula, sentence, items, example = reference.docstring(documented)
    assert "(N,) -> (N,)" in formula and ":class: formula" in formula
    assert sentence == r"A sentence with a\_name, on two lines."
    assert items == "- `x` : what goes in, on two lines.\n- `*rest` : more."
    assert example == "```{code-block} pycon\n>>> 1 + 1\n2\n```"


@pytest.mark.parametrize("name", reference.MODULES)
def test_every_module_of_the_reference_has_members_that_say_what_they_are(name):
    pytest.importorskip("sphinx", reason="sphinx is not installed (the extra 'book')")
    text = reference.page(name)
    assert text.count("{py:function}") + text.count("{py:class}") > 0


def test_operations_return_tensors_in_the_reference():
    pytest.importorskip("sphinx", reason="sphinx is not installed (the extra 'book')")
    text = reference.page("functional")
    assert "-> Tensor" in text.partition("{py:function} lookup(")[2].partition("\n")[0]
    assert "tuple[np.ndarray" not in text


def test_links_that_lead_nowhere_and_what_comes_from_outside_are_found(tmp_path):
    good = '<a href="#here" id="here"></a><a href="b.html#there">x</a><a href="https://x.org">y</a>'
    (tmp_path / "a.html").write_text(good, encoding="utf-8")
    (tmp_path / "b.html").write_text('<h1 id="there"></h1>', encoding="utf-8")
    assert links.broken(tmp_path) == []
    bad = '<a href="c.html"></a><a href="a.html#gone"></a><script src="//cdn.org/x.js"></script>'
    (tmp_path / "b.html").write_text(bad, encoding="utf-8")
    told = links.broken(tmp_path)
    assert len(told) == 4  # that of a.html as well
    assert any("c.html leads to no file" in line for line in told)
    assert any("a.html#gone leads to no such place" in line for line in told)
    assert any("//cdn.org/x.js from outside" in line for line in told)


def test_without_its_libraries_the_book_says_what_to_install(monkeypatch):
    monkeypatch.setattr(html, "find_spec", lambda name: None)
    assert html.missing() == ["sphinx", "myst-parser", "furo", "django-static-mathjax"]


def test_a_page_that_is_the_same_is_not_written_again(tmp_path):
    site = Site(COURSE, tmp_path)
    site.write("a/x.md", "one")
    (tmp_path / "a" / "x.md").touch()
    before = (tmp_path / "a" / "x.md").stat().st_mtime_ns
    site.write("a/x.md", "one")
    assert (tmp_path / "a" / "x.md").stat().st_mtime_ns == before
    (tmp_path / "old.md").write_text("old", encoding="utf-8")
    site.finish()
    assert [path.name for path in tmp_path.rglob("*.md")] == ["x.md"]


def test_sphinx_makes_pages_without_a_warning_and_a_wrong_one_is_told(tmp_path, capsys):
    if lacking := html.missing():
        pytest.skip(f"{', '.join(lacking)} not installed (the extra 'book')")
    source, out = tmp_path / "source", tmp_path / "html"
    site = Site(COURSE, source)
    site.glossary()
    site.write("index.md", "# A\n\n$x^2$\n\n```{toctree}\nglossary\n```\n")
    site.write("conf.py", html.conf())
    for name, data in html.statics().items():
        site.write(f"_static/{name}", data)
    for stem in COURSE.lessons.values():  # what the glossary links to
        site.write(f"lessons/{stem.stem}.md", "---\norphan: true\n---\n\n# B\n")
    site.write("_extra/simulations/x.html", "<p></p>")
    assert html.build(source, out, tmp_path / "trees")
    assert links.broken(out) == []
    assert 'src="_static/mathjax.js' in (out / "index.html").read_text(encoding="utf-8")
    site.write("index.md", "# A\n\n[gone](gone.md)\n\n```{toctree}\nglossary\n```\n")
    assert not html.build(source, out, tmp_path / "trees")
    assert "gone" in capsys.readouterr().err


def test_the_command_makes_a_book_of_any_course(tmp_path, monkeypatch, capsys):
    if lacking := html.missing():
        pytest.skip(f"{', '.join(lacking)} not installed (the extra 'book')")
    lessons = tmp_path / "lessons"
    lessons.mkdir()
    text = "# %% [markdown]\n# # 0. One\n\n# %%\nprint('hello')\n\n# %% [markdown]\n# ## End\n"
    (lessons / "ch00_one.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "course_folder", lambda: lessons)
    drawn = {"title": "One & all", "question": "Which?", "page": "<p></p>"}
    monkeypatch.setattr(command, "NAMES", ("one",))
    monkeypatch.setattr(command, "simulations", lambda kept: [("one", drawn)])
    monkeypatch.setattr(reference, "MODULES", ("rows",))
    assert command.main(["html"]) == 0, capsys.readouterr()
    page = Path("build/book/lessons/ch00_one.html").read_text(encoding="utf-8")
    assert "hello" in page and "ch00_one.ipynb" in page
    (lessons / "ch00_one.py").write_text(text.replace("print", "pint"), encoding="utf-8")
    assert command.main(["html"]) == 1
    assert "NameError" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_told_before_anything_runs(tmp_path, monkeypatch, capsys):
    (tmp_path / "build").touch()
    monkeypatch.chdir(tmp_path)
    assert command.main(["notebooks"]) == 1
    assert "build" in capsys.readouterr().err
