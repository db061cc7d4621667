"""Does every link of the book lead somewhere, and does nothing come from outside?"""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
OUTSIDE = ("http:", "https:", "//")


class _Page(HTMLParser):
    """The links of a page, what it loads, and the places in it that have a name."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.names |= {said[key] for key in ("id", "name") if said.get(key)}
        if tag == "a" and said.get("href"):
            self.links.append(said["href"])
        if tag in LOADED and said.get(LOADED[tag]):
            self.loads.append(said[LOADED[tag]])


def broken(folder: Path) -> list[str]:
    """A sentence for each link that leads nowhere, and for whatever is loaded from outside."""
    pages = {
        path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")
    }
    return [f"{path.relative_to(folder.resolve())}: {wrong}"
            for path, page in pages.items() for wrong in _wrong(path, page, pages)]  # fmt: skip


def _wrong(path: Path, page: _Page, pages: dict[Path, _Page]) -> Iterable[str]:
    for target in page.loads:
        if target.startswith(OUTSIDE):
            yield f"loads {target} from outside"
    for target in [*page.links, *page.loads]:
        if target.startswith((*OUTSIDE, "mailto:", "data:")):
            continue
        name, place = urldefrag(target.partition("?")[0] if "#" not in target else target)
        to = (path.parent / unquote(name.partition("?")[0])).resolve() if name else path
        if not to.is_file():
            yield f"{target} leads to no file"
        elif place and to in pages and unquote(place) not in pages[to].names:
            yield f"{target} leads to no such place"
