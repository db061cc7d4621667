"""From Markdown pages to HTML, by Sphinx: a warning is an error, and nothing comes from outside.

The theme is furo, the formulas are drawn by a MathJax that lies beside the pages.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from scratch_embed import __version__

HERE = Path(__file__).parent
NEEDED = {"sphinx": "sphinx", "myst_parser": "myst-parser", "furo": "furo",
          "mathjax": "django-static-mathjax"}  # fmt: skip
MATHJAX = "static/mathjax/es5/tex-svg-full.js"  # one file, which loads no other
CONFIG = {
    "project": "scratch_embed",
    "author": "scratch_embed contributors",
    "version": __version__,
    "release": __version__,
    "extensions": ["myst_parser", "sphinx.ext.mathjax"],
    "myst_enable_extensions": ["dollarmath", "deflist"],
    "myst_heading_anchors": 3,
    "html_theme": "furo",
    "html_title": "scratch_embed",
    "html_static_path": ["_static"],
    "html_extra_path": ["_extra"],
    "html_css_files": ["book.css"],
    "html_js_files": ["book.js"],
    "html_copy_source": False,
    "html_show_sphinx": False,
    "html_show_search_summary": False,  # it would fetch the pages, which a browser denies to files
    "pygments_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "mathjax_path": "mathjax.js",
    "mathjax3_config": {"options": {"enableMenu": False}},
    "suppress_warnings": ["ref.python"],  # a type of a signature, where two modules have that name
    "toc_object_entries_show_parents": "hide",
}


def missing() -> list[str]:
    """What has to be installed before the book can be made, by the names that pip knows."""
    return [name for module, name in NEEDED.items() if find_spec(module) is None]


def statics() -> dict[str, bytes]:
    """What lies beside the pages: style, a few lines of JavaScript, MathJax."""
    (mathjax,) = find_spec("mathjax").submodule_search_locations
    files = {name: (HERE / name).read_bytes() for name in ("book.css", "book.js")}
    return {**files, "mathjax.js": (Path(mathjax) / MATHJAX).read_bytes()}


def conf() -> str:
    """The conf.py that Sphinx reads."""
    return "".join(f"{key} = {value!r}\n" for key, value in CONFIG.items())


def build(source: Path, out: Path, doctrees: Path) -> bool:
    """Build the HTML of all pages; returns whether there was no warning."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # the same book from the same sources
    with patch_docutils(source), docutils_namespace():  # so that a second book can be made
        app = Sphinx(
            source, source, out, doctrees, "html", status=None, warning=sys.stderr,
            parallel=os.cpu_count() or 1,
        )  # fmt: skip
        app.build()
    return app.statuscode == 0 and app._warncount == 0
