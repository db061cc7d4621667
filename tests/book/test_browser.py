"""The web book in a real browser, as a reader has it: from files, without a network.

Looks at what `make book` made. Passed by where there is no book, no Chromium or Chrome, or none of
the libraries of the extra `book_test` (see .ci/book).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scratch_embed.simulations import NAMES

BOOK = Path(__file__).parents[2] / "build" / "book"
PAGES = ("index", "lessons/ch00_lookup", "lessons/ch12_cross_entropy", "claims/ch04",
         "reference/functional")  # fmt: skip
WIDTHS = {"desktop": 1280, "phone": 390}
NAMES_OF_CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--no-first-run", "--disable-gpu", "--no-sandbox")  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright (see .ci/book)")
    program = next(filter(None, map(shutil.which, NAMES_OF_CHROMIUM)), None)
    if program is None:
        pytest.skip("no Chromium or Chrome (see .ci/book)")
    if not (BOOK / "index.html").exists():
        pytest.skip("there is no book yet (see .ci/book)")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def open_page(browser):
    """open_page(name, ...) opens a page; when the test ends, nothing may have gone wrong on it."""
    wrong, opened = [], []

    def open_one(name: str, width: int = 1280, dark: bool = False):
        look = {"width": width, "height": 900}
        context = browser.new_context(viewport=look, color_scheme="dark" if dark else "light")
        page = context.new_page()
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.append(asked.url) if _outside(asked.url) else None)
        page.goto((BOOK / f"{name}.html").as_uri())
        opened.append(context)
        return page

    yield open_one
    for context in opened:
        context.close()
    assert wrong == []


def _outside(address: str) -> bool:
    return not address.startswith(("file:", "data:", "blob:", "about:"))


def serious(browser, address: str, dark: bool) -> list[str]:
    """What axe calls serious or critical on a page."""
    name = "axe_playwright_python.sync_playwright"
    axe = pytest.importorskip(name, reason="no axe (see .ci/book)")
    context = browser.new_context(color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.goto(address)
    found = axe.Axe().run(page, options={"iframes": False}).response["violations"]
    context.close()
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found
            if one["impact"] in ("serious", "critical")]  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_asks_no_network_and_says_no_error(open_page, name):
    for width in WIDTHS.values():
        for dark in (False, True):
            page = open_page(name, width, dark)
            page.wait_for_timeout(300)  # for the formulas
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, (width, dark)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", [*PAGES, *(f"simulations/{name}" for name in NAMES)])
def test_nobody_is_shut_out(browser, name, dark):
    assert serious(browser, (BOOK / f"{name}.html").as_uri(), dark) == []


def test_a_simulation_inside_a_lesson_is_moved_by_keys_by_mouse_and_by_itself(open_page):
    page = open_page("lessons/ch12_cross_entropy")
    page.locator('iframe[src$="step_curve.html"]').scroll_into_view_if_needed()
    play = page.frame_locator('iframe[src$="step_curve.html"]')
    play.locator("body[data-ready]").wait_for()
    slider, numbers = play.locator("#control-step"), play.locator("#numbers")
    told = [numbers.text_content()]
    slider.press("ArrowRight")
    told.append(numbers.text_content())
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    told.append(numbers.text_content())
    play.get_by_role("button", name="Play").click()
    page.wait_for_timeout(600)
    play.get_by_role("button", name="Pause").click()
    told.append(numbers.text_content())
    assert len(set(told)) == 4
    assert play.locator("#look").get_attribute("open") is not None  # now it says what to look for


def test_a_click_in_the_picture_chooses_the_word(open_page):
    page = open_page("simulations/lookup")
    page.locator("body[data-ready]").wait_for()
    page.locator('#picture [data-set="word=kitten"]').first.click()
    assert page.locator("#control-word option:checked").text_content() == "kitten"


def test_a_menu_is_moved_by_keys(open_page):
    """The tokenizer's, in place of the line to type in that a page without a server lacks."""
    page = open_page("simulations/tokenizer")
    page.locator("body[data-ready]").wait_for()
    menu, numbers = page.locator("#control-text"), page.locator("#numbers")
    told, chosen = numbers.text_content(), menu.input_value()
    menu.press("ArrowDown")
    assert menu.input_value() != chosen and numbers.text_content() != told


def test_a_fold_opens_and_on_paper_all_are_open(open_page):
    page = open_page("lessons/ch00_lookup")
    fold = page.locator("article details").first
    assert fold.get_attribute("open") is None
    fold.locator("summary").first.click()
    assert fold.get_attribute("open") is not None
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
    assert len(page.pdf()) > 100_000


def test_search_finds_the_lessons_of_a_word(open_page):
    page = open_page("index")
    page.locator("input[name=q]:visible").first.fill("scatter-add")
    page.keyboard.press("Enter")
    page.locator("#search-results a", has_text="Lookup").first.wait_for()
