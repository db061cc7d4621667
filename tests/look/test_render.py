"""Prose in the terminal: Markdown and TeX as readable text, at any width, with colour or not."""

from __future__ import annotations

import io

import pytest

from scratch_embed.look import terminal
from scratch_embed.look.render import markdown
from scratch_embed.look.terminal import fit, table, visible
from scratch_embed.look.tex import to_unicode

SAMPLE = r"""# Title with $E$
A **bold phrase that is long enough to wrap**, *one*, `a_b[1]`, 2 * 3 * 4, [site](http://x.y).

- item $\lVert e_i \rVert$
    - nested
1. numbered

> quoted text

| model | V |
|:--|--:|
| GPT-2 | 50,257 |
| a much longer name of a model that must wrap in a narrow terminal | 1 |

$$\frac{\partial L}{\partial E_{ij}} = \sum_n g_{nj}$$

```python
x = [1,  2]  # **not bold**
```
"""


@pytest.mark.parametrize(
    "tex, text",
    [
        (r"E \in \mathbb{R}^{V \times d}", "E ∈ ℝ^(V×d)"),
        (r"e_i^\top E", "eᵢᵀ E"),
        (r"\sqrt{d}", "√d"),
        (r"\sqrt{d_\text{model}}", "√(d_model)"),
        (r"\frac{a+b}{2d}", "(a+b)/(2d)"),
        (r"\frac{1}{2}\sigma", "(1/2)σ"),
        (r"\frac{1}{s}\left(g - n\right)", "(1/s)(g - n)"),
        (r"\frac{1}{N}\, x + \frac12", "1/N x + 1/2"),
        (r"\sqrt{VD}", "√(VD)"),
        (r"\sqrt{V}D", "√VD"),
        (r"\frac{a}{b \cdot c}", "a/(b · c)"),
        (r"\lVert e_i \rVert_2", "‖eᵢ‖₂"),
        (r"\left( x \right)^2", "(x)²"),
        (r"10^{-6} \approx 2^{-20}", "10⁻⁶ ≈ 2⁻²⁰"),
        (r"x_{t-1}", "xₜ₋₁"),
        (r"\log p(w \mid c)", "log p(w | c)"),
        (r"\unknown x", "unknown x"),
        (r"\frac", "/"),
        (r"\ln p = z - \ln\sum_j e^{z_j}", "ln p = z - ln Σⱼ e^(zⱼ)"),
    ],
)
def test_tex(tex, text):
    assert to_unicode(tex) == text


def test_markdown_in_80_columns():
    text = markdown(SAMPLE, 80, colour=False)
    lines = text.splitlines()
    assert lines[:2] == ["Title with E", "============"]
    assert "A bold phrase that is long enough to wrap, one, a_b[1], 2 * 3 * 4, site" in text
    assert "(http://x.y)" in text and "  - item ‖eᵢ‖" in lines and "      - nested" in lines
    assert "  1. numbered" in lines and "  | quoted text" in lines
    assert "    ∂L/∂Eᵢⱼ = Σₙ gₙⱼ" in lines
    assert "    x = [1,  2]  # **not bold**" in lines
    assert any(line.startswith("GPT-2 ") and line.endswith(" 50,257") for line in lines)
    assert "\x1b" not in text and "\u00a0" not in text


@pytest.mark.parametrize("columns", [20, 40, 60, 120])
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_is_wider_than_the_terminal(columns, colour):
    text = markdown(SAMPLE.replace("x = [1,  2]  # **not bold**", "x"), columns, colour)
    assert max(map(terminal.visible, text.splitlines())) <= columns


def test_colour_only_on_a_terminal_and_without_no_color(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.coloured(Terminal()) and not terminal.coloured(io.StringIO())
    assert "\x1b[1m" in markdown("**x**", 40, colour=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal.coloured(Terminal())
    monkeypatch.setenv("NO_COLOR", "")  # set but empty means nothing
    assert terminal.coloured(Terminal())


def test_an_empty_first_cell_of_a_table_keeps_its_column():
    laid = markdown("||near|far|\n|-|-|-|\n|cat|1|2|\n||3||\n", 40, colour=False)
    assert laid.splitlines() == ["     near  far", "---  ----  ---", "cat  1     2", "     3"]


def test_a_year_at_the_start_of_a_line_begins_no_list():
    text = markdown("It was taught in\n1986. Nobody saw it.\n1. A list", 60, colour=False)
    assert text == "It was taught in 1986. Nobody saw it.\n\n  1. A list"


def test_no_number_is_cut_while_a_name_can_be_wrapped():
    rows = [["one table of many words", "12,345.67", "12,345.67"]]
    assert table(["way", "at 96", "at 384"], rows, 30).count("12,345.67") == 2


def test_wide_letters_take_two_columns():
    assert visible(fit("日本語" * 10, 20)) == 20
    lines = table(["word", "n"], [["日本語" * 5, "1"]], 20).splitlines()
    assert max(map(visible, lines)) <= 20
    assert "".join(line[:10].rstrip(" 1") for line in lines[2:]) == "日本語" * 5


def test_wrapping_keeps_every_word():
    words = ["w" * (k % 9 + 1) for k in range(60)]
    for columns in range(12, 60):
        assert " ".join(terminal.wrap(" ".join(words), columns, "- ")).split()[1:] == words


@pytest.mark.parametrize(
    "text", ["", "\n\n", "```", "$$", "|", "| a |", "*", "# ", "> ", "- ", "_a"]
)
def test_unfinished_markdown_does_not_crash(text):
    markdown(text, 40, colour=False)
