"""A real browser for pages: Chromium of the system, or a reason to skip."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def opened(address, **settings):
    """Open a page, collecting errors, console messages and requests as its attributes."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, chromium_sandbox=False)
        page = browser.new_page(**settings)
        page.problems, page.requests = [], []
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(str(address))
        try:
            yield page
        finally:
            browser.close()


def traces(page, key):
    """Return the traces that a figure shows, after it has been drawn."""
    place = f'[data-figure="{key}"]'
    page.locator(place).scroll_into_view_if_needed()
    page.wait_for_selector(f"{place} .plot-container")
    return page.eval_on_selector(
        place,
        "e => e.data.map(t => ({name: t.name, visible: t.visible, x: [...(t.x ?? [])], "
        "y: [...(t.y ?? [])]}))",
    )
